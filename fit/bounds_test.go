package fit

import (
	"math"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/each"
	"gpfit/internal/testcheck"
)

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

// TestBoundWarnings checks the sentences for parameters at bounds, one for each kind of reason, where no test
// says otherwise.
func TestBoundWarnings(t *testing.T) {
	for _, c := range []struct {
		kernel  string
		at      []string
		lower   []string
		columns int
		known   map[int]float64 // relevance by column, 0 for others
		want    []string
	}{
		{"rbf(ard)", []string{"lengthscale[c1]"}, nil, 3, nil, []string{`column "c1" does not matter at this optimum: its lengthscale is at its upper bound`}},
		{"rbf(ard)", []string{"lengthscale[c1]", "lengthscale[c2]"}, nil, 3, nil, []string{`columns "c1", "c2" do not matter at this optimum: their lengthscales`}},
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
		{"rbf + matern32", nil, []string{"k2.signal_variance"}, 3, nil, []string{"k2.signal_variance is at its lower bound: this term of the kernel explains nothing at this optimum"}},
		{"additive(rbf, ard) + rbf", nil, []string{"k1.variance[c2]"}, 3, nil, []string{"k1.variance[c2] is at its lower bound: the sum over columns does without this column"}},
		{"rbf", nil, []string{"signal_variance", "noise_variance"}, 3, nil, []string{"signal_variance is at its lower bound 1e-06, noise_variance is at its lower bound 1e-09: a smaller value"}},
	} {
		j := mustPrepare(t, idle(30, c.columns), problem.Options{Mean: "zero", Kernel: c.kernel})
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
		got := newBoundText(j.Prepared, at, boundTests{columns: switchedOff(j.Prepared, at)}, relevance, true).sentences(boundTests{columns: switchedOff(j.Prepared, at)})
		if len(at) == 0 || len(got) != 1 {
			t.Errorf("%s at %v: %q, want one sentence", c.kernel, c.at, got)
			continue
		}
		testcheck.Words(t, got[0], c.want...)
	}
}

// TestBoundTests checks, at points that are no optimum and at one, what values and descents say of
// columns and terms at bounds, and the sentences that follow.
func TestBoundTests(t *testing.T) {
	bowl := drawn(3, 1, 120, "a b c y", func(_ int, _, normal random) []float64 {
		a, b, c := normal(), normal(), normal()
		return []float64{a, b, c, math.Sin(2*a) + b*b + 0.1*normal()}
	})
	rough := drawn(4, 1, 150, "x y", func(i int, uniform, normal random) []float64 {
		x := 10 * uniform()
		return []float64{x, math.Sin(x) + 0.3*math.Sin(25*x) + 0.02*normal()}
	})
	for name, c := range map[string]struct {
		d      problem.Data
		kernel string
		set    map[string]float64 // the end; the others are at their start values
		at     string
		side   descent.BoundSide
		want   string
	}{
		// b has an effect, as an even function; c has none.
		"matters":     {bowl, "rbf(ard)", map[string]float64{"lengthscale[a]": 0.8, "noise_variance": 0.4}, "lengthscale[b]", descent.Upper, "lengthscale[b] (72 nats) is at its upper bound, but the objective is lower at a moderate value"},
		"idle":        {bowl, "rbf(ard)", map[string]float64{"lengthscale[a]": 1.2, "lengthscale[b]": 3, "noise_variance": 0.01}, "lengthscale[c]", descent.Upper, `column "c" does not matter at this optimum`},
		"many rows":   {idle(2100, 2), "rbf(ard)", map[string]float64{"lengthscale[c0]": 0.5, "noise_variance": 0.02}, "lengthscale[c1]", descent.Upper, `column "c1" does not matter at this optimum: its lengthscale is at its upper bound, and predictions do not depend on it, by values on 1000 rows`},
		"pushed out":  {bowl, "rbf(ard)", map[string]float64{"lengthscale[a]": 1.2, "lengthscale[b]": 3, "noise_variance": 0.01, "signal_variance": 10}, "lengthscale[c]", descent.Upper, "nats lower without \"c\""},
		"missed term": {rough, "rbf + rbf", map[string]float64{"k1.lengthscale": 0.5, "noise_variance": 0.1}, "k2.signal_variance", descent.Lower, "but a descent with more of this term ended lower"},
		"needless":    {idle(100, 1), "rbf + rbf", nil, "k2.signal_variance", descent.Lower, "do not need this term of the kernel, and a descent with more of it ended no lower"},
	} {
		o := problem.Options{Mean: "zero", Kernel: c.kernel}
		if name == "pushed out" {
			o.Bounds = []problem.Interval{{Name: c.at, Lo: 1, Hi: 8}}
		}
		j, r := mustPrepare(t, c.d, o), &hyperopt.Result{}
		r.X = j.Params.Start()
		for i, p := range j.Params.Free {
			if v, ok := c.set[p.Name]; ok {
				r.X[i] = p.Z(v)
			}
			if p.Name == c.at {
				r.X[i], r.AtBound = p.Z(p.Upper), []descent.Bound{{Index: i, Name: p.Name, Side: c.side}}
				if c.side == descent.Lower {
					r.X[i] = p.Z(p.Lower)
				}
			}
		}
		w := &tuning.Workplace{Job: j, Backends: []device.Backend{backend}}
		s := testcheck.Get(w.First(t.Context()))(t)
		if c.set == nil { // an optimum without the term
			plain := mustFit(t, c.d, problem.Options{Mean: "zero", Kernel: "rbf"}).Report.Parameters
			for i, p := range j.Params.Free {
				if v, ok := plain[strings.TrimPrefix(p.Name, "k1.")]; ok {
					r.X[i] = p.Z(v)
				}
			}
		}
		tests := testcheck.Get(testBounds(t.Context(), j, w, s, r))(t)
		w.Close()
		relevance := each.Of(j.Sample.Columns, func(column int) summary.ColumnRelevance { return summary.ColumnRelevance{Index: column} })
		got := newBoundText(j.Prepared, r.AtBound, tests, relevance, true).sentences(tests)
		if len(got) != 1 || !strings.Contains(got[0], c.want) || tests.spent.Value == 0 {
			t.Errorf("%s: %q, want %q; %+v", name, got, c.want, tests)
		}
	}
}

// TestGivenBound checks that a bound that the options set is reported as a bound.
func TestGivenBound(t *testing.T) {
	r := mustFit(t, idle(60, 2), problem.Options{Mean: "zero", Kernel: "rbf(ard)", Bounds: []problem.Interval{{Name: "lengthscale[c0]", Lo: 0.1, Hi: 0.2}}}).Report
	testcheck.Words(t, strings.Join(r.Warnings, "\n"), "lengthscale[c0] is at its upper bound 0.2: a larger value would fit")
}

// TestFlatBound checks that a report promises nothing beyond a bound where the objective is flat.
func TestFlatBound(t *testing.T) {
	d := drawn(1, 1, 25, "x y", func(i int, _, _ random) []float64 { return []float64{float64(i) / 8, float64(1 - i%2*2)} })
	warnings := strings.Join(mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf"}).Report.Warnings, "\n")
	if testcheck.Words(t, warnings, "signal_variance is at its lower bound 1e-06: a value beyond would hardly change the objective"); strings.Contains(warnings, "fit the data better") {
		t.Errorf("%q", warnings)
	}
}

// TestIdleColumns checks that a fit with many irrelevant columns says so once, and of
// those columns alone.
func TestIdleColumns(t *testing.T) {
	r := mustFit(t, idle(150, 8), problem.Options{Mean: "zero", Kernel: "rbf(ard)"}).Report
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

// TestIdleColumnsLeave checks that a fit of an exact function does not depend on columns that do not
// matter: a long lengthscale leaves nothing of them.
func TestIdleColumnsLeave(t *testing.T) {
	d := drawn(1, 2, 50, "a b c d y", func(_ int, uniform, _ random) []float64 {
		a, b := 2*uniform()-1, 2*uniform()-1
		return []float64{a, b, uniform(), uniform(), math.Sin(2*a) * b}
	})
	all := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard)"}).Report
	if alone := mustFit(t, d, problem.Options{Mean: "zero", Kernel: "rbf(ard, dims=[a, b])"}).Report; math.Abs(all.NLML-alone.NLML) > sameNats {
		t.Errorf("NLML %v, without the idle columns %v", all.NLML, alone.NLML)
	}
	testcheck.Words(t, strings.Join(all.Warnings, "\n"), `columns "c", "d" do not matter`)
}

// TestNoEffect checks that the table of relevances says so of a column whose lengthscale is far beyond its range.
func TestNoEffect(t *testing.T) {
	d := synthetic(80)
	for i := range d.N { // smooth in the first column, linear in the second
		d.Y[i] = math.Sin(2*d.X[i*d.D]) + 0.5*d.X[i*d.D+1]
	}
	for _, mean := range []string{"linear", "constant"} {
		opts := problem.Options{Kernel: "rbf(ard)", Mean: mean, Fix: []problem.Assignment{{Name: "lengthscale[kelvin]", Value: 1e6, Given: true}}}
		out := testcheck.Get(Run(t.Context(), watched(t, d, opts, problem.Events{}), backend))(t)
		defer out.Close()
		table := summary.RelevanceTable(out.Report.Relevance)
		text := table.Text()
		want := map[string]string{"linear": "no effect beyond the linear mean", "constant": "no effect by its lengthscale"}[mean]
		if strings.Count(text, "no effect") != 1 || !strings.Contains(text, want) {
			t.Errorf("%s:\n%s", mean, text)
		}
	}
}
