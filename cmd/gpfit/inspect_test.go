package main

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"
)

// withoutRecord returns the contents of a model file except the report of its fit,
// which has seconds.
func withoutRecord(t *testing.T, model []byte) []byte {
	t.Helper()
	archive, err := zip.NewReader(bytes.NewReader(model), int64(len(model)))
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, f := range archive.File {
		if f.Name == "fit.json" {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out = append(append(append(out, f.Name...), '\n'), text...)
	}
	return out
}
