package graph_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/graph"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/method/markov"
)

// wrong is a workspace whose contraction has a relative error of the inverse or of one derivative.
type wrong struct {
	device.Workspace
	inverse, gradient float64
}

func (w wrong) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	adj.Inv *= 1 + w.inverse
	err := w.Workspace.Contract(ctx, adj, prog, theta, grad, diag)
	grad[len(grad)-1] *= 1 + w.gradient
	return err
}

// identityModels are variations of a fixture for which the identity must hold.
var identityModels = map[string]func(*graph.Spec){
	"plain":   nil,
	"targets": func(s *graph.Spec) { s.Y = append(append([]float64(nil), s.Y...), s.X.X[:s.X.N]...) },
	"known": func(s *graph.Spec) {
		s.Noise.Known = testcheck.Slice(s.X.N, func(i int) float64 { return 0.01 * float64(1+i%7) })
	},
	"mean": func(s *graph.Spec) {
		withMean("linear")(s)
		for i := range s.Y {
			s.Y[i] += 1000
		}
	},
	"free mean": freeMean("constant"),
}

// TestIdentity checks that an error of 1e-6 in the inverse or in a derivative is
// reported with the name of the device, and that nothing else is.
func TestIdentity(t *testing.T) {
	for name, change := range identityModels {
		for _, text := range []string{"rbf(ard)", "linear(ard)", "matern52+rbf(ard)*(constant+linear)", "constant"} {
			f := newFixture(t, text, 60, 2, change)
			f.spec.Device = "cuda:7"
			z := f.z(3)
			grad := make([]float64, len(z))
			for _, w := range []wrong{{f.ws, 0, 0}, {f.ws, 1e-6, 0}, {f.ws, 0, 1e-6}} {
				obj := testcheck.Get(graph.Build(w, f.spec))(t)
				_, err := obj.ValueGradient(t.Context(), z, grad)
				isWrong := w.inverse != 0 || w.gradient != 0
				// The last parameter of some kernels is not part of the identity.
				if weights := f.spec.Program.Homogeneous(f.spec.X); w.gradient != 0 && weights[len(weights)-1] == 0 {
					isWrong = false
				}
				if errors.As(err, new(*device.WrongError)) != isWrong || isWrong && !strings.Contains(err.Error(), "cuda:7 computes wrong results: do not use this device or its libraries") {
					t.Errorf("%s, %s, inverse off by %g, derivative by %g: error %v, slack %g", name, text, w.inverse, w.gradient, err, obj.IdentitySlack())
				}
				if !isWrong && obj.IdentitySlack() == 0 {
					// By chance, both sides may be the same number; not at two points.
					_, _ = obj.ValueGradient(t.Context(), f.z(4), grad)
				}
				if !isWrong && obj.IdentitySlack() == 0 {
					t.Errorf("%s, %s: not checked", name, text)
				}
			}
		}
	}
}

// loose is a workspace of a method with a bound.
type loose struct {
	wrong
	device.Bounded
}

// TestIdentityOfBounded checks that a gradient by a method with a bound is infeasible, and no fault of the device, where it is far off.
func TestIdentityOfBounded(t *testing.T) {
	for off, infeasible := range map[float64]bool{0: false, 1e-6: false, 100: true} {
		f := newFixture(t, "rbf(ard)", 60, 2, func(*graph.Spec) {})
		z := f.z(3)
		_, err := testcheck.Get(graph.Build(loose{wrong{f.ws, 0, off}, nil}, f.spec))(t).ValueGradient(t.Context(), z, make([]float64, len(z)))
		if device.IsNotPD(err) != infeasible || errors.As(err, new(*device.WrongError)) || !infeasible && err != nil {
			t.Errorf("a derivative off by %g: %v", off, err)
		}
	}
}

// TestIdentityOfHardProblems checks that there is no false alarm up to condition
// numbers at which the factorization fails.
func TestIdentityOfHardProblems(t *testing.T) {
	worst := 0.0
	for name, change := range identityModels {
		for _, text := range []string{"rbf", "matern52", "rbf+linear(ard)", "poly(2)", "periodic*rbf"} {
			for _, n := range []int{5, 40, 200} {
				f := newFixture(t, text, n, 2, change)
				for _, noise := range []float64{1e-2, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 1e-14} {
					for _, size := range []float64{-6, 0, 4} {
						worst = max(worst, slack(t, f, fmt.Sprint(name, " ", text, " n=", n, " noise ", noise), math.Log(noise), size))
					}
				}
			}
		}
	}
	t.Logf("largest slack %.3g", worst)
	if worst > 0.3 {
		t.Errorf("an error of %.3g of what is allowed leaves no room", worst)
	}
}

// TestIdentityWithoutDigits checks that a device is not blamed where rounding explains any inverse:
// the point is infeasible. With more noise the same error is the device's.
func TestIdentityWithoutDigits(t *testing.T) {
	f := newFixture(t, "linear", 48, 1, func(s *graph.Spec) { s.Y = s.X.X })
	obj := testcheck.Get(graph.Build(wrong{f.ws, 100, 0}, f.spec))(t)
	for noise, infeasible := range map[float64]bool{5e-15: true, 1e-12: false} {
		z := f.at(math.Log(noise), 0)
		f.gradient(t, z)
		_, err := obj.ValueGradient(t.Context(), z, make([]float64, len(z)))
		if device.IsNotPD(err) != infeasible || errors.As(err, new(*device.WrongError)) == infeasible {
			t.Errorf("noise %g: %v", noise, err)
		}
	}
}

// TestIdentityOfRecurrences checks that a filter's loss of digits, with lengthscales of up to 6,000 times the range, is not
// blamed on the device: an error of 1e-6 or less is let through, and with a larger one the point is infeasible.
func TestIdentityOfRecurrences(t *testing.T) {
	method := testcheck.Get(markov.Method().Backends(backend.Capabilities().Devices))(t)[0]
	rounded, infeasible := 0, 0
	for _, text := range []string{"matern32", "matern52", "matern32*cosine"} {
		x := newFixture(t, text, 10000, 1, nil)
		rows := testcheck.Slice(x.spec.X.N, func(i int) float64 { return float64(i) / 2890 })
		x.spec.X, x.spec.Y = kernel.NewPoints(rows, len(rows), 1), testcheck.Slice(len(rows), func(i int) float64 { return math.Sin(179 * rows[i]) })
		x.ws = testcheck.Get(method.NewWorkspace(t.Context(), x.spec.X))(t)
		x.obj = testcheck.Get(graph.Build(x.ws, x.spec))(t)
		for _, noise := range []float64{1e-2, 1e-6, 1e-10} {
			for _, size := range []float64{0, 6, 8, 10} {
				z := x.at(math.Log(noise), size)
				for i, name := range x.obj.Names() {
					if strings.HasSuffix(name, "period") {
						z[i] = math.Log(0.0352)
					}
				}
				_, err := x.obj.ValueGradient(t.Context(), z, make([]float64, len(z)))
				switch {
				case device.IsNotPD(err):
					infeasible++
				case err != nil:
					t.Errorf("%s, noise %g, size %g: %v", text, noise, size, err)
				case x.obj.IdentitySlack() > 1:
					rounded++
				}
			}
		}
	}
	if rounded == 0 || infeasible == 0 {
		t.Errorf("%d points with more rounding than the traces explain, %d without digits", rounded, infeasible)
	}
}

// at returns a point with one noise variance, lengthscales of one size, and 0 elsewhere.
func (f *fixture) at(noise, size float64) []float64 {
	z := make([]float64, len(f.obj.Names()))
	for i, name := range f.obj.Names() {
		switch {
		case name == graph.NoiseVariance:
			z[i] = noise
		case strings.Contains(name, "lengthscale"):
			z[i] = size
		}
	}
	return z
}

// slack evaluates f at a noise variance and a size of lengthscales.
func slack(t *testing.T, f *fixture, what string, noise, size float64) float64 {
	z := f.at(noise, size/2)
	_, err := f.obj.ValueGradient(t.Context(), z, make([]float64, len(z)))
	if err != nil && !device.IsNotPD(err) && !strings.Contains(err.Error(), "collinear") {
		t.Errorf("%s, size %g: %v", what, size, err)
	}
	if err != nil {
		return 0
	}
	return f.obj.IdentitySlack()
}

// inexact is the core of a workspace with an error of log|Σ| of known size.
type inexact struct {
	device.Workspace
}

func (inexact) Method() string { return "inexact" }

func (w inexact) LogDet() (value, stdErr float64, err error) {
	value, _, err = w.Workspace.LogDet()
	return value + 0.3, 0.2, err
}

// TestInexactMethod checks that the terms include the standard error of log|Σ|, and
// that leave-one-out, which the method cannot provide, is an error.
func TestInexactMethod(t *testing.T) {
	ctx, f := t.Context(), newFixture(t, "rbf(ard)", 40, 2, nil)
	z := f.z(1)
	want := f.value(t, z)
	if e := f.obj.Terms().LogDetStdErr; e != 0 {
		t.Errorf("standard error %v of an exact method", e)
	}
	obj := testcheck.Get(graph.Build(inexact{f.ws}, f.spec))(t)
	got, err := obj.Value(ctx, z)
	if err != nil || math.Abs(got-want-0.15) > 1e-10*math.Abs(want) {
		t.Errorf("value %v, exactly %v, error %v", got, want, err)
	}
	if terms := obj.Terms(); terms.LogDetStdErr != 0.2 {
		t.Errorf("terms %+v", terms)
	}
	_, scored := obj.LeaveOneOut(ctx)
	f.spec.LeaveOneOut = true
	obj = testcheck.Get(graph.Build(inexact{f.ws}, f.spec))(t)
	_, minimized := obj.ValueGradient(ctx, z, make([]float64, len(z)))
	for what, err := range map[string]error{"score": scored, "objective": minimized} {
		var unsupported *device.UnsupportedError
		if !errors.As(err, &unsupported) || unsupported.Method != "inexact" {
			t.Errorf("%s: error %v, want an UnsupportedError", what, err)
		}
	}
}

// rankOne returns the derivative of the negative log marginal likelihood by log s for
// K = s·xxᵀ at s = 1, summed over targets:
//
//	½T·‖x‖²/λ − ½ Σ_t (xᵀy_t)²/λ²,  λ = ‖x‖² + σ².
func rankOne(x, y []float64, noise float64) float64 {
	square := floats.Dot(x, x)
	lambda, sum := square+noise, 0.0
	for t := 0; t < len(y); t += len(x) {
		product := floats.Dot(x, y[t:t+len(x)])
		sum += square/lambda - product*product/(lambda*lambda)
	}
	return sum / 2
}

// TestGradientRounding compares derivatives by the signal variance of kernels of rank
// one, and their estimated errors, with the closed form. The first kernel is bilinear
// and keeps its digits, the second loses them.
func TestGradientRounding(t *testing.T) {
	for _, name := range []string{"plain", "targets"} {
		for text, power := range map[string]float64{"linear": 1, "linear*linear": 2} {
			f := newFixture(t, text, 80, 1, identityModels[name])
			x := make([]float64, f.spec.X.N)
			for i, v := range f.spec.X.X {
				x[i] = math.Pow(v, power)
			}
			closest := 0.0
			for exponent := 0; exponent <= 13; exponent++ {
				noise := math.Pow(10, -float64(exponent))
				_, grad := f.gradient(t, f.at(math.Log(noise), 0))
				want, estimate := rankOne(x, f.spec.Y, noise), f.obj.GradientRounding()[0]
				off := math.Abs(grad[0] - want)
				if !(off <= estimate+1e-12) || power == 1 && off > 1e-13/noise {
					t.Errorf("%s, %s, noise %g: derivative %g instead of %g, estimated error %.2g", text, name, noise, grad[0], want, estimate)
				}
				closest = max(closest, off/estimate)
			}
			if closest < 0.02 {
				t.Errorf("%s, %s: the estimate is at least %.2g times the error", text, name, 1/closest)
			}
			t.Logf("%s, %s: errors up to %.2g of the estimate", text, name, closest)
		}
	}
}
