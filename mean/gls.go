package mean

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/cpu/spd"
	"gpfit/internal/matrixrows"
	"gpfit/kernel"
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

// GLS solves generalized least squares for one covariance Σ. The maximum-likelihood
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
	product, err := g.products()
	if err != nil {
		return nil, err
	}
	for j := range q {
		m := product(j, j)
		if !(m > 0) {
			return nil, &ConditionError{math.Inf(1)}
		}
		g.scale[j] = 1 / math.Sqrt(m)
	}
	c := mat.NewSymDense(q, nil)
	for j := range q {
		for k := j; k < q; k++ {
			// The two computations differ only by rounding; take their mean.
			c.SetSym(j, k, (product(j, k)+product(k, j))/2*g.scale[j]*g.scale[k])
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

// manyFunctions is the number of functions from which one matrix product makes their products over many points: one
// pair after the other would wait for memory.
const manyFunctions, manyPoints = 8, 2000

// engine multiplies matrices.
var engine = sync.OnceValues(func() (*spd.Engine, error) { return spd.Open(1) })

// products returns the function h_jᵀΣ⁻¹h_k of j and k.
func (g *GLS) products() (func(j, k int) float64, error) {
	if g.q < manyFunctions || g.n < manyPoints {
		return func(j, k int) float64 {
			return floats.Dot(g.h[j*g.n:(j+1)*g.n], g.solved[k*g.n:(k+1)*g.n])
		}, nil
	}
	e, err := engine()
	if err != nil {
		return nil, err
	}
	matrix := func(v []float64) blas64.General { return blas64.General{Rows: g.q, Cols: g.n, Stride: g.n, Data: v} }
	all := make([]float64, g.q*g.q)
	e.AddProduct(all, g.q, 1, matrix(g.h), matrix(g.solved))
	return func(j, k int) float64 { return all[j*g.q+k] }, nil
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

// dependent is the bound below which a column of H counts as a linear combination of the columns
// before it: the norm of its part orthogonal to them, relative to the column's own norm. HᵀΣ⁻¹H
// squares this ratio, so that below √ε rounding would hide the difference.
const dependent = 1e-8

// RankError reports basis functions that are linearly dependent at the data points,
// so that their coefficients are not determined.
type RankError struct {
	// Name is a function that is a linear combination of the functions in Of. Of
	// is empty if the function is zero at every point.
	Name string
	Of   []string
	// N and Q are the numbers of points and functions if N < Q, otherwise 0.
	N, Q int
}

func (e *RankError) Error() string {
	switch {
	case e.N < e.Q:
		return fmt.Sprintf("mean: %d coefficients cannot be determined from %d rows: choose a simpler mean function", e.Q, e.N)
	case len(e.Of) == 0:
		return fmt.Sprintf("mean: the function of %s is zero in every row, so its coefficient is not determined: choose a simpler mean function", e.Name)
	}
	return fmt.Sprintf("mean: on these rows the function of %s is a linear combination of %s, so their coefficients are not determined: choose a simpler mean function", e.Name, strings.Join(e.Of, ", "))
}

// Determined returns a [*RankError] unless the functions are linearly independent on the points. If some of many points show
// that, the others are not looked at.
func (b Basis) Determined(x *kernel.Points) error {
	if few := rowsForRank * len(b); few < x.N && b.CheckRank(b.Evaluate(x.Pick(matrixrows.DrawRows(x.N, few, 1, 4)))) == nil {
		return nil
	}
	return b.CheckRank(b.Evaluate(x))
}

// rowsForRank is the number of points for each function that are looked at first.
const rowsForRank = 20

// CheckRank returns a [*RankError] unless the columns of H (n×q, column-major) are
// linearly independent. It uses Gram–Schmidt with reorthogonalization, from the
// last function (the constant) to the first.
func (b Basis) CheckRank(h []float64) error {
	q := len(b)
	if q == 0 {
		return nil
	}
	n := len(h) / q
	if n < q {
		return &RankError{N: n, Q: q}
	}
	var basis [][]float64
	for j := q - 1; j >= 0; j-- {
		column := h[j*n : (j+1)*n]
		rest := slices.Clone(column)
		for range 2 {
			for _, u := range basis {
				floats.AddScaled(rest, -floats.Dot(u, rest), u)
			}
		}
		size, scale := floats.Norm(rest, 2), floats.Norm(column, 2)
		if b[j].Period > 0 { // a wave of two rows is zero, up to the rounding of a column of dates
			scale = math.Sqrt(float64(n))
		}
		if !(size > dependent*scale) {
			return b.rankError(h, n, j)
		}
		floats.Scale(1/size, rest)
		basis = append(basis, rest)
	}
	return nil
}

// rankError names the functions after j of which function j is a combination.
func (b Basis) rankError(h []float64, n, j int) error {
	e := &RankError{Name: b[j].Name(), N: n, Q: len(b)}
	column := h[j*n : (j+1)*n]
	rest := len(b) - j - 1
	if norm := floats.Norm(column, 2); rest == 0 || norm == 0 || b[j].Period > 0 && norm < dependent*math.Sqrt(float64(n)) {
		return e
	}
	a := mat.NewDense(n, rest, nil)
	for k := range rest {
		a.SetCol(k, h[(j+1+k)*n:(j+2+k)*n])
	}
	var c mat.VecDense
	if err := c.SolveVec(a, mat.NewVecDense(n, column)); err != nil {
		e.Of = b[j+1:].Names()
		return e
	}
	for k := range rest {
		part := math.Abs(c.AtVec(k)) * floats.Norm(h[(j+1+k)*n:(j+2+k)*n], 2)
		if part > 1e-6*floats.Norm(column, 2) {
			e.Of = append(e.Of, b[j+1+k].Name())
		}
	}
	return e
}
