package gp

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/internal/transform"
)

// Standardize selects whether inputs, targets or both are first scaled to mean 0
// and (population) standard deviation 1.
type Standardize string

// The choices for --standardize.
const (
	StandardizeXY   Standardize = "xy"
	StandardizeX    Standardize = "x"
	StandardizeY    Standardize = "y"
	StandardizeNone Standardize = "none"
)

// ParseStandardize parses a choice; empty text means the default, xy.
func ParseStandardize(text string) (Standardize, error) {
	switch s := cmp.Or(Standardize(text), StandardizeXY); s {
	case StandardizeXY, StandardizeX, StandardizeY, StandardizeNone:
		return s, nil
	}
	return "", fmt.Errorf("standardize: %q is not one of xy, x, y, none", text)
}

// Scaling maps original to scaled units: scaled = (original − mean)/scale, per
// column of X and for y, or for its transformed values.
type Scaling struct {
	XMean  []float64 `json:"x_mean"`
	XScale []float64 `json:"x_scale"`
	YMean  float64   `json:"y_mean"`
	YScale float64   `json:"y_scale"`
	// XTransforms are the transforms of the columns of X, before they are scaled; nil without, and for a column without one.
	XTransforms []*transform.Map `json:"x_transforms,omitempty"`
	// Transform is the transform of the target; nil without.
	Transform *transform.Map `json:"transform,omitempty"`
}

// NewScaling computes the scaling of n rows of d columns, which may have transforms. A constant column or target has scale 1.
func NewScaling(how Standardize, x, y []float64, d int, columns ...*transform.Map) Scaling {
	s := Scaling{XMean: make([]float64, d), XScale: make([]float64, d), YScale: 1, XTransforms: columns}
	x = s.transformed(x)
	for c := range d {
		s.XScale[c] = 1
		if how == StandardizeXY || how == StandardizeX {
			s.XMean[c], s.XScale[c] = moments(x, c, d)
		}
	}
	if how == StandardizeXY || how == StandardizeY {
		s.YMean, s.YScale = moments(y, 0, 1)
	}
	return s
}

// Standardize returns what the scaling scales.
func (s Scaling) Standardize() Standardize {
	inputs := slices.ContainsFunc(s.XMean, func(v float64) bool { return v != 0 }) || slices.ContainsFunc(s.XScale, func(v float64) bool { return v != 1 })
	targets := s.YMean != 0 || s.YScale != 1
	switch {
	case inputs && targets:
		return StandardizeXY
	case inputs:
		return StandardizeX
	case targets:
		return StandardizeY
	}
	return StandardizeNone
}

// moments returns the mean and the population standard deviation of every stride-th
// element, starting at first, in two passes.
func moments(v []float64, first, stride int) (mean, std float64) {
	mean, std, sum := powerMoments(v, first, stride, 0)
	if math.IsInf(sum, 0) || math.IsNaN(sum) || sum < underflow {
		largest := 0.0
		for i := first; i < len(v); i += stride {
			largest = max(largest, math.Abs(v[i]))
		}
		mean, std = 0, 0
		if largest != 0 && !math.IsInf(largest, 0) && !math.IsNaN(largest) {
			_, exponent := math.Frexp(largest)
			mean, std, _ = powerMoments(v, first, stride, exponent)
		}
	}
	// The deviation of a constant column is at most rounding errors.
	if !(std > 1e-14*math.Abs(mean)) {
		std = 1
	}
	return mean, std
}

// underflow is the bound below which a sum of squares may have lost some to underflow.
const underflow = 1e-280

// powerMoments returns the moments, computed from the numbers divided by 2^exponent, and
// the sum of squares of these.
func powerMoments(v []float64, first, stride, exponent int) (mean, std, sum float64) {
	n := 0
	for i := first; i < len(v); i += stride {
		mean += math.Ldexp(v[i], -exponent)
		n++
	}
	mean /= float64(n)
	for i := first; i < len(v); i += stride {
		diff := math.Ldexp(v[i], -exponent) - mean
		sum += diff * diff
	}
	return math.Ldexp(mean, exponent), math.Ldexp(math.Sqrt(sum/float64(n)), exponent), sum
}

// Inputs scales row-major rows of len(XMean) columns to a new slice.
func (s Scaling) Inputs(rows []float64) []float64 {
	d := len(s.XMean)
	out := make([]float64, len(rows))
	for i, v := range s.transformed(rows) {
		out[i] = (v - s.XMean[i%d]) / s.XScale[i%d]
	}
	return out
}

// transformed returns rows with the transforms of their columns.
func (s Scaling) transformed(rows []float64) []float64 {
	if s.XTransforms == nil {
		return rows
	}
	out := slices.Clone(rows)
	for i, v := range rows {
		if t := s.XTransforms[i%len(s.XTransforms)]; t != nil {
			out[i] = t.Forward(v)
		}
	}
	return out
}

// Targets scales y to a new slice.
func (s Scaling) Targets(y []float64) []float64 {
	out := make([]float64, len(y))
	for i, v := range y {
		if s.Transform != nil {
			v = s.Transform.Forward(v)
		}
		out[i] = (v - s.YMean) / s.YScale
	}
	return out
}

// toOriginal converts values of the target, or of the transformed target, from scaled to original
// units in place.
func (s Scaling) toOriginal(y []float64) {
	for i, v := range y {
		y[i] = v*s.YScale + s.YMean
	}
}

// WithTransform returns the scaling of targets that a family of transforms maps first. If how scales
// targets, their transformed values, at the λ that describes the targets alone best, have mean 0 and
// standard deviation 1. This scaling stays fixed if λ changes.
func (s Scaling) WithTransform(how Standardize, kind transform.Name, y []float64) Scaling {
	raw := how != StandardizeXY && how != StandardizeY
	s.YMean, s.YScale, s.Transform = 0, 1, transform.New(kind, y, raw)
	if !raw {
		s.YMean, s.YScale = moments(s.Targets(y), 0, 1)
	}
	return s
}

// Unit returns the number by which densities of scaled targets are divided to be densities of
// targets, besides the part of a transform that depends on the target.
func (s Scaling) Unit() float64 {
	if s.Transform == nil {
		return s.YScale
	}
	return s.YScale * s.Transform.Unit
}

// Volume returns the negative logarithm of that part, summed over targets; 0 without a transform.
func (s Scaling) Volume(y []float64) (sum float64) {
	for _, v := range y {
		if t := s.Transform; t != nil {
			sum -= t.LogSlope(v) + math.Log(t.Unit)
		}
	}
	return sum
}

// Untransformed returns a [*device.UnsupportedError] if there is a transform of the target.
func (s Scaling) Untransformed(what string) error {
	if s.Transform == nil {
		return nil
	}
	return &device.UnsupportedError{Method: "target-transform " + string(s.Transform.Kind), What: what + "; a fit with option target-transform none can"}
}
