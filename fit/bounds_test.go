package fit

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/hyperopt/descent"
	"gpfit/internal/must"
	"gpfit/internal/tuning"
)

// idle returns a table of n rows whose target depends on the first column alone.
func idle(n, columns int) problem.Data {
	rng := rand.New(rand.NewPCG(4, 4))
	d := problem.Data{N: n, D: columns, TargetName: "y"}
	for c := range columns {
		d.FeatureNames = append(d.FeatureNames, fmt.Sprintf("c%d", c))
	}
	for range n {
		x := 4 * rng.Float64()
		d.X = append(d.X, x)
		for range columns - 1 {
			d.X = append(d.X, rng.NormFloat64())
		}
		d.Y = append(d.Y, math.Sin(3*x)+0.1*rng.NormFloat64())
	}
	return d
}

// atUpper bounds all free parameters whose name begins with a prefix.
func atUpper(j *tuning.Job, prefix string) []descent.Bound {
	var out []descent.Bound
	for i, p := range j.Params.Free {
		if strings.HasPrefix(p.Name, prefix) {
			out = append(out, descent.Bound{Index: i, Name: p.Name, Side: descent.Upper})
		}
	}
	return out
}

// TestBoundWarnings checks the sentences for parameters at bounds, one for each kind of
// reason.
func TestBoundWarnings(t *testing.T) {
	for _, c := range []struct {
		kernel  string
		at      []string
		lower   []string
		columns int
		known   map[int]float64 // relevance by column, 0 for others
		want    []string
	}{
		{"rbf(ard)", []string{"lengthscale[c1]"}, nil, 3, nil, []string{`column "c1" does not matter: its lengthscale is at its upper bound`}},
		{"rbf(ard)", []string{"lengthscale[c1]", "lengthscale[c2]"}, nil, 3, nil, []string{`columns "c1", "c2" do not matter: their lengthscales`}},
		{"rbf(ard)", []string{"lengthscale[c"}, nil, 40, nil, []string{`"c19" and 20 more do not matter`}},
		// A long lengthscale with a large variance is a trend.
		{"rbf(ard)", []string{"lengthscale[c1]"}, nil, 3, map[int]float64{1: 0.2}, []string{"lengthscale[c1] is at its upper bound: this part of the kernel hardly varies with the column"}},
		{"rbf(ard)", []string{"lengthscale[c1]"}, nil, 3, map[int]float64{1: 0.001}, []string{`column "c1" does not matter`}},
		// The other leaf still depends on the column.
		{"rbf(ard) + rbf(ard)", []string{"k1.lengthscale[c1]", "k1.lengthscale[c2]"}, nil, 3, nil,
			[]string{"k1.lengthscale[c1], k1.lengthscale[c2] are at their upper bounds: these parts"}},
		{"rbf(ard) + matern32(ard)", []string{"k1.lengthscale[c1]", "k2.lengthscale[c1]"}, nil, 3, nil, []string{`column "c1" does not matter`}},
		{"rbf(ard) + linear(ard)", []string{"k1.lengthscale[c1]", "k2.lengthscale[c1]"}, nil, 3, nil, []string{`column "c1" does not matter`}},
		{"rbf(dims=1) + rbf(dims=0)", []string{"k1.lengthscale"}, nil, 3, nil, []string{`column "c1" does not matter`}},
		// One lengthscale for all columns.
		{"rbf", []string{"lengthscale", "signal_variance"}, nil, 3, nil, []string{"lengthscale is at its upper bound", ", signal_variance is at its upper bound 1e+06: a larger value would fit the data better; option bounds"}},
		{"rbf + matern32", nil, []string{"k2.signal_variance"}, 3, nil, []string{"k2.signal_variance is at its lower bound: the data do not need this term"}},
		{"rbf", nil, []string{"signal_variance", "noise_variance"}, 3, nil, []string{"signal_variance is at its lower bound 1e-06, noise_variance is at its lower bound 1e-09: a smaller value"}},
	} {
		j := must.Get(Prepare(idle(30, c.columns), problem.Options{Kernel: c.kernel}, problem.Events{}))(t)
		var at []descent.Bound
		for _, name := range c.at {
			at = append(at, atUpper(j, name)...)
		}
		for _, name := range c.lower {
			for _, b := range atUpper(j, name) {
				b.Side = descent.Lower
				at = append(at, b)
			}
		}
		var relevance []summary.ColumnRelevance
		for column := range c.columns {
			relevance = append(relevance, summary.ColumnRelevance{Index: column, Relevance: c.known[column]})
		}
		got := boundWarnings(j.Prepared, at, relevance, true)
		if len(at) == 0 || len(got) != 1 {
			t.Errorf("%s at %v: %q, want one sentence", c.kernel, c.at, got)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(got[0], want) {
				t.Errorf("%s at %v: %q, want %q", c.kernel, c.at, got, want)
			}
		}
	}
}

// TestGivenBound checks that a bound that the options set is reported as a bound.
func TestGivenBound(t *testing.T) {
	r := mustFit(t, idle(60, 2), problem.Options{Kernel: "rbf(ard)", Bounds: []problem.Interval{{Name: "lengthscale[c0]", Lo: 0.1, Hi: 0.2}}}).Report
	if all := strings.Join(r.Warnings, "\n"); !strings.Contains(all, "lengthscale[c0] is at its upper bound 0.2: a larger value would fit") {
		t.Errorf("%q", all)
	}
}

// TestIdleColumns checks that a fit with many irrelevant columns says so once, and of
// those columns alone.
func TestIdleColumns(t *testing.T) {
	r := mustFit(t, idle(150, 8), problem.Options{Kernel: "rbf(ard)"}).Report
	sentences := 0
	for _, w := range r.Warnings {
		if strings.Contains(w, "not matter") {
			sentences++
			if strings.Contains(w, `"c0"`) {
				t.Errorf("the only column that matters: %s", w)
			}
		}
		if strings.Contains(w, "lengthscale[") || strings.Contains(w, "widen") {
			t.Errorf("%s", w)
		}
	}
	if sentences != 1 || len(r.AtBound) < 2 {
		t.Errorf("at bound %v, warnings %q", r.AtBound, r.Warnings)
	}
}
