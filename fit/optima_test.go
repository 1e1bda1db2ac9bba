package fit

import (
	"context"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/testcheck"
)

// TestOptimaScores checks that each optimum has the scores that a fit with its parameters
// fixed reports, and that the scores of the best are the report's.
func TestOptimaScores(t *testing.T) {
	d := twoOptima(150)
	d.Test = every(10, 3, d.N)
	o := problem.Options{Kernel: "rbf", Mean: "zero", LeaveOneOut: true, Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff, Restarts: 30, Seed: 2}}
	r := mustFit(t, d, o).Report
	if len(r.Optima) < 2 || r.Optima[1].Dropped {
		t.Fatalf("%+v", r.Optima)
	}
	if r.Optima[0].LeaveOneOut.Sum != r.Scores.LeaveOneOut.Sum || !reflect.DeepEqual(r.Optima[0].Test, r.Test) {
		t.Errorf("optimum 0 %+v %+v, report %+v %+v", r.Optima[0].LeaveOneOut, r.Optima[0].Test, r.Scores.LeaveOneOut, r.Test)
	}
	values, starts := 0, 0
	for i, opt := range r.Optima {
		there := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero", LeaveOneOut: true, Fix: assignments(opt.Parameters)}).Report
		testcheck.Within(t, float64(there.Test.NLPD), float64(opt.Test.NLPD), 1e-8, "optimum %d: NLPD of held-out rows", i)
		testcheck.Within(t, there.Scores.LeaveOneOut.NLPD, opt.LeaveOneOut.NLPD, 1e-8, "optimum %d: leave-one-out NLPD", i)
		values += opt.Value
		starts += opt.Starts
	}
	if values == 0 || values > r.Evaluations.Value {
		t.Errorf("optima took %d values, the fit %d", values, r.Evaluations.Value)
	}
	if s := r.Search; s.Starts != starts || s.Best != r.Optima[0].Starts || *s.Next != r.Optima[1].Objective-r.NLML {
		t.Errorf("%+v of %d starts", s, starts)
	}
	testcheck.Words(t, r.Text(), "LOO NLPD", "held-out NLPD", "optimum 1", "\n"+r.Search.Text+"\n")
	alone := o
	alone.Settings.Restarts = 0
	if r := mustFit(t, d, alone).Report; r.Search.Kind != summary.SearchAlone || r.Optima != nil {
		t.Errorf("one start: %+v", r.Search)
	}
}

// TestSearch fits tables whose best optimum 20 complete restarts find, and checks for each kind of
// search its sentence, and that the chance that it states suits the truth.
func TestSearch(t *testing.T) {
	complete := func(restarts int) hyperopt.Settings {
		return hyperopt.Settings{Coarse: hyperopt.CoarseOff, Restarts: restarts}
	}
	bests := map[string]float64{} // by kernel and rows
	fixed := problem.Options{Kernel: "rbf", Mean: "zero", Fix: []problem.Assignment{{Name: "noise_variance"}, {Name: "lengthscale"}, {Name: "signal_variance"}}}
	for name, c := range map[string]struct {
		d           problem.Data
		o           problem.Options
		kind        summary.SearchKind
		words       string
		least, most float64 // the chance; 0 for none
		miss        bool
	}{
		"fixed":      {twoOptima(60), fixed, summary.SearchFixed, "all parameters are fixed: there was nothing to search", 0, 0, true},
		"unfinished": {twoOptima(60), problem.Options{Kernel: "rbf", Mean: "zero", Settings: hyperopt.Settings{MaxEvaluations: 3, Coarse: hyperopt.CoarseOff}}, summary.SearchUnfinished, "did not converge (stopped: it used up its evaluations)", 0, 0, true},
		"given":      {twoOptima(60), problem.Options{Kernel: "rbf", Mean: "zero", Settings: complete(0), Set: shortScale, NoiseFloor: problem.NoNoiseFloor}, summary.SearchAlone, "one descent from the given start: nothing says that there is no lower optimum", 0, 0, true},
		"alone":      {twoOptima(60), problem.Options{Mean: "zero", Kernel: "rbf + periodic", Settings: complete(0)}, summary.SearchAlone, "one descent from the start values: in a benchmark, about 2 in 3 such fits missed a lower one; 5 restarts may find it", 0.6, 0.7, true},
		"subset":     {smooth(400), problem.Options{Kernel: "rbf", Mean: "zero", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOn}}, summary.SearchSubset, "compared on 200 of 400 rows; one descended over all rows: in a benchmark, about 1 in 8 ", 0.02, 0.2, false},
		"single":     {twoOptima(60), problem.Options{Kernel: "rbf", Mean: "zero", Settings: complete(1)}, summary.SearchSingle, "1 of 2 starts led to this optimum, 1 to others, the next 65 nats higher: in a benchmark, about 1 in 5 such fits missed a lower one", 0.1, 0.3, false},
		"agreed":     {smooth(100), problem.Options{Kernel: "rbf", Mean: "zero", Settings: complete(8)}, summary.SearchAgreed, "3 of 9 starts led to this optimum, 6 to others, the next 6.1 nats higher: in a benchmark, about 1 in 15 such fits missed a lower one", 0.05, 0.15, false},
	} {
		r := mustFit(t, c.d, c.o).Report
		of := fmt.Sprint(c.o.Kernel, c.d.N)
		if _, known := bests[of]; !known {
			bests[of] = mustFit(t, c.d, problem.Options{Mean: "zero", Kernel: c.o.Kernel, Posterior: problem.NoPosterior, Settings: complete(20)}).Report.NLML
		}
		best := bests[of]
		s, chance := r.Search, 0.0
		if s.Chance != nil {
			chance = *s.Chance
		}
		if s.Kind != c.kind || !strings.Contains(s.Text, c.words) || chance < c.least || chance > c.most || (r.NLML > best+0.5) != c.miss {
			t.Errorf("%s: NLML %v, best %v, %v, %+v", name, r.NLML, best, chance, s)
		}
		if !strings.HasSuffix(r.Text(), "\n"+s.Text+"\n") {
			t.Errorf("%s: the text does not end with the sentence:\n%s", name, r.Text())
		}
	}
}

// TestInterruptedSearch checks the sentence on a search that is interrupted after its first
// descent converged.
func TestInterruptedSearch(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	j := mustPrepare(t, twoOptima(60), problem.Options{Kernel: "rbf", Mean: "zero"})
	j.Events.OnIteration = func(it descent.Iteration) {
		if it.Rows == 0 && it.Start == 1 {
			cancel()
		}
	}
	out, err := Run(ctx, j, backend)
	if !problem.IsCancelled(err) || out == nil {
		t.Fatalf("%v, %v", out, err)
	}
	defer out.Close()
	if r := out.Report; !strings.HasSuffix(r.Status, "-converged") || r.Search.Kind != summary.SearchUnfinished || r.Search.Text != "the search was interrupted before all starts ended: there may be a lower optimum" {
		t.Errorf("%s, %+v", r.Status, r.Search)
	}
}

// TestNearOptima checks that two optima close in value are compared by their predictions.
func TestNearOptima(t *testing.T) {
	j := mustPrepare(t, twoOptima(20), problem.Options{Kernel: "rbf", Mean: "zero"})
	scale := j.Sample.TargetScale(0)
	constant := func(v float64) [][]float64 { return [][]float64{slices.Repeat([]float64{v * scale}, 20)} }
	score := func(rmse, nlpd float64) *summary.LeaveOneOutScore {
		return &summary.LeaveOneOutScore{RMSEStandardized: rmse, NLPD: nlpd}
	}
	for name, c := range map[string]struct {
		gap  float64
		b    optimumScores
		drop bool
		want string
	}{
		"alike":           {1, optimumScores{loo: score(0.5, 1.01), means: constant(0.01)}, false, ""},
		"other means":     {1, optimumScores{loo: score(0.5, 1), means: constant(0.2)}, false, "(leave-one-out predictions by 0.2 standard deviations of the target): leave-one-out NLPD 1 and 1;"},
		"other intervals": {2.5, optimumScores{loo: score(0.5, 1.2), means: constant(0)}, false, "optima 0 and 1 differ by 2.5 nats and predict differently: leave-one-out NLPD 1 and 1.2;"},
		"far":             {20, optimumScores{loo: score(0.5, 1.2), means: constant(1)}, false, ""},
		"dropped":         {1, optimumScores{loo: score(0.5, 1.2), means: constant(1)}, true, ""},
		"no scores":       {1, optimumScores{}, false, ""},
	} {
		r := summary.Report{Optima: []summary.OptimumReport{{Objective: 5}, {Objective: 5 + c.gap, Dropped: c.drop}}}
		compareOptima(&r, j, 1, []optimumScores{{loo: score(0.5, 1), means: constant(0)}, c.b})
		if c.want == "" && len(r.Warnings) > 0 || c.want != "" && (len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], c.want)) {
			t.Errorf("%s: %q", name, r.Warnings)
		}
	}
}

// TestCancelledScores checks that a fit that is interrupted while optima are scored still
// returns its model.
func TestCancelledScores(t *testing.T) {
	j := mustPrepare(t, twoOptima(100), problem.Options{Kernel: "rbf", Mean: "zero", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff, Restarts: 6, Seed: 2}})
	w := &tuning.Workplace{Job: j, Backends: []device.Backend{backend}}
	defer w.Close()
	result, err := hyperopt.Tune(t.Context(), w, j.Settings(w.Backends[0]), nil)
	if err != nil || len(result.Optima) < 2 {
		t.Fatalf("%v, %+v", err, result)
	}
	out, err := (&closing{w: w, late: t.Context(), found: found{result: result}}).settle(t.Context())
	testcheck.Do(t, err)
	err, failure := out.complete(cancelledContext())
	if failure != nil || !problem.IsCancelled(err) || out == nil || out.Model == nil || out.Report.Optima[1].LeaveOneOut != nil || out.Report.Optima[1].Starts == 0 {
		t.Fatalf("%v, %v, %+v", err, failure, out)
	}
}

func cancelledContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// TestCoarseCheck checks, on a table where the descent from the start values ends far above coarse
// to fine, that option coarse check compares the two and keeps the lower end.
func TestCoarseCheck(t *testing.T) {
	fit := func(c hyperopt.Coarse) summary.Report {
		return mustFit(t, twoOptima(240), problem.Options{Kernel: "rbf", Mean: "zero", Settings: hyperopt.Settings{Coarse: c}}).Report
	}
	auto, off, check := fit(hyperopt.CoarseAuto), fit(hyperopt.CoarseOff), fit(hyperopt.CoarseCheck)
	if !(off.NLML > auto.NLML+100) || auto.Coarse != nil || off.Coarse != nil {
		t.Fatalf("coarse to fine ends at %v, the plain descent at %v", auto.NLML, off.NLML)
	}
	c := check.Coarse
	if check.NLML != auto.NLML || c == nil || !c.Compared || *c.Objective != auto.Objective || *c.PlainObjective != off.Objective {
		t.Errorf("check ends at %v, the plain descent at %v: %+v", check.NLML, off.NLML, c)
	}
	testcheck.Words(t, check.Text(), "the descent over growing numbers of rows ended at -261.6528, the descent over all rows alone at 157.2228\n")
}

// TestRelevance checks the order of columns, their relevance where it is known, and their
// lengthscales in original units.
func TestRelevance(t *testing.T) {
	d := drawn(8, 1, 200, "unused weak strong constant y", func(_ int, uniform, normal random) []float64 {
		u, w, s := uniform(), 1000*uniform(), 0.01*uniform()
		return []float64{u, w, s, 7, w/1000 + 400*s + 0.01*normal()} // standard deviations 1/√12 and 4/√12
	})
	for text, name := range map[string]string{"linear(ard)": "", "rbf(ard)": "lengthscale[weak]", "rbf + linear": "k1.lengthscale[weak]"} {
		r := mustFit(t, d, problem.Options{Mean: "zero", Kernel: text}).Report
		if len(r.Relevance) != 3 {
			t.Fatalf("%s: %v", text, r.Relevance)
		}
		strong, weak, unused := r.Relevance[0], r.Relevance[1], r.Relevance[2]
		if strong.Column != "strong" || strong.Index != 2 || weak.Column != "weak" || unused.Column != "unused" {
			t.Errorf("%s: order %v", text, r.Relevance)
		}
		if math.Abs(strong.Relevance-4/math.Sqrt(17)) > 0.05 || math.Abs(weak.Relevance-1/math.Sqrt(17)) > 0.05 || unused.Relevance > 0.05 {
			t.Errorf("%s: relevance %v", text, r.Relevance)
		}
		var want []float64
		if name != "" {
			want = []float64{r.ParametersOriginalUnits[name]}
		}
		if !slices.Equal(weak.Lengthscales, want) {
			t.Errorf("%s: lengthscales %v, want %v", text, weak.Lengthscales, want)
		}
		if text := r.Text(); !strings.Contains(text, "\nstrong  ") || strings.Index(text, "\nstrong  ") > strings.Index(text, "\nweak  ") {
			t.Errorf("text\n%s", text)
		}
	}
}

// TestRelevanceText checks that the table of many columns is short.
func TestRelevanceText(t *testing.T) {
	var r summary.Report
	for i := range 33 {
		r.Relevance = append(r.Relevance, summary.ColumnRelevance{Column: fmt.Sprintf("c%d", i), Relevance: 1 / float64(1+i), Lengthscales: []float64{1, 2}})
	}
	text := r.Text()
	testcheck.Words(t, text, "\nc9 ", "and 23 more, each with a relevance of at most 0.09")
	if strings.Contains(text, "\nc10 ") {
		t.Error(text)
	}
}

// TestCalibration compares the verdicts with the sums of binomial probabilities.
func TestCalibration(t *testing.T) {
	tail := func(n, from, to int) float64 {
		sum := 0.0
		for k := from; k <= to; k++ {
			sum += distuv.Binomial{N: float64(n), P: 0.95}.Prob(float64(k))
		}
		return sum
	}
	seen := map[summary.Calibration]bool{}
	for _, n := range []int{1, 2, 10, 52, 103, 104, 1000} {
		for k := range n + 1 {
			want := summary.Calibration("")
			if tail(n, 0, k) < 0.005 {
				want = summary.Overconfident
			} else if tail(n, k, n) < 0.005 {
				want = summary.Underconfident
			}
			seen[want] = true
			if got := summary.NewCalibration(float64(k)/float64(n), n); got != want {
				t.Errorf("%d of %d rows: %q, want %q", k, n, got, want)
			}
		}
	}
	if len(seen) != 3 {
		t.Errorf("verdicts %v", seen)
	}
	if summary.NewCalibration(0, 0) != "" {
		t.Error("a verdict without rows")
	}
}

// TestVerdict checks that a report judges intervals that are far too narrow or too wide,
// and says nothing about good ones.
func TestVerdict(t *testing.T) {
	for noise, want := range map[float64]summary.Calibration{1e-6: summary.Overconfident, 30: summary.Underconfident, 0: ""} {
		d := synthetic(400)
		d.Test = every(2, 1, d.N)
		o := problem.Options{Mean: "zero", Kernel: "rbf(ard)"}
		if noise > 0 {
			o.Fix = []problem.Assignment{{Name: "noise_variance", Value: noise, Given: true}, {Name: "lengthscale", Value: 3, Given: true}}
		}
		r := mustFit(t, d, o).Report
		if r.Test.Calibration != want || r.Verdict.Calibration != want || !strings.HasSuffix(r.Verdict.Headline, string(want)) || !strings.HasPrefix(r.Text(), "verdict                "+r.Verdict.Headline+"\n") {
			t.Errorf("noise variance %v: %.3f of %d rows covered, %q, %q", noise, r.Test.Coverage95, r.Test.N, r.Test.Calibration, r.Verdict.Headline)
		}
		job := mustPrepare(t, d, o)
		cv := testcheck.Get(CrossValidate(t.Context(), job, backend, r.Parameters, problem.CrossValidation{Folds: 4}))(t)
		if cv.Calibration != want {
			t.Errorf("noise variance %v: %.3f covered in cross-validation, %q", noise, cv.Coverage95, cv.Calibration)
		}
	}
}

// TestDefaultRestarts checks when a fit has restarts that nobody asked for.
func TestDefaultRestarts(t *testing.T) {
	for want, cases := range map[int][]problem.Options{
		20: {{Kernel: "rbf"}},
		3:  {{Kernel: "rbf", Settings: hyperopt.Settings{Restarts: 3}}},
		0:  {{Kernel: "rbf", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff}}, {Kernel: "rbf", NoNoise: true}, {Kernel: strings.Repeat("rbf + ", 15) + "rbf"}},
	} {
		for _, o := range cases {
			if few, more := mustPrepare(t, smooth(100), o).Restarts(), mustPrepare(t, smooth(300), o).Restarts(); few != want || more != o.Settings.Restarts {
				t.Errorf("%+v: %d and %d restarts, want %d and %d", o, few, more, want, o.Settings.Restarts)
			}
		}
	}
}
