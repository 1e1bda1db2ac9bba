package fit

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/hyperopt"
	"gpfit/internal/must"
	"gpfit/internal/tuning"
)

// TestOptimaScores checks that each optimum has the scores that a fit with its parameters
// fixed reports, and that the scores of the best are the report's.
func TestOptimaScores(t *testing.T) {
	d := twoOptima(150)
	d.Test = make([]bool, d.N)
	for i := range d.N {
		d.Test[i] = i%10 == 3
	}
	o := problem.Options{LeaveOneOut: true, Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff, Restarts: 30, Seed: 2}}
	r := mustFit(t, d, o).Report
	if len(r.Optima) < 2 || r.Optima[1].Dropped {
		t.Fatalf("%+v", r.Optima)
	}
	if *r.Optima[0].LeaveOneOut != *r.Scores.LeaveOneOut || *r.Optima[0].Test != *r.Test {
		t.Errorf("optimum 0 %+v %+v, report %+v %+v", r.Optima[0].LeaveOneOut, r.Optima[0].Test, r.Scores.LeaveOneOut, r.Test)
	}
	values, starts := 0, 0
	for i, opt := range r.Optima {
		var fix []problem.Assignment
		for name, v := range opt.Parameters {
			fix = append(fix, problem.Assignment{Name: name, Value: v, Given: true})
		}
		there := mustFit(t, d, problem.Options{LeaveOneOut: true, Fix: fix}).Report
		if math.Abs(value(there.Test.NLPD)-value(opt.Test.NLPD)) > 1e-8 || math.Abs(there.Scores.LeaveOneOut.NLPD-opt.LeaveOneOut.NLPD) > 1e-8 {
			t.Errorf("optimum %d: %+v %+v, with its parameters fixed %+v %+v", i, opt.LeaveOneOut, opt.Test, there.Scores.LeaveOneOut, there.Test)
		}
		values += opt.Value
		starts += opt.Starts
	}
	if values == 0 || values > r.Evaluations.Value {
		t.Errorf("optima took %d values, the fit %d", values, r.Evaluations.Value)
	}
	if s := r.Search; s == nil || s.Starts != starts || s.Best != r.Optima[0].Starts || s.Drawn == 0 || s.Drawn >= starts-1 || s.Unseen == nil {
		t.Errorf("%+v of %d starts", s, starts)
	}
	text := r.Text()
	for _, want := range []string{"LOO NLPD", "held-out NLPD", "optimum 1", "the best optimum was reached by", "Boender"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	alone := o
	alone.Settings.Restarts = 0
	if r := mustFit(t, d, alone).Report; r.Search != nil || strings.Contains(r.Text(), "optimum") {
		t.Errorf("one start: %+v", r.Search)
	}
}

// value returns the number.
func value(n summary.Number) float64 { return float64(n) }

// TestUndrawn checks what is said where the starts give no estimate.
func TestUndrawn(t *testing.T) {
	for _, c := range []struct {
		s     summary.SearchReport
		raced bool
		want  string
	}{
		{summary.SearchReport{Starts: 3, Best: 2, LeastRestarts: 26}, false, "\nthe best optimum was reached by 2 of 3 starts\nthe starts that reached an optimum were chosen from the data, not drawn at random: no estimate of the chance\nof a better optimum follows; it takes restarts 26 or more\n"},
		{summary.SearchReport{Starts: 3, Best: 2, Drawn: 2, Distinct: 2, LeastRestarts: 27}, true, "\n2 starts drawn at random that found 2 optima are too few: no estimate of the chance\nof a better optimum follows; it takes restarts 27 or more, and coarse off, so that each start runs to its end\n"},
		{summary.SearchReport{Starts: 3, Best: 2}, false, "it takes more restarts\n"},
	} {
		r := summary.Report{Optima: make([]summary.OptimumReport, 1), Search: &c.s}
		if !c.raced {
			r.Starts = make([]summary.StartReport, 1)
		}
		if text := r.Text(); !strings.HasSuffix(text, c.want) {
			t.Errorf("%+v: %q, want %q", c.s, text, c.want)
		}
	}
	// A fit with few restarts says how many more it takes, and that many are enough.
	o := problem.Options{Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff, Restarts: 2, Seed: 2}}
	few := mustFit(t, twoOptima(60), o).Report.Search
	if few.Unseen != nil || few.Drawn != 0 || few.LeastRestarts < 4 {
		t.Fatalf("%+v", few)
	}
	o.Settings.Restarts = few.LeastRestarts
	if more := mustFit(t, twoOptima(60), o).Report.Search; more.Drawn != 3 || more.Unseen == nil && more.Distinct < 2 || more.Unseen != nil && more.LeastRestarts != 0 {
		t.Errorf("%+v", more)
	}
}

// TestNearOptima checks that two optima close in value are compared by their predictions.
func TestNearOptima(t *testing.T) {
	j := must.Get(Prepare(twoOptima(20), problem.Options{}, problem.Events{}))(t)
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

// TestBetterThanDegenerate checks that the report of an interpolator names another optimum
// that predicts better.
func TestBetterThanDegenerate(t *testing.T) {
	d := white(120)
	o := problem.Options{Kernel: "rbf", Set: shortScale, Settings: hyperopt.Settings{Restarts: 12, Coarse: hyperopt.CoarseOff, Seed: 3}}
	j := must.Get(Prepare(d, o, problem.Events{}))(t)
	optima := []hyperopt.Optimum{{Z: j.Params.Start()}, {Z: j.Params.Start()}, {Z: j.Params.Start()}}
	noise := slices.IndexFunc(j.Params.Free, func(p *problem.Parameter) bool { return p.Name == "noise_variance" })
	optima[2].Z[noise] = 0
	r := summary.Report{
		Optima: []summary.OptimumReport{
			{LeaveOneOut: &summary.LeaveOneOutScore{NLPD: 1.3}},
			{Objective: 1, LeaveOneOut: &summary.LeaveOneOutScore{NLPD: 1}}, // interpolates, too
			{Objective: 2, LeaveOneOut: &summary.LeaveOneOutScore{NLPD: 1.2}},
		},
		Interpolation: &summary.Interpolation{Degenerate: true, LeaveOneOut: &summary.LeaveOneOutScore{NLPD: 1.3}},
	}
	i := betterThanDegenerate(&r, j, optima)
	if i == nil || *i != 2 {
		t.Fatalf("%v", i)
	}
	r.Interpolation.Better = i
	if got := warning(r.Interpolation, r.Optima); !strings.Contains(got, "optimum 2, 2 nats worse, does not interpolate") {
		t.Errorf("%s", got)
	}
}

// TestCancelledScores checks that a fit that is interrupted while optima are scored still
// returns its model.
func TestCancelledScores(t *testing.T) {
	j := must.Get(Prepare(twoOptima(100), problem.Options{Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff, Restarts: 6, Seed: 2}}, problem.Events{}))(t)
	w := &tuning.Workplace{Job: j, Backends: []device.Backend{backend}}
	defer w.Close()
	result, err := hyperopt.Tune(context.Background(), w, j.Settings(w.Backends[0]), nil)
	if err != nil || len(result.Optima) < 2 {
		t.Fatalf("%v, %+v", err, result)
	}
	out, err, failure := assemble(cancelledContext(), j, w, result, nil, nil)
	if failure != nil || !problem.IsCancelled(err) || out == nil || out.Model == nil || out.Report.Optima[1].LeaveOneOut != nil || out.Report.Optima[1].Starts == 0 {
		t.Fatalf("%v, %v, %+v", err, failure, out)
	}
}

func cancelledContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
