package baseline

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// spectrum checks a table and returns the scaling and the spectrum of the problem without the intercept.
func (d Design) spectrum(x mat.Matrix, y []float64) (Scaling, *spectrum, error) {
	if err := checkTable(x, y); err != nil {
		return Scaling{}, nil, err
	}
	scale, r, err := d.reduce(x, y)
	if err != nil {
		return scale, nil, err
	}
	s, err := newSpectrum(r)
	return scale, s, err
}

// spread is the quadratic form zᵀ(ZᵀZ + λI)⁻¹z; times σ² it is the variance of zᵀw. For λ = 0 it
// leaves out directions that the rows do not determine.
type spread struct {
	Lambda float64 `json:"lambda"`
	// Files of earlier versions may have Upper, R with RᵀR = ZᵀZ + λI, or Rows, which is Z, and Lower,
	// L with LLᵀ = ZZᵀ + λI.
	Upper *Matrix `json:"upper,omitempty"`
	Rows  *Matrix `json:"rows,omitempty"`
	Lower *Matrix `json:"lower,omitempty"`
	// Otherwise Vectors holds the right singular vectors of Z, and Values the singular values up to the rank.
	Vectors *Matrix   `json:"vectors,omitempty"`
	Values  []float64 `json:"values,omitempty"`
}

// check returns an error unless the form has this number of columns.
func (f *spread) check(columns int) error {
	switch {
	case f.Upper != nil:
		return check(f.Upper.is(columns, columns))
	case f.Lower != nil:
		return check(f.Lower.is(f.Lower.Rows, f.Lower.Rows), f.Rows.is(f.Lower.Rows, columns))
	}
	return check(f.Vectors.is(columns, -1) && len(f.Values) <= f.Vectors.Columns)
}

// at returns the form at z.
func (f *spread) at(z []float64) float64 {
	switch {
	case f.Upper != nil:
		u := blas64.Vector{N: len(z), Inc: 1, Data: slices.Clone(z)}
		blas64.Trsv(blas.Trans, triangle(f.Upper, blas.Upper), u)
		return squares(u.Data)
	case f.Lower != nil:
		u := blas64.Vector{N: f.Lower.Rows, Inc: 1, Data: multiply(f.Rows.dense(), z)}
		blas64.Trsv(blas.NoTrans, triangle(f.Lower, blas.Lower), u)
		size := 1 / math.Sqrt(f.Lambda)
		return max(0, squares(scaled(size, z))-squares(scaled(size, u.Data)))
	}
	vectors := f.Vectors.dense()
	in := multiplyTransposed(vectors, z)
	clear(in[len(f.Values):])
	var outside []float64
	if f.Lambda > 0 && len(f.Values) < len(z) {
		outside = append(outside, z...)
		floats.AddScaled(outside, -1, multiply(vectors, in))
		outside = scaled(1/math.Sqrt(f.Lambda), outside)
	}
	for j, s := range f.Values {
		in[j] /= math.Hypot(s, math.Sqrt(f.Lambda))
	}
	return squares(append(outside, in...))
}

// triangle returns a triangle of a square matrix.
func triangle(a *Matrix, side blas.Uplo) blas64.Triangular {
	return blas64.Triangular{Uplo: side, Diag: blas.NonUnit, N: a.Rows, Stride: a.Columns, Data: a.Values}
}

// additive is the minimum of ‖y − Bb − Zw‖² + λ‖w‖² for the columns of a design. For a row with the columns b
// and z, the coordinates g of b in Q and r = z − Regressionᵀg, the mean is gᵀFree + rᵀPenalized, and the variance
// is Noise·(1 + gᵀg + spread of r).
type additive struct {
	Scale Scaling `json:"scale"`
	regression
	// Penalized is w.
	Penalized []float64 `json:"weights"`
	// Noise is the variance of the noise, nil if it cannot be estimated.
	Noise *float64 `json:"noise_variance,omitempty"`
	spread
}

// solve sets the solution for a penalty. For λ = 0 the weights are the shortest least-squares weights.
func (m *additive) solve(s *spectrum, lambda float64) error {
	m.regression, m.Penalized = s.of.regression, s.weights(lambda)
	m.spread = spread{Lambda: lambda, Vectors: matrixOf(s.v), Values: s.s[:s.rank]}
	if !allFinite(m.Penalized...) {
		return errRange
	}
	return nil
}

// check returns an error unless the parts fit together for d columns of a table, and the numbers of columns of B and Z.
func (m *additive) check(d, free, penalized int) error {
	k := len(m.Free)
	return errors.Join(
		m.Scale.check(d), m.spread.check(penalized),
		check(len(m.Penalized) == penalized, k == 0 || m.Coordinates.is(free, k) && m.Regression.is(k, penalized)),
	)
}

// predict returns means and, if the noise is known, variances for rows: their columns b
// without a penalty, nil if there are none, and z with one.
func (m *additive) predict(b, z *mat.Dense) Prediction {
	n, _ := z.Dims()
	out := Prediction{Mean: make([]float64, n)}
	if m.Noise != nil {
		out.Variance = make([]float64, n)
	}
	for i := range n {
		var free []float64
		if b != nil {
			free = b.RawRowView(i)
		}
		g, rest := m.row(free, z.RawRowView(i))
		out.Mean[i] = floats.Dot(g, m.Free) + floats.Dot(rest, m.Penalized)
		if out.Variance != nil {
			out.Variance[i] = *m.Noise * (1 + squares(g) + m.spread.at(rest))
		}
	}
	return out
}
