package batch

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/batch/rundir"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// oddNames are values of a column that no file could have as its name, or that are the same after cleaning.
var oddNames = []string{"NA", "a/b", `say "x"`, strings.Repeat("n", 300), "A b", "A_b", "../../up", "line\nend", "few", "gap", "1"}

// shops returns a table of 8 rows for each name, in turn, of which one name has too few and one has gaps, and the rows of each name.
func shops() (table string, of map[string]string) {
	var b strings.Builder
	b.WriteString("shop,x,y\n")
	of = map[string]string{}
	for i := range 8 {
		for k, name := range oddNames {
			if name == "few" && i > 0 {
				continue
			}
			y := fmt.Sprintf("%.4f", math.Sin(float64(i+k))+0.1*float64(i*k%5))
			if name == "gap" && i == 3 {
				y = ""
			}
			row := fmt.Sprintf("%d,%s\n", i, y)
			of[name] += row
			b.WriteString(`"` + strings.ReplaceAll(name, `"`, `""`) + `",` + row)
		}
	}
	return b.String(), of
}

// without returns the reports of the values of a run by their names, without what differs from run to run.
func without(t *testing.T, r *rundir.Run) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, j := range r.Jobs {
		for label, e := range testcheck.Get(r.Status(j))(t).Each {
			if e.Report == nil {
				out[label] = e.Kind
				continue
			}
			out[label] = string(testcheck.Get(json.Marshal(withoutTimes(*e.Report)))(t))
		}
	}
	return out
}

func withoutTimes(r summary.Report) summary.Report {
	r.Seconds, r.EvaluationSeconds, r.Reading = 0, 0, nil
	r.Path = slices.Clone(r.Path)
	for i := range r.Path {
		r.Path[i].Seconds = 0
	}
	return r
}

// TestEach checks that each value of a column has the result of a table of its rows alone, that a value that cannot be fitted fails
// alone, and that all of them share a few files.
func TestEach(t *testing.T) {
	table, of := shops()
	files := map[string]string{"shops.csv": table}
	spec := "defaults: {device: cpu, threads: 1}\nkernels: [rbf]\ndata:\n  - {path: shops.csv, each: shop}\n  - {name: dropped, path: shops.csv, each: shop, missing: drop}\n"
	for k, name := range oddNames {
		files[fmt.Sprintf("alone%d.csv", k)] = "x,y\n" + of[name]
		spec += fmt.Sprintf("  - alone%d.csv\n", k)
	}
	r := createIn(t, testcheck.Folder(t, files), spec, onCPU...)
	sum, err := Run(t.Context(), r, Options{Drivers: onCPU, Cores: 2})
	var failed *JobsFailedError
	if n := len(oddNames); !errors.As(err, &failed) || sum.Total != 3*n || sum.Done != 3*n-5 || sum.Here != sum.Done || len(failed.Failed) != 5 || r.Fits() != 3*n {
		t.Fatalf("%v: %+v", err, sum)
	}
	alone := map[string]string{}
	for k, name := range oddNames {
		s := status(t, r, fmt.Sprintf("alone%d.rbf.seed-1", k))
		if alone[name] = s.Record.Last().Kind; s.State == rundir.StateDone {
			alone[name] = string(testcheck.Get(json.Marshal(withoutTimes(*s.Record.Last().Report)))(t))
		}
	}
	whole, dropped := &rundir.Run{Dir: r.Dir}, &rundir.Run{Dir: r.Dir}
	for _, j := range r.Jobs {
		switch {
		case j.Data == "shops":
			whole.Jobs = append(whole.Jobs, j)
		case j.Data == "dropped":
			dropped.Jobs = append(dropped.Jobs, j)
		}
	}
	if d := cmp.Diff(alone, without(t, whole)); d != "" {
		t.Error(d)
	}
	if got := without(t, dropped); !strings.Contains(got["gap"], `"left out 1 of 8 rows: missing values (first: line 45)"`) {
		t.Errorf("a gap: %s", got["gap"])
	}
	if names := failed.Failed[0].Job + " " + failed.Failed[1].Job; names != "shops.rbf.seed-1/few shops.rbf.seed-1/gap" {
		t.Error(names)
	}
	for _, retry := range []bool{false, true} {
		sum, err := Run(t.Context(), r, Options{Drivers: onCPU, RetryFailed: retry})
		if !errors.As(err, &failed) || sum.Here != 0 || len(failed.Failed) != 5 {
			t.Errorf("again: %v: %+v", err, sum)
		}
	}
	dir := t.TempDir()
	testcheck.Do(t, WriteModels(t.Context(), r, "shops.rbf.seed-1/a/b", filepath.Join(dir, "ab"), Options{Drivers: onCPU}), WriteModels(t.Context(), r, "", filepath.Join(dir, "all"), Options{Drivers: onCPU}))
	if files := testcheck.Get(os.ReadDir(filepath.Join(dir, "all")))(t); len(files) != 2*len(oddNames)-3 {
		t.Errorf("%d models", len(files))
	}
	for _, j := range whole.Jobs {
		for label, e := range testcheck.Get(r.Status(j))(t).Each {
			if e.Report == nil {
				continue
			}
			m := testcheck.Get(gp.Load(filepath.Join(dir, "all", ModelName(j.Name(label)))))(t)
			record := testcheck.Get(summary.ReadRecord(m.Record))(t)
			if d := cmp.Diff(withoutTimes(*e.Report), withoutTimes(*record.Report)); d != "" {
				t.Errorf("%s: %s", label, d)
			}
		}
	}
	if one, all := testcheck.Get(gp.Load(filepath.Join(dir, "ab")))(t), testcheck.Get(gp.Load(filepath.Join(dir, "all", "shops.rbf.seed-1%2Fa%2Fb.gpfit")))(t); !slices.Equal(one.Alpha, all.Alpha) {
		t.Errorf("%v, %v", one.Alpha, all.Alpha)
	}
	for name, want := range map[string]string{"shops.rbf.seed-1/gap": "has no result", "shops.rbf.seed-1/a": "no value of a column each", "alone0.rbf.seed-1": "in its folder models", "": "not empty"} {
		err := WriteModels(t.Context(), r, name, filepath.Join(dir, "all"), Options{Drivers: onCPU})
		testcheck.Words(t, testcheck.Fail[*DirectoryError](t, err).Error(), want)
	}
}

// TestEachCut checks that a run whose records are cut anywhere, as by a kill, ends with the same results.
func TestEachCut(t *testing.T) {
	var table strings.Builder
	table.WriteString("shop,x,y\n")
	const values = 200 // two in a part
	for k := range values {
		for i := range 5 {
			fmt.Fprintf(&table, "s%d,%d,%.4f\n", k, i, math.Sin(float64(i*(k+1))))
		}
	}
	dir := testcheck.Folder(t, map[string]string{"shops.csv": table.String()})
	r := createIn(t, dir, "defaults: {device: cpu, threads: 1, fix: {lengthscale: 1, noise_variance: 0.1}}\nkernels: [rbf]\ndata: [{path: shops.csv, each: shop}]\n", onCPU...)
	runAll(t, r, Options{Drivers: onCPU}, values)
	want := without(t, r)
	if records := testcheck.Get(filepath.Glob(filepath.Join(r.Dir, "jobs", "*")))(t); len(records) != values/2 || len(want) != values {
		t.Fatalf("%d records of %d results", len(records), len(want))
	}
	for k, j := range r.Jobs { // another place in each record
		path := r.Path("jobs", j.ID)
		info := testcheck.Get(os.Stat(path))(t)
		testcheck.Do(t, os.Truncate(path, info.Size()*int64(k)/int64(len(r.Jobs))))
	}
	sum := runAll(t, r, Options{Drivers: onCPU}, values)
	if sum.Here < values/2 || sum.Here > values*4/5 { // a cut in the first half of a record costs both results, a later one the second
		t.Errorf("%d results were done again", sum.Here)
	}
	if d := cmp.Diff(want, without(t, r)); d != "" {
		t.Error(d)
	}
}

// TestEachLarge checks that a value with many rows is a part by itself, and mistakes.
func TestEachLarge(t *testing.T) {
	var table strings.Builder
	table.WriteString("y,x,shop\n")
	for i := range largeFit + 20 {
		fmt.Fprintf(&table, "%d,%d,%d\n", i*i%7, i, min(1, i/largeFit))
	}
	dir := testcheck.Folder(t, map[string]string{"shops.csv": table.String(), "empty.csv": "shop,x,y\na,1,2\n,2,3\n"})
	r := createIn(t, dir, "defaults: {device: cpu}\nkernels: [rbf]\ndata: [{path: shops.csv, each: 2, target: y}]\n", onCPU...)
	if len(r.Jobs) != 2 || r.Jobs[0].N != largeFit || r.Jobs[1].N != 20 || r.Jobs[0].D != 1 || r.Jobs[0].Evaluations == 0 {
		t.Errorf("%+v", r.Jobs)
	}
	for text, want := range map[string]string{
		"data: [{path: shops.csv, each: site, target: y}]":                 `s.yaml:1:26: job shops.auto.seed-1 cannot work: ` + filepath.Join(dir, "shops.csv") + `:1: no column named "site"; columns`,
		"data: [{path: shops.csv, each: shop, target: y, subsample: 5}]":   "s.yaml:1:49: shops.auto.seed-1: subsample draws rows of the whole table",
		"data: [{path: shops.csv, each: shop, target: y, features: [z]}]":  `s.yaml:1:60: job shops.auto.seed-1 cannot work: ` + filepath.Join(dir, "shops.csv") + `:1: no column named "z" for the feature`,
		"data: [{path: shops.csv, each: y, target: y}]":                    "s.yaml:1:35: shops.auto.seed-1: the column y divides the rows, and is no target",
		"data: [{path: shops.csv, each: x, target: y, features: [x]}]":     "s.yaml:1:46: shops.auto.seed-1: the column x divides the rows, and is no input",
		"data: [{path: empty.csv, each: shop}]":                            `empty.csv:3: an empty cell of the column shop names no job`,
		"data: [{path: shops.csv, each: shop, target: y, holdout: 99999}]": "holdout 99999",
	} {
		s := testcheck.Get(ParseSpec("s.yaml", []byte(text)))(t)
		_, err := Plan(t.Context(), s, PlanOptions{SpecPath: filepath.Join(dir, "s.yaml"), Drivers: onCPU})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
