package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/must"
)

// TestExitCodes checks the documented exit codes.
func TestExitCodes(t *testing.T) {
	t.Setenv("GPFIT_FORCE", "true") // the commands write one model after another
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
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
		{exit.Failure, "nlml " + good + " --set lengthscale=1e10 --set noise_variance=1e-300"},
		{exit.Usage, "fit"},
		{exit.Usage, "fit " + good + " --nope"},
		{exit.Usage, "fit " + good + " --restarts x"},
		{exit.Usage, "fit " + good + " --kernel rbf("},
		{exit.Usage, "fit " + good + " --kernel rbf(dims=4)"},
		{exit.Usage, "fit " + good + " --fix a=1"},
		{exit.Usage, "nope"},
		{exit.Data, "fit " + filepath.Join(dir, "none.csv")},
		{exit.Data, "fit " + put("bad.csv", "x,y\n1,a\n")},
		{exit.Data, "fit " + put("one.csv", "x,y\n1,1\n")},
		{exit.Data, "fit " + filepath.Join(dir, "none-*.csv")},
		{exit.Data, "fit ../../table/testdata/formats/nan.npy"},
		{exit.Data, "fit ../../table/testdata/formats/words.npz"},
		{exit.Data, "fit ../../table/testdata/formats/types.parquet"},
		{exit.Data, "fit ../../table/testdata/formats"},
		{exit.Data, "fit " + good + " --split-mask " + good + ":z"},
		{exit.Usage, "fit " + good + " --missing maybe"},
		{exit.Data, "predict " + good + " " + good},
		{exit.Device, "fit " + good + " --device cuda:9 --out " + out},
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
