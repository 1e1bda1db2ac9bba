package baseline

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// begin checks a table and returns the scaling and the problem without the intercept.
func (d Design) begin(x mat.Matrix, y []float64) (Scaling, *reduced, error) {
	if err := checkTable(x, y); err != nil {
		return Scaling{}, nil, err
	}
	return d.reduce(x, y)
}

// solution is the minimum of ‖y − Zw‖² + λ‖w‖².
type solution struct {
	weights []float64
	spread  spread
}

// spread is the quadratic form zᵀ(ZᵀZ + λI)⁻¹z; times σ² it is the variance of zᵀw. For λ = 0 it
// leaves out directions that the rows do not determine.
type spread struct {
	lambda float64
	// v holds the right singular vectors of Z, and s the singular values up to the rank.
	v *mat.Dense
	s []float64
	// Files of earlier versions may have upper instead, R with RᵀR = ZᵀZ + λI, or rows, which is Z,
	// and lower, L with LLᵀ = ZZᵀ + λI.
	upper, rows, lower *mat.Dense
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

// solution returns the minimum for a penalty. For λ = 0 the weights are the shortest least-squares
// weights.
func (s *spectrum) solution(lambda float64) (*solution, error) {
	out := &solution{s.weights(lambda), spread{lambda: lambda, v: s.v, s: s.s[:s.rank]}}
	if !allFinite(out.weights...) {
		return nil, errRange
	}
	return out, nil
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
