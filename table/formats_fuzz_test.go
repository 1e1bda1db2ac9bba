package table_test

import (
	"path/filepath"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
	"gpfit/table/tabletest"
)

const formatFiles = "testdata/formats/"

// TestFormats reads the files of real.csv and whole.csv in all other formats.
func TestFormats(t *testing.T) {
	names := func(path string) []string {
		switch {
		case strings.HasSuffix(path, ".jsonl"), strings.HasSuffix(path, "_columns.npz"):
			return []string{"a", "b", "y"}
		case strings.HasSuffix(path, ".npz") && !strings.HasSuffix(path, "_one.npz"):
			return []string{"x0", "x1", "y"}
		}
		return []string{"x0", "x1", "x2"}
	}
	for truth, files := range map[string]int{"real": 9, "whole": 10} {
		var paths []string
		for _, ending := range []string{".npy", "_*.npy", "_*.npz", ".jsonl"} {
			found := testcheck.Get(filepath.Glob(formatFiles + truth + ending))(t)
			paths = append(paths, found...)
		}
		if len(paths) < files {
			t.Fatalf("files %q", paths)
		}
		tabletest.Same(t, formatFiles+truth+".csv", paths, names)
	}
}

func FuzzNPY(f *testing.F) { tabletest.Fuzz(f, formatFiles+"*.npy", "\x93NUMPY") }

func FuzzNPZ(f *testing.F) { tabletest.Fuzz(f, formatFiles+"*.npz", "PK\x03\x04") }

func FuzzJSONLines(f *testing.F) { tabletest.Fuzz(f, formatFiles+"*.jsonl", "{") }
