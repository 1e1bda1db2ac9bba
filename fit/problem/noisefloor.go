package problem

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"gpfit/graph"
	"gpfit/kernel"
)

// NoNoiseFloor is a value of Options.NoiseFloor: only the default bounds, and no other decision.
const NoNoiseFloor = "none"

// originalUnits follows the number of a noise floor that is in squared units of the target.
const originalUnits = ":original"

// parseNoiseFloor reads the text form of Options.NoiseFloor.
func parseNoiseFloor(text string) (variance float64, original bool, err error) {
	if text == NoNoiseFloor {
		return 0, false, nil
	}
	number, original := strings.CutSuffix(strings.TrimSpace(text), originalUnits)
	variance, err = strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || !(variance > 0) || math.IsInf(variance, 1) {
		return 0, false, errors.New("must be none or a positive number, the variance in scaled units, or a number followed by " + originalUnits + ", in squared units of the target")
	}
	return variance, original, nil
}

// CheckNoiseFloor returns an error if a text is no value of Options.NoiseFloor.
func CheckNoiseFloor(text string) error {
	_, _, err := parseNoiseFloor(text)
	return err
}

// floorNoise raises the lower bounds of the estimated noise variances.
func (p *ParameterList) floorNoise(s *Sample, text string) error {
	if text == "" || text == NoNoiseFloor {
		return nil
	}
	wrong := func(format string, args ...any) error {
		return OptionErrorf("noise-floor", text, format, args...)
	}
	floor, original, err := parseNoiseFloor(text)
	switch {
	case err != nil:
		return wrong("%v", err)
	case s.Noise.None:
		return wrong("cannot be combined with option noise none, which estimates no variance")
	case original && s.Scalings[0].Transform != nil:
		return wrong("the noise of a transformed target has no one variance in units of the target: give the number without %s", originalUnits)
	case original && s.T() > 1:
		return wrong("several targets share one noise variance, in scaled units: give the number without %s", originalUnits)
	}
	if original {
		floor /= s.Scalings[0].YScale * s.Scalings[0].YScale
	}
	for _, e := range p.All {
		if e.Group != graph.NoiseVariance {
			continue
		}
		q := p.Free[e.Index]
		switch {
		case q.Bounded && q.Lower != floor:
			return wrong("option bounds gives %s its lower bound already; leave out one of the two", q.Name)
		case q.chosen() && q.Start < floor:
			return wrong("the value %.6g of %s is below it (%.6g in scaled units)", q.Start, q.Name, floor)
		case !(floor < q.Upper):
			return wrong("is above the upper bound %.6g of %s, in scaled units; give a smaller one", q.Upper, q.Name)
		}
		q.Lower, q.Start, q.Bounded = floor, max(q.Start, floor), true
	}
	return nil
}

// WithFloor returns the parameters with a floor of the noise variances, in scaled units.
func (p *ParameterList) WithFloor(floor float64) *ParameterList {
	return p.Changed(func(_ int, q *Parameter) {
		if q.Group == graph.NoiseVariance {
			q.Lower, q.Start = floor, max(q.Start, floor)
		}
	})
}

// Copies counts the training rows that repeat the inputs and the targets of a row before them.
func (s *Sample) Copies() int {
	n, d := s.N(), s.D()
	both := kernel.Points{N: n, D: d + s.T(), X: slices.Concat(s.Points.X, s.Targets)}
	return n - len(both.Places())
}
