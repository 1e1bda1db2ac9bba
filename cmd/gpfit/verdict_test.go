package main

import (
	"cmp"
	"encoding/json"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gpfit/fit/summary"
	"gpfit/internal/testcheck"
)

// exampleModels are fits of the tables in examples, with the same fit as a batch if a batch can do it.
var exampleModels = map[string]struct{ fit, spec string }{
	"README": {"co2.csv --kernel rbf(ard) --split-mask co2_mask.csv:1", `"path": "co2.csv", "split_mask": "co2_mask.csv", "splits": ["random"]}], "kernels": ["rbf(ard)"`},
	"overconfident": {"co2.csv --kernel rbf --features year --bounds lengthscale=0.3:100 --split-mask co2_mask.csv:0",
		`"path": "co2.csv", "features": ["year"], "split_mask": "co2_mask.csv", "splits": ["forecast"]}], "defaults": {"bounds": {"lengthscale": [0.3, 100]}}, "kernels": ["rbf"`},
	"isotropic": {"passengers.csv --kernel rbf --target fare --features class,sex,age,alone,port,booked --missing drop",
		`"path": "passengers.csv", "target": "fare", "features": ["class", "sex", "age", "alone", "port", "booked"], "missing": "drop"}], "kernels": ["rbf"`},
	"two optima":   {"two_optima.csv --kernel rbf --restarts 4", `"path": "two_optima.csv"}], "defaults": {"restarts": 4}, "kernels": ["rbf"`},
	"few held out": {"two_optima.csv --kernel rbf --holdout 0.2", `"path": "two_optima.csv"}], "defaults": {"holdout": "0.2"}, "kernels": ["rbf"`},
	"unfinished":   {"co2.csv --kernel matern12 --max-evals 3", `"path": "co2.csv"}], "defaults": {"max_evals": 3}, "kernels": ["matern12"`},
	"experts":      {"co2.csv --kernel rbf(ard) --experts kmeans:3", ""},
	"targets":      {"passengers.csv --kernel matern32(ard) --target fare,age --features class,sex,booked --missing drop", ""},
	"transform": {"passengers.csv --kernel auto --target fare --features class,sex,age --missing drop --target-transform auto",
		`"path": "passengers.csv", "target": "fare", "features": ["class", "sex", "age"], "missing": "drop"}], "defaults": {"target_transform": "auto"}, "kernels": ["auto"`},
	"skewed": {"passengers.csv --kernel rbf(ard) --target fare --features class,sex,age --missing drop",
		`"path": "passengers.csv", "target": "fare", "features": ["class", "sex", "age"], "missing": "drop"}], "kernels": ["rbf(ard)"`},
	"robust": {"passengers.csv --kernel rbf(ard) --target fare --features sex,age --missing drop --robust --holdout 0.2",
		`"path": "passengers.csv", "target": "fare", "features": ["sex", "age"], "missing": "drop"}], "defaults": {"robust": true, "holdout": "0.2"}, "kernels": ["rbf(ard)"`},
	"folds": {"co2.csv --kernel matern52(ard) --scores cv --folds 4 --subsample 200", ""},
}

// quickModels are the examples that are tested without GPFIT_LONG.
var quickModels = []string{"overconfident", "few held out", "targets", "robust"}

// TestOneVerdict checks for models of the examples that fit, inspect, the pages, a batch and Python say
// the same of them.
func TestOneVerdict(t *testing.T) {
	examples := testcheck.Get(filepath.Abs("../../examples"))(t)
	program, python := testcheck.Get(exec.LookPath("gpfit"))(t), cmp.Or(os.Getenv("GPFIT_PYTHON"), "python3") // TestMain puts gpfit there
	source := testcheck.Get(filepath.Abs("../../python/src"))(t)
	hasPython := exec.CommandContext(t.Context(), python, "-c", "import sklearn").Run() == nil
	if !hasPython {
		t.Log("SKIPPED: without scikit-learn in python3 or GPFIT_PYTHON, Python is not compared")
	}
	for name, c := range exampleModels {
		if !testcheck.Long() && !slices.Contains(quickModels, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, table := range []string{"co2.csv", "co2_mask.csv", "passengers.csv", "two_optima.csv"} {
				testcheck.Do(t, os.WriteFile(table, testcheck.Get(os.ReadFile(filepath.Join(examples, table)))(t), 0o644))
			}
			var report summary.Report
			args := append([]string{"fit"}, strings.Fields(c.fit)...)
			decodeLine(t, &report, append(args, "--out", "m.gpfit", "--report", "fit.html", "--json", "--quiet")...)
			v := report.Verdict
			sentences := append([]string{v.Headline}, v.Warnings...)
			if v.Next != nil {
				sentences = append(sentences, v.Next.Text)
			}
			text := mustLine(t, append(args, "--out", "again.gpfit", "--quiet")...)
			if !strings.HasPrefix(text, "verdict                "+v.Headline+"\n") {
				t.Errorf("fit begins with\n%.300s\nwant %s", text, v.Headline)
			}
			var inspected struct{ Fit summary.ModelRecord }
			decodeLine(t, &inspected, "inspect", "m.gpfit", "--json")
			if a, b := testcheck.Get(json.Marshal(v))(t), testcheck.Get(json.Marshal(inspected.Fit.Report.Verdict))(t); string(a) != string(b) {
				t.Errorf("fit: %s\ninspect: %s", a, b)
			}
			mustLine(t, "report", "m.gpfit", "--quiet", "--out", "model.html")
			shows := map[string]string{
				"fit": text, "inspect": mustLine(t, "inspect", "m.gpfit"), "page of fit": fileText(t, "fit.html"), "page of model": fileText(t, "model.html"),
			}
			if c.spec != "" {
				testcheck.Do(t, os.WriteFile("spec.yaml", []byte(`{"data": [{"name": "d", `+c.spec+`]}`), 0o644))
				mustLine(t, "batch", "spec.yaml", "--quiet")
				mustLine(t, "report", "spec.run", "--quiet")
				shows["show"], shows["page of batch"] = mustLine(t, "show", "spec.run", "--format", "json"), fileText(t, "spec.run/report.html")
			}
			if hasPython {
				script := "import pygpfit; m = pygpfit.load('m.gpfit'); print(repr(m), m.verdict, sep='\\n')"
				cmd := exec.CommandContext(t.Context(), python, "-c", script)
				cmd.Env = append(os.Environ(), "PYTHONPATH="+source, "PYGPFIT_PROGRAM="+program)
				shows["Python"] = string(testcheck.Get(cmd.Output())(t))
			}
			for where, text := range shows {
				for _, s := range sentences {
					if where == "page of batch" && v.Level == summary.Good {
						break // it counts the good jobs
					}
					if !strings.Contains(strings.ToLower(html.UnescapeString(text)), strings.ToLower(s)) {
						t.Errorf("%s does not say %q:\n%.3000s", where, s, text)
					}
				}
			}
		})
	}
}

func fileText(t *testing.T, path string) string {
	t.Helper()
	return string(testcheck.Get(os.ReadFile(path))(t))
}
