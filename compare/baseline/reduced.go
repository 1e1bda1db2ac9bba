package baseline

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// reduced is penalized least squares
//
//	minimize ‖y − Bb − Zw‖² + λ‖w‖²
//
// without the columns B that are not penalized: with an orthonormal basis Q of B, z and y are the
// residuals of Z and y after regression on B, and w minimizes ‖y − Zw‖² + λ‖w‖² in these (ESL,
// section 3.2.3). The same holds for a posterior of w when b has a flat prior (RW, section 2.7).
type reduced struct {
	z *mat.Dense
	y []float64
	// q is Q, n×r; nil if there is no B.
	q *mat.Dense
	regression
}

// regression is the regression on the columns B. Its members are nil if there is no B.
type regression struct {
	// Coordinates maps a row b of B to its coordinates in Q.
	Coordinates *Matrix `json:"coordinates,omitempty"`
	// Regression is QᵀZ, and Free is Qᵀy.
	Regression *Matrix   `json:"regression,omitempty"`
	Free       []float64 `json:"free,omitempty"`
}

// reduce returns the scaling of the columns, and the problem without the intercept.
func (d Design) reduce(x mat.Matrix, y []float64) (Scaling, *reduced, error) {
	n, _ := x.Dims()
	scale := newScaling(x, d)
	r, err := newReduced(d.ones(n), scale.apply(x), y)
	return scale, r, err
}

// newReduced regresses z and y on the columns of b, which may be nil. It changes z.
func newReduced(b, z *mat.Dense, y []float64) (*reduced, error) {
	r := &reduced{z: z, y: slices.Clone(y)}
	if b == nil {
		return r, nil
	}
	svd, err := thinSVD(b)
	if err != nil {
		return nil, err
	}
	n, _ := b.Dims()
	k := svd.rank
	r.q = mat.DenseCopyOf(svd.u.Slice(0, n, 0, k))
	_, width := b.Dims()
	coordinates := mat.DenseCopyOf(svd.v.Slice(0, width, 0, k))
	for j := range k {
		for i := range width {
			coordinates.Set(i, j, coordinates.At(i, j)/svd.s[j])
		}
	}
	r.Coordinates, r.Free = matrixOf(coordinates), make([]float64, k)
	var regression mat.Dense
	for range 2 { // the second time removes what rounding left
		part := multiplyTransposed(r.q, r.y)
		floats.AddScaled(r.Free, 1, part)
		floats.AddScaled(r.y, -1, multiply(r.q, part))
		var zq, project mat.Dense
		zq.Mul(r.q.T(), z)
		project.Mul(r.q, &zq)
		z.Sub(z, &project)
		if regression.IsEmpty() {
			regression = zq
		} else {
			regression.Add(&regression, &zq)
		}
	}
	r.Regression = matrixOf(&regression)
	if squares(r.y) <= constantColumn*constantColumn*squares(y) {
		clear(r.y) // nothing but rounding
	}
	return r, nil
}

// dof returns the number of observations less the number of columns in B.
func (r *reduced) dof() int { return len(r.y) - len(r.Free) }

// row returns the coordinates g in Q of the row b, and the row z less its regression.
func (r *regression) row(b, z []float64) (g, rest []float64) {
	if len(r.Free) == 0 {
		return nil, z
	}
	g = multiplyTransposed(r.Coordinates.dense(), b)
	rest = slices.Clone(z)
	floats.AddScaled(rest, -1, multiplyTransposed(r.Regression.dense(), g))
	return g, rest
}

// leverage returns 1 − Σ q² for every row: the share of a target that B leaves.
func (r *reduced) leverage() []float64 {
	out := make([]float64, len(r.y))
	for i := range out {
		out[i] = 1
		if r.q != nil {
			out[i] -= squares(r.q.RawRowView(i))
		}
	}
	return out
}

// decomposition is a thin singular value decomposition. Values after the first rank are
// 0 but for rounding.
type decomposition struct {
	u, v *mat.Dense
	s    []float64
	rank int
}

// thinSVD decomposes a. Singular values count as 0 below the usual bound, max(n, d)·ε
// times the largest.
func thinSVD(a mat.Matrix) (*decomposition, error) {
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		return nil, errRange
	}
	out := &decomposition{u: &mat.Dense{}, v: &mat.Dense{}, s: svd.Values(nil)}
	svd.UTo(out.u)
	svd.VTo(out.v)
	n, d := a.Dims()
	for _, s := range out.s {
		if !finite(s) {
			return nil, errRange
		}
		if s > float64(max(n, d))*0x1p-52*out.s[0] && s > 0 {
			out.rank++
		}
	}
	return out, nil
}

func multiply(a *mat.Dense, v []float64) []float64 {
	n, _ := a.Dims()
	out := mat.NewVecDense(n, nil)
	out.MulVec(a, mat.NewVecDense(len(v), v))
	return out.RawVector().Data
}

func multiplyTransposed(a *mat.Dense, v []float64) []float64 {
	_, d := a.Dims()
	out := mat.NewVecDense(d, nil)
	out.MulVec(a.T(), mat.NewVecDense(len(v), v))
	return out.RawVector().Data
}

func squares(v []float64) float64 { return floats.Dot(v, v) }

func scaled(factor float64, v []float64) []float64 {
	return floats.ScaleTo(make([]float64, len(v)), factor, v)
}

// level returns the mean of the targets where Z is 0, for B that is an intercept or nothing.
func (r *regression) level(weights []float64) float64 {
	if len(r.Free) == 0 {
		return 0
	}
	g, z := r.row([]float64{1}, make([]float64, len(weights)))
	return floats.Dot(g, r.Free) + floats.Dot(z, weights)
}
