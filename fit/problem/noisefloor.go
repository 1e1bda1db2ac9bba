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

// NoiseFloor is a lower bound of the estimated noise variances. The zero value means the default bound, 1e-9
// of the targets' variance, and a decision: a fit whose noise is far below the errors of its predictions
// continues with a floor, and keeps that end if it predicts as well (docs/tuning.md).
type NoiseFloor struct {
	// Variance is in units of the scaled problem or, if Original, in squared units of the target. None means
	// only the default bound.
	Variance       float64
	Original, None bool
}

// NoNoiseFloor is the default bound without the decision.
var NoNoiseFloor = NoiseFloor{None: true}

// originalUnits follows the number of a noise floor that is in squared units of the target.
const originalUnits = ":original"

// ParseNoiseFloor reads the text form of a noise floor, such as "1e-4", "0.01:original" or "none".
func ParseNoiseFloor(text string) (f NoiseFloor, err error) {
	if text == NoNoiseFloor.String() {
		return NoNoiseFloor, nil
	}
	number, original := strings.CutSuffix(strings.TrimSpace(text), originalUnits)
	f = NoiseFloor{Original: original}
	if f.Variance, err = strconv.ParseFloat(strings.TrimSpace(number), 64); err != nil || !(f.Variance > 0) || math.IsInf(f.Variance, 1) {
		return f, errors.New("must be none or a positive number, the variance in scaled units, or a number followed by " + originalUnits + ", in squared units of the target")
	}
	return f, nil
}

// String returns the text form, empty for the zero value.
func (f NoiseFloor) String() string {
	switch text := strconv.FormatFloat(f.Variance, 'g', -1, 64); {
	case f.None:
		return "none"
	case f.Variance == 0:
		return ""
	case f.Original:
		return text + originalUnits
	default:
		return text
	}
}

// MarshalText and UnmarshalText are for JSON.
func (f NoiseFloor) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

func (f *NoiseFloor) UnmarshalText(text []byte) (err error) {
	*f, err = ParseNoiseFloor(string(text))
	return err
}

// floorNoise raises the lower bounds of the estimated noise variances.
func (p *application) floorNoise() error {
	s, f := p.sample, p.opts.NoiseFloor
	if f == (NoiseFloor{}) || f.None {
		return nil
	}
	floor := f.Variance
	wrong := func(format string, args ...any) error {
		return OptionErrorf("noise-floor", f.String(), format, args...)
	}
	switch {
	case !(floor > 0):
		return wrong("must be a positive number")
	case s.Noise.None:
		return wrong("cannot be combined with option noise none, which estimates no variance")
	case f.Original && s.Scalings[0].Transform != nil:
		return wrong("the noise of a transformed target has no one variance in units of the target: give the number without %s", originalUnits)
	case f.Original && s.T() > 1:
		return wrong("several targets share one noise variance, in scaled units: give the number without %s", originalUnits)
	}
	if f.Original {
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
