package devicetest

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/kernel"
)

// withMiddle straddle the edges of panels of 128 columns.
var withMiddle = []int{1, 2, 65, 127, 128, 129, 257, 300}

func normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

func factorProblem(t testing.TB, w device.ExactWorkspace, p *problem) {
	t.Helper()
	ctx := context.Background()
	if err := w.Fill(ctx, p.prog, p.theta, p.noise); err != nil {
		t.Fatal(err)
	}
	if err := w.Factor(ctx); err != nil {
		t.Fatal(err)
	}
}

func referenceInverse(t testing.TB, p *problem) *mat.SymDense {
	t.Helper()
	var inv mat.SymDense
	if err := referenceCholesky(t, p).InverseTo(&inv); err != nil {
		t.Fatal(err)
	}
	return &inv
}

// referenceContract contracts adj with all of its matrix formed. It returns the
// sums of absolute terms as well, which errors are relative to: terms of either
// sign may cancel.
func referenceContract(p *problem, inv *mat.SymDense, adj device.Adjoint) (grad, scale, diag []float64) {
	n := p.x.N
	g := mat.NewDense(n, n, nil)
	g.Scale(adj.Inv, inv)
	if adj.Middle != nil {
		var right, product mat.Dense
		right.Mul(mat.NewDiagDense(n, adj.Middle), inv)
		product.Mul(inv, &right)
		g.Add(g, &product)
	}
	for k, f := range adj.Outer {
		v := mat.NewVecDense(n, adj.Vectors[k*n:(k+1)*n])
		g.RankOne(g, f, v, v)
	}
	grad, scale, diag = make([]float64, len(p.theta)), make([]float64, len(p.theta)), make([]float64, n)
	e := kernel.NewEvaluator(p.prog)
	e.Bind(p.theta)
	pair := make([]float64, len(grad))
	for i := range n {
		diag[i] = g.At(i, i)
		for j, v := range g.RawRowView(i)[:i+1] {
			if j < i {
				v *= 2
			}
			clear(pair)
			e.RowGradient(pair, []float64{v}, p.x, i, p.x, j, j+1)
			for q, d := range pair {
				grad[q] += d
				scale[q] += math.Abs(d)
			}
		}
	}
	return grad, scale, diag
}

// checkContract contracts adj and compares.
func checkContract(t *testing.T, w device.ExactWorkspace, p *problem, inv *mat.SymDense, adj device.Adjoint, what string) {
	t.Helper()
	grad, diag := make([]float64, len(p.theta)), make([]float64, p.x.N)
	for i := range grad {
		grad[i] = 1 // is added to
	}
	if err := w.Contract(context.Background(), adj, p.prog, p.theta, grad, diag); err != nil {
		t.Fatal(err)
	}
	want, scale, wantDiag := referenceContract(p, inv, adj)
	for i := range want {
		want[i]++
		if !(math.Abs(grad[i]-want[i]) <= tolGradient*(1+math.Abs(scale[i]))) {
			t.Errorf("%s: derivative by %s is %v, want %v", what, p.prog.Names()[i], grad[i], want[i])
		}
	}
	compare(t, what+": diagonal", diag, wantDiag, tolGradient)
}

// testAdjoint contracts adjoints of every shape with one factor, in an order in
// which the inverse is there and is not.
func testAdjoint(t *testing.T, b device.ExactDevice) {
	for _, n := range withMiddle {
		p := newProblem(t, "rbf(ard) + matern32", n, 3, 20)
		p.noise = make([]float64, n)
		rng := rand.New(rand.NewPCG(20, uint64(n)))
		for i := range p.noise {
			p.noise[i] = 0.1 + rng.Float64()
		}
		w := newWorkspace(t, b, p.x)
		factorProblem(t, w, p)
		before := make([]float64, n*n)
		if err := w.ReadFactor(0, n, before); err != nil {
			t.Fatal(err)
		}
		inv, middle := referenceInverse(t, p), normals(rng, n)
		for _, c := range []struct {
			what string
			adj  device.Adjoint
		}{
			{"middle", device.Adjoint{Middle: middle}},
			{"nothing", device.Adjoint{}},
			{"inverse", device.Adjoint{Inv: -0.7}},
			{"one vector", device.Adjoint{Outer: []float64{2}, Vectors: normals(rng, n)}},
			{"five vectors", device.Adjoint{Inv: 1.5, Outer: normals(rng, 5), Vectors: normals(rng, 5*n)}},
			{"all", device.Adjoint{Inv: 0.5, Middle: middle, Outer: normals(rng, 9), Vectors: normals(rng, 9*n)}},
			{"inverse and middle", device.Adjoint{Inv: 2, Middle: middle}},
		} {
			checkContract(t, w, p, inv, c.adj, fmt.Sprintf("n = %d, %s", n, c.what))
		}
		after := make([]float64, n*n)
		if err := w.ReadFactor(0, n, after); err != nil {
			t.Fatal(err)
		}
		compare(t, "factor after contractions", after, before, 0)
	}
	p := newProblem(t, "rbf", 20, 1, 21)
	w := newWorkspace(t, b, p.x)
	factorProblem(t, w, p)
	for what, adj := range map[string]device.Adjoint{
		"middle term":      {Middle: make([]float64, 19)},
		"vectors":          {Outer: []float64{1}, Vectors: make([]float64, 19)},
		"vectors, no sign": {Vectors: make([]float64, 20)},
	} {
		if err := w.Contract(context.Background(), adj, p.prog, p.theta, make([]float64, 2), make([]float64, 20)); err == nil {
			t.Errorf("%s of the wrong length accepted", what)
		}
	}
	factorProblem(t, w, p)
	if err := w.InverseDiagonal(context.Background(), make([]float64, 19)); err == nil {
		t.Error("a diagonal of the wrong length accepted")
	}
}

// testLeaveOneOut differentiates the leave-one-out predictive log likelihood
// (Rasmussen & Williams 2006, eq. 5.10–5.13),
//
//	Σ_i ½ log κ_i − ½ α_i²/κ_i,  κ = diag Σ⁻¹,
//
// whose derivative by Σ is −½ Σ⁻¹·diag((1 + α_i²/κ_i)/κ_i)·Σ⁻¹ + ½(αuᵀ + uαᵀ), u =
// Σ⁻¹(α/κ), and compares with central differences of its own values.
func testLeaveOneOut(t *testing.T, b device.ExactDevice) {
	for seed, text := range []string{"rbf(ard)", "(rbf + matern52)*matern32"} {
		const n = 140
		ctx, p := context.Background(), newProblem(t, text, n, 2, uint64(seed)+30)
		p.noise[0] = 0.1
		w := newWorkspace(t, b, p.x)
		solve := func(v []float64) []float64 {
			v = append([]float64(nil), v...)
			if err := w.Solve(ctx, v, 1); err != nil {
				t.Fatal(err)
			}
			return v
		}
		parts := func() (value float64, alpha, kappa []float64) {
			factorProblem(t, w, p)
			alpha, kappa = solve(p.r), make([]float64, n)
			if err := w.InverseDiagonal(ctx, kappa); err != nil {
				t.Fatal(err)
			}
			for i, k := range kappa {
				value += 0.5*math.Log(k) - 0.5*alpha[i]*alpha[i]/k
			}
			return value, alpha, kappa
		}
		_, alpha, kappa := parts()
		middle, u := make([]float64, n), make([]float64, n)
		for i, k := range kappa {
			middle[i] = -0.5 * (1 + alpha[i]*alpha[i]/k) / k
			u[i] = alpha[i] / k
		}
		u = solve(u)
		// ½(αuᵀ + uαᵀ) = ¼(α+u)(α+u)ᵀ − ¼(α−u)(α−u)ᵀ.
		vectors := make([]float64, 2*n)
		for i := range n {
			vectors[i], vectors[n+i] = alpha[i]+u[i], alpha[i]-u[i]
		}
		adj := device.Adjoint{Middle: middle, Outer: []float64{0.25, -0.25}, Vectors: vectors}
		grad, diag := make([]float64, len(p.theta)), make([]float64, n)
		if err := w.Contract(ctx, adj, p.prog, p.theta, grad, diag); err != nil {
			t.Fatal(err)
		}
		trace := 0.0
		for _, v := range diag {
			trace += v * p.noise[0] // ∂Σ/∂log σ² = σ²I
		}
		const h = 1e-4 // as testCentralDifferences
		difference := func(x *float64) float64 {
			middle := *x
			*x = middle * math.Exp(h)
			up, _, _ := parts()
			*x = middle * math.Exp(-h)
			down, _, _ := parts()
			*x = middle
			return (up - down) / (2 * h)
		}
		var want []float64
		for q := range p.theta {
			want = append(want, difference(&p.theta[q]))
		}
		compare(t, text+": gradient of the leave-one-out likelihood", append(grad, trace), append(want, difference(&p.noise[0])), 1e-6)
	}
}

func testInverseDiagonal(t *testing.T, b device.ExactDevice) {
	for _, n := range []int{1, 64, 129, 300} {
		p := newProblem(t, "matern52(ard)", n, 2, 22)
		w := newWorkspace(t, b, p.x)
		factorProblem(t, w, p)
		inv, want, got := referenceInverse(t, p), make([]float64, n), make([]float64, n)
		for i := range want {
			want[i] = inv.At(i, i)
		}
		for range 2 { // with the inverse to form, and there
			if err := w.InverseDiagonal(context.Background(), got); err != nil {
				t.Fatal(err)
			}
			compare(t, "diagonal of the inverse", got, want, tolGradient)
		}
		// The stages that may follow.
		checkContract(t, w, p, inv, device.Adjoint{Inv: 1}, "after InverseDiagonal")
		alpha := append([]float64(nil), p.r...)
		if err := w.Solve(context.Background(), alpha, 1); err != nil {
			t.Fatal(err)
		}
		compare(t, "α after InverseDiagonal", alpha, reference(t, p).alpha, tolGradient)
		if _, _, err := w.LogDet(); err != nil {
			t.Fatal(err)
		}
	}
}

// testAdjointWork checks operations, progress, memory and repeatability of a
// contraction with a middle term.
func testAdjointWork(t *testing.T, b device.ExactDevice) {
	const n = 600
	p := newProblem(t, "rbf", n, 3, 23)
	w := newWorkspace(t, b, p.x)
	factorProblem(t, w, p)
	rng, ctx := rand.New(rand.NewPCG(23, 1)), context.Background()
	adj := device.Adjoint{Inv: 1, Middle: normals(rng, n), Outer: normals(rng, 2), Vectors: normals(rng, 2*n)}
	if err := w.InverseDiagonal(ctx, make([]float64, n)); err != nil {
		t.Fatal(err)
	}
	before, last := w.Work().Flops, device.Progress{}
	w.OnProgress(func(pr device.Progress) { last = pr })
	var first []float64
	for k := range 2 {
		grad, diag := make([]float64, len(p.theta)), make([]float64, n)
		if err := w.Contract(ctx, adj, p.prog, p.theta, grad, diag); err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			first = append(grad, diag...)
			// n³, n³/3 where Σ⁻¹ is formed in panels, and O(n²·256).
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
	plan, work := b.Plan(n, 3), w.Work()
	full := plan.WithMiddle()
	middle := full.HostBytes() + full.DeviceBytes() - plan.HostBytes() - plan.DeviceBytes()
	if full.HostBytes()+full.DeviceBytes() < work.Bytes || middle <= 0 || plan.MiddleFlops != n*n*n || full.FlopsGradient != 2*n*n*n {
		t.Errorf("plan %+v, with a middle term %+v, work %+v", plan, full, work)
	}
	if middle > 8*n*1100 {
		t.Errorf("%d bytes for a middle term: a second matrix?", middle)
	}
}

func testPredictCovariance(t *testing.T, b device.ExactDevice) {
	for _, n := range []int{1, 65, 257} {
		for _, m := range []int{0, 1, 2, 33, 300} {
			p := newProblem(t, "rbf(ard) + matern12", n, 2, 24)
			xs := randomPoints(rand.New(rand.NewPCG(9, 9)), m, 2)
			w := newWorkspace(t, b, p.x)
			factorProblem(t, w, p)
			got := make([]float64, m*m)
			if err := w.PredictCovariance(context.Background(), p.prog, p.theta, xs, got); err != nil {
				t.Fatal(err)
			}
			if m == 0 {
				continue
			}
			cross, e := mat.NewDense(n, m, nil), kernel.NewEvaluator(p.prog)
			e.Bind(p.theta)
			row := make([]float64, n)
			for j := range m {
				e.Row(row, xs, j, p.x, 0, n)
				cross.SetCol(j, row)
			}
			var solved, want mat.Dense
			if err := referenceCholesky(t, p).SolveTo(&solved, cross); err != nil {
				t.Fatal(err)
			}
			want.Mul(cross.T(), &solved)
			compare(t, "covariance reduction", got, want.RawMatrix().Data, tolGradient)
			for i := range m {
				for j := range i {
					if got[i*m+j] != got[j*m+i] {
						t.Fatalf("n = %d, m = %d: not symmetric at (%d, %d)", n, m, i, j)
					}
				}
			}
		}
	}
	p := newProblem(t, "rbf", 10, 1, 25)
	w := newWorkspace(t, b, p.x)
	factorProblem(t, w, p)
	if err := w.PredictCovariance(context.Background(), p.prog, p.theta, p.x, make([]float64, 10)); err == nil {
		t.Error("a covariance of the wrong size accepted")
	}
}

// testPredictMany predicts with several weight vectors, or none, and wants what
// one at a time gives: mean for alpha.
func testPredictMany(t *testing.T, w device.ExactWorkspace, p *problem, alpha []float64, xs *kernel.Points, mean []float64) {
	t.Helper()
	ctx, n, m := context.Background(), p.x.N, xs.N
	other := normals(rand.New(rand.NewPCG(26, 1)), 2*n)
	var want []float64
	for _, v := range [][]float64{other[:n], other[n:]} {
		one := make([]float64, m)
		if err := w.Predict(ctx, p.prog, p.theta, v, xs, one, nil); err != nil {
			t.Fatal(err)
		}
		want = append(want, one...)
	}
	want = append(want, mean...)
	got, reduction := make([]float64, 3*m), make([]float64, m)
	if err := w.Predict(ctx, p.prog, p.theta, append(append([]float64(nil), other...), alpha...), xs, got, reduction); err != nil {
		t.Fatal(err)
	}
	compare(t, "means of three", got, want, tolGradient)
	again := make([]float64, m)
	if err := w.Predict(ctx, p.prog, p.theta, nil, xs, nil, again); err != nil {
		t.Fatal(err)
	}
	compare(t, "variance reduction without means", again, reduction, 0)
	if err := w.Predict(ctx, p.prog, p.theta, other, xs, make([]float64, m), nil); n > 0 && err == nil {
		t.Error("two weight vectors and one vector of means accepted")
	}
}
