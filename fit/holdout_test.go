package fit

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/must"
)

// heldRows returns the rows that a job holds out.
func heldRows(t *testing.T, d problem.Data, o problem.Options) []int {
	t.Helper()
	job := mustPrepare(t, d, o)
	var rows []int
	for i, out := range job.Sample.Data.Test {
		if out {
			rows = append(rows, i)
		}
	}
	if !slices.Equal(rows, job.Held.Rows) {
		t.Errorf("the job holds out %v and describes %v", rows, job.Held.Rows)
	}
	return rows
}

func TestHoldOut(t *testing.T) {
	d := synthetic(50)
	seeded := func(h float64, seed uint64) problem.Options {
		return problem.Options{HoldOut: h, Settings: hyperopt.Settings{Seed: seed}}
	}
	tenth := heldRows(t, d, seeded(0.1, 1))
	if len(tenth) != 5 || !slices.Equal(tenth, heldRows(t, d, seeded(5, 1))) || slices.Equal(tenth, heldRows(t, d, seeded(5, 2))) {
		t.Errorf("a tenth: %v; 5 rows: %v; another seed: %v", tenth, heldRows(t, d, seeded(5, 1)), heldRows(t, d, seeded(5, 2)))
	}
	if got := heldRows(t, d, problem.Options{HoldOut: 0.06, Blocks: true}); !slices.Equal(got, []int{47, 48, 49}) {
		t.Errorf("the last rows: %v", got)
	}
	if got := heldRows(t, d, seeded(1e-9, 1)); len(got) != 1 {
		t.Errorf("a tiny share: %v", got)
	}
	// Every row is as likely as any other.
	counts := make([]int, 50)
	for seed := range uint64(400) {
		for _, i := range heldRows(t, d, seeded(10, seed)) {
			counts[i]++
		}
	}
	for i, c := range counts {
		// The standard deviation is √(400·0.2·0.8) = 8; no row is five of them away.
		if math.Abs(float64(c)-80) > 40 {
			t.Errorf("row %d was held out %d times of 400", i, c)
		}
	}
}

// TestHoldOutScores checks that a hold-out has the scores of the mask that it stands
// for, that report and model describe it, and that the same rows come from a file again.
func TestHoldOutScores(t *testing.T) {
	d := synthetic(60)
	for i := range d.N { // the rows of a larger table
		d.Row = append(d.Row, 3*i)
	}
	out := mustFit(t, d, problem.Options{HoldOut: 0.25, Settings: hyperopt.Settings{Seed: 7}})
	masked := d
	masked.Test = make([]bool, d.N)
	for _, row := range out.Model.HeldOut.Rows {
		masked.Test[row/3] = true
	}
	want := mustFit(t, masked, problem.Options{Settings: hyperopt.Settings{Seed: 7}})
	if out.Report.Test == nil || *out.Report.Test != *want.Report.Test || out.Report.NLML != want.Report.NLML || out.Report.Test.N != 15 {
		t.Errorf("scores %+v, with a mask %+v", out.Report.Test, want.Report.Test)
	}
	if want.Report.HeldOut != nil || want.Model.HeldOut != nil {
		t.Errorf("a mask is not a drawn hold-out: %+v", want.Report.HeldOut)
	}
	path := t.TempDir() + "/m.gpfit"
	must.Do(t, out.SaveModel(path, false))
	m, err := gp.Load(path)
	if err != nil || !reflect.DeepEqual(m.HeldOut, out.Report.HeldOut) || m.HeldOut.Seed != 7 || m.HeldOut.Of != 0.25 {
		t.Errorf("held out %+v, in the model %+v, %v", out.Report.HeldOut, m.HeldOut, err)
	}
}

// grouped returns a table with the labels of sites of different sizes.
func grouped(n int) problem.Data {
	d := synthetic(n)
	d.GroupColumn = "site"
	for i := range n {
		d.Group = append(d.Group, fmt.Sprint("s", i*i%13))
	}
	return d
}

// torn returns a label whose rows are not all in or all out of the rows, or "".
func torn(d problem.Data, rows []int) string {
	in := map[string]bool{}
	for _, i := range rows {
		in[d.Group[i]] = true
	}
	for i, label := range d.Group {
		if in[label] && !slices.Contains(rows, i) {
			return label
		}
	}
	return ""
}

func TestHoldOutGroups(t *testing.T) {
	d := grouped(70) // 7 sites
	for _, h := range []float64{0.3, 2} {
		rows := heldRows(t, d, problem.Options{HoldOut: h})
		labels := map[string]bool{}
		for _, i := range rows {
			labels[d.Group[i]] = true
		}
		if torn(d, rows) != "" || len(labels) != 2 {
			t.Errorf("%v: sites %v, torn %q", h, labels, torn(d, rows))
		}
	}
}

func TestFolds(t *testing.T) {
	d := grouped(70)
	d.Test = make([]bool, 70) // other rows are held out of everything
	for i, label := range d.Group {
		d.Test[i] = label == "s4"
	}
	job := mustPrepare(t, d, problem.Options{})
	for seed := range uint64(5) {
		folds := must.Get(job.Sample.Divide(problem.CrossValidation{Folds: 4, Seed: seed}, false))(t)
		var all []int
		sizes := []int{}
		for _, f := range folds {
			var rows []int
			for _, i := range f {
				rows = append(rows, job.Sample.Rows[i])
			}
			if label := torn(d, rows); label != "" {
				t.Errorf("seed %d tears the site %s", seed, label)
			}
			all, sizes = append(all, f...), append(sizes, len(f))
		}
		slices.Sort(all)
		if len(all) != job.N() || len(slices.Compact(all)) != job.N() || slices.Max(sizes)-slices.Min(sizes) > 11 {
			t.Errorf("seed %d: folds of %v rows", seed, sizes)
		}
	}
	if cv, err := CrossValidate(t.Context(), job, backend, nil, problem.CrossValidation{}); err != nil || len(cv.Folds) != 6 || cv.Group != "site" {
		t.Errorf("by default %+v, %v", cv, err)
	}
	d = synthetic(11)
	folds, err := mustPrepare(t, d, problem.Options{Blocks: true}).Sample.Divide(problem.CrossValidation{Folds: 3}, true)
	if err != nil || !reflect.DeepEqual(folds, [][]int{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10}}) {
		t.Errorf("blocks %v, %v", folds, err)
	}
}

func TestHoldOutErrors(t *testing.T) {
	d, masked := synthetic(30), synthetic(30)
	masked.Test = make([]bool, 30)
	wantOption(t, d, problem.Options{HoldOut: 1.5}, "option holdout 1.5: must be a share of the rows, less than 1, or a whole number of rows")
	wantOption(t, d, problem.Options{HoldOut: math.NaN()}, "option holdout NaN")
	wantOption(t, d, problem.Options{HoldOut: -1}, "option holdout -1")
	wantOption(t, d, problem.Options{HoldOut: 30}, "holds out all of the 30 rows")
	wantOption(t, masked, problem.Options{HoldOut: 3}, "cannot be combined with a split mask")
	wantOption(t, grouped(30), problem.Options{HoldOut: 3, Blocks: true}, "option blocks")
	wantOption(t, grouped(30), problem.Options{HoldOut: 7}, "holds out all of the 7 groups")
	short := grouped(30)
	short.Group = short.Group[1:]
	if _, err := Prepare(short, problem.Options{HoldOut: 3}, problem.Events{}); err == nil || err.Error() != "the list of groups has 29 rows, but the table has 30" {
		t.Errorf("too few labels: %v", err)
	}
	if _, err := mustPrepare(t, grouped(30), problem.Options{}).Sample.Divide(problem.CrossValidation{Folds: 8}, false); err == nil {
		t.Error("8 folds of 7 groups accepted")
	}
}
