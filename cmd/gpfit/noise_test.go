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

// TestMeanNoiseExitCodes checks that a mistake in the options is a usage error, and a
// mistake in a table is a data error.
func TestMeanNoiseExitCodes(t *testing.T) {
	t.Setenv("GPFIT_FORCE", "true") // the commands write one model after another
	dir := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	rows := "0,0.1,a,1\n1,0.1,a,2\n2,0.2,b,2.5\n3,0.1,b,4\n"
	good, plain := put("good.csv", "x,v,lab,y\n"+rows), put("plain.csv", "x\n1\n")
	model := filepath.Join(dir, "m.gpfit")
	fitArgs := "fit " + good + " --features x --out " + model
	for _, c := range []struct {
		code int
		args string
	}{
		{exit.Usage, fitArgs + " --mean cubic"},
		{exit.Usage, fitArgs + " --mean bumps(9)"},
		{exit.Usage, fitArgs + " --mean linear --mean-fit ols"},
		{exit.Usage, fitArgs + " --noise some"},
		{exit.Usage, fitArgs + " --noise none --noise-group lab"},
		{exit.Data, fitArgs + " --noise-column w"},
		{exit.Data, fitArgs + " --noise-column lab"},
		{exit.Data, fitArgs + " --noise-group x"},
		{exit.Data, "fit " + put("bad.csv", "x,v,y\n0,1,1\n1,-1,2\n2,1,3\n") + " --features x --noise-column v --out " + model},
		{0, fitArgs + " --noise-column v --noise-group lab --mean constant"},
		{0, "predict " + model + " " + good},
		{0, "predict " + model + " " + plain + " --noise-group-default a"},
		{exit.Usage, "predict " + model + " " + plain},
		{exit.Usage, "predict " + model + " " + plain + " --noise-group-default c"},
		{exit.Data, "predict " + model + " " + put("other.csv", "x,lab\n1,c\n")},
		{exit.Data, "predict " + model + " " + put("negative.csv", "x,lab,v\n1,a,-1\n")},
		{exit.Data, "predict " + model + " " + good + " --noise-column w"},
		{0, fitArgs},
		{exit.Usage, "predict " + model + " " + good + " --noise-column v"},
		{exit.Usage, "predict " + model + " " + good + " --noise-group lab"},
	} {
		var stderr strings.Builder
		if code := run(context.Background(), strings.Fields(c.args), strings.NewReader(""), io.Discard, &stderr); code != c.code {
			t.Errorf("gpfit %s: exit code %d, want %d\n%s", c.args, code, c.code, stderr.String())
		}
	}
}
