package devicetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// Tests of every method.

// testCapabilities checks that the workspaces of a backend behave as it declares.
func testCapabilities(t *testing.T, s suite) {
	c := s.b.Capabilities()
	if c.Method == "" || len(c.Devices) == 0 || !(c.Precision > 0) || c.Precision > 1 {
		t.Errorf("capabilities %+v", c)
	}
	if info := s.b.Info(); info.Name == "" || info.Description == "" {
		t.Errorf("info %+v", info)
	}
	p := s.problem(t, "rbf", 50, 3, 12)
	w := s.formed(t, p)
	if w.Method() != c.Method || w.N() != 50 {
		t.Errorf("workspace of method %q for %d points, want %q for 50", w.Method(), w.N(), c.Method)
	}
	supported(t, w.Solve(context.Background(), slices.Clone(p.r), 1))
	_, stdErr, err := w.LogDet()
	if err != nil || c.Exact && stdErr != 0 || !(stdErr >= 0) || math.IsInf(stdErr, 0) {
		t.Errorf("standard error %v of log|Σ|, error %v; exact: %v", stdErr, err, c.Exact)
	}
	if err := s.b.Supports(p.workload()); err != nil {
		t.Errorf("the method cannot compute 50 points with one noise variance: %v", err)
	}
	plan := s.b.Plan(p.workload())
	if plan.N != 50 || plan.D != 3 || plan.HostBytes()+plan.DeviceBytes() <= 0 || !(plan.FlopsValue > 0) || !(plan.FlopsGradient >= plan.FlopsValue) {
		t.Errorf("plan %+v", plan)
	}
}

func testEvaluate(t *testing.T, s suite) {
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			p := s.problem(t, "rbf", n, 3, 1)
			compareOutcome(t, mustEvaluate(t, s.workspace(t, p.x), p), newReference(t, p).outcome(t))
		})
	}
}

func testKernels(t *testing.T, s suite) {
	for i, text := range share(0) {
		t.Run(text, func(t *testing.T) {
			// The larger problem has two panels.
			for d, n := range map[int]int{2: 50, 5: 130} {
				p := s.exactly(t, text, n, d, uint64(i))
				compareOutcome(t, mustEvaluate(t, s.workspace(t, p.x), p), newReference(t, p).outcome(t))
			}
		})
	}
}

func testVectorNoise(t *testing.T, s suite) {
	p := s.problem(t, "matern32(ard)", 129, 3, 2)
	p.noise = floats.Span(make([]float64, 129), 0.01, 1.29)
	compareOutcome(t, mustEvaluate(t, s.workspace(t, p.x), p), newReference(t, p).outcome(t))
}

// withMiddle are sizes around multiples of the panel width, 128 columns.
var withMiddle = func() []int {
	if long() {
		return []int{1, 2, 65, 127, 128, 129, 257, 300}
	}
	return []int{1, 2, 65, 128, 129, 257}
}()

// contractions returns adjoints of every shape.
func contractions(rng *rand.Rand, n int) []device.Adjoint {
	return []device.Adjoint{
		{},
		{Inv: -0.7},
		{Outer: []float64{2}, Vectors: normals(rng, n)},
		{Inv: 1.5, Outer: normals(rng, 5), Vectors: normals(rng, 5*n)},
		{Inv: 0.5, Outer: normals(rng, 9), Vectors: normals(rng, 9*n)},
	}
}

// noisyProblem returns a problem with a noise variance for each point, or with one if the method takes
// no more.
func (s suite) noisyProblem(t testing.TB, n int) (*problem, *rand.Rand) {
	t.Helper()
	p, rng := s.problem(t, "rbf(ard) + matern32", n, 3, 20), rand.New(rand.NewPCG(20, uint64(n)))
	p.noise = make([]float64, n)
	for i := range p.noise {
		p.noise[i] = 0.1 + rng.Float64()
	}
	if s.oneNoise(p) {
		p.noise = p.noise[:1]
	}
	return p, rng
}

// oneNoise reports whether the method takes one noise variance for all points of the problem only.
func (s suite) oneNoise(p *problem) bool {
	w := p.workload()
	w.NoiseByRow = true
	return errors.As(s.b.Supports(w), new(*device.UnsupportedError))
}

func testAdjoint(t *testing.T, s suite) {
	for _, n := range withMiddle {
		p, rng := s.noisyProblem(t, n)
		w, want := s.formed(t, p), newReference(t, p)
		for k, adj := range contractions(rng, n) {
			checkContract(t, w, want, adj, fmt.Sprintf("n = %d, adjoint %d", n, k))
		}
	}
}

// checkContract contracts adj and compares the result.
func checkContract(t *testing.T, w device.Workspace, r *reference, adj device.Adjoint, what string) {
	t.Helper()
	restore(t, w, r.p)
	grad, diag := make([]float64, len(r.p.theta)), make([]float64, r.p.x.N)
	for i := range grad {
		grad[i] = 1 // a contraction adds to grad
	}
	testcheck.Do(t, w.Contract(context.Background(), adj, r.p.prog, r.p.theta, grad, diag))
	want, scale, wantDiag := r.contract(adj)
	for i := range want {
		want[i]++
		if !(math.Abs(grad[i]-want[i]) <= vectorTolerance*(1+scale[i])) {
			t.Errorf("%s: derivative by %s is %v, want %v", what, r.p.prog.Names()[i], grad[i], want[i])
		}
	}
	if adj.HasMiddle() && len(r.p.noise) == 1 { // the method owes the sum alone
		diag, wantDiag = []float64{floats.Sum(diag)}, []float64{floats.Sum(wantDiag)}
	}
	compare(t, what+": diagonal", diag, wantDiag, vectorTolerance)
}

func testAdjointSizes(t *testing.T, s suite) {
	p := s.problem(t, "rbf", 20, 1, 21)
	w := s.formed(t, p)
	for what, adj := range map[string]device.Adjoint{
		"vectors":          {Outer: []float64{1}, Vectors: make([]float64, 19)},
		"vectors, no sign": {Vectors: make([]float64, 20)},
	} {
		if err := w.Contract(context.Background(), adj, p.prog, p.theta, make([]float64, 2), make([]float64, 20)); err == nil {
			t.Errorf("%s of the wrong length accepted", what)
		}
	}
}

func testPredict(t *testing.T, s suite) {
	ctx := context.Background()
	for _, n := range []int{1, 65, 257} {
		p := s.problem(t, "rbf(ard) + matern12", n, 2, 3)
		want := newReference(t, p)
		w := s.workspace(t, p.x)
		alpha := mustEvaluate(t, w, p).alpha
		restore(t, w, p)
		for _, m := range []int{1, 2, 64, 300} {
			xs := randomPoints(rand.New(rand.NewPCG(9, 9)), m, 2)
			mean, reduction := make([]float64, m), make([]float64, m)
			testcheck.Do(t, w.Predict(ctx, p.prog, p.theta, alpha, xs, mean, reduction))
			wantMean, covariance := want.predict(t, xs)
			wantReduction := make([]float64, m)
			for j := range wantReduction {
				wantReduction[j] = covariance.At(j, j)
			}
			compare(t, "mean", mean, wantMean, vectorTolerance)
			compare(t, "variance reduction", reduction, wantReduction, vectorTolerance)
			checkPredictMany(t, w, p, alpha, xs, mean)
			again := make([]float64, m)
			testcheck.Do(t, w.Predict(ctx, p.prog, p.theta, alpha, xs, again, nil))
			compare(t, "mean without variance", again, mean, 0)
		}
	}
}

// checkPredictMany predicts with several weight vectors, and with none, and
// compares with separate predictions; mean belongs to alpha.
func checkPredictMany(t *testing.T, w device.Workspace, p *problem, alpha []float64, xs *kernel.Points, mean []float64) {
	t.Helper()
	ctx, n, m := context.Background(), p.x.N, xs.N
	other := normals(rand.New(rand.NewPCG(26, 1)), 2*n)
	var want []float64
	for v := range slices.Chunk(other, n) {
		one := make([]float64, m)
		testcheck.Do(t, w.Predict(ctx, p.prog, p.theta, v, xs, one, nil))
		want = append(want, one...)
	}
	want = append(want, mean...)
	got, reduction := make([]float64, 3*m), make([]float64, m)
	testcheck.Do(t, w.Predict(ctx, p.prog, p.theta, slices.Concat(other, alpha), xs, got, reduction))
	compare(t, "means of three", got, want, vectorTolerance)
	again := make([]float64, m)
	testcheck.Do(t, w.Predict(ctx, p.prog, p.theta, nil, xs, nil, again))
	compare(t, "variance reduction without means", again, reduction, 0)
	if err := w.Predict(ctx, p.prog, p.theta, other, xs, make([]float64, m), nil); n > 0 && err == nil {
		t.Error("two weight vectors and one vector of means accepted")
	}
}

// testSeveralSides solves for two right-hand sides at once.
func testSeveralSides(t *testing.T, s suite) {
	p := s.problem(t, "rbf(ard)", 200, 3, 5)
	w := s.formed(t, p)
	many := slices.Concat(p.r, p.r)
	testcheck.Do(t, w.Solve(context.Background(), many, 2))
	want := newReference(t, p).solve(t, p.r)
	compare(t, "first column of a solution", many[:200], want, vectorTolerance)
	compare(t, "second column of a solution", many[200:], want, vectorTolerance)
}

func testConcurrent(t *testing.T, s suite) {
	p := s.problem(t, "matern32(ard)", 150, 3, 10)
	want := newReference(t, p).outcome(t)
	for _, got := range s.evaluateAtOnce(t, p) {
		compareOutcome(t, got, want)
	}
}

// evaluateAtOnce evaluates the problem in several workspaces at once.
func (s suite) evaluateAtOnce(t *testing.T, p *problem) []outcome {
	t.Helper()
	var wg sync.WaitGroup
	results := make([]outcome, 6)
	for i := range results {
		wg.Go(func() {
			w, err := s.b.NewWorkspace(context.Background(), p.x)
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
		t.FailNow()
	}
	return results
}

// testProgress checks that progress increases and reaches the end.
func testProgress(t *testing.T, s suite) {
	p := s.problem(t, "rbf", 600, 3, 11)
	w := s.workspace(t, p.x)
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
}
