package fit

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/testcheck"
)

// copied returns a rough target with noise, of which the last rows are copies of others, and holds out
// rows at places of training rows with targets of their own.
func copied(copies int) problem.Data {
	const n, held = 120, 30
	d := drawn(21, 4, n+held, "x z y", func(i int, uniform, normal random) []float64 {
		x, z := uniform(), uniform()
		return []float64{x, z, math.Abs(math.Sin(5*x)) + z + 0.2*normal()}
	})
	d.Test = make([]bool, d.N)
	for i := range held {
		d.Test[n+i] = true
		d.Y[n+i] += math.Abs(math.Sin(5*d.X[2*i])) + d.X[2*i+1] - math.Abs(math.Sin(5*d.X[2*(n+i)])) - d.X[2*(n+i)+1]
		copy(d.X[2*(n+i):2*(n+i)+2], d.X[2*i:])
	}
	for i := n - copies; i < n; i++ {
		copy(d.X[2*i:2*i+2], d.X[2*(i-40):])
		d.Y[i] = d.Y[i-40]
	}
	return d
}

// TestFloorOfCopies checks that a few copies of rows do not make gpfit sure of the targets, and that
// many do.
func TestFloorOfCopies(t *testing.T) {
	few := copied(4)
	before := mustFit(t, few, problem.Options{Mean: "zero", Kernel: "matern12(ard)", NoiseFloor: problem.NoNoiseFloor}).Report
	out := mustFit(t, few, problem.Options{Mean: "zero", Kernel: "matern12(ard)"})
	after, f := out.Report, out.Report.NoiseFloor
	if before.NoiseFloor != nil || before.Parameters["noise_variance"] > 1e-6 || !(before.Test.NLPD > 1000) {
		t.Fatalf("without the decision: noise %v, %+v", before.Parameters["noise_variance"], before.Test)
	}
	if f == nil || !f.Raised || f.Copies != 4 || f.Objective != before.Objective || f.Before.Places != 116 || !(after.Objective > before.Objective) {
		t.Fatalf("%+v", f)
	}
	if noise := after.Parameters["noise_variance"]; noise < f.Floor || noise > 0.5 || !(after.Test.NLPD < 2) || after.Interpolation != nil {
		t.Errorf("noise %v, floor %v, held-out NLPD %v", noise, f.Floor, after.Test.NLPD)
	}
	testcheck.Words(t, strings.Join(after.Warnings, "\n"), "4 rows repeat the inputs and the target of others", "option noise-floor none keeps the other")
	// It is an optimum with that bound.
	bound := mustFit(t, few, problem.Options{Mean: "zero", Kernel: "matern12(ard)", Bounds: []problem.Interval{{Name: "noise_variance", Lo: f.Floor, Hi: 100}}}).Report
	testcheck.Within(t, after.Objective, bound.Objective, 0.01, "objective with the floor as a bound")
	if many := mustFit(t, copied(60), problem.Options{Mean: "zero", Kernel: "matern12(ard)"}).Report; many.NoiseFloor != nil || many.Parameters["noise_variance"] > 1e-6 {
		t.Errorf("%+v, noise %v", many.NoiseFloor, many.Parameters["noise_variance"])
	}
}

// TestFloorOfOptima checks that a fit that begins at the optimum of an interpolator of white noise ends at
// an interior one, and that its other optima are those above the floor.
func TestFloorOfOptima(t *testing.T) {
	settings := hyperopt.Settings{Coarse: hyperopt.CoarseOff}
	r := mustFit(t, twoOptima(60), problem.Options{Mean: "zero", Kernel: "rbf", Set: shortScale, Settings: settings}).Report
	if f := r.NoiseFloor; f == nil || !f.Raised || f.Copies != 0 || !(f.After.NLPD < f.Before.NLPD-0.3) || !(r.NLML < f.Objective-10) || r.Parameters["noise_variance"] < 2*f.Floor {
		t.Fatalf("%+v, %v", f, r.Parameters)
	}
	settings.Restarts = 3
	r = mustFit(t, copied(4), problem.Options{Mean: "zero", Kernel: "matern12(ard)", Settings: settings}).Report
	if len(r.Optima) == 0 || r.Optima[0].Objective != r.Objective || r.NoiseFloor == nil {
		t.Fatalf("%+v", r.Optima)
	}
	starts := 0
	for _, o := range r.Optima {
		if o.Parameters["noise_variance"] < r.NoiseFloor.Floor {
			t.Errorf("%+v", o)
		}
		if starts += o.Starts; !o.Dropped && o.Objective < r.Objective+sameNats && !o.Best {
			t.Errorf("%v is no other optimum than %v", o.Objective, r.Objective)
		}
	}
	if s := r.Search; s.Best != r.Optima[0].Starts || s.Starts+s.Stopped != starts {
		t.Errorf("%+v, %d starts", s, starts)
	}
}

// TestReached checks how many of the starts of descents led where: a start that was merged into another
// ended there, and a start that was dropped ended nowhere.
func TestReached(t *testing.T) {
	end := func(status descent.Status, into int, x ...float64) descent.StartResult {
		return descent.StartResult{X: x, F: x[0], Status: status, MergedInto: into}
	}
	optima := reached([]hyperopt.Optimum{{Z: []float64{5}, F: 5, Starts: 3}}, &descent.Result{Starts: []descent.StartResult{
		end(descent.StatusDropped, 0, 0.5), end(descent.StatusMerged, 3, 0.3), end(descent.StatusGainConverged, 0, 4), end(descent.StatusMerged, 4, 2),
		end(descent.StatusGradientConverged, 0, 0), end(descent.StatusGainConverged, 0, 0.01), end(descent.StatusMerged, 0, 7), {Status: descent.StatusFailed},
	}})
	want := []hyperopt.Optimum{{Z: []float64{0}, F: 0, Starts: 4}, {Z: []float64{4}, F: 4, Starts: 1}, {Z: []float64{5}, F: 5, Starts: 3}, {Z: []float64{0.5}, F: 0.5, Starts: 1, Dropped: true}, {Z: []float64{0.5}, F: 0.5, Starts: 1, Dropped: true}}
	if diff := cmp.Diff(want, optima); diff != "" {
		t.Error(diff)
	}
}

// TestNoFloor checks fits that the decision leaves alone, and one that it examines and keeps: a steep
// function without noise.
func TestNoFloor(t *testing.T) {
	steep := drawn(8, 3, 280, "a b c y", func(_ int, uniform, _ random) []float64 {
		a, b, c := 2*uniform()-1, 2*uniform()-1, 2*uniform()-1
		return []float64{a, b, c, math.Exp(2 * (math.Sin(3*a) + b*b + 0.5*math.Cos(4*a*b) + 0.7*c))}
	})
	r := mustFit(t, steep, problem.Options{Mean: "zero", Kernel: "matern52(ard)"}).Report
	if f := r.NoiseFloor; f == nil || f.Raised || f.After == nil || !(f.After.Sum > f.Before.Sum+nearNats) || r.Parameters["noise_variance"] > 1e-6 {
		t.Errorf("%+v", f)
	}
	testcheck.Words(t, strings.Join(r.Warnings, "\n"), "gpfit kept the little noise")
	// Rows of three places tell the noise; predictions of a place from the others do not.
	levels := drawn(9, 4, 90, "x y", func(i int, _, normal random) []float64 {
		return []float64{float64(i % 3), []float64{1, 9, 2}[i%3] + 0.4*normal()}
	})
	levels.Y[88], levels.Y[89] = levels.Y[85], levels.Y[86]
	if r := mustFit(t, levels, problem.Options{Kernel: "rbf"}).Report; r.NoiseFloor != nil {
		t.Errorf("%+v", r.NoiseFloor)
	}
	for name, o := range map[string]problem.Options{
		"bounds":    {Kernel: "matern52(ard)", Bounds: []problem.Interval{{Name: "noise_variance", Lo: 1e-9, Hi: 1}}},
		"floor":     {Kernel: "matern52(ard)", NoiseFloor: problem.NoiseFloor{Variance: 1e-8}},
		"none":      {Kernel: "matern52(ard)", NoiseFloor: problem.NoNoiseFloor},
		"objective": {Kernel: "matern52(ard)", Objective: problem.LOPO},
		"noise":     {Kernel: "matern52(ard)", NoNoise: true},
	} {
		if r := mustFit(t, steep, o).Report; r.NoiseFloor != nil {
			t.Errorf("%s: %+v", name, r.NoiseFloor)
		}
	}
}

// TestNoiseAlone checks that targets without a function of the inputs get much noise.
func TestNoiseAlone(t *testing.T) {
	for seed := range uint64(6) {
		d := drawn(seed+1, 2, 120, "a b y", func(_ int, uniform, normal random) []float64 { return []float64{uniform(), uniform(), normal()} })
		r := mustFit(t, d, problem.Options{Kernel: "matern32"}).Report
		if noise := r.Parameters["noise_variance"]; noise < 0.1 {
			t.Errorf("seed %d: noise %v, %+v", seed, noise, r.NoiseFloor)
		}
	}
}
