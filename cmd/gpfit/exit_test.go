package main

import (
	"os"
	"path/filepath"
	"testing"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/internal/must"
)

// TestExitCodes checks the documented exit codes.
func TestExitCodes(t *testing.T) {
	t.Setenv("GPFIT_FORCE", "true") // the commands write one model after another
	dir := t.TempDir()
	put := writer(t, dir)
	good := put("good.csv", "x,y\n1,2\n2,3\n3,5\n")
	out := filepath.Join(dir, "m.gpfit")
	checkCodes(t, []codeCase{
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
	})
}

// writer returns a function that writes a file into a folder and returns its path.
func writer(t *testing.T, dir string) func(name, text string) string {
	return func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
}

// TestMeanNoiseExitCodes checks that a mistake in the options is a usage error, and a
// mistake in a table is a data error.
func TestMeanNoiseExitCodes(t *testing.T) {
	t.Setenv("GPFIT_FORCE", "true") // the commands write one model after another
	dir := t.TempDir()
	put := writer(t, dir)
	rows := "0,0.1,a,1\n1,0.1,a,2\n2,0.2,b,2.5\n3,0.1,b,4\n"
	good, plain := put("good.csv", "x,v,lab,y\n"+rows), put("plain.csv", "x\n1\n")
	model := filepath.Join(dir, "m.gpfit")
	fitArgs := "fit " + good + " --features x --out " + model
	checkCodes(t, []codeCase{
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
	})
}
