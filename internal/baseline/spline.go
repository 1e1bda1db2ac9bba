package baseline

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Spline is a linear regression spline of every column, added up: for the column x with
// the knots κ_k,
//
//	f(x) = b + w·x + Σ_k u_k (x − κ_k)₊
//
// a line whose slope changes by u_k at κ_k. It minimizes Σ (y_i − f(x_i))² + λ Σ u_k²
// (RWC, eq. 3.3 with p = 1). There is no penalty on the line, and one λ for all columns,
// which are scaled as [Design] says.
//
// The noise σ² and, unless it is given, λ maximize the marginal likelihood of u ~ N(0,
// (σ²/λ)I) with flat priors on the lines (RWC, section 4.9; REML). So there is a density.
type Spline struct {
	Design
	// Knots are the knots of every column, in original units. Nil places them at quantiles of
	// each column's distinct values, one for four values, at most 35 (RWC, section 5.5.3).
	Knots [][]float64
	// Lambdas are the penalties to choose from; one is used as it is. Nil stands for
	// all in a wide range. 0 gives least squares.
	Lambdas []float64
}

// SplineModel is a sum of linear splines.
type SplineModel struct {
	// Knots are the knots of each column, in original units.
	Knots [][]float64
	// Lambda is the penalty, for scaled columns.
	Lambda float64
	// Noise is σ², or NaN if it cannot be estimated.
	Noise float64

	additive
	knots     [][]float64 // of scaled columns
	intercept bool
}

// maxKnots is the largest number of knots that are placed.
const maxKnots = 35

// Fit fits a [*SplineModel].
func (m Spline) Fit(x mat.Matrix, y []float64) (Model, error) {
	if err := checkTable(x, y); err != nil {
		return nil, err
	}
	out := &SplineModel{additive: additive{scale: newScaling(x, m.Design)}, intercept: !m.NoIntercept, Noise: math.NaN()}
	if err := m.check(x); err != nil {
		return nil, err
	}
	out.place(x, m)
	n, _ := x.Dims()
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
	_, width := z.Dims()
	form, _ := Form("").resolve(n, width)
	out.solution, err = solve(out.reduced, form, out.Lambda)
	return out, err
}

func (m Spline) check(x mat.Matrix) error {
	if err := checkPenalties(m.Lambdas); err != nil {
		return err
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

// place sets the knots, given or at the quantiles (k + 1)/(K + 2), k = 1 … K, of the
// distinct values (RWC, eq. 5.8).
func (m *SplineModel) place(x mat.Matrix, how Spline) {
	n, d := x.Dims()
	column := make([]float64, n)
	for c := range d {
		var knots []float64
		if how.Knots != nil {
			knots = slices.Compact(slices.Sorted(slices.Values(how.Knots[c])))
		} else {
			mat.Col(column, c, x)
			values := slices.Compact(slices.Sorted(slices.Values(column)))
			knots = quantiles(values, min(len(values)/4, maxKnots, len(values)-2))
		}
		m.Knots = append(m.Knots, knots)
		at := make([]float64, len(knots))
		for k, v := range knots {
			at[k] = (v - m.scale.mean[c]) / m.scale.scale[c]
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

// columns returns the columns without a penalty, intercept and lines, and the columns
// with a penalty, the hinges. Without any knot a column of zeros stands for the hinges.
func (m *SplineModel) columns(x *mat.Dense) (b, z *mat.Dense) {
	n, d := x.Dims()
	first := 0
	if m.intercept {
		first = 1
	}
	width := 0
	for _, knots := range m.knots {
		width += len(knots)
	}
	b, z = mat.NewDense(n, first+d, nil), mat.NewDense(n, max(1, width), nil)
	for i := range n {
		lines, hinges, at := b.RawRowView(i), z.RawRowView(i), 0
		if m.intercept {
			lines[0] = 1
		}
		copy(lines[first:], x.RawRowView(i))
		for c, knots := range m.knots {
			for _, knot := range knots {
				hinges[at] = max(0, x.At(i, c)-knot)
				at++
			}
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
