package fit

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
	"gpfit/table"
)

// waveAndSlope reads examples/two_optima.csv, whose likelihood has two optima.
func waveAndSlope(t *testing.T) problem.Data {
	t.Helper()
	return readTable(t, "../examples/two_optima.csv", table.Options{})
}

func mustProfile(t *testing.T, j *tuning.Job, o ProfileOptions) *summary.Profile {
	t.Helper()
	return testcheck.Get(Profile(t.Context(), j, o, backend))(t)
}

var restarted = hyperopt.Settings{Restarts: 20, Seed: 1}

// profileTolerance bounds the relative difference of values that were computed in the same
// way at parameters which differ in the last bits.
const profileTolerance = 1e-12

// TestProfileValues compares the points of profiles with evaluations of the same job at
// their parameters, and their terms with their sum.
func TestProfileValues(t *testing.T) {
	prior := testcheck.Get(graph.ParsePrior("lognormal(0, 1)"))(t)
	for name, c := range map[string]struct {
		data    problem.Data
		options problem.Options
		profile ProfileOptions
	}{
		"tuned":    {waveAndSlope(t), problem.Options{Kernel: "rbf", Mean: "zero"}, ProfileOptions{Points: 4}},
		"held":     {waveAndSlope(t), problem.Options{Kernel: "rbf", Mean: "zero"}, ProfileOptions{Points: 4, Others: summary.OthersHeld}},
		"contour":  {synthetic(40), problem.Options{Mean: "zero", Kernel: "rbf(ard)"}, ProfileOptions{Points: 3, Show: summary.ProfileContour}},
		"mean":     {synthetic(40), problem.Options{Kernel: "rbf", Mean: "linear", MeanFit: problem.MeanFree}, ProfileOptions{Points: 3, Along: []string{"mean_linear"}}},
		"priors":   {waveAndSlope(t), problem.Options{Kernel: "rbf", Mean: "zero", Priors: []problem.ParameterPrior{{Name: "lengthscale", Density: prior}}}, ProfileOptions{Points: 3}},
		"tied":     {synthetic(40), problem.Options{Mean: "zero", Kernel: "rbf + matern32", Ties: []problem.Tie{{Name: "k2.lengthscale", Source: "k1.lengthscale"}}}, ProfileOptions{Points: 3}},
		"loo":      {waveAndSlope(t), problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.LOO}, ProfileOptions{Points: 3}},
		"cv":       {waveAndSlope(t), problem.Options{Kernel: "rbf", Mean: "zero", Objective: problem.CV, Folds: 4}, ProfileOptions{Points: 3}},
		"no noise": {waveAndSlope(t), problem.Options{Mean: "zero", NoNoise: true, Kernel: "matern12"}, ProfileOptions{Points: 3}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustProfile(t, mustPrepare(t, c.data, c.options), c.profile)
			for _, s := range p.Sections {
				for k := range s.Points {
					checkProfilePoint(t, c.data, c.options, &s.Points[k])
				}
			}
		})
	}
}

func checkProfilePoint(t *testing.T, d problem.Data, o problem.Options, point *summary.ProfilePoint) {
	t.Helper()
	o.Set = slices.DeleteFunc(assignments(point.Parameters), func(a problem.Assignment) bool {
		return slices.ContainsFunc(o.Ties, func(tie problem.Tie) bool { return tie.Name == a.Name })
	})
	r := evaluate(t, d, o)
	size := math.Abs(r.NLML) + math.Abs(r.DataFit) + math.Abs(r.Complexity)
	for name, pair := range map[string][2]float64{
		"objective": {float64(point.Objective), r.Objective}, "NLML": {float64(point.NLML), r.NLML}, "data fit": {float64(point.DataFit), r.DataFit},
		"complexity": {float64(point.Complexity), r.Complexity}, "constant": {float64(point.Constant), r.Constant},
		"sum": {float64(point.DataFit + point.Complexity + point.Constant), r.NLML},
	} {
		testcheck.Within(t, pair[0], pair[1], profileTolerance*size, "%s at %v", name, point.Parameters)
	}
	if (r.NegLogPrior != nil) != (point.NegLogPrior != nil) || r.NegLogPrior != nil && !(math.Abs(float64(*point.NegLogPrior)-*r.NegLogPrior) <= profileTolerance*size) {
		t.Errorf("negative log prior %v, evaluated %v", point.NegLogPrior, r.NegLogPrior)
	}
}

// TestProfileOptima checks that curves show both optima of a table, equal to the fit's
// optima, that the tuned curve is nowhere above the held one and reaches it at the
// optimum, and that two such minima are in the contour.
func TestProfileOptima(t *testing.T) {
	d := waveAndSlope(t)
	o := problem.Options{Kernel: "rbf", Mean: "zero", Settings: restarted}
	out := mustFit(t, d, o)
	if len(out.Report.Optima) < 2 || !slices.ContainsFunc(out.Report.Warnings, func(w string) bool { return strings.Contains(w, "hardly choose between them") }) {
		t.Fatalf("the fit finds %d optima, with warnings %q", len(out.Report.Optima), out.Report.Warnings)
	}
	j := mustPrepare(t, d, o)
	tuned, held := mustProfile(t, j, ProfileOptions{}), mustProfile(t, j, ProfileOptions{Others: summary.OthersHeld})
	if len(tuned.Sections) != 3 || len(tuned.Optima) != 2 {
		t.Fatalf("%d sections, %d optima", len(tuned.Sections), len(tuned.Optima))
	}
	for i, optimum := range tuned.Optima {
		if want := out.Report.Optima[i]; !maps.Equal(optimum.Parameters, want.Parameters) || optimum.Objective != want.Objective {
			t.Errorf("optimum %d: %+v, in the fit %+v", i, optimum, want)
		}
	}
	for i, s := range tuned.Sections {
		for k, point := range s.Points {
			if other := held.Sections[i].Points[k]; float64(point.Objective) > float64(other.Objective)+1e-9 {
				t.Errorf("%s: tuned %v, held %v", summary.PointName(s.Axes, &point), point.Objective, other.Objective)
			}
		}
		best := s.Points[s.Lowest]
		if math.Abs(float64(best.Objective)-tuned.Optima[0].Objective) > 1e-6 || math.Abs(best.Parameters[s.Axes[0].Name]/tuned.Optima[0].Parameters[s.Axes[0].Name]-1) > 1e-9 {
			t.Errorf("%s: lowest point %v, best optimum %v", s.Axes[0].Name, best.Parameters, tuned.Optima[0].Parameters)
		}
	}
	lengthscale := tuned.Sections[0]
	if len(lengthscale.Minima) != 2 {
		t.Fatalf("minima %v", lengthscale.Minima)
	}
	for i, k := range lengthscale.Minima {
		want := tuned.Optima[i].Parameters["lengthscale"]
		testcheck.Within(t, lengthscale.Axes[0].Values[k], want, 1e-9*want, "minimum")
	}
	if lengthscale.Interval95 == nil || lengthscale.Interval95.Lower == nil || held.Sections[0].Interval95 != nil {
		t.Errorf("intervals %v, held %v", lengthscale.Interval95, held.Sections[0].Interval95)
	}
	contour := mustProfile(t, j, ProfileOptions{Show: summary.ProfileContour}).Sections[0]
	if len(contour.Minima) != 2 || contour.Axes[0].Name != "lengthscale" || contour.Axes[1].Name != "noise_variance" {
		t.Fatalf("contour over %s and %s, minima %v", contour.Axes[0].Name, contour.Axes[1].Name, contour.Minima)
	}
	for i, k := range contour.Minima {
		for _, a := range contour.Axes {
			step := math.Log(a.Values[1] / a.Values[0])
			if off := math.Abs(math.Log(contour.Points[k].Parameters[a.Name] / tuned.Optima[i].Parameters[a.Name])); off > step {
				t.Errorf("minimum %d is %.2f steps from the optimum along %s", i, off/step, a.Name)
			}
		}
		if gap := float64(contour.Points[k].Objective) - tuned.Optima[i].Objective; gap < -1e-9 || gap > 0.2 {
			t.Errorf("minimum %d is %v above its optimum", i, gap)
		}
	}
}

// TestProfileInterval compares the interval of a profile likelihood with the value 1.92
// above the minimum, and on many rows with the interval of standard errors.
func TestProfileInterval(t *testing.T) {
	d := synthetic(90)
	p := mustProfile(t, mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero"}), ProfileOptions{Along: []string{"noise_variance"}, Points: 81})
	s := p.Sections[0]
	wald := p.Report.StdErrors.Interval95["noise_variance"]
	for i, v := range []*float64{s.Interval95.Lower, s.Interval95.Upper} {
		if v == nil {
			t.Fatal("an end is missing")
		}
		at := mustProfile(t, mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero"}), ProfileOptions{Along: []string{"noise_variance"}, Points: 2, Ranges: []problem.Interval{{Name: "noise_variance", Lo: *v, Hi: 2 * *v}}})
		// A line between two of 81 points is within a hundredth of the curve.
		gap := float64(at.Sections[0].Points[0].Objective) - p.Optima[0].Objective
		testcheck.Within(t, gap, halfChiSquare, 0.01, "height above the minimum of the end %v", *v)
		testcheck.Within(t, math.Log(*v/wald[i]), 0, 0.1, "log ratio of the end %v and the end by standard errors", *v)
	}
}

// TestProfileFits checks that predictions for pairs of values equal predictions of
// models with these parameters.
func TestProfileFits(t *testing.T) {
	d := waveAndSlope(t)
	p := mustProfile(t, mustPrepare(t, d, problem.Options{Kernel: "rbf", Mean: "zero"}), ProfileOptions{Show: summary.ProfileFits, Others: summary.OthersHeld})
	s := p.Sections[0]
	if len(s.Points) != 9 || len(p.Inputs) != d.N || len(p.Targets) != d.N {
		t.Fatalf("%d points, %d inputs", len(s.Points), len(p.Inputs))
	}
	for _, point := range s.Points {
		posterior := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Fix: assignments(point.Parameters)}).Posterior()
		got := point.Prediction
		want := testcheck.Get(posterior.Predict(t.Context(), got.Inputs, len(got.Inputs)))(t)
		for k := range want.Mean {
			for _, pair := range [][2]float64{{got.Mean[k], want.Mean[k]}, {got.Lower95[k], want.Lower95[k]}, {got.Upper95[k], want.Upper95[k]}} {
				testcheck.Within(t, pair[0], pair[1], 1e-10, "%s", summary.PointName(s.Axes, &point))
			}
		}
	}
}

// TestProfileSideBySide checks that the number of sessions changes no bit of a profile.
func TestProfileSideBySide(t *testing.T) {
	var want string
	for _, threads := range []int{1, 2, 5} {
		host := testcheck.Get(cpu.New(device.Options{Threads: threads}))(t)
		p := testcheck.Get(Profile(t.Context(), mustPrepare(t, waveAndSlope(t), problem.Options{Kernel: "rbf", Mean: "zero", Settings: restarted}), ProfileOptions{Points: 9}, host))(t)
		p.Seconds, p.Report.Seconds, p.Report.EvaluationSeconds, p.Report.Path = 0, 0, 0, nil
		text := testcheck.Get(json.Marshal(p))(t)
		if want == "" {
			want = string(text)
		}
		if string(text) != want {
			t.Errorf("%d threads change the profile", threads)
		}
	}
}

// TestProfileUndefined checks that points without a value are null, and are counted in a warning.
func TestProfileUndefined(t *testing.T) {
	d := waveAndSlope(t)
	d.X[1] = d.X[0] // singular without noise
	o := problem.Options{Kernel: "rbf", Mean: "zero", Fix: []problem.Assignment{{Name: "signal_variance", Value: 1, Given: true}, {Name: "lengthscale", Value: 3, Given: true}}, Bounds: []problem.Interval{{Name: "noise_variance", Lo: 1e-300, Hi: 10}}}
	p := mustProfile(t, mustPrepare(t, d, o), ProfileOptions{Along: []string{"noise_variance"}, Ranges: []problem.Interval{{Name: "noise_variance", Lo: 1e-200, Hi: 1}}, Points: 5})
	point := p.Sections[0].Points[0]
	text, err := json.Marshal(point)
	if err != nil || !strings.Contains(string(text), `"objective":null,"nlml":null`) {
		t.Errorf("%s, %v", text, err)
	}
	testcheck.Words(t, strings.Join(p.Warnings, "\n"), "is not defined at")
}

// missed are options whose fit ends at the worse optimum of waveAndSlope.
var missed = problem.Options{Kernel: "rbf", Mean: "zero", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff}, Set: []problem.Assignment{{Name: "lengthscale", Value: 1.5, Given: true}, {Name: "noise_variance", Value: 0.4, Given: true}}}

// checkLowest checks that no point of a profile is below its fit, and that each curve with an
// interval is lowest at the fit.
func checkLowest(t *testing.T, p *summary.Profile) {
	t.Helper()
	for _, s := range p.Sections {
		for _, point := range s.Points {
			if float64(point.Objective) < p.Report.Objective-profileBetter {
				t.Errorf("%v at %s, the fit %v", point.Objective, summary.PointName(s.Axes, &point), p.Report.Objective)
			}
		}
		if s.Interval95 != nil && s.Points[s.Lowest].F > p.Report.Objective+profileBetter {
			t.Errorf("an interval of %s from a curve that is lowest at %v, the fit at %v", s.Axes[0].Name, s.Points[s.Lowest].F, p.Report.Objective)
		}
	}
}

// TestProfileMissed checks that a profile with a point below its fit goes on from there: the lower
// optimum becomes the fit, at which all curves are lowest, and so is a contour.
func TestProfileMissed(t *testing.T) {
	best := mustFit(t, waveAndSlope(t), problem.Options{Kernel: "rbf", Mean: "zero", Settings: restarted}).Report
	first := mustFit(t, waveAndSlope(t), missed).Report
	for _, o := range []ProfileOptions{
		{}, {Show: summary.ProfileContour, Points: 15},
		{Along: []string{"lengthscale"}, Ranges: []problem.Interval{{Name: "lengthscale", Lo: 0.05, Hi: 5}}},
	} {
		p := mustProfile(t, mustPrepare(t, waveAndSlope(t), missed), o)
		checkLowest(t, p)
		testcheck.Within(t, p.Report.Objective, best.Objective, 1e-5, "%+v: objective", o)
		testcheck.Words(t, strings.Join(p.Warnings, "\n"), "the fit missed an optimum: it ended at NLML 22.7315")
		if p.Report.Evaluations.Value <= first.Evaluations.Value || p.Optima[0].Objective != p.Report.Objective || p.Sections[0].Interval95 == nil && o.Show == "" {
			t.Errorf("%+v: %+v, optima %+v", o, p.Report.Evaluations, p.Optima)
		}
	}
	for others, restarts := range map[summary.ProfileOthers]int{summary.OthersTuned: 2, summary.OthersHeld: 0} {
		o := problem.Options{Kernel: "rbf", Mean: "zero", Settings: hyperopt.Settings{Restarts: restarts, MaxEvaluations: 2, Coarse: hyperopt.CoarseOff}}
		p := mustProfile(t, mustPrepare(t, synthetic(40), o), ProfileOptions{Points: 5, Others: others})
		checkLowest(t, p)
		testcheck.Words(t, strings.Join(p.Warnings, "\n"), "the fit missed an optimum")
		if !p.Optima[0].Best || slices.ContainsFunc(p.Optima[1:], func(o summary.OptimumReport) bool { return o.Best || o.Objective < p.Optima[0].Objective }) {
			t.Errorf("optima %+v", p.Optima)
		}
	}
}

// TestProfileOutside checks that points below the fit which bounds keep it away from lead to no
// other fit, but to a warning and to no interval, and the same for a fixed parameter.
func TestProfileOutside(t *testing.T) {
	bounded, fixed := missed, missed
	bounded.Bounds = []problem.Interval{{Name: "lengthscale", Lo: 1, Hi: 5}}
	fixed.Fix, fixed.Set = []problem.Assignment{{Name: "lengthscale", Value: 3, Given: true}}, nil
	for _, o := range []problem.Options{bounded, fixed} {
		p := mustProfile(t, mustPrepare(t, waveAndSlope(t), o), ProfileOptions{Along: []string{"lengthscale"}, Ranges: []problem.Interval{{Name: "lengthscale", Lo: 0.05, Hi: 5}}})
		testcheck.Words(t, strings.Join(p.Warnings, "\n"), "lower than at the optimum of the fit", "a fit with other bounds")
		if p.Report.Objective != mustFit(t, waveAndSlope(t), o).Report.Objective || p.Sections[0].Interval95 != nil {
			t.Errorf("objective %v, interval %+v", p.Report.Objective, p.Sections[0].Interval95)
		}
	}
}

// TestProfileCut checks the warning of descents whose evaluations are used up.
func TestProfileCut(t *testing.T) {
	o := problem.Options{Kernel: "rbf", Mean: "zero", Settings: hyperopt.Settings{MaxEvaluations: 2}}
	p := mustProfile(t, mustPrepare(t, waveAndSlope(t), o), ProfileOptions{Points: 3})
	testcheck.Words(t, strings.Join(p.Warnings, "\n"), "the evaluations were used up")
}

// TestProfileQuietRanges checks that a profile does not warn of standard errors, which only
// its ranges need, and that its ranges do without them.
func TestProfileQuietRanges(t *testing.T) {
	o := problem.Options{Kernel: "rbf", Mean: "zero", Fix: []problem.Assignment{{Name: "lengthscale"}, {Name: "signal_variance"}, {Name: "noise_variance"}}}
	p := mustProfile(t, mustPrepare(t, waveAndSlope(t), o), ProfileOptions{Points: 3, Along: []string{"lengthscale"}})
	o.StdErrors = true
	out := mustFit(t, waveAndSlope(t), o)
	if out.Report.StdErrors.Failure == "" || p.Report.StdErrors != nil || slices.ContainsFunc(p.Warnings, func(w string) bool { return strings.Contains(w, "standard errors") }) {
		t.Errorf("failure %q, warnings %q", out.Report.StdErrors.Failure, p.Warnings)
	}
	if v := p.Sections[0].Axes[0].Values; !(v[len(v)-1] > 3*v[0]) {
		t.Errorf("range %v", v)
	}
}

// TestProfileErrors checks the errors of options that do not suit the job.
func TestProfileErrors(t *testing.T) {
	for _, c := range []struct {
		profile ProfileOptions
		data    problem.Data
		want    string
	}{
		{ProfileOptions{Show: "x"}, waveAndSlope(t), "must be curves, contour or fits"},
		{ProfileOptions{Others: "x"}, waveAndSlope(t), "must be tuned or held"},
		{ProfileOptions{Points: 1}, waveAndSlope(t), "must be at least 2"},
		{ProfileOptions{Points: 100_000}, waveAndSlope(t), "points in all"},
		{ProfileOptions{Points: 1000, Show: summary.ProfileContour}, waveAndSlope(t), "at most 250000 are possible"},
		{ProfileOptions{Along: []string{"lengthscal"}}, waveAndSlope(t), `did you mean`},
		{ProfileOptions{Along: []string{"lengthscale", "lengthscale"}}, waveAndSlope(t), "named twice"},
		{ProfileOptions{Show: summary.ProfileContour, Along: []string{"lengthscale"}}, waveAndSlope(t), "contour needs two parameters, not lengthscale"},
		{ProfileOptions{Ranges: []problem.Interval{{Name: "lengthscale", Lo: -1, Hi: 1}}}, waveAndSlope(t), "needs lower < upper"},
		{ProfileOptions{Ranges: []problem.Interval{{Name: "nothing", Lo: 1, Hi: 2}}}, waveAndSlope(t), "there is no such parameter"},
		{ProfileOptions{Along: []string{"lengthscale"}, Ranges: []problem.Interval{{Name: "noise_variance", Lo: 1, Hi: 2}}}, waveAndSlope(t), "does not move noise_variance"},
		{ProfileOptions{Show: summary.ProfileFits}, synthetic(20), "but this table has 2"},
	} {
		_, err := Profile(t.Context(), mustPrepare(t, c.data, problem.Options{Kernel: "rbf", Mean: "zero"}), c.profile, backend)
		testcheck.Fail[*problem.OptionError](t, err, c.want)
	}
	fixed := problem.Options{Kernel: "rbf", Mean: "zero", Fix: []problem.Assignment{{Name: "lengthscale"}, {Name: "signal_variance"}, {Name: "noise_variance"}}}
	_, err := Profile(t.Context(), mustPrepare(t, waveAndSlope(t), fixed), ProfileOptions{}, backend)
	testcheck.Fail[error](t, err, "all parameters are fixed")
	if p := mustProfile(t, mustPrepare(t, waveAndSlope(t), fixed), ProfileOptions{Along: []string{"lengthscale"}}); len(p.Sections[0].Points) != DefaultCurvePoints {
		t.Errorf("along a fixed parameter: %d points", len(p.Sections[0].Points))
	}
}

// TestProfileCancelled cancels a profile at its points and before its fit.
func TestProfileCancelled(t *testing.T) {
	for _, after := range []int{0, 7} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		o := ProfileOptions{OnPoint: func(done, all int) {
			if done == after {
				cancel()
			}
			if done > all {
				t.Errorf("%d of %d points", done, all)
			}
		}}
		if p, err := Profile(ctx, mustPrepare(t, waveAndSlope(t), problem.Options{Kernel: "rbf", Mean: "zero"}), o, backend); p != nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "nothing was written") {
			t.Errorf("cancelled after %d points: %v, %v", after, p, err)
		}
		if p, err := Profile(ctx, mustPrepare(t, waveAndSlope(t), problem.Options{Kernel: "rbf", Mean: "zero"}), ProfileOptions{}, backend); p != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled before: %v, %v", p, err)
		}
	}
}
