// Package devicetest tests implementations of package device. [Run] tests any method.
// [RunDense] also tests the requirements for a device of the dense method: a factor that can
// be read and written, and bit-identical repetition. [RunInPlace] also tests the requirements
// for a fast device: n³ operations and one n×n buffer. [RunKernel] tests a covariance function.
//
// It compares results with a plain dense computation on gonum's mat package (reference.go) and
// covariances with its own formulas (covariance.go). It uses none of the code that computes for
// devices; package kernel only parses expressions and compiles the programs for the devices.
package devicetest

import (
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

// The largest allowed differences from the reference, relative to the largest number or to the sum
// of absolute terms. The condition number of Σ here is at most about 1e5 (noise variance 0.01,
// n ≤ 500), so errors near 1e-11 are expected.
const (
	// valueTolerance is for the gradient of a likelihood and for log|Σ|, whose standard errors are
	// added.
	valueTolerance = 1e-10
	// vectorTolerance is for predictions and for results of n numbers.
	vectorTolerance = 1e-9
)

// standardErrors is the allowed error of log|Σ| in standard errors.
const standardErrors = 5

// sizes lie around multiples of the block sizes 64, 128 and 256.
var sizes = []int{1, 2, 3, 7, 8, 9, 63, 64, 65, 127, 128, 129, 255, 256, 257, 500}

// kernels returns expressions with every leaf, isotropic and ARD, and composites.
func kernels() []string {
	var out []string
	for _, name := range kernel.Families() {
		switch name {
		case "constant":
			out = append(out, name)
		case "poly":
			out = append(out, "poly(1)", "poly(3)", "poly(2, ard)")
		case "matern":
			out = append(out, "matern(1.5)", "matern(4.5, ard)")
		case "wendland":
			out = append(out, "wendland(0)", "wendland(1, ard)", "wendland(2)")
		default:
			out = append(out, name, name+"(ard)")
		}
	}
	return append(out, formulaText, "additive(matern52, ard)", "additive(rq) + rbf(ard)", "additive(periodic, ard)*matern32", "matern32(sphere, dims=[1, 0])", "rbf(ard) + matern32*matern12(dims=1)", "(rbf + matern52)*matern32",
		"rq(ard) + linear(dims=0)*cosine(dims=1)", "periodic(ard)*rbf(dims=1) + constant",
		"(poly(2, dims=1) + periodic)*rq", "cosine(ard)*(matern12 + constant) + rq(dims=0)", "poly(2, offset=0)",
		oneColumn, "matern12(dims=1)", "matern32(dims=1)", "matern52(dims=0)", "matern(3.5, dims=0)", "cosine(dims=0)*matern32(dims=0)",
		"(linear(dims=1) + constant)*(matern12(dims=1) + cosine(dims=1))", "linear(dims=0, ard) + matern32(dims=0)*matern52(dims=0)")
}

// long reports whether the suite takes all sizes and all kernels in each of its tests.
func long() bool { return testcheck.Long() || os.Getenv("GPFIT_TEST_DEVICE") != "" }

// share returns the kernels that a test takes, by their numbers: all in the long form, else every third from first on. The
// tests with the first 0, 1 and 2 take them all.
func share(first int) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i, text := range kernels() {
			if (long() || i%3 == first) && !yield(i, text) {
				return
			}
		}
	}
}

// oneColumn is a kernel of one column that has states.
const oneColumn = "matern52(dims=0) + matern12(dims=0)*cosine(dims=0)"

// factors is a kernel that is a product over all columns.
const factors = "rbf(ard)*periodic"

// fewFeatures is a kernel of few features.
const fewFeatures = "linear(ard) + cosine"

// problem is a random test problem.
type problem struct {
	x     *kernel.Points
	prog  *kernel.Program
	k     covariance
	theta []float64
	noise []float64
	r     []float64
}

func newProblem(t testing.TB, text string, n, d int, seed uint64) *problem {
	t.Helper()
	prog := kerneltest.Program(t, text, d)
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	p := &problem{x: randomPoints(rng, n, d), prog: prog, k: newCovariance(t, text, d, prog.Names()), noise: []float64{0.01}}
	for range prog.NumParams {
		p.theta = append(p.theta, math.Exp(0.3*rng.NormFloat64()))
	}
	p.r = normals(rng, n)
	return p
}

// problem returns a problem with a kernel, or with one of [oneColumn], [fewFeatures] and [factors] if the method does
// not support it.
func (s suite) problem(t testing.TB, text string, n, d int, seed uint64) *problem {
	t.Helper()
	for _, other := range []string{text, oneColumn, fewFeatures} {
		if p := s.exactly(t, other, n, d, seed); !errors.As(s.b.Supports(p.workload()), new(*device.UnsupportedKernelError)) {
			return p
		}
	}
	p := newProblem(t, factors, n, d, seed)
	p.x = gridPoints(rand.New(rand.NewPCG(seed, uint64(n))), n, d)
	return p
}

// exactly returns a problem with a kernel, on a grid if the method does not support other points.
func (s suite) exactly(t testing.TB, text string, n, d int, seed uint64) *problem {
	t.Helper()
	p := newProblem(t, text, n, d, seed)
	if errors.As(s.b.Supports(p.workload()), new(*device.UnsupportedError)) {
		p.x = gridPoints(rand.New(rand.NewPCG(seed, uint64(n))), n, d)
	}
	return p
}

// gridPoints returns n points in any order that are all combinations of the values of two columns, or
// one. Other columns have one value.
func gridPoints(rng *rand.Rand, n, d int) *kernel.Points {
	first := 1
	for g := 2; g*g <= n && d > 1; g++ {
		if n%g == 0 {
			first = g
		}
	}
	a, b, rest := normals(rng, first), normals(rng, n/first), normals(rng, d)
	x := kernel.NewPoints(make([]float64, n*d), n, d)
	for k, i := range rng.Perm(n) {
		for c := range d {
			x.Column(c)[i] = rest[c]
		}
		x.Column(d - 1)[i] = b[k/first]
		if d > 1 {
			x.Column(0)[i] = a[k%first]
		}
	}
	return x
}

func randomPoints(rng *rand.Rand, n, d int) *kernel.Points {
	return kernel.NewPoints(normals(rng, n*d), n, d)
}

func normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// suite is a backend under test.
type suite struct{ b device.Backend }

func (s suite) workspace(t testing.TB, x *kernel.Points) device.Workspace {
	t.Helper()
	w, err := s.b.NewWorkspace(context.Background(), x)
	supported(t, err)
	t.Cleanup(func() { w.Close() })
	return w
}

// formed returns a workspace with Σ of the problem.
func (s suite) formed(t testing.TB, p *problem) device.Workspace {
	t.Helper()
	w := s.workspace(t, p.x)
	mustForm(t, w, p)
	return w
}

func mustForm(t testing.TB, w device.Workspace, p *problem) {
	t.Helper()
	supported(t, w.Form(context.Background(), p.prog, p.theta, p.noise))
}

// supported fails the test for an error, or skips it if the method excludes what it needs.
func supported(t testing.TB, err error) {
	t.Helper()
	if errors.As(err, new(*device.UnsupportedKernelError)) || errors.As(err, new(*device.UnsupportedError)) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// restore forms Σ again if a contraction has used it up.
func restore(t testing.TB, w device.Workspace, p *problem) {
	t.Helper()
	if device.Consumes(w) {
		mustForm(t, w, p)
	}
}

// likelihoodAdjoint returns the adjoint of the likelihood, ½(Σ⁻¹ − ααᵀ).
func likelihoodAdjoint(alpha []float64) device.Adjoint {
	return device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}
}

// outcome is one value and gradient.
type outcome struct {
	logDet, stdErr float64
	alpha, grad    []float64
	diag           []float64
	// gradScale, set for a reference, holds the sums of absolute terms of the
	// gradient. Errors are relative to them, because terms may cancel.
	gradScale []float64
}

func evaluate(ctx context.Context, w device.Workspace, p *problem) (o outcome, err error) {
	if err = w.Form(ctx, p.prog, p.theta, p.noise); err != nil {
		return
	}
	o.alpha = slices.Clone(p.r)
	if err = w.Solve(ctx, o.alpha, 1); err != nil {
		return
	}
	if o.logDet, o.stdErr, err = w.LogDet(); err != nil {
		return
	}
	o.grad, o.diag = make([]float64, len(p.theta)), make([]float64, len(p.r))
	err = w.Contract(ctx, likelihoodAdjoint(o.alpha), p.prog, p.theta, o.grad, o.diag)
	return
}

// solve returns Σ⁻¹r.
func solve(t testing.TB, w device.Workspace, p *problem) []float64 {
	t.Helper()
	alpha := slices.Clone(p.r)
	testcheck.Do(t, w.Solve(context.Background(), alpha, 1))
	return alpha
}

func mustEvaluate(t testing.TB, w device.Workspace, p *problem) outcome {
	t.Helper()
	o, err := evaluate(context.Background(), w, p)
	supported(t, err)
	return o
}

// compare reports elements that differ by more than tol times the largest.
func compare(t testing.TB, what string, got, want []float64, tol float64) {
	t.Helper()
	scale := 1.0
	for _, v := range want {
		scale = max(scale, math.Abs(v))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= tol*scale) {
			t.Errorf("%s[%d] = %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

func compareOutcome(t testing.TB, got, want outcome) {
	t.Helper()
	if !(math.Abs(got.logDet-want.logDet) <= valueTolerance*max(1, math.Abs(want.logDet))+standardErrors*got.stdErr) {
		t.Errorf("log|Σ| = %v with standard error %v, want %v", got.logDet, got.stdErr, want.logDet)
	}
	compare(t, "α", got.alpha, want.alpha, vectorTolerance)
	for i, v := range want.grad {
		if !(math.Abs(got.grad[i]-v) <= valueTolerance*(1+want.gradScale[i])) {
			t.Errorf("gradient[%d] = %v, want %v", i, got.grad[i], v)
		}
	}
	compare(t, "diagonal of the adjoint", got.diag, want.diag, vectorTolerance)
}

// workload describes the evaluations of the problem.
func (p *problem) workload() device.Workload {
	return device.Workload{N: p.x.N, D: p.x.D, Points: p.x, Program: p.prog, NoiseByRow: len(p.noise) > 1}
}

// Tests of workspaces with optional capabilities.

// capability returns capability T of w. If w lacks it, capability checks the error
// and skips the test.
func capability[T any](t *testing.T, w device.Workspace) T {
	t.Helper()
	c, err := device.Capability[T](w, "what is tested here")
	if err == nil {
		return c
	}
	if unsupported, ok := errors.AsType[*device.UnsupportedError](err); !ok || unsupported.Method != w.Method() {
		t.Fatalf("error %v, want an UnsupportedError of %q", err, w.Method())
	}
	t.Skip(err)
	return c
}

// singular returns a problem with points so far apart that K is the identity, except that point bad
// repeats the first, which makes the leading minor of its order exactly zero.
func singular(t testing.TB, n, bad int) *problem {
	t.Helper()
	p := newProblem(t, "rbf", n, 1, 6)
	for i := range n {
		p.x.X[i] = float64(1000 * i)
	}
	p.x.X[bad] = 0
	p.theta, p.noise = []float64{1, 1}, []float64{0}
	return p
}
