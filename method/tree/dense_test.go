package tree

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/devicetest/methodtest"
	"gpfit/internal/testcheck"
	"gpfit/kernel/kerneltest"
)

// differences are the errors of a value and of a gradient.
func differences(got, want outcome) (value, gradient float64) {
	for i, v := range want.grad {
		gradient = max(gradient, math.Abs(got.grad[i]-v))
	}
	return math.Abs(got.logDet+got.fit-want.logDet-want.fit) / 2, gradient
}

// exact evaluates a problem by the method dense.
func exact(t testing.TB, p *methodtest.Instance) (outcome, error) {
	t.Helper()
	host := testcheck.Get(cpu.Open(device.Options{Threads: 2}))(t)
	w := testcheck.Get(device.Dense{}.On(host).NewWorkspace(context.Background(), p.X))(t)
	defer w.Close()
	return likelihood(t, w, p)
}

// TestDense compares random problems with the method dense: 100, and 500 with GPFIT_LONG=1. Half of them have small blocks, which are
// checked. Bounds have no allowance for rounding errors, of either method, at noise of 1e-12 to 1, and without a comparison some are too small.
func TestDense(t *testing.T) {
	count, most := uint64(100), 900
	if testcheck.Long() {
		count, most = 500, 4000
	}
	refused, unknown, before, worst, worstGradient, predicted := 0, 0, 0, 0.0, 0.0, 0.0
	var loose, steep []float64
	for seed := range count {
		p := randomProblem(t, seed, most)
		of := []sizes{small, usualSizes}[seed%2]
		want, err := exact(t, p)
		var got outcome
		if err == nil {
			got, err = likelihood(t, workspaceOf(t, open(t, 1e-3), p.X, of), p)
		}
		if err != nil {
			refused++
			t.Logf("problem %d, %s, n = %d, noise %.1g: %v", seed, p.Text, p.X.N, p.Noise[0], err)
			continue
		}
		value, gradient := differences(got, want)
		logDet := got.found.LogDet
		corrected, bound := math.Abs(got.logDet+got.fit+2*got.found.Correction[0]-want.logDet-want.fit)/2, logDet+got.found.Rest[0]
		worst = max(worst, value/(logDet+got.bound.Fit), corrected/bound)
		loose = append(loose, bound/corrected)
		if math.Abs(got.logDet-want.logDet)/2 > got.bound.LogDet {
			before++
		}
		if !(value <= logDet+got.bound.Fit) || !(corrected <= bound) {
			t.Errorf("problem %d, %s, n = %d, noise %.1g: value off by %g, corrected %g: %+v, %+v", seed, p.Text, p.X.N, p.Noise[0], value, corrected, got.bound, got.found)
		}
		for i, mean := range want.mean { // docs/large.md says so
			if !(math.Abs(got.mean[i]-mean) <= math.Sqrt(2*bound*want.variance)) || !(math.Abs(got.reduction[i]-want.reduction[i]) <= bound*want.variance) {
				t.Errorf("problem %d, %s, n = %d, noise %.1g: prediction %d has mean %v, reduction %v, want %v, %v; bound %g", seed, p.Text, p.X.N, p.Noise[0], i, got.mean[i], got.reduction[i], mean, want.reduction[i], bound)
			}
			predicted = max(predicted, math.Abs(got.mean[i]-mean)/math.Sqrt(2*bound*want.variance), math.Abs(got.reduction[i]-want.reduction[i])/(bound*want.variance))
		}
		if math.IsInf(logDet, 1) {
			unknown++
		}
		if worstGradient = max(worstGradient, gradient/got.found.Gradient); !(gradient <= got.found.Gradient) {
			t.Errorf("problem %d, %s, n = %d, noise %.1g: gradient off by %g, bound %g: %v, want %v", seed, p.Text, p.X.N, p.Noise[0], gradient, got.found.Gradient, got.grad, want.grad)
		}
		steep = append(steep, got.found.Gradient/gradient)
	}
	slices.Sort(steep)
	slices.Sort(loose)
	median := loose[len(loose)/2]
	if t.Logf("%d of %d refused, %d without a bound; errors of values at most %.2g bounds, of gradients %.2g, of predictions %.2g; median bound %.3g and %.3g times the error; %d too small before a comparison",
		refused, count, unknown, worst, worstGradient, predicted, median, steep[len(steep)/2], before); median > 200 || before == 0 && testcheck.Long() || unknown > int(count/20) {
		t.Error("too many bounds are missing or loose, or no comparison was needed")
	}
}

// TestJumps takes the sizes at which another solver jumped from 0 to 23 nats.
func TestJumps(t *testing.T) {
	for n := 199; n <= 264; n++ {
		p := narrow(t, "rbf", n, []float64{0.5, 1}, []float64{1e-4, 1e-3, 1e-2, 1e-1}[n%4], 10)
		got := testcheck.Get(likelihood(t, workspaceOf(t, open(t, 1e-3), p.X, small), p))(t)
		want := testcheck.Get(exact(t, p))(t)
		if value, _ := differences(got, want); !(value <= got.bound.LogDet+got.bound.Fit) {
			t.Errorf("n = %d: off by %g, bound %+v", n, value, got.bound)
		}
	}
}

// narrow returns a problem of one column over a range, for parameters in the order of their names.
func narrow(t testing.TB, text string, n int, theta []float64, noise, length float64) *methodtest.Instance {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(n), 5))
	p := &methodtest.Instance{Text: text, X: place(rng, "uniform", n, 1), Prog: kerneltest.Program(t, text, 1), Theta: theta, Noise: []float64{noise}, Targets: 1}
	for i := range p.X.X {
		p.X.X[i] *= length
	}
	p.Y = methodtest.Normals(rng, n)
	return p
}

// TestAdversary takes a periodic kernel so narrow that few elements of a block, of far points, are not 0. A check among neighbours
// by distance misses them, and without the check of this package they are missed.
func TestAdversary(t *testing.T) {
	missed := 0
	for seed := range 6 {
		p := narrow(t, "periodic*rbf", 1000+seed, nil, 1e-2, 100)
		for _, name := range p.Prog.Names() {
			switch {
			case strings.Contains(name, "period"):
				p.Theta = append(p.Theta, 1)
			case strings.Contains(name, "k1") || strings.Contains(name, "periodic"):
				p.Theta = append(p.Theta, 1e-5)
			case strings.Contains(name, "lengthscale"):
				p.Theta = append(p.Theta, 1e3)
			default:
				p.Theta = append(p.Theta, 1)
			}
		}
		want := testcheck.Get(exact(t, p))(t)
		for _, unchecked := range []bool{false, true} {
			w := workspaceOf(t, open(t, 1e-3), p.X, small)
			w.engine.unchecked = unchecked
			got, err := likelihood(t, w, p)
			if err != nil && !unchecked {
				t.Fatal(err)
			}
			value, _ := differences(got, want)
			switch {
			case unchecked && (err != nil || value > got.bound.LogDet):
				missed++
			case !unchecked && !(value <= got.bound.LogDet+got.bound.Fit):
				t.Errorf("problem %d: off by %g, bound %+v", seed, value, got.bound)
			}
		}
	}
	if missed < 4 {
		t.Errorf("without the check %d of 6 are wrong", missed)
	}
}
