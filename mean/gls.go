package mean

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// maxCondition bounds the condition number of HᵀΣ⁻¹H scaled to a unit diagonal.
// Beyond it no digit of the coefficients is correct.
const maxCondition = 1e14

// ConditionError reports that HᵀΣ⁻¹H cannot be inverted in floating-point
// arithmetic although H has full rank, because Σ is nearly singular.
type ConditionError struct{ Condition float64 }

func (e *ConditionError) Error() string {
	return fmt.Sprintf("mean: the data do not determine the coefficients at these parameters: the condition number of HᵀΣ⁻¹H is %.1g; increase the noise variance or choose a simpler mean function", e.Condition)
}

// GLS solves generalised least squares for one covariance Σ. The maximum-likelihood
// coefficients are β̂ = M⁻¹HᵀΣ⁻¹y with M = HᵀΣ⁻¹H, and their covariance is M⁻¹
// (Rasmussen & Williams 2006, section 2.7, with a vague prior on β).
type GLS struct {
	n, q   int
	h      []float64
	solved []float64
	// M = D⁻¹CD⁻¹, where C has a unit diagonal; scale is the diagonal of D.
	scale []float64
	chol  mat.Cholesky
}

// NewGLS returns the least squares for H and Σ⁻¹H, both n×q and column-major, and
// keeps both slices. It costs nq² operations. Errors are [*ConditionError].
func NewGLS(h, solved []float64, n int) (*GLS, error) {
	q := len(h) / n
	g := &GLS{n: n, q: q, h: h, solved: solved, scale: make([]float64, q)}
	for j := range q {
		m := g.product(j, j)
		if !(m > 0) {
			return nil, &ConditionError{math.Inf(1)}
		}
		g.scale[j] = 1 / math.Sqrt(m)
	}
	c := mat.NewSymDense(q, nil)
	for j := range q {
		for k := j; k < q; k++ {
			// The two computations differ only by rounding; take their mean.
			c.SetSym(j, k, (g.product(j, k)+g.product(k, j))/2*g.scale[j]*g.scale[k])
		}
	}
	if !g.chol.Factorize(c) {
		return nil, &ConditionError{math.Inf(1)}
	}
	if k := g.chol.Cond(); !(k < maxCondition) {
		return nil, &ConditionError{k}
	}
	return g, nil
}

// product returns h_jᵀΣ⁻¹h_k.
func (g *GLS) product(j, k int) float64 {
	return floats.Dot(g.h[j*g.n:(j+1)*g.n], g.solved[k*g.n:(k+1)*g.n])
}

// Coefficients returns β̂ for the targets y (n).
func (g *GLS) Coefficients(y []float64) []float64 {
	beta := make([]float64, g.q)
	for j := range beta {
		beta[j] = floats.Dot(g.solved[j*g.n:(j+1)*g.n], y)
	}
	g.Whiten(beta) // U⁻ᵀDb, then M⁻¹b = D·U⁻¹·(U⁻ᵀDb)
	u := g.upper()
	blas64.Trsv(blas.NoTrans, u, blas64.Vector{N: g.q, Inc: 1, Data: beta})
	floats.Mul(beta, g.scale)
	return beta
}

// upper returns U with C = UᵀU.
func (g *GLS) upper() blas64.Triangular {
	var u mat.TriDense
	g.chol.UTo(&u)
	return u.RawTriangular()
}

// Covariance returns M⁻¹, q×q, the covariance of β̂.
func (g *GLS) Covariance() []float64 {
	w := make([]float64, g.q*g.q)
	for j := range g.q {
		w[j*g.q+j] = 1
	}
	g.Whiten(w)
	out := make([]float64, g.q*g.q)
	for j := range g.q {
		for k := range g.q {
			out[j*g.q+k] = floats.Dot(w[j*g.q:(j+1)*g.q], w[k*g.q:(k+1)*g.q])
		}
	}
	return out
}

// Whiten overwrites each column r of the q×m matrix with a w such that wᵀw' =
// rᵀM⁻¹r' for any two columns. This is the part of a posterior covariance that is
// due to the uncertainty of β (Rasmussen & Williams 2006, eq. 2.42).
func (g *GLS) Whiten(r []float64) {
	m := len(r) / g.q
	for i, v := range r {
		r[i] = v * g.scale[i%g.q]
	}
	blas64.Trsm(blas.Right, blas.NoTrans, 1, g.upper(), blas64.General{Rows: m, Cols: g.q, Stride: g.q, Data: r})
}
