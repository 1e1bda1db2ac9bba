package devicetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/internal/testcheck"
)

func testInverseDiagonal(t *testing.T, s suite) {
	ctx := context.Background()
	for _, n := range []int{1, 64, 129, 300} {
		p := s.problem(t, "matern52(ard)", n, 2, 22)
		w := s.formed(t, p)
		c := capability[device.InverseDiagonal](t, w)
		r, want, got := newReference(t, p), make([]float64, n), make([]float64, n)
		for i := range want {
			want[i] = r.inverse.At(i, i)
		}
		for range 2 { // first without and then with the inverse
			testcheck.Do(t, c.InverseDiagonal(ctx, got))
			compare(t, "diagonal of the inverse", got, want, vectorTolerance)
		}
		// Test the stages that may follow.
		checkContract(t, w, r, device.Adjoint{Inv: 1}, "after InverseDiagonal")
		restore(t, w, p)
		compare(t, "α after InverseDiagonal", solve(t, w, p), r.solve(t, p.r), vectorTolerance)
		testcheck.Get2(w.LogDet())(t)
		if err := c.InverseDiagonal(ctx, make([]float64, n+1)); err == nil {
			t.Error("a diagonal of the wrong length accepted")
		}
	}
}

// testContractDiagonal contracts diagonal middle terms, alone and with the other parts of an
// adjoint, with and without a contraction before.
func testContractDiagonal(t *testing.T, s suite) {
	for _, n := range withMiddle {
		p, rng := s.noisyProblem(t, n)
		w := s.formed(t, p)
		s.needsMiddle(t, w, p, device.Adjoint{Diagonal: make([]float64, n)})
		r := newReference(t, p)
		for k, adj := range contractions(rng, n) {
			with := adj
			with.Diagonal = normals(rng, n)
			checkContract(t, w, r, with, fmt.Sprintf("n = %d, adjoint %d with a diagonal", n, k))
			checkContract(t, w, r, adj, "after a diagonal middle term")
		}
		restore(t, w, p)
		for _, wrong := range []int{0, n + 1} {
			if err := contractAdjoint(context.Background(), w, p, device.Adjoint{Diagonal: make([]float64, wrong)}); err == nil {
				t.Errorf("a middle term of %d elements accepted", wrong)
			}
		}
	}
}

// needsMiddle skips a test of the middle term of an adjoint if the method has none of its kind, and checks that the
// workspace says so, too.
func (s suite) needsMiddle(t *testing.T, w device.Workspace, p *problem, adj device.Adjoint) {
	t.Helper()
	if s.takesMiddle(p, adj) {
		return
	}
	err := contractAdjoint(context.Background(), w, p, adj)
	if unsupported, ok := errors.AsType[*device.UnsupportedError](err); !ok || unsupported.Method != w.Method() {
		t.Fatalf("error %v, want an UnsupportedError of %q", err, w.Method())
	}
	t.Skip(err)
}

// takesMiddle reports whether the method has middle terms such as an adjoint's.
func (s suite) takesMiddle(p *problem, adj device.Adjoint) bool {
	w := device.Workload{N: p.x.N, D: p.x.D, Program: p.prog, Diagonal: adj.Diagonal != nil}
	if adj.Blocks != nil {
		w.Blocks = adj.Blocks.Ends
	}
	return s.b.Supports(w) == nil
}

// contractAdjoint contracts an adjoint, and forgets the results.
func contractAdjoint(ctx context.Context, w device.Workspace, p *problem, adj device.Adjoint) error {
	return w.Contract(ctx, adj, p.prog, p.theta, make([]float64, len(p.theta)), make([]float64, w.N()))
}

// leaveOneOut evaluates the leave-one-out predictive log likelihood (Rasmussen &
// Williams 2006, eq. 5.10–5.12),
//
//	Σ_i ½ log κ_i − ½ α_i²/κ_i,  κ = diag Σ⁻¹.
func leaveOneOut(t *testing.T, w device.Workspace, p *problem) (value float64, alpha, kappa []float64) {
	t.Helper()
	mustForm(t, w, p)
	alpha, kappa = solve(t, w, p), make([]float64, p.x.N)
	testcheck.Do(t, capability[device.InverseDiagonal](t, w).InverseDiagonal(context.Background(), kappa))
	for i, k := range kappa {
		value += 0.5*math.Log(k) - 0.5*alpha[i]*alpha[i]/k
	}
	return value, alpha, kappa
}

// testLeaveOneOut differentiates the leave-one-out likelihood. Its derivative by Σ is −½
// Σ⁻¹·diag((1 + α_i²/κ_i)/κ_i)·Σ⁻¹ + ½(αuᵀ + uαᵀ), u = Σ⁻¹(α/κ) (eq. 5.13). For an exact method, it
// is compared with central differences of the method's values.
func testLeaveOneOut(t *testing.T, s suite) {
	if !s.b.Capabilities().Exact {
		t.Skip("values with an error cannot be differenced")
	}
	for seed, text := range []string{"rbf(ard)", "(rbf + matern52)*matern32"} {
		const n = 140
		ctx, p := context.Background(), s.problem(t, text, n, 2, uint64(seed)+30)
		p.noise[0] = 0.1
		w := s.formed(t, p)
		s.needsMiddle(t, w, p, device.Adjoint{Diagonal: make([]float64, n)})
		_, alpha, kappa := leaveOneOut(t, w, p)
		middle, u := make([]float64, n), make([]float64, n)
		for i, k := range kappa {
			middle[i] = -0.5 * (1 + alpha[i]*alpha[i]/k) / k
			u[i] = alpha[i] / k
		}
		testcheck.Do(t, w.Solve(ctx, u, 1))
		// ½(αuᵀ + uαᵀ) = ¼(α+u)(α+u)ᵀ − ¼(α−u)(α−u)ᵀ.
		vectors := make([]float64, 2*n)
		for i := range n {
			vectors[i], vectors[n+i] = alpha[i]+u[i], alpha[i]-u[i]
		}
		adj := device.Adjoint{Outer: []float64{0.25, -0.25}, Vectors: vectors, Diagonal: middle}
		grad, diag := make([]float64, len(p.theta)), make([]float64, n)
		testcheck.Do(t, w.Contract(ctx, adj, p.prog, p.theta, grad, diag))
		trace := 0.0
		for _, v := range diag {
			trace += v * p.noise[0] // ∂Σ/∂log σ² = σ²I
		}
		const h = 1e-4 // as in testCentralDifferences
		difference := func(x *float64) float64 {
			middle := *x
			*x = middle * math.Exp(h)
			up, _, _ := leaveOneOut(t, w, p)
			*x = middle * math.Exp(-h)
			down, _, _ := leaveOneOut(t, w, p)
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

func testPredictCovariance(t *testing.T, s suite) {
	ctx := context.Background()
	for _, n := range []int{1, 65, 257} {
		p := s.problem(t, "rbf(ard) + matern12", n, 2, 24)
		c, r := capability[device.JointCovariance](t, s.formed(t, p)), newReference(t, p)
		for _, m := range []int{0, 1, 2, 33, 300} {
			xs := randomPoints(rand.New(rand.NewPCG(9, 9)), m, 2)
			got := make([]float64, m*m)
			testcheck.Do(t, c.PredictCovariance(ctx, p.prog, p.theta, xs, got))
			if m == 0 {
				continue
			}
			_, want := r.predict(t, xs)
			compare(t, "covariance reduction", got, want.RawMatrix().Data, vectorTolerance)
			if g := mat.NewDense(m, m, got); !mat.Equal(g, g.T()) {
				t.Fatalf("n = %d, m = %d: not symmetric", n, m)
			}
		}
		if err := c.PredictCovariance(ctx, p.prog, p.theta, p.x, make([]float64, n+2)); err == nil {
			t.Error("a covariance of the wrong size accepted")
		}
	}
}

// testFactor reads a factor after a gradient and writes it to another workspace, which then
// gives the same bits.
func testFactor(t *testing.T, s suite) {
	const n = 130
	p := s.problem(t, "matern52", n, 2, 4)
	w, other := s.workspace(t, p.x), s.workspace(t, p.x)
	capability[device.FactorStore](t, w)
	before, r := mustEvaluate(t, w, p), newReference(t, p)
	restore(t, w, p)
	l := readFactor(t, w)
	for i := range n {
		for j := range i + 1 {
			sum := 0.0
			for k := range j + 1 {
				sum += l[i*n+k] * l[j*n+k]
			}
			if want := r.sigma.At(i, j); math.Abs(sum-want) > 1e-13*float64(n)*r.sigma.At(i, i) {
				t.Fatalf("(LLᵀ)[%d,%d] = %v, want %v: the factor must survive a gradient", i, j, sum, want)
			}
		}
		for j := i + 1; j < n; j++ {
			if l[i*n+j] != 0 {
				t.Fatalf("L[%d,%d] = %v above the diagonal", i, j, l[i*n+j])
			}
		}
	}
	writeFactor(t, other, n, l)
	alpha := solve(t, other, p)
	compare(t, "α from a restored factor", alpha, r.solve(t, p.r), vectorTolerance)
	compare(t, "α from a restored factor, to the bit", alpha, before.alpha, 0)
	l[3*n+3] = math.NaN()
	if err := capability[device.FactorStore](t, other).WriteFactor(0, n, l); err == nil {
		t.Error("a factor with NaN was accepted")
	}
}

// testExtendFactor extends factors of fewer points, whose rows equal a fresh factor's.
func testExtendFactor(t *testing.T, s suite) {
	ctx := context.Background()
	for _, size := range []struct{ n, known int }{{2, 1}, {130, 129}, {130, 0}, {130, 130}, {200, 64}, {300, 1}, {300, 257}} {
		p := s.problem(t, "matern52(ard)", size.n, 2, 9)
		fresh, w := s.formed(t, p), s.workspace(t, p.x)
		c := capability[device.FactorExtender](t, w)
		l := readFactor(t, fresh)
		if err := c.ExtendFactor(ctx, p.prog, p.theta, p.noise, size.known+1); !errors.Is(err, device.ErrStage) {
			t.Errorf("extended rows that are not there: %v", err)
		}
		for r0 := 0; r0 < size.known; r0 += 50 {
			testcheck.Do(t, c.WriteFactor(r0, min(r0+50, size.known), l[r0*size.n:]))
		}
		testcheck.Do(t, c.ExtendFactor(ctx, p.prog, p.theta, p.noise, size.known))
		compare(t, "extended factor", readFactor(t, w), l, vectorTolerance)
		compare(t, "α from an extended factor", solve(t, w, p), newReference(t, p).solve(t, p.r), vectorTolerance)
	}
	p := singular(t, 90, 70)
	w := s.workspace(t, p.x)
	c := capability[device.FactorExtender](t, w)
	if err := c.ExtendFactor(ctx, p.prog, p.theta, p.noise, 0); !device.IsNotPD(err) {
		t.Errorf("a singular covariance: %v", err)
	}
}

// readFactor returns L.
func readFactor(t *testing.T, w device.Workspace) []float64 {
	t.Helper()
	l := make([]float64, w.N()*w.N())
	testcheck.Do(t, capability[device.FactorStore](t, w).ReadFactor(0, w.N(), l))
	return l
}

// writeFactor writes L to a workspace, a few rows at a time.
func writeFactor(t *testing.T, w device.Workspace, n int, l []float64) {
	t.Helper()
	c := capability[device.FactorStore](t, w)
	for r0 := 0; r0 < n; r0 += 50 {
		testcheck.Do(t, c.WriteFactor(r0, min(r0+50, n), l[r0*n:]))
	}
}

func testResidual(t *testing.T, s suite) {
	p := s.problem(t, "matern32(ard)", 300, 2, 27)
	r, err := capability[device.ResidualChecker](t, s.formed(t, p)).Residual(context.Background())
	if err != nil || !(r >= 0 && r <= vectorTolerance) {
		t.Errorf("residual %v, error %v", r, err)
	}
}

// divisions returns ends of blocks of n rows: single rows, one block, and blocks of
// different sizes.
func divisions(n int) [][]int {
	single, uneven := make([]int, n), []int(nil)
	for i := range single {
		single[i] = i + 1
	}
	for end, m := 0, 1; end < n; m += 13 {
		end = min(end+m, n)
		uneven = append(uneven, end)
	}
	return [][]int{single, {n}, uneven}
}

func testInverseBlocks(t *testing.T, s suite) {
	ctx := context.Background()
	for _, n := range withMiddle {
		p, _ := s.noisyProblem(t, n)
		w := s.formed(t, p)
		c, r := capability[device.BlockInverse](t, w), newReference(t, p)
		for _, ends := range divisions(n) {
			got := device.NewBlocks(ends)
			testcheck.Do(t, c.InverseBlocks(ctx, got))
			var want []float64
			first := 0
			for _, end := range ends {
				for i := first; i < end; i++ {
					for j := first; j < end; j++ {
						want = append(want, r.inverse.At(i, j))
					}
				}
				first = end
			}
			compare(t, fmt.Sprintf("n = %d: %d blocks of the inverse", n, len(ends)), got.Elements, want, vectorTolerance)
		}
		checkContract(t, w, r, device.Adjoint{Inv: 1}, "after InverseBlocks")
	}
}

// testContractBlocks contracts middle terms of symmetric blocks, alone and with the other
// parts of an adjoint, among other contractions.
func testContractBlocks(t *testing.T, s suite) {
	for _, n := range withMiddle {
		p, rng := s.noisyProblem(t, n)
		w := s.formed(t, p)
		s.needsMiddle(t, w, p, device.Adjoint{Blocks: device.NewBlocks([]int{n})})
		r := newReference(t, p)
		for k, ends := range divisions(n) {
			middle := symmetricBlocks(rng, ends)
			for _, adj := range []device.Adjoint{{}, {Inv: 0.5, Outer: normals(rng, 3), Vectors: normals(rng, 3*n)}} {
				adj.Blocks = middle
				checkContract(t, w, r, adj, fmt.Sprintf("n = %d, division %d", n, k))
			}
			checkContract(t, w, r, device.Adjoint{Inv: 1}, "after a middle term of blocks")
		}
	}
}

// symmetricBlocks returns blocks of random numbers.
func symmetricBlocks(rng *rand.Rand, ends []int) *device.Blocks {
	b := device.NewBlocks(ends)
	_ = b.Each(func(_, m int, elements []float64) error {
		for i := range m {
			for j := range i + 1 {
				elements[i*m+j] = rng.NormFloat64()
				elements[j*m+i] = elements[i*m+j]
			}
		}
		return nil
	})
	return b
}

func testBlockSizes(t *testing.T, s suite) {
	const n = 20
	p := s.problem(t, "rbf", n, 1, 21)
	w, ctx := s.formed(t, p), context.Background()
	c := capability[device.BlockInverse](t, w)
	contract := func(adj device.Adjoint, b *device.Blocks) error {
		adj.Blocks = b
		return contractAdjoint(ctx, w, p, adj)
	}
	for what, b := range map[string]*device.Blocks{
		"too few rows":  device.NewBlocks([]int{5, n - 1}),
		"too many rows": device.NewBlocks([]int{5, n + 1}),
		"an empty fold": device.NewBlocks([]int{5, 5, n}),
		"few elements":  {Ends: []int{n}, Elements: make([]float64, n*n-1)},
	} {
		if err := c.InverseBlocks(ctx, b); err == nil {
			t.Errorf("InverseBlocks accepted blocks with %s", what)
		}
		if err := contract(device.Adjoint{}, b); err == nil {
			t.Errorf("Contract accepted blocks with %s", what)
		}
	}
	good := device.NewBlocks([]int{5, n})
	if err := contract(device.Adjoint{Outer: []float64{1}}, good); err == nil {
		t.Error("Contract accepted vectors of the wrong length")
	}
	if err := contract(device.Adjoint{}, good); err != nil {
		t.Errorf("after wrong arguments: %v", err)
	}
}
