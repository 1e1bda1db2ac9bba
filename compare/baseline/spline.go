package baseline

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
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
	// Kind says which functions they are.
	Kind SplineKind
	// Knots are the knots of each column, in original units.
	Knots [][]float64
	// Lambda is the penalty, for scaled columns.
	Lambda float64
	// Noise is σ², or NaN if it cannot be estimated.
	Noise float64

	additive
	knots     [][]float64 // of scaled columns
	cubic     []*naturalCubic
	intercept bool
}

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
	out := &SplineModel{Kind: cmp.Or(m.Kind, LinearSpline), additive: additive{scale: newScaling(x, m.Design)}, intercept: !m.NoIntercept, Noise: math.NaN()}
	if err := m.check(x); err != nil {
		return nil, err
	}
	out.place(x, m)
	out.prepare()
	b, z := out.columns(out.scale.apply(x))
	var err error
	if out.reduced, err = newReduced(b, z, y); err != nil {
		return nil, err
	}
	s, err := newSpectrum(out.reduced)
	if err != nil {
		return nil, err
	}
	if err := out.choose(s, m.Lambdas); err != nil {
		return nil, err
	}
	out.solution, err = s.solution(out.Lambda)
	return out, err
}

func (m Spline) check(x mat.Matrix) error {
	if err := checkPenalties(m.Lambdas); err != nil {
		return err
	}
	if kinds := SplineKinds(); m.Kind != "" && !slices.Contains(kinds, m.Kind) {
		return fmt.Errorf("baseline: Kind is %q; give one of %q", m.Kind, kinds)
	}
	if _, d := x.Dims(); m.Knots != nil && len(m.Knots) != d {
		return fmt.Errorf("baseline: Knots has %d lists for %d columns", len(m.Knots), d)
	}
	for c, knots := range m.Knots {
		if !allFinite(knots...) {
			return fmt.Errorf("baseline: Knots[%d] is %v; give finite numbers", c, knots)
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
		at := make([]float64, len(knots))
		for k, v := range knots {
			at[k] = (v - m.scale.Mean[c]) / m.scale.Scale[c]
		}
		m.knots = append(m.knots, at)
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
	for _, knots := range m.knots {
		m.cubic = append(m.cubic, newNaturalCubic(knots))
	}
}

// width is the number of functions of the column c that have a penalty.
func (m *SplineModel) width(c int) int {
	switch m.Kind {
	case CubicSpline:
		return m.cubic[c].functions()
	case RidgeSpline:
		return 1 + len(m.knots[c])
	}
	return len(m.knots[c])
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
	for k, knot := range m.knots[c] {
		out[k] = max(0, v-knot)
	}
}

// free reports whether lines have no penalty.
func (m *SplineModel) free() bool { return m.Kind == LinearSpline || m.Kind == CubicSpline }

// columns returns the columns without a penalty, intercept and lines, nil if there are none, and the
// columns with a penalty. Without any such column a column of zeros stands for them.
func (m *SplineModel) columns(x *mat.Dense) (b, z *mat.Dense) {
	n, d := x.Dims()
	first, lines, width := 0, 0, 0
	if m.intercept {
		first = 1
	}
	if m.free() {
		lines = d
	}
	for c := range m.knots {
		width += m.width(c)
	}
	z = mat.NewDense(n, max(1, width), nil)
	if first+lines > 0 {
		b = mat.NewDense(n, first+lines, nil)
	}
	for i := range n {
		if m.intercept {
			b.Set(i, 0, 1)
		}
		row, at := z.RawRowView(i), 0
		for c := range m.knots {
			if lines > 0 {
				b.Set(i, first+c, x.At(i, c))
			}
			m.functions(row[at:at+m.width(c)], c, x.At(i, c))
			at += m.width(c)
		}
	}
	return b, z
}

// choose sets the penalty and the noise by marginal likelihood. Without a penalty the noise is
// the residual variance; there may be no residual left.
func (m *SplineModel) choose(s *spectrum, lambdas []float64) (err error) {
	if lambdas == nil {
		m.Lambda, m.Noise, _, err = s.mostLikely(0, 0)
		return err
	}
	m.Lambda, err = s.choose(lambdas, func(lambda float64) float64 {
		nlml, _ := s.evidence(lambda, 0, 0)
		return nlml
	})
	switch free := s.of.dof() - s.rank; {
	case m.Lambda == 0 && free > 0:
		m.Noise = squares(s.rest) / float64(free)
	case m.Lambda > 0 && s.of.dof() > 0:
		_, m.Noise = s.evidence(m.Lambda, 0, 0)
	}
	return err
}

// Predict returns means and, if the noise was estimated, variances.
func (m *SplineModel) Predict(x mat.Matrix) (Prediction, error) {
	if err := checkWidth(x, len(m.knots)); err != nil {
		return Prediction{}, err
	}
	b, z := m.columns(m.scale.apply(x))
	return m.predict(b, z, m.Noise), nil
}
