package devicetest

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gpfit/device"
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
func (s suite) testCentralDifferences(t *testing.T) {
	for i, text := range kernels() {
		p := s.newProblem(t, text, 70, 2, uint64(i)+50)
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
		// The cancellation error is near 1e-9 of the value. The truncation error,
		// h⁴, is smaller, except for periods, whose fifth derivatives reach some
		// millions.
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

// testAdjointKeepsFactor checks that the factor keeps its bits after adjoints of
// every shape.
func (s suite) testAdjointKeepsFactor(t *testing.T) {
	ctx := context.Background()
	for _, n := range withMiddle {
		p, rng := s.noisyProblem(t, n)
		w := s.denseWorkspace(t, p.x)
		mustForm(t, w, p)
		before, after := make([]float64, n*n), make([]float64, n*n)
		if err := w.ReadFactor(0, n, before); err != nil {
			t.Fatal(err)
		}
		for _, adj := range contractions(rng, n) {
			must(t, w.Contract(ctx, adj, p.prog, p.theta, make([]float64, len(p.theta)), make([]float64, n)))
			must(t, w.ContractDiagonal(ctx, adj, normals(rng, n), p.prog, p.theta, make([]float64, len(p.theta)), make([]float64, n)))
		}
		if err := w.ReadFactor(0, n, after); err != nil {
			t.Fatal(err)
		}
		compare(t, "factor after contractions", after, before, 0)
	}
}

// testAdjointWork checks operations, progress, memory and repeatability of a
// contraction with a middle term.
func (s suite) testAdjointWork(t *testing.T) {
	const n = 600
	p := s.newProblem(t, "rbf", n, 3, 23)
	w := s.denseWorkspace(t, p.x)
	mustForm(t, w, p)
	rng, ctx := rand.New(rand.NewPCG(23, 1)), context.Background()
	middle, adj := normals(rng, n), device.Adjoint{Inv: 1, Outer: normals(rng, 2), Vectors: normals(rng, 2*n)}
	if err := w.InverseDiagonal(ctx, make([]float64, n)); err != nil {
		t.Fatal(err)
	}
	before, last := w.Work().Flops, device.Progress{}
	w.OnProgress(func(pr device.Progress) { last = pr })
	var first []float64
	for k := range 2 {
		grad, diag := make([]float64, len(p.theta)), make([]float64, n)
		if err := w.ContractDiagonal(ctx, adj, middle, p.prog, p.theta, grad, diag); err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			first = append(grad, diag...)
			// n³, plus n³/3 if Σ⁻¹ is formed in panels, plus O(n²·256).
			if ratio := (w.Work().Flops - before) / (n * n * n); ratio < 0.95 || ratio > 4.0/3+3*256.0/n {
				t.Errorf("%.2f n³ operations for a middle term", ratio)
			}
			if last.Stage != "gradient" || math.Abs(last.Done/last.Total-1) > 0.05 {
				t.Errorf("last progress %+v, want the end of the gradient", last)
			}
		} else {
			compare(t, "contraction, second time", append(grad, diag...), first, 0)
		}
	}
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
func (s suite) testBlockWork(t *testing.T) {
	const n = 600
	ctx, p, rng := context.Background(), s.newProblem(t, "rbf", n, 3, 23), rand.New(rand.NewPCG(23, 2))
	w := s.denseWorkspace(t, p.x)
	mustForm(t, w, p)
	before, after := make([]float64, n*n), make([]float64, n*n)
	if err := w.ReadFactor(0, n, before); err != nil {
		t.Fatal(err)
	}
	ends := []int{100, 250, 400, n}
	middle := symmetricBlocks(rng, ends)
	if err := w.InverseBlocks(ctx, device.NewBlocks(ends)); err != nil {
		t.Fatal(err)
	}
	flops, last := w.Work().Flops, device.Progress{}
	w.OnProgress(func(pr device.Progress) { last = pr })
	var first []float64
	for k := range 2 {
		grad, diag := make([]float64, len(p.theta)), make([]float64, n)
		if err := w.ContractBlocks(ctx, device.Adjoint{Inv: 1}, middle, p.prog, p.theta, grad, diag); err != nil {
			t.Fatal(err)
		}
		if k == 1 {
			compare(t, "contraction of blocks, second time", append(grad, diag...), first, 0)
			continue
		}
		first = append(grad, diag...)
		// As in testAdjointWork, and the product with the blocks.
		if ratio := (w.Work().Flops - flops - middle.Flops(n)) / (n * n * n); ratio < 0.95 || ratio > 4.0/3+3*256.0/n {
			t.Errorf("%.2f n³ operations for a middle term of blocks, without the product", ratio)
		}
		if last.Stage != "gradient" || math.Abs(last.Done/last.Total-1) > 0.05 {
			t.Errorf("last progress %+v, want the end of the gradient", last)
		}
	}
	if err := w.ReadFactor(0, n, after); err != nil {
		t.Fatal(err)
	}
	compare(t, "factor after contractions of blocks", after, before, 0)
	plan, full := s.b.Plan(device.Workload{N: n, D: 3, Diagonal: true}), s.b.Plan(device.Workload{N: n, D: 3, Blocks: ends})
	host := int64(8 * (len(middle.Elements) + 200*(200+2*144+96)))
	if work := w.Work(); full.HostBytes()+full.DeviceBytes()-host < work.Bytes || full.HostBytes()-plan.HostBytes() != host {
		t.Errorf("plan %+v with blocks, work %+v", full, work)
	}
}

// testFactorBits checks that a restored factor gives the same bits as the original
// one.
func (s suite) testFactorBits(t *testing.T) {
	const n = 130
	p := s.newProblem(t, "matern52", n, 2, 4)
	w, other := s.denseWorkspace(t, p.x), s.denseWorkspace(t, p.x)
	before := mustEvaluate(t, w, p)
	l := make([]float64, n*n)
	if err := w.ReadFactor(0, n, l); err != nil {
		t.Fatal(err)
	}
	writeFactor(t, other, n, l)
	alpha := append([]float64(nil), p.r...)
	if err := other.Solve(context.Background(), alpha, 1); err != nil {
		t.Fatal(err)
	}
	compare(t, "α from a restored factor", alpha, before.alpha, 0)
}

// testReuse solves several problems in one workspace, each twice. The bits must not
// depend on earlier problems.
func (s suite) testReuse(t *testing.T) {
	p := s.newProblem(t, "rbf(ard)", 200, 3, 5)
	q := s.newProblem(t, "matern12", 200, 3, 5)
	w := s.workspace(t, p.x)
	first := mustEvaluate(t, w, p)
	mustEvaluate(t, w, q)
	second := mustEvaluate(t, w, p)
	compare(t, "gradient, second time", second.grad, first.grad, 0)
	compare(t, "α, second time", second.alpha, first.alpha, 0)
	compare(t, "log|Σ|, second time", []float64{second.logDet}, []float64{first.logDet}, 0)
	// A second contraction reuses the inverse.
	grad, diag := make([]float64, len(p.theta)), make([]float64, 200)
	if err := w.Contract(context.Background(), likelihoodAdjoint(second.alpha), p.prog, p.theta, grad, diag); err != nil {
		t.Fatal(err)
	}
	compare(t, "gradient, contracted again", grad, first.grad, 0)
}

func (s suite) testConcurrentBits(t *testing.T) {
	p := s.newProblem(t, "matern32(ard)", 150, 3, 10)
	want := mustEvaluate(t, s.workspace(t, p.x), p)
	for _, got := range s.evaluateAtOnce(t, p) {
		compare(t, "gradient in parallel", got.grad, want.grad, 0)
		compare(t, "α in parallel", got.alpha, want.alpha, 0)
	}
}

func (s suite) testNotPD(t *testing.T) {
	const n = 300
	for _, bad := range []int{1, 63, 64, 65, 128, 200, n - 1} {
		p := s.singular(t, n, bad)
		w := s.workspace(t, p.x)
		_, err := evaluate(context.Background(), w, p)
		var npd *device.NotPDError
		if !errors.As(err, &npd) || npd.Minor != bad+1 || npd.N != n {
			t.Errorf("duplicate at %d: error %v, want a NotPDError of order %d", bad, err, bad+1)
		}
		if err := w.Solve(context.Background(), make([]float64, n), 1); !errors.Is(err, device.ErrStage) {
			t.Errorf("Solve after a failed factorisation: %v, want ErrStage", err)
		}
		p.noise[0] = 0.5
		s.compareOutcome(t, mustEvaluate(t, w, p), newReference(t, p).outcome(t))
	}
}

// testNotPDAfterPredict checks that a prediction with another program between Fill
// and Factor does not change the explanation of a failure.
func (s suite) testNotPDAfterPredict(t *testing.T) {
	const n, bad = 80, 70
	p := s.singular(t, n, bad)
	other := s.newProblem(t, "rbf(ard) + matern32", n, 1, 7)
	w, ctx := s.denseWorkspace(t, p.x), context.Background()
	if err := w.Fill(ctx, p.prog, p.theta, p.noise); err != nil {
		t.Fatal(err)
	}
	if err := w.Predict(ctx, other.prog, other.theta, p.r, other.x, make([]float64, n), nil); err != nil {
		t.Fatal(err)
	}
	var npd *device.NotPDError
	if err := w.Factor(ctx); !errors.As(err, &npd) || npd.Minor != bad+1 {
		t.Errorf("error %v, want a NotPDError of order %d", err, bad+1)
	}
}

// testSteps runs Form as its two steps.
func (s suite) testSteps(t *testing.T) {
	p := s.newProblem(t, "rbf", 10, 3, 9)
	w, ctx := s.denseWorkspace(t, p.x), context.Background()
	calls := stagedCalls(w, p)
	calls["Factor"] = func(ctx context.Context) error { return w.Factor(ctx) }
	check := func(when string) {
		t.Helper()
		for name, call := range calls {
			if err := call(ctx); !errors.Is(err, device.ErrStage) {
				t.Errorf("%s %s: error %v, want ErrStage", name, when, err)
			}
		}
	}
	check("before Fill")
	if err := w.Fill(ctx, p.prog, p.theta, p.noise); err != nil {
		t.Fatal(err)
	}
	delete(calls, "Factor")
	check("before Factor")
	if err := w.Factor(ctx); err != nil {
		t.Fatal(err)
	}
	steps, _, _ := w.LogDet()
	mustForm(t, w, p)
	whole, _, _ := w.LogDet()
	if steps != whole {
		t.Errorf("log|Σ| = %v after two steps, %v after Form", steps, whole)
	}
	calls["Fill"] = func(ctx context.Context) error { return w.Fill(ctx, p.prog, p.theta, p.noise) }
	w.Close()
	check("after Close")
}

// testWork checks that a gradient costs n³ operations and one n×n buffer.
func (s suite) testWork(t *testing.T) {
	const n = 600
	p := s.newProblem(t, "rbf", n, 3, 11)
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
func (s suite) testRefuse(t *testing.T) {
	if s.b.Info().MemoryFree == 0 {
		t.Skip("free memory is not known on this system")
	}
	const n = 20_000_000 // 3 PB
	_, err := s.b.NewWorkspace(context.Background(), &kernel.Points{N: n, D: 1, X: make([]float64, n)})
	var mem *device.MemoryError
	if !errors.As(err, &mem) || mem.Need < 8*n*n {
		t.Errorf("error %v, want a MemoryError", err)
	}
}
