package devicetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// productTolerance is for sums of a few hundred terms, relative to the absolute terms and the terms
// of K·v, because differences of features cancel: √300 rounding errors, and errors of the functions.
const productTolerance = 1e-12

// multiply returns the products of the derivatives with m vectors.
func multiply(t *testing.T, w device.Workspace, p *problem, vectors []float64) []float64 {
	t.Helper()
	m := len(vectors) / p.x.N
	dst := slices.Repeat([]float64{math.NaN()}, len(vectors)*len(p.theta))
	supported(t, capability[device.DerivativeProducts](t, w).MultiplyDerivatives(context.Background(), p.prog, p.theta, vectors, m, dst))
	return dst
}

// checkProducts compares products with the reference, and for parameters in which K is
// homogeneous their weighted sum with K·v.
func checkProducts(t *testing.T, w device.Workspace, p *problem, m int) {
	t.Helper()
	n, r := p.x.N, newReference(t, p)
	vectors := normals(rand.New(rand.NewPCG(31, uint64(n))), n*m)
	got, weights := multiply(t, w, p, vectors), p.prog.Homogeneous(p.x)
	for k := range m {
		v := vectors[k*n : (k+1)*n]
		for i := range n {
			sum, product, size := 0.0, -p.noise[0]*v[i], 0.0
			for j, f := range v {
				product += r.sigma.At(i, j) * f
				size += math.Abs(r.sigma.At(i, j) * f)
			}
			for q, slopes := range r.slopes {
				want, scale := 0.0, size
				for j, f := range v {
					want += slopes.At(i, j) * f
					scale += math.Abs(slopes.At(i, j) * f)
				}
				value := got[(q*m+k)*n+i]
				if !(math.Abs(value-want) <= productTolerance*scale) {
					t.Fatalf("n = %d: row %d of the derivative by %s times vector %d is %v, want %v", n, i, p.prog.Names()[q], k, value, want)
				}
				if weights != nil {
					sum += weights[q] * value
					size = max(size, scale)
				}
			}
			if weights != nil && !(math.Abs(sum-product) <= productTolerance*float64(len(p.theta))*size) {
				t.Fatalf("n = %d: row %d of the weighted sum of products is %v, want %v", n, i, sum, product)
			}
		}
	}
}

// testMultiplyDerivatives multiplies the derivatives of every kernel, before and after Form. Some
// points have equal coordinates.
func testMultiplyDerivatives(t *testing.T, s suite) {
	for i, text := range share(1) {
		t.Run(text, func(t *testing.T) {
			p := s.exactly(t, text, 100, 3, uint64(i)+70)
			for c := range 3 {
				copy(p.x.Column(c)[90:], p.x.Column(c)[:10-c])
			}
			checkProducts(t, s.workspace(t, p.x), p, 3)
		})
	}
	sizes := []int{1, 2, 17, 65, 129}
	if long() {
		sizes = append(sizes, 300)
	}
	for _, n := range sizes {
		p, most := s.problem(t, "rbf(ard) + periodic(ard)*hamming(dims=1)", n, 3, 71), 40
		if n > 100 {
			most = 5 // saves a second
		}
		w := s.formed(t, p)
		for _, m := range []int{0, 1, 3, most} {
			checkProducts(t, w, p, m)
		}
		compare(t, "α after products", solve(t, w, p), newReference(t, p).solve(t, p.r), vectorTolerance)
		// vᵀ(∂K)v is the contraction of vvᵀ.
		got, grad := multiply(t, w, p, p.r), make([]float64, len(p.theta))
		testcheck.Do(t, w.Contract(context.Background(), device.Adjoint{Outer: []float64{1}, Vectors: p.r}, p.prog, p.theta, grad, make([]float64, n)))
		for q, v := range grad {
			column := got[q*n : (q+1)*n]
			if scale := floats.Norm(p.r, 2) * floats.Norm(column, 2); !(math.Abs(floats.Dot(p.r, column)-v) <= productTolerance*(1+scale)) {
				t.Errorf("n = %d: vᵀ(∂K)v is %v for %s, contracted %v", n, floats.Dot(p.r, column), p.prog.Names()[q], v)
			}
		}
	}
}

// testProductCalls tests products with wrong arguments, a context that is done and after Close.
func testProductCalls(t *testing.T, s suite) {
	const n, m = 70, 2
	p, ctx := s.problem(t, "rbf(ard)", n, 3, 72), context.Background()
	w := s.formed(t, p)
	c := capability[device.DerivativeProducts](t, w)
	call := func(ctx context.Context, d *kernel.Program, theta []float64, vectors, dst int) error {
		return c.MultiplyDerivatives(ctx, d, theta, make([]float64, vectors), m, make([]float64, dst))
	}
	size := n * m * len(p.theta)
	supported(t, call(ctx, p.prog, p.theta, n*m, size))
	other := s.problem(t, "rbf(ard)", n, 2, 72)
	for what, err := range map[string]error{
		"vectors":    call(ctx, p.prog, p.theta, n*m-1, size),
		"results":    call(ctx, p.prog, p.theta, n*m, size+1),
		"parameters": call(ctx, p.prog, p.theta[1:], n*m, size),
		"columns":    call(ctx, other.prog, other.theta, n*m, n*m*len(other.theta)),
		"whitening":  c.Whiten(ctx, make([]float64, n*m-1), m, false),
	} {
		if err == nil {
			t.Errorf("products with wrong %s accepted", what)
		}
	}
	mustForm(t, w, p)
	done, cancel := context.WithCancel(ctx)
	cancel()
	if err := call(done, p.prog, p.theta, n*m, size); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	checkEmpty(t, w, "product")
	testcheck.Do(t, w.Close())
	if err := call(ctx, p.prog, p.theta, n*m, size); !errors.Is(err, device.ErrStage) {
		t.Errorf("after Close: error %v, want ErrStage", err)
	}
}

// testWhiten checks ‖L⁻¹b‖² = bᵀΣ⁻¹b and L⁻ᵀL⁻¹b = Σ⁻¹b, before and after a contraction.
func testWhiten(t *testing.T, s suite) {
	for _, n := range []int{1, 2, 17, 100, 300} {
		p, rng := s.noisyProblem(t, n)
		w, r := s.formed(t, p), newReference(t, p)
		c := capability[device.Whitener](t, w)
		for _, when := range []string{"before", "after"} {
			for _, m := range []int{1, 3, 40} {
				b := normals(rng, n*m)
				white := slices.Clone(b)
				supported(t, c.Whiten(context.Background(), white, m, false))
				var squares, want, solved []float64
				for k := range m {
					side, half := b[k*n:(k+1)*n], white[k*n:(k+1)*n]
					x := r.solve(t, side)
					solved = append(solved, x...)
					want = append(want, floats.Dot(side, x))
					squares = append(squares, floats.Dot(half, half))
				}
				compare(t, fmt.Sprintf("n = %d, %s a contraction: ‖L⁻¹b‖²", n, when), squares, want, vectorTolerance)
				testcheck.Do(t, c.Whiten(context.Background(), white, m, true))
				compare(t, fmt.Sprintf("n = %d, %s a contraction: L⁻ᵀL⁻¹b", n, when), white, solved, vectorTolerance)
			}
			checkContract(t, w, r, device.Adjoint{Inv: 1}, "after Whiten")
			restore(t, w, p)
		}
	}
}
