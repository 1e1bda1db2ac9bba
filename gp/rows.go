package gp

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"gpfit/internal/suggest"
	"gpfit/kernel"
)

// ShapeError reports rows whose length does not match the features of a model.
type ShapeError struct {
	// Numbers is the number of values given for Rows rows of Features features.
	Numbers, Rows, Features int
}

func (e *ShapeError) Error() string {
	return fmt.Sprintf("got %d numbers for %d rows of %d features", e.Numbers, e.Rows, e.Features)
}

// inputs is a model as the map from rows of all features to its inputs.
type inputs struct{ *Model }

func (m *Model) inputs() inputs { return inputs{m} }

// used selects the columns in use from n rows of features, row-major with one
// column for every name in FeatureNames. The result is n×len(Columns). Errors are [*ShapeError], and [*RangeError] for a latitude beyond a pole.
func (in inputs) used(rows []float64, n int) ([]float64, error) {
	all, d := len(in.FeatureNames), len(in.Columns)
	if n < 0 || len(rows) != n*all {
		return nil, &ShapeError{Numbers: len(rows), Rows: n, Features: all}
	}
	e, err := in.Expression()
	if err != nil {
		return nil, err
	}
	if i, why := kernel.BeyondPole(e, in.Columns, rows, all); i >= 0 {
		return nil, &RangeError{fmt.Sprintf("column %q", in.FeatureNames[i%all]), i / all, why}
	}
	used := make([]float64, n*d)
	for i := range n {
		for q, c := range in.Columns {
			used[i*d+q] = rows[i*all+c]
		}
	}
	return used, nil
}

// at returns n rows of features as points in scaled units, with the errors of used.
func (in inputs) at(rows []float64, n int) (*kernel.Points, error) {
	used, err := in.used(rows, n)
	if err != nil {
		return nil, err
	}
	return kernel.NewPoints(in.Scaling.Inputs(used), n, len(in.Columns)), nil
}

// slopes returns derivatives at rows of features by the columns in use, in scaled units, as derivatives by all features in original units.
func (in inputs) slopes(rows, derivatives []float64) []float64 {
	all, d := len(in.FeatureNames), len(in.Columns)
	out := make([]float64, len(derivatives)/d*all)
	for i, v := range derivatives {
		row, q := i/d, i%d
		at := row*all + in.Columns[q]
		if out[at] = v * in.Scaling.YScale / in.Scaling.XScale[q]; in.Scaling.XTransforms != nil && in.Scaling.XTransforms[q] != nil {
			out[at] *= math.Exp(in.Scaling.XTransforms[q].LogSlope(rows[at]))
		}
	}
	return out
}

// Variances returns the noise variance of a new observation at n rows under a model, in scaled
// units: the estimated variance of the row's group, divided by the row's weight if it has one that is not 0,
// plus the row's known variance, if any. Errors are [*NoiseError].
func (r RowNoise) Variances(m *Model, n int) ([]float64, error) {
	out := make([]float64, n)
	if r.Known != nil && len(r.Known) != n || r.Group != nil && len(r.Group) != n || r.Weight != nil && len(r.Weight) != n {
		return nil, fmt.Errorf("%d known variances, %d groups and %d weights for %d rows", len(r.Known), len(r.Group), len(r.Weight), n)
	}
	if r.Known != nil && m.Noise.Column == "" || r.Weight != nil && m.Noise.WeightColumn == "" {
		return nil, fmt.Errorf("the rows have known variances or weights, but the model was fitted without them")
	}
	square := m.Scaling.YScale * m.Scaling.YScale
	for i := range out {
		v := m.NoiseVariance
		if len(m.Noise.Labels) > 0 {
			g, err := r.group(&m.Noise, i)
			if err != nil {
				return nil, err
			}
			v = m.Noise.Variances[g]
		}
		if r.Weight != nil {
			w := r.Weight[i]
			if !(w >= 0) || math.IsInf(w, 0) {
				return nil, &NoiseError{i, fmt.Sprintf("the weight is %v, but must be a nonnegative number", w)}
			}
			v /= cmp.Or(w, 1)
		}
		if r.Known != nil {
			if !(r.Known[i] >= 0) || math.IsInf(r.Known[i], 0) {
				return nil, &NoiseError{i, fmt.Sprintf("the noise variance is %v, but must be a nonnegative number", r.Known[i])}
			}
			v += r.Known[i] / square
		}
		out[i] = v
	}
	return out, nil
}

// group returns the index of the group of row i.
func (r RowNoise) group(of *Noise, i int) (int, error) {
	g := -1
	if r.Group != nil {
		g = slices.Index(of.Labels, r.Group[i])
	}
	if g < 0 && r.DefaultGroup != "" {
		g = slices.Index(of.Labels, r.DefaultGroup)
	}
	if g >= 0 {
		return g, nil
	}
	known := strings.Join(of.Labels, ", ")
	unknown := func(label string) string {
		return fmt.Sprintf("the model has no noise group %q%s; its groups are %s", label, suggest.DidYouMean(label, of.Labels), known)
	}
	switch {
	case r.DefaultGroup != "":
		return 0, &NoiseError{-1, unknown(r.DefaultGroup)}
	case r.Group == nil:
		return 0, &NoiseError{-1, fmt.Sprintf("the model has a noise variance for each group of the column %q, but the rows have no groups; the model's groups are %s", of.GroupColumn, known)}
	}
	return 0, &NoiseError{i, unknown(r.Group[i])}
}

// at returns the values of the mean function at points, in scaled units.
func (m *Mean) at(xs *kernel.Points) []float64 {
	out := make([]float64, xs.N)
	for j, f := range m.Basis {
		for i, x := range xs.Column(f.Column) {
			out[i] += m.Coefficients[j] * f.At(x)
		}
	}
	return out
}

// size returns the sums of the absolute values of which the mean's values are sums, so that it bounds their rounding. A wave
// counts with its amplitude, because it rounds like that where it is 0.
func (m *Mean) size(xs *kernel.Points) []float64 {
	out := make([]float64, xs.N)
	for j, h := 0, m.Basis.Evaluate(xs); j < len(m.Basis); j++ {
		for i := range out {
			value := h[j*xs.N+i]
			if m.Basis[j].Period > 0 {
				value = 1
			}
			out[i] += math.Abs(m.Coefficients[j] * value)
		}
	}
	return out
}

// addSlopes adds the derivatives of the mean function at points by their
// coordinates to grad, N×D, in scaled units.
func (m *Mean) addSlopes(xs *kernel.Points, grad []float64) {
	for j, f := range m.Basis {
		for i, x := range xs.Column(f.Column) {
			grad[i*xs.D+f.Column] += m.Coefficients[j] * f.Slope(x)
		}
	}
}

// Residuals returns the targets minus the mean function in scaled units, n×T column-major.
func (m *Model) Residuals() (out []float64) {
	x := m.Points()
	for _, one := range m.targets() {
		residual := one.Scaling.Targets(one.Y)
		floats.Sub(residual, one.Mean.at(x))
		out = append(out, residual...)
	}
	return out
}
