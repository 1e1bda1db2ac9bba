package devicetest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// Further tests of a device of the exact method.

// denseWorkspace returns a workspace of the device.
func (s suite) denseWorkspace(t testing.TB, x *kernel.Points) device.DenseWorkspace {
	t.Helper()
	w, ok := s.workspace(t, x).(device.DenseWorkspace)
	if !ok {
		t.Fatal("the exact method's workspace is not its device's")
	}
	return w
}

// testCentralDifferences compares the gradient with fourth-order differences of the
// device's values ½rᵀα + ½log|Σ|.
func testCentralDifferences(t *testing.T, s suite) {
	for i, text := range share(2) {
		p := newProblem(t, text, 40, 2, uint64(i)+50)
		p.noise[0] = 0.1
		w := s.workspace(t, p.x)
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
		// The cancellation error is near 1e-9 of the value. The truncation error, h⁴, is smaller,
		// except for periods, whose fifth derivatives reach some millions.
		const h, tol = 1e-4, 2e-8
		size := math.Abs(value(p.theta))
		for j, got := range grad {
			at := func(step float64) float64 {
				moved := slices.Clone(p.theta)
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

// testAdjointKeepsFactor checks that the factor keeps its bits after adjoints of every shape.
func testAdjointKeepsFactor(t *testing.T, s suite) {
	ctx := context.Background()
	for _, n := range withMiddle {
		p, rng := s.noisyProblem(t, n)
		w := s.denseWorkspace(t, p.x)
		mustForm(t, w, p)
		before := readFactor(t, w)
		for _, adj := range contractions(rng, n) {
			supported(t, contractAdjoint(ctx, w, p, adj))
			adj.Diagonal = normals(rng, n)
			supported(t, contractAdjoint(ctx, w, p, adj))
		}
		compare(t, "factor after contractions", readFactor(t, w), before, 0)
	}
}

// repeatContract contracts twice, with the same bits, and checks the end of the progress and the
// number of operations, without other.
func repeatContract(t *testing.T, w device.Workspace, p *problem, other float64, contract func(grad, diag []float64) error) {
	t.Helper()
	n := float64(p.x.N)
	before, last := w.Work().Flops, device.Progress{}
	w.OnProgress(func(pr device.Progress) { last = pr })
	var first []float64
	for k := range 2 {
		grad, diag := make([]float64, len(p.theta)), make([]float64, p.x.N)
		testcheck.Do(t, contract(grad, diag))
		if k == 1 {
			compare(t, "contraction, second time", append(grad, diag...), first, 0)
			continue
		}
		first = append(grad, diag...)
		// n³, plus n³/3 if Σ⁻¹ is formed in panels, plus O(n²·256).
		if ratio := (w.Work().Flops - before - other) / (n * n * n); ratio < 0.95 || ratio > 4.0/3+3*256.0/n {
			t.Errorf("%.2f n³ operations for a middle term", ratio)
		}
		if last.Stage != "gradient" || math.Abs(last.Done/last.Total-1) > 0.05 {
			t.Errorf("last progress %+v, want the end of the gradient", last)
		}
	}
}

// testAdjointWork checks operations, progress, memory and repeatability of a
// contraction with a middle term.
func testAdjointWork(t *testing.T, s suite) {
	const n = 600
	p := newProblem(t, "rbf", n, 3, 23)
	w := s.denseWorkspace(t, p.x)
	mustForm(t, w, p)
	rng, ctx := rand.New(rand.NewPCG(23, 1)), context.Background()
	adj := device.Adjoint{Inv: 1, Diagonal: normals(rng, n), Outer: normals(rng, 2), Vectors: normals(rng, 2*n)}
	testcheck.Do(t, w.InverseDiagonal(ctx, make([]float64, n)))
	repeatContract(t, w, p, 0, func(grad, diag []float64) error {
		return w.Contract(ctx, adj, p.prog, p.theta, grad, diag)
	})
	plan, full, work := s.b.Plan(device.Workload{N: n, D: 3}), s.b.Plan(device.Workload{N: n, D: 3, Diagonal: true}), w.Work()
	more := full.HostBytes() + full.DeviceBytes() - plan.HostBytes() - plan.DeviceBytes()
	if full.HostBytes()+full.DeviceBytes() < work.Bytes || more <= 0 || full.FlopsGradient != 2*n*n*n {
		t.Errorf("plan %+v, with a middle term %+v, work %+v", plan, full, work)
	}
	if more > 8*n*1100 {
		t.Errorf("%d bytes for a middle term: a second matrix?", more)
	}
}

// testBlockWork checks operations, memory and repeatability of a contraction with a
// middle term of blocks, and that the factor keeps its bits.
func testBlockWork(t *testing.T, s suite) {
	const n = 600
	ctx, p, rng := context.Background(), newProblem(t, "rbf", n, 3, 23), rand.New(rand.NewPCG(23, 2))
	w := s.denseWorkspace(t, p.x)
	mustForm(t, w, p)
	before, ends := readFactor(t, w), []int{100, 250, 400, n}
	middle := symmetricBlocks(rng, ends)
	testcheck.Do(t, w.InverseBlocks(ctx, device.NewBlocks(ends)))
	repeatContract(t, w, p, middle.Flops(n), func(grad, diag []float64) error {
		return w.Contract(ctx, device.Adjoint{Inv: 1, Blocks: middle}, p.prog, p.theta, grad, diag)
	})
	compare(t, "factor after contractions of blocks", readFactor(t, w), before, 0)
	plan, full := s.b.Plan(device.Workload{N: n, D: 3, Diagonal: true}), s.b.Plan(device.Workload{N: n, D: 3, Blocks: ends})
	host := int64(8 * (len(middle.Elements) + 200*(200+2*144+96)))
	if work := w.Work(); full.HostBytes()+full.DeviceBytes()-host < work.Bytes || full.HostBytes()-plan.HostBytes() != host {
		t.Errorf("plan %+v with blocks, work %+v", full, work)
	}
}

// testReuse solves several problems in one workspace, each twice. The bits must not
// depend on earlier problems.
func testReuse(t *testing.T, s suite) {
	p := newProblem(t, "rbf(ard)", 200, 3, 5)
	q := newProblem(t, "matern12", 200, 3, 5)
	w := s.workspace(t, p.x)
	first := mustEvaluate(t, w, p)
	mustEvaluate(t, w, q)
	second := mustEvaluate(t, w, p)
	compare(t, "gradient, second time", second.grad, first.grad, 0)
	compare(t, "α, second time", second.alpha, first.alpha, 0)
	compare(t, "log|Σ|, second time", []float64{second.logDet}, []float64{first.logDet}, 0)
	// A second contraction reuses the inverse.
	grad, diag := make([]float64, len(p.theta)), make([]float64, 200)
	testcheck.Do(t, w.Contract(context.Background(), likelihoodAdjoint(second.alpha), p.prog, p.theta, grad, diag))
	compare(t, "gradient, contracted again", grad, first.grad, 0)
}

func testConcurrentBits(t *testing.T, s suite) {
	p := newProblem(t, "matern32(ard)", 150, 3, 10)
	want := mustEvaluate(t, s.workspace(t, p.x), p)
	for _, got := range s.evaluateAtOnce(t, p) {
		compare(t, "gradient in parallel", got.grad, want.grad, 0)
		compare(t, "α in parallel", got.alpha, want.alpha, 0)
	}
}

func testNotPD(t *testing.T, s suite) {
	const n = 300
	for _, bad := range []int{1, 63, 64, 65, 128, 200, n - 1} {
		p := singular(t, n, bad)
		w := s.workspace(t, p.x)
		_, err := evaluate(context.Background(), w, p)
		if npd, ok := errors.AsType[*device.NotPDError](err); !ok || npd.Minor != bad+1 || npd.N != n {
			t.Errorf("duplicate at %d: error %v, want a NotPDError of order %d", bad, err, bad+1)
		}
		if err := w.Solve(context.Background(), make([]float64, n), 1); !errors.Is(err, device.ErrStage) {
			t.Errorf("Solve after a failed factorization: %v, want ErrStage", err)
		}
		p.noise[0] = 0.5
		compareOutcome(t, mustEvaluate(t, w, p), newReference(t, p).outcome(t))
	}
}

// testNotPDAfterPredict checks that a prediction with another program between Fill
// and Factor does not change the explanation of a failure.
func testNotPDAfterPredict(t *testing.T, s suite) {
	const n, bad = 80, 70
	p := singular(t, n, bad)
	other := newProblem(t, "rbf(ard) + matern32", n, 1, 7)
	w, ctx := s.denseWorkspace(t, p.x), context.Background()
	testcheck.Do(t, w.Fill(ctx, p.prog, p.theta, p.noise))
	testcheck.Do(t, w.Predict(ctx, other.prog, other.theta, p.r, other.x, make([]float64, n), nil))
	var npd *device.NotPDError
	if err := w.Factor(ctx); !errors.As(err, &npd) || npd.Minor != bad+1 {
		t.Errorf("error %v, want a NotPDError of order %d", err, bad+1)
	}
}

// testSteps runs Form as its two steps.
func testSteps(t *testing.T, s suite) {
	p := newProblem(t, "rbf", 10, 3, 9)
	w, ctx := s.denseWorkspace(t, p.x), context.Background()
	calls := s.stagedCalls(w, p)
	calls["Factor"] = w.Factor
	checkStage(t, calls, "before Fill")
	testcheck.Do(t, w.Fill(ctx, p.prog, p.theta, p.noise))
	delete(calls, "Factor")
	checkStage(t, calls, "before Factor")
	testcheck.Do(t, w.Factor(ctx))
	steps, _, _ := w.LogDet()
	mustForm(t, w, p)
	whole, _, _ := w.LogDet()
	if steps != whole {
		t.Errorf("log|Σ| = %v after two steps, %v after Form", steps, whole)
	}
	calls["Fill"] = func(ctx context.Context) error { return w.Fill(ctx, p.prog, p.theta, p.noise) }
	w.Close()
	checkStage(t, calls, "after Close")
}

// testWork checks that a gradient costs n³ operations and one n×n buffer.
func testWork(t *testing.T, s suite) {
	const n = 600
	p := newProblem(t, "rbf", n, 3, 11)
	w := s.workspace(t, p.x)
	mustEvaluate(t, w, p)
	// n³, plus O(n²·1024): blocks of up to 512 columns extend beyond the triangles.
	work := w.Work()
	if ratio := work.Flops / (n * n * n); ratio < 0.95 || ratio > 1+1024.0/n {
		t.Errorf("%.2f n³ operations for a value and gradient", ratio)
	}
	if work.MatrixBytes > 8*n*(n+16) {
		t.Errorf("%d bytes of matrix, more than one n×n buffer", work.MatrixBytes)
	}
	plan := s.b.Plan(device.Workload{N: n, D: 3})
	if plan.HostBytes()+plan.DeviceBytes() < work.Bytes {
		t.Errorf("plan of %d bytes, %d are used", plan.HostBytes()+plan.DeviceBytes(), work.Bytes)
	}
	if plan.FlopsGradient != n*n*n || plan.FlopsValue != n*n*n/3.0 {
		t.Errorf("plan of %g and %g operations", plan.FlopsValue, plan.FlopsGradient)
	}
}

// testRefuse requests more memory than any machine has.
func testRefuse(t *testing.T, s suite) {
	if s.b.Info().MemoryFree == 0 {
		t.Skip("free memory is not known on this system")
	}
	const n = 20_000_000 // 3 PB
	_, err := s.b.NewWorkspace(context.Background(), &kernel.Points{N: n, D: 1, X: make([]float64, n)})
	if mem, ok := errors.AsType[*device.MemoryError](err); !ok || mem.Need < 8*n*n {
		t.Errorf("error %v, want a MemoryError", err)
	}
}
