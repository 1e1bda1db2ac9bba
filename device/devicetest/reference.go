package devicetest

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// reference is a problem with results computed densely, with every matrix formed.
type reference struct {
	p *problem
	*matrices
}

// matrices holds the matrices of a reference. They do not change.
type matrices struct {
	sigma   *mat.SymDense
	chol    mat.Cholesky
	inverse mat.SymDense
	// slopes are ∂K/∂log θ_q.
	slopes []*mat.SymDense
}

// known caches the matrices of problems by everything that they depend on, because
// the suite runs on several devices in one program.
var known sync.Map

func newReference(t testing.TB, p *problem) *reference {
	t.Helper()
	key := fmt.Sprint(p.prog.Text, p.x.D, p.theta, p.noise, p.x.X)
	if m, ok := known.Load(key); ok {
		return &reference{p, m.(*matrices)}
	}
	m := newMatrices(t, p)
	known.Store(key, m)
	return &reference{p, m}
}

func newMatrices(t testing.TB, p *problem) *matrices {
	t.Helper()
	n := p.x.N
	m := &matrices{sigma: mat.NewSymDense(n, nil)}
	for range p.theta {
		m.slopes = append(m.slopes, mat.NewSymDense(n, nil))
	}
	points, slopes := make([][]float64, n), make([]float64, len(p.theta))
	for i := range n {
		points[i] = row(p.x, i)
		for j := range i + 1 {
			m.sigma.SetSym(i, j, p.k.value(p.theta, points[i], points[j]))
			p.k.slopes(slopes, p.theta, points[i], points[j])
			for q, v := range slopes {
				m.slopes[q].SetSym(i, j, v)
			}
		}
		m.sigma.SetSym(i, i, m.sigma.At(i, i)+p.noise[min(i, len(p.noise)-1)])
	}
	if !m.chol.Factorize(m.sigma) {
		t.Fatal("reference: not positive definite")
	}
	testcheck.Do(t, m.chol.InverseTo(&m.inverse))
	return m
}

// row returns the i-th point.
func row(x *kernel.Points, i int) []float64 {
	v := make([]float64, x.D)
	for c := range v {
		v[c] = x.Column(c)[i]
	}
	return v
}

// solve returns Σ⁻¹b.
func (r *reference) solve(t testing.TB, b []float64) []float64 {
	t.Helper()
	var out mat.VecDense
	testcheck.Do(t, r.chol.SolveVecTo(&out, mat.NewVecDense(len(b), b)))
	return out.RawVector().Data
}

// outcome returns the results that evaluate computes.
func (r *reference) outcome(t testing.TB) outcome {
	t.Helper()
	o := outcome{logDet: r.chol.LogDet(), alpha: r.solve(t, r.p.r)}
	o.grad, o.gradScale, o.diag = r.contract(likelihoodAdjoint(o.alpha))
	return o
}

// contract contracts adj, and a middle term of blocks unless it is nil, with the whole
// matrix formed. It also returns the sums of absolute terms. Errors are relative to them,
// because terms may cancel.
func (r *reference) contract(adj device.Adjoint) (grad, scale, diag []float64) {
	n := r.p.x.N
	g := mat.NewDense(n, n, nil)
	g.Scale(adj.Inv, &r.inverse)
	if adj.HasMiddle() {
		g.Add(g, r.between(adj))
	}
	for k, f := range adj.Outer {
		v := mat.NewVecDense(n, adj.Vectors[k*n:(k+1)*n])
		g.RankOne(g, f, v, v)
	}
	grad, scale, diag = make([]float64, len(r.slopes)), make([]float64, len(r.slopes)), make([]float64, n)
	for i := range n {
		diag[i] = g.At(i, i)
		for q, slopes := range r.slopes {
			for j := range n {
				d := g.At(i, j) * slopes.At(i, j)
				grad[q] += d
				scale[q] += math.Abs(d)
			}
		}
	}
	return grad, scale, diag
}

// between returns the middle term of an adjoint, summed over the elements of its matrix.
func (r *reference) between(adj device.Adjoint) *mat.Dense {
	n := r.p.x.N
	inverse := mat.DenseCopyOf(&r.inverse)
	left, out := mat.NewDense(n, n, nil), new(mat.Dense)
	b := adj.Blocks
	if b == nil {
		b = &device.Blocks{Ends: divisions(n)[0], Elements: adj.Diagonal}
	}
	_ = b.Each(func(first, m int, elements []float64) error {
		left.Slice(0, n, first, first+m).(*mat.Dense).Mul(inverse.Slice(0, n, first, first+m), mat.NewDense(m, m, elements))
		return nil
	})
	out.Mul(left, inverse)
	return out
}

// cross returns k(x_i, x*_j), n×m for the m points of xs.
func (r *reference) cross(xs *kernel.Points) *mat.Dense {
	out := mat.NewDense(r.p.x.N, xs.N, nil)
	for i := range r.p.x.N {
		for j := range xs.N {
			out.Set(i, j, r.p.k.value(r.p.theta, row(r.p.x, i), row(xs, j)))
		}
	}
	return out
}

// predict returns K*ᵀα and K*ᵀΣ⁻¹K* at the points xs.
func (r *reference) predict(t testing.TB, xs *kernel.Points) (mean []float64, reduction *mat.Dense) {
	t.Helper()
	cross := r.cross(xs)
	var solved, product mat.Dense
	testcheck.Do(t, r.chol.SolveTo(&solved, cross))
	product.Mul(cross.T(), &solved)
	var means mat.VecDense
	means.MulVec(cross.T(), mat.NewVecDense(r.p.x.N, r.solve(t, r.p.r)))
	return means.RawVector().Data, &product
}
