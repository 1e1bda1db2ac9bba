package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExitCodes: the documented exit codes.
func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := put("good.csv", "x,y\n1,2\n2,3\n3,5\n")
	out := filepath.Join(dir, "m.gpfit")
	for _, c := range []struct {
		code int
		args string
	}{
		{0, "fit " + good + " --out " + out},
		{0, "predict " + out + " " + good},
		// A lengthscale so long that every element of the matrix is 1.
		{exitFailure, "nlml " + good + " --set lengthscale=1e10 --set noise_variance=1e-300"},
		{exitUsage, "fit"},
		{exitUsage, "fit " + good + " --nope"},
		{exitUsage, "fit " + good + " --restarts x"},
		{exitUsage, "fit " + good + " --kernel rbf("},
		{exitUsage, "fit " + good + " --kernel rbf(dims=4)"},
		{exitUsage, "fit " + good + " --fix a=1"},
		{exitUsage, "nope"},
		{exitData, "fit " + filepath.Join(dir, "none.csv")},
		{exitData, "fit " + put("bad.csv", "x,y\n1,a\n")},
		{exitData, "fit " + put("one.csv", "x,y\n1,1\n")},
		{exitData, "fit " + filepath.Join(dir, "none-*.csv")},
		{exitData, "fit ../../internal/table/testdata/formats/nan.npy"},
		{exitData, "fit ../../internal/table/testdata/formats/words.npz"},
		{exitData, "fit ../../internal/table/testdata/formats/types.parquet"},
		{exitData, "fit ../../internal/table/testdata/formats"},
		{exitData, "fit " + good + " --split-mask " + good + ":z"},
		{exitUsage, "fit " + good + " --missing maybe"},
		{exitData, "predict " + good + " " + good},
		{exitDevice, "fit " + good + " --device cuda:9 --out " + out},
	} {
		var stderr strings.Builder
		if code := run(context.Background(), strings.Fields(c.args), strings.NewReader(""), io.Discard, &stderr); code != c.code {
			t.Errorf("gpfit %s: exit code %d, want %d\n%s", c.args, code, c.code, stderr.String())
		}
		if c.code != 0 && !strings.HasPrefix(stderr.String(), "gpfit: ") && !strings.Contains(stderr.String(), "\ngpfit: ") {
			t.Errorf("gpfit %s: no message: %q", c.args, stderr.String())
		}
	}
}
