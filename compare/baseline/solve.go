package baseline

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Form is a way to compute penalized least squares with λ > 0. Both give the same numbers
// but for rounding.
type Form string

const (
	// Primal solves for the d weights: w = (XᵀX + λI)⁻¹Xᵀy (ESL, eq. 3.44).
	Primal Form = "primal"
	// Dual solves for one coefficient a row: w = Xᵀ(XXᵀ + λI)⁻¹y (ESL, eq. 18.12; RW, eq. 2.12).
	Dual Form = "dual"
)

// resolve checks the form and replaces "" by the smaller one for n×d.
func (f Form) resolve(n, d int) (Form, error) {
	switch {
	case f == Primal || f == Dual:
		return f, nil
	case f != "":
		return "", fmt.Errorf("baseline: Form is %q; give %q, %q or nothing", f, Primal, Dual)
	case d <= n:
		return Primal, nil
	}
	return Dual, nil
}

// begin checks a table for a model in a form, and returns the form to solve it in with what reduce
// returns.
func (d Design) begin(form Form, x mat.Matrix, y []float64) (Form, Scaling, *reduced, error) {
	if err := checkTable(x, y); err != nil {
		return form, Scaling{}, nil, err
	}
	n, width := x.Dims()
	form, err := form.resolve(n, width)
	if err != nil {
		return form, Scaling{}, nil, err
	}
	scale, r, err := d.reduce(x, y)
	return form, scale, r, err
}

// solution is the minimum of ‖y − Zw‖² + λ‖w‖².
type solution struct {
	weights []float64
	spread  spread
}

// spread is the quadratic form zᵀ(ZᵀZ + λI)⁻¹z; times σ² it is the variance of zᵀw.
// Its members depend on the form of the solution.
type spread struct {
	lambda float64
	// upper is R with RᵀR = ZᵀZ + λI, for the primal form.
	upper *mat.Dense
	// rows is Z and lower is L with LLᵀ = ZZᵀ + λI, for the dual form.
	rows, lower *mat.Dense
	// v holds the right singular vectors of Z, and s the singular values up to the rank.
	v *mat.Dense
	s []float64
}

// at returns the form at z.
func (f *spread) at(z []float64) float64 {
	switch {
	case f.upper != nil:
		u := blas64.Vector{N: len(z), Inc: 1, Data: slices.Clone(z)}
		blas64.Trsv(blas.Trans, triangle(f.upper, blas.Upper), u)
		return squares(u.Data)
	case f.lower != nil:
		u := blas64.Vector{N: f.lower.RawMatrix().Rows, Inc: 1, Data: multiply(f.rows, z)}
		blas64.Trsv(blas.NoTrans, triangle(f.lower, blas.Lower), u)
		size := 1 / math.Sqrt(f.lambda)
		return max(0, squares(scaled(size, z))-squares(scaled(size, u.Data)))
	}
	in := multiplyTransposed(f.v, z)
	clear(in[len(f.s):])
	var outside []float64
	if f.lambda > 0 && len(f.s) < len(z) {
		outside = append(outside, z...)
		floats.AddScaled(outside, -1, multiply(f.v, in))
		outside = scaled(1/math.Sqrt(f.lambda), outside)
	}
	for j, s := range f.s {
		in[j] /= math.Hypot(s, math.Sqrt(f.lambda))
	}
	return squares(append(outside, in...))
}

// triangle returns a triangle of a square matrix.
func triangle(a *mat.Dense, side blas.Uplo) blas64.Triangular {
	raw := a.RawMatrix()
	return blas64.Triangular{Uplo: side, Diag: blas.NonUnit, N: raw.Rows, Stride: raw.Stride, Data: raw.Data}
}

// solve minimizes ‖y − Zw‖² + λ‖w‖² in one form. If Z has almost dependent columns for
// this λ, and for λ = 0, it takes the singular value decomposition instead.
func solve(r *reduced, form Form, lambda float64) (*solution, error) {
	var out *solution
	var err error
	switch {
	case lambda == 0:
	case form == Primal:
		out, err = primal(r, lambda)
	default:
		out, err = dual(r, lambda)
	}
	if out == nil && err == nil {
		out, err = bySpectrum(r, lambda)
	}
	if err == nil && !allFinite(out.weights...) {
		err = errRange
	}
	return out, err
}

// primal factors [Z; √λI] = QR, so that RᵀR = ZᵀZ + λI without forming ZᵀZ. It returns
// nil if R is singular to rounding.
func primal(r *reduced, lambda float64) (*solution, error) {
	n, d := r.z.Dims()
	stacked := mat.NewDense(n+d, d, nil)
	stacked.Slice(0, n, 0, d).(*mat.Dense).Copy(r.z)
	for j := range d {
		stacked.Set(n+j, j, math.Sqrt(lambda))
	}
	target := mat.NewVecDense(n+d, nil)
	copy(target.RawVector().Data, r.y)
	var qr mat.QR
	qr.Factorize(stacked)
	w := mat.NewVecDense(d, nil)
	if err := qr.SolveVecTo(w, false, target); err != nil {
		return nil, nil
	}
	var upper mat.Dense
	qr.RTo(&upper)
	return &solution{w.RawVector().Data, spread{lambda: lambda, upper: mat.DenseCopyOf(upper.Slice(0, d, 0, d))}}, nil
}

// dual factors [Z √λI] = LQ, so that LLᵀ = ZZᵀ + λI. The shortest solution of
// Zw + √λv = y holds the weights. It returns nil if L is singular to rounding.
func dual(r *reduced, lambda float64) (*solution, error) {
	n, d := r.z.Dims()
	stacked := mat.NewDense(n, d+n, nil)
	stacked.Slice(0, n, 0, d).(*mat.Dense).Copy(r.z)
	for i := range n {
		stacked.Set(i, d+i, math.Sqrt(lambda))
	}
	var lq mat.LQ
	lq.Factorize(stacked)
	w := mat.NewVecDense(d+n, nil)
	if err := lq.SolveVecTo(w, false, mat.NewVecDense(n, r.y)); err != nil {
		return nil, nil
	}
	var lower mat.Dense
	lq.LTo(&lower)
	return &solution{w.RawVector().Data[:d], spread{lambda: lambda, rows: r.z, lower: mat.DenseCopyOf(lower.Slice(0, n, 0, n))}}, nil
}

// bySpectrum solves by the singular value decomposition. For λ = 0 the weights are the
// shortest among the weights of least squares, and spread leaves out directions that the rows
// do not determine.
func bySpectrum(r *reduced, lambda float64) (*solution, error) {
	s, err := newSpectrum(r)
	if err != nil {
		return nil, err
	}
	return &solution{s.weights(lambda), spread{lambda: lambda, v: s.v, s: s.s[:s.rank]}}, nil
}

// additive is a solution for the columns of a design.
type additive struct {
	scale    Scaling
	reduced  *reduced
	solution *solution
}

// predict returns means and, unless the noise is NaN, variances for rows: their columns b
// without a penalty, nil if there are none, and z with one.
func (m *additive) predict(b, z *mat.Dense, noise float64) Prediction {
	n, _ := z.Dims()
	out := Prediction{Mean: make([]float64, n)}
	if !math.IsNaN(noise) {
		out.Variance = make([]float64, n)
	}
	for i := range n {
		var free []float64
		if b != nil {
			free = b.RawRowView(i)
		}
		g, rest := m.reduced.row(free, z.RawRowView(i))
		out.Mean[i] = floats.Dot(g, m.reduced.yq) + floats.Dot(rest, m.solution.weights)
		if out.Variance != nil {
			out.Variance[i] = noise * (1 + squares(g) + m.solution.spread.at(rest))
		}
	}
	return out
}
