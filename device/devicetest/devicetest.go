// Package devicetest is the conformance suite of package device: every device
// passes [RunExact]. Results are compared with a plain dense computation on gonum's
// mat package, written here without any of the backends' code.
package devicetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

// Tolerances, relative. The condition number of Σ here is at most about 1e5
// (noise variance 0.01, n ≤ 500), so that errors near 1e-11 are to be expected.
const (
	tolValue    = 1e-10
	tolGradient = 1e-9
)

// sizes straddle the edges of blocks of 64, 128 and 256.
var sizes = []int{1, 2, 3, 7, 8, 9, 63, 64, 65, 127, 128, 129, 255, 256, 257, 500}

// kernels cover every leaf, isotropic and ARD, and composites.
func kernels() []string {
	var out []string
	for _, name := range kernel.Families() {
		switch name {
		case "constant":
			out = append(out, name)
		case "poly":
			out = append(out, "poly(1)", "poly(3)", "poly(2, ard)")
		default:
			out = append(out, name, name+"(ard)")
		}
	}
	return append(out, "rbf(ard) + matern32*matern12(dims=1)", "(rbf + matern52)*matern32",
		"rq(ard) + linear(dims=0)*cosine(dims=1)", "periodic(ard)*rbf(dims=1) + constant",
		"(poly(2, dims=1) + periodic)*rq", "cosine(ard)*(matern12 + constant) + rq(dims=0)")
}

// problem is a random test problem.
type problem struct {
	x     *kernel.Points
	prog  *kernel.Program
	theta []float64
	noise []float64
	r     []float64
}

func newProblem(t testing.TB, text string, n, d int, seed uint64) *problem {
	t.Helper()
	prog := kerneltest.Program(t, text, d)
	rng := rand.New(rand.NewPCG(seed, uint64(n)))
	p := &problem{x: randomPoints(rng, n, d), prog: prog, noise: []float64{0.01}}
	for range prog.NumParams {
		p.theta = append(p.theta, math.Exp(0.3*rng.NormFloat64()))
	}
	for range n {
		p.r = append(p.r, rng.NormFloat64())
	}
	return p
}

func randomPoints(rng *rand.Rand, n, d int) *kernel.Points {
	rows := make([]float64, n*d)
	for i := range rows {
		rows[i] = rng.NormFloat64()
	}
	return kernel.NewPoints(rows, n, d)
}

// RunExact runs the suite on the [device.ExactDevice] that open returns.
func RunExact(t *testing.T, open func(t *testing.T) device.ExactDevice) {
	b := open(t)
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("Evaluate", func(t *testing.T) { testEvaluate(t, b) })
	t.Run("Kernels", func(t *testing.T) { testKernels(t, b) })
	t.Run("CentralDifferences", func(t *testing.T) { testCentralDifferences(t, b) })
	t.Run("VectorNoise", func(t *testing.T) { testVectorNoise(t, b) })
	t.Run("Adjoint", func(t *testing.T) { testAdjoint(t, b) })
	t.Run("LeaveOneOut", func(t *testing.T) { testLeaveOneOut(t, b) })
	t.Run("InverseDiagonal", func(t *testing.T) { testInverseDiagonal(t, b) })
	t.Run("AdjointWork", func(t *testing.T) { testAdjointWork(t, b) })
	t.Run("PredictCovariance", func(t *testing.T) { testPredictCovariance(t, b) })
	t.Run("Predict", func(t *testing.T) { testPredict(t, b) })
	t.Run("Factor", func(t *testing.T) { testFactor(t, b) })
	t.Run("Reuse", func(t *testing.T) { testReuse(t, b) })
	t.Run("NotPD", func(t *testing.T) { testNotPD(t, b) })
	t.Run("NotPDAfterPredict", func(t *testing.T) { testNotPDAfterPredict(t, b) })
	t.Run("BadInput", func(t *testing.T) { testBadInput(t, b) })
	t.Run("Cancel", func(t *testing.T) { testCancel(t, b) })
	t.Run("Stages", func(t *testing.T) { testStages(t, b) })
	t.Run("Concurrent", func(t *testing.T) { testConcurrent(t, b) })
	t.Run("Work", func(t *testing.T) { testWork(t, b) })
	t.Run("Refuse", func(t *testing.T) { testRefuse(t, b) })
}

func newWorkspace(t testing.TB, b device.ExactDevice, x *kernel.Points) device.ExactWorkspace {
	t.Helper()
	w, err := b.NewWorkspace(context.Background(), x)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// outcome is one value and gradient.
type outcome struct {
	logDet      float64
	alpha, grad []float64
	diag        []float64
	// gradScale, of a reference, are the sums of absolute terms of the gradient:
	// errors are relative to them, since terms of either sign may cancel.
	gradScale []float64
}

func evaluate(ctx context.Context, w device.ExactWorkspace, p *problem) (o outcome, err error) {
	if err = w.Fill(ctx, p.prog, p.theta, p.noise); err != nil {
		return
	}
	if err = w.Factor(ctx); err != nil {
		return
	}
	if o.logDet, _, err = w.LogDet(); err != nil {
		return
	}
	o.alpha = append([]float64(nil), p.r...)
	if err = w.Solve(ctx, o.alpha, 1); err != nil {
		return
	}
	o.grad, o.diag = make([]float64, len(p.theta)), make([]float64, len(p.r))
	err = w.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: o.alpha}, p.prog, p.theta, o.grad, o.diag)
	return
}

func mustEvaluate(t testing.TB, w device.ExactWorkspace, p *problem) outcome {
	t.Helper()
	o, err := evaluate(context.Background(), w, p)
	if err != nil {
		t.Fatal(err)
	}
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
	compare(t, "log|Σ|", []float64{got.logDet}, []float64{want.logDet}, tolValue)
	compare(t, "α", got.alpha, want.alpha, tolGradient)
	for i, v := range want.grad {
		if !(math.Abs(got.grad[i]-v) <= tolValue*(1+want.gradScale[i])) {
			t.Errorf("gradient[%d] = %v, want %v", i, got.grad[i], v)
		}
	}
	compare(t, "diagonal of the adjoint", got.diag, want.diag, tolGradient)
}

func testEvaluate(t *testing.T, b device.ExactDevice) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := newProblem(t, "rbf", n, 3, 1)
			compareOutcome(t, mustEvaluate(t, newWorkspace(t, b, p.x), p), reference(t, p))
		})
	}
}

func testKernels(t *testing.T, b device.ExactDevice) {
	for i, text := range kernels() {
		t.Run(text, func(t *testing.T) {
			for _, d := range []int{2, 5} {
				p := newProblem(t, text, 130, d, uint64(i))
				compareOutcome(t, mustEvaluate(t, newWorkspace(t, b, p.x), p), reference(t, p))
			}
		})
	}
}

// testCentralDifferences compares the gradient with differences of the
// backend's own values ½rᵀα + ½log|Σ|, of the fourth order.
func testCentralDifferences(t *testing.T, b device.ExactDevice) {
	for i, text := range kernels() {
		p := newProblem(t, text, 70, 2, uint64(i)+50)
		p.noise[0] = 0.1
		w := newWorkspace(t, b, p.x)
		grad := mustEvaluate(t, w, p).grad
		value := func(theta []float64) float64 {
			q := *p
			q.theta = theta
			o := mustEvaluate(t, w, &q)
			sum := o.logDet
			for i, a := range o.alpha {
				sum += a * q.r[i]
			}
			return sum / 2
		}
		// Cancellation is near 1e-9 of the value, truncation, h⁴, below that but for
		// periods, by which derivatives of the fifth order reach some millions.
		const h, tol = 1e-4, 2e-8
		size := math.Abs(value(p.theta))
		for j, got := range grad {
			at := func(step float64) float64 {
				moved := append([]float64(nil), p.theta...)
				moved[j] *= math.Exp(step)
				return value(moved)
			}
			want := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
			if !(math.Abs(got-want) <= tol*(size+math.Abs(want))) {
				t.Errorf("%s: derivative by %s is %v, central difference %v", text, p.prog.Names()[j], got, want)
			}
		}
	}
}

func testVectorNoise(t *testing.T, b device.ExactDevice) {
	p := newProblem(t, "matern32(ard)", 129, 3, 2)
	p.noise = make([]float64, 129)
	for i := range p.noise {
		p.noise[i] = 0.01 * float64(1+i)
	}
	compareOutcome(t, mustEvaluate(t, newWorkspace(t, b, p.x), p), reference(t, p))
}

func testPredict(t *testing.T, b device.ExactDevice) {
	for _, n := range []int{1, 65, 257} {
		for _, m := range []int{1, 2, 64, 300} {
			p := newProblem(t, "rbf(ard) + matern12", n, 2, 3)
			xs := randomPoints(rand.New(rand.NewPCG(9, 9)), m, 2)
			w := newWorkspace(t, b, p.x)
			alpha := mustEvaluate(t, w, p).alpha
			mean, reduction := make([]float64, m), make([]float64, m)
			if err := w.Predict(context.Background(), p.prog, p.theta, alpha, xs, mean, reduction); err != nil {
				t.Fatal(err)
			}
			wantMean, wantReduction := referencePredict(t, p, xs)
			compare(t, "mean", mean, wantMean, tolGradient)
			compare(t, "variance reduction", reduction, wantReduction, tolGradient)
			testPredictMany(t, w, p, alpha, xs, mean)
			again := make([]float64, m)
			if err := w.Predict(context.Background(), p.prog, p.theta, alpha, xs, again, nil); err != nil {
				t.Fatal(err)
			}
			compare(t, "mean without variance", again, mean, 0)
		}
	}
}

func testFactor(t *testing.T, b device.ExactDevice) {
	const n = 130
	p := newProblem(t, "matern52", n, 2, 4)
	w := newWorkspace(t, b, p.x)
	before := mustEvaluate(t, w, p)
	l := make([]float64, n*n)
	if err := w.ReadFactor(0, n, l); err != nil {
		t.Fatal(err)
	}
	sigma := referenceSigma(p)
	for i := range n {
		for j := range i + 1 {
			sum := 0.0
			for k := range j + 1 {
				sum += l[i*n+k] * l[j*n+k]
			}
			if math.Abs(sum-sigma.At(i, j)) > 1e-13*float64(n)*sigma.At(i, i) {
				t.Fatalf("(LLᵀ)[%d,%d] = %v, want %v: the factor must survive a gradient", i, j, sum, sigma.At(i, j))
			}
		}
		for j := i + 1; j < n; j++ {
			if l[i*n+j] != 0 {
				t.Fatalf("L[%d,%d] = %v above the diagonal", i, j, l[i*n+j])
			}
		}
	}
	other := newWorkspace(t, b, p.x)
	for r0 := 0; r0 < n; r0 += 50 {
		if err := other.WriteFactor(r0, min(r0+50, n), l[r0*n:]); err != nil {
			t.Fatal(err)
		}
	}
	alpha := append([]float64(nil), p.r...)
	if err := other.Solve(context.Background(), alpha, 1); err != nil {
		t.Fatal(err)
	}
	compare(t, "α from a restored factor", alpha, before.alpha, 0)
	l[3*n+3] = math.NaN()
	if err := other.WriteFactor(0, n, l); err == nil {
		t.Error("a factor with NaN was accepted")
	}
}

// testReuse runs several problems through one workspace, each twice: the bits
// must not depend on what was there before.
func testReuse(t *testing.T, b device.ExactDevice) {
	p := newProblem(t, "rbf(ard)", 200, 3, 5)
	q := newProblem(t, "matern12", 200, 3, 5)
	w := newWorkspace(t, b, p.x)
	first := mustEvaluate(t, w, p)
	mustEvaluate(t, w, q)
	second := mustEvaluate(t, w, p)
	compare(t, "gradient, second time", second.grad, first.grad, 0)
	compare(t, "α, second time", second.alpha, first.alpha, 0)
	compare(t, "log|Σ|, second time", []float64{second.logDet}, []float64{first.logDet}, 0)
	// A second contraction uses the inverse that is there.
	grad, diag := make([]float64, len(p.theta)), make([]float64, 200)
	adj := device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: second.alpha}
	if err := w.Contract(context.Background(), adj, p.prog, p.theta, grad, diag); err != nil {
		t.Fatal(err)
	}
	compare(t, "gradient, contracted again", grad, first.grad, 0)
	// Several right-hand sides.
	many := append(append([]float64(nil), p.r...), p.r...)
	if err := w.Solve(context.Background(), many, 2); err != nil {
		t.Fatal(err)
	}
	compare(t, "second column of a solution", many[200:], first.alpha, tolGradient)
}

func testConcurrent(t *testing.T, b device.ExactDevice) {
	p := newProblem(t, "matern32(ard)", 150, 3, 10)
	want := mustEvaluate(t, newWorkspace(t, b, p.x), p)
	var wg sync.WaitGroup
	results := make([]outcome, 6)
	for i := range results {
		wg.Go(func() {
			w, err := b.NewWorkspace(context.Background(), p.x)
			if err != nil {
				t.Error(err)
				return
			}
			defer w.Close()
			if results[i], err = evaluate(context.Background(), w, p); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if t.Failed() {
		return
	}
	for _, got := range results {
		compare(t, "gradient in parallel", got.grad, want.grad, 0)
		compare(t, "α in parallel", got.alpha, want.alpha, 0)
	}
}

func testWork(t *testing.T, b device.ExactDevice) {
	const n = 600
	p := newProblem(t, "rbf", n, 3, 11)
	w := newWorkspace(t, b, p.x)
	last := device.Progress{}
	w.OnProgress(func(pr device.Progress) {
		if pr.Stage == last.Stage && pr.Done < last.Done {
			t.Errorf("progress of %s went from %g back to %g", pr.Stage, last.Done, pr.Done)
		}
		last = pr
	})
	mustEvaluate(t, w, p)
	if last.Stage != "gradient" || math.Abs(last.Done/last.Total-1) > 0.05 {
		t.Errorf("last progress %+v, want the end of the gradient", last)
	}
	// n³, and what blocks cost that reach over the triangles: O(n²·256).
	work := w.Work()
	if ratio := work.Flops / (n * n * n); ratio < 0.95 || ratio > 1+256.0/n {
		t.Errorf("%.2f n³ operations for a value and gradient", ratio)
	}
	if work.MatrixBytes > 8*n*(n+16) {
		t.Errorf("%d bytes of matrix, more than one n×n buffer", work.MatrixBytes)
	}
	plan := b.Plan(n, 3)
	if plan.HostBytes()+plan.DeviceBytes() < work.Bytes {
		t.Errorf("plan of %d bytes, %d are used", plan.HostBytes()+plan.DeviceBytes(), work.Bytes)
	}
	if plan.FlopsGradient != n*n*n || plan.FlopsValue != n*n*n/3.0 {
		t.Errorf("plan of %g and %g operations", plan.FlopsValue, plan.FlopsGradient)
	}
}
