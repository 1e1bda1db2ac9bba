package baseline

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/each"
)

// SplineKind says which functions of a column a [Spline] adds up, and what it penalizes.
type SplineKind string

// The kinds, for the column x with the knots κ_k. The first is the default.
const (
	// LinearSpline is a line whose slope changes by u_k at κ_k, f(x) = w·x + Σ_k u_k (x − κ_k)₊. It
	// minimizes Σ (y_i − b − f(x_i))² + λ Σ u_k², with no penalty on the line (RWC, eq. 3.3 with p = 1).
	LinearSpline SplineKind = "linear"
	// RidgeSpline is the same function with the penalty λ(w² + Σ u_k²): ridge regression on the basis
	// functions, so that a large λ leaves the intercept alone.
	RidgeSpline SplineKind = "ridge"
	// HingeSpline is f(x) = Σ_k u_k (x − κ_k)₊ with the penalty λ Σ u_k²: it is constant up to the first knot.
	HingeSpline SplineKind = "hinges"
	// CubicSpline is the natural cubic spline that minimizes Σ (y_i − b − f(x_i))² + λ∫f″(x)²dx. With a
	// knot at each distinct value it is the smoothing spline (ESL, eq. 5.9 and 5.11; cubic.go).
	CubicSpline SplineKind = "cubic"
)

// SplineKinds returns all kinds.
func SplineKinds() []SplineKind {
	return []SplineKind{LinearSpline, RidgeSpline, HingeSpline, CubicSpline}
}

// Spline is a regression spline of every column, added up, with an intercept b and one λ for all columns,
// which are scaled as [Design] says. [SplineKind] has the functions and the penalties.
//
// The noise σ² and, unless it is given, λ maximize the marginal likelihood of the prior that the penalty
// is, such as u ~ N(0, (σ²/λ)I), with flat priors on what has no penalty (RWC, section 4.9; REML). So
// there is a density.
type Spline struct {
	Design
	// Kind is the kind; empty means LinearSpline.
	Kind SplineKind
	// Knots are the knots of every column, in original units. Nil places them: of a cubic spline at each
	// distinct value, or at 200 quantiles if there are more; of others at quantiles of each column's
	// distinct values, one for four values, at most 35 (RWC, section 5.5.3).
	Knots [][]float64
	// Lambdas are the penalties to choose from; one is used as it is. Nil stands for
	// all in a wide range. 0 gives least squares.
	Lambdas []float64
}

// SplineModel is a sum of splines.
type SplineModel struct {
	additive
	// Kind says which functions they are.
	Kind         SplineKind `json:"kind"`
	HasIntercept bool       `json:"has_intercept"`
	// Knots are the knots of each column, in original units, and ScaledKnots of the scaled columns.
	Knots       [][]float64 `json:"knots"`
	ScaledKnots [][]float64 `json:"scaled_knots"`

	cubic []*naturalCubic
}

// Parameters implements [Tuned].
func (m *SplineModel) Parameters() map[string]float64 { return map[string]float64{"lambda": m.Lambda} }

// maxKnots and maxCubicKnots are the largest numbers of knots that are placed.
const (
	maxKnots      = 35
	maxCubicKnots = 200
)

// Fit fits a [*SplineModel].
func (m Spline) Fit(x mat.Matrix, y []float64) (Model, error) {
	if err := checkTable(x, y); err != nil {
		return nil, err
	}
	out := &SplineModel{Kind: cmp.Or(m.Kind, LinearSpline), additive: additive{Scale: newScaling(x, m.Design)}, HasIntercept: !m.NoIntercept}
	if err := m.check(x); err != nil {
		return nil, err
	}
	out.place(x, m)
	out.prepare()
	b, z := out.columns(out.Scale.apply(x))
	r, err := newReduced(b, z, y)
	if err != nil {
		return nil, err
	}
	s, err := newSpectrum(r)
	if err != nil {
		return nil, err
	}
	lambda, err := out.choose(s, m.Lambdas)
	if err != nil {
		return nil, err
	}
	return out, out.solve(s, lambda)
}

func (m Spline) check(x mat.Matrix) error {
	if err := checkPenalties(m.Lambdas); err != nil {
		return err
	}
	if kinds := SplineKinds(); m.Kind != "" && !slices.Contains(kinds, m.Kind) {
		return fmt.Errorf("the field Kind is %q; give one of %q", m.Kind, kinds)
	}
	if _, d := x.Dims(); m.Knots != nil && len(m.Knots) != d {
		return fmt.Errorf("the field Knots has %d lists for %d columns", len(m.Knots), d)
	}
	for c, knots := range m.Knots {
		if !allFinite(knots...) {
			return fmt.Errorf("the field Knots[%d] is %v; give finite numbers", c, knots)
		}
	}
	return nil
}

// place sets the knots: given ones; each distinct value or quantiles of them with both ends; or the
// quantiles (k + 1)/(K + 2), k = 1 … K, of the distinct values (RWC, eq. 5.8).
func (m *SplineModel) place(x mat.Matrix, how Spline) {
	n, d := x.Dims()
	column := make([]float64, n)
	for c := range d {
		var knots []float64
		mat.Col(column, c, x)
		values := slices.Compact(slices.Sorted(slices.Values(column)))
		switch inner := maxCubicKnots - 2; {
		case how.Knots != nil:
			knots = slices.Compact(slices.Sorted(slices.Values(how.Knots[c])))
		case m.Kind == CubicSpline && len(values) <= maxCubicKnots:
			knots = values
		case m.Kind == CubicSpline:
			knots = slices.Concat(values[:1], quantiles(values, inner), values[len(values)-1:])
		default:
			knots = quantiles(values, min(len(values)/4, maxKnots, len(values)-2))
		}
		m.Knots = append(m.Knots, knots)
		at := each.Of(knots, func(v float64) float64 { return (v - m.Scale.Mean[c]) / m.Scale.Scale[c] })
		m.ScaledKnots = append(m.ScaledKnots, at)
	}
}

// quantiles returns count quantiles of sorted distinct values, inside their range.
func quantiles(values []float64, count int) (out []float64) {
	for k := 1; k <= count; k++ {
		at := float64(k+1) / float64(count+2) * float64(len(values)-1)
		below := min(int(at), len(values)-2)
		share := at - float64(below)
		out = append(out, (1-share)*values[below]+share*values[below+1])
	}
	return out
}

// prepare makes the functions of cubic splines.
func (m *SplineModel) prepare() {
	if m.Kind != CubicSpline {
		return
	}
	for _, knots := range m.ScaledKnots {
		m.cubic = append(m.cubic, newNaturalCubic(knots))
	}
}

// width is the number of functions of the column c that have a penalty.
func (m *SplineModel) width(c int) int {
	switch m.Kind {
	case CubicSpline:
		return m.cubic[c].functions()
	case RidgeSpline:
		return 1 + len(m.ScaledKnots[c])
	}
	return len(m.ScaledKnots[c])
}

// functions writes the functions of the value v of column c that have a penalty.
func (m *SplineModel) functions(out []float64, c int, v float64) {
	switch m.Kind {
	case CubicSpline:
		m.cubic[c].values(out, v)
		return
	case RidgeSpline:
		out[0], out = v, out[1:]
	}
	for k, knot := range m.ScaledKnots[c] {
		out[k] = max(0, v-knot)
	}
}

// free reports whether lines have no penalty.
func (m *SplineModel) free() bool { return m.Kind == LinearSpline || m.Kind == CubicSpline }

// counts returns how many columns of d have no penalty, intercept and lines, and how many have one. Without
// any such column a column of zeros stands for them.
func (m *SplineModel) counts(d int) (first, lines, width int) {
	if m.HasIntercept {
		first = 1
	}
	if m.free() {
		lines = d
	}
	for c := range m.ScaledKnots {
		width += m.width(c)
	}
	return first, lines, max(1, width)
}

func (m *SplineModel) complete(d int) error {
	if len(m.ScaledKnots) != d || len(m.Knots) != d || !slices.Contains(SplineKinds(), m.Kind) {
		return errParts
	}
	for _, knots := range m.ScaledKnots {
		for k := range knots {
			if k > 0 && !(knots[k-1] < knots[k]) {
				return errParts
			}
		}
	}
	m.prepare()
	first, lines, width := m.counts(d)
	return m.check(d, first+lines, width)
}

// columns returns the columns without a penalty, nil if there are none, and the columns with a penalty.
func (m *SplineModel) columns(x *mat.Dense) (b, z *mat.Dense) {
	n, d := x.Dims()
	first, lines, width := m.counts(d)
	z = mat.NewDense(n, width, nil)
	if first+lines > 0 {
		b = mat.NewDense(n, first+lines, nil)
	}
	for i := range n {
		if m.HasIntercept {
			b.Set(i, 0, 1)
		}
		row, at := z.RawRowView(i), 0
		for c := range m.ScaledKnots {
			if lines > 0 {
				b.Set(i, first+c, x.At(i, c))
			}
			m.functions(row[at:at+m.width(c)], c, x.At(i, c))
			at += m.width(c)
		}
	}
	return b, z
}

// choose returns the penalty and sets the noise by marginal likelihood. Without a penalty the noise is
// the residual variance; there may be no residual left.
func (m *SplineModel) choose(s *spectrum, lambdas []float64) (lambda float64, err error) {
	noise := math.NaN()
	if lambdas == nil {
		lambda, noise, _, err = s.mostLikely(0, 0)
		m.Noise = known(noise)
		return lambda, err
	}
	lambda, err = s.choose(lambdas, func(lambda float64) float64 {
		nlml, _ := s.evidence(lambda, 0, 0)
		return nlml
	})
	switch free := s.of.dof() - s.rank; {
	case lambda == 0 && free > 0:
		noise = squares(s.rest) / float64(free)
	case lambda > 0 && s.of.dof() > 0:
		_, noise = s.evidence(lambda, 0, 0)
	}
	m.Noise = known(noise)
	return lambda, err
}

// Predict returns means and, if the noise was estimated, variances.
func (m *SplineModel) Predict(x mat.Matrix) (Prediction, error) {
	if err := checkWidth(x, len(m.ScaledKnots)); err != nil {
		return Prediction{}, err
	}
	b, z := m.columns(m.Scale.apply(x))
	return m.predict(b, z), nil
}
