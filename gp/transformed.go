package gp

import (
	"math"

	"gpfit/device"
	"gpfit/internal/transform"
)

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
