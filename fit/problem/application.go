package problem

import (
	"math"
	"slices"

	"gpfit/graph"
	"gpfit/hyperopt/descent"
	"gpfit/kernel"
)

// application applies options to the default parameters of a model on a sample.
type application struct {
	*ParameterList
	sample  *Sample
	program *kernel.Program
	opts    Options
}

// newParameters chooses start values and bounds from the data, then applies the
// kernel's text and the options.
func newParameters(s *Sample, m *Model, o Options) (*ParameterList, error) {
	all := DefaultParameters(s, m)
	p := &application{&ParameterList{All: all, Free: all, Zeros: m.program.Zeros, names: &s.Names}, s, m.program, o}
	for _, step := range []func() error{p.tie, p.startFrom, p.assign, p.bound, p.floorNoise, p.checkLambda, p.addPriors, p.checkNumber} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return p.ParameterList, nil
}

// checkNumber returns an error for too many parameters, or none, for what the options ask for.
func (p *application) checkNumber() error {
	free, how := p.NumFree(), p.opts.Posterior
	drawn := how != "" && how != AutoPosterior
	switch {
	case drawn && free == 0:
		return OptionErrorf("posterior", string(how), "every parameter is fixed: there is nothing to draw")
	case drawn && free > MostDrawn:
		return OptionErrorf("posterior", string(how), "draws at most %d free parameters, and these are %d; use fewer columns, or a kernel without ard", MostDrawn, free)
	case p.opts.StdErrors && free > descent.MostModelled:
		return OptionErrorf("std-errors", "", "takes at most %d free parameters, and these are %d", descent.MostModelled, free)
	}
	return nil
}

// assign takes start values and what is fixed.
func (p *application) assign() error {
	for i, a := range slices.Concat(p.opts.Set, p.opts.Fix) {
		option, fix := "set", i >= len(p.opts.Set)
		if fix {
			option = "fix"
		}
		if fix && slices.Contains(p.Zeros, a.Name) && (!a.Given || a.Value == 0) {
			continue
		}
		found, err := p.MustFind(option, a.Name)
		if err != nil {
			return err
		}
		for _, k := range found {
			q := p.Free[k]
			if a.Given && q.Group == graph.NoiseVariance && a.Value == 0 {
				return OptionErrorf(option, a.Name+"=0", "must be a positive number; option noise none fits without noise")
			}
			if a.Given && q.offset && a.Value == 0 {
				return OptionErrorf(option, a.Name+"=0", "a free offset cannot start at 0, because a fit varies its logarithm: option fix %s=0, or offset=0 in the kernel, makes it a constant", a.Name)
			}
			if a.Given && q.Log && !(a.Value > 0) || math.IsInf(a.Value, 0) || math.IsNaN(a.Value) {
				return OptionErrorf(option, a.String(), "must be a positive number")
			}
			if a.Given {
				q.Start, q.Given, q.Found = a.Value, true, a.Found
			}
			q.Fixed = q.Fixed || fix
		}
	}
	return nil
}

// bound sets bounds. A given start value widens default bounds. A start value that nobody chose
// moves to the nearest bound that is given.
func (p *application) bound() error {
	for _, b := range p.opts.Bounds {
		found, err := p.MustFind("bounds", b.Name)
		if err != nil {
			return err
		}
		for _, k := range found {
			switch q := p.Free[k]; {
			case q.Log && !(b.Lo > 0 && b.Lo < b.Hi):
				return OptionErrorf("bounds", b.String(), "needs 0 < lower < upper")
			case !(b.Lo < b.Hi):
				return OptionErrorf("bounds", b.String(), "needs lower < upper")
			default:
				q.Lower, q.Upper, q.Bounded = b.Lo, b.Hi, true
				if !q.chosen() && (q.Found || !q.TextStart) {
					q.Start = min(max(q.Start, b.Lo), b.Hi)
				}
			}
		}
	}
	for _, q := range p.Free {
		if q.Log && !q.Bounded { // coefficients of the mean have no default bounds
			q.widen()
		}
	}
	return nil
}

// chosen reports whether the options choose the start value, so that it does not move.
func (q *Parameter) chosen() bool { return q.Fixed || q.Given && !q.Found }

// startRoom is how many times a start is above its lower bound and below its upper one at least, if the bounds are defaults.
const startRoom = 10.

// widen widens default bounds to leave room around the start. A start that an earlier fit found
// may be at a bound: it gets no more room than itself, and noise stays at its floor, or each
// fit from the one before would lower the bound further.
func (q *Parameter) widen() {
	room := startRoom
	if q.Found {
		room = 1
		if q.Group == graph.NoiseVariance && !q.Fixed {
			q.Start = max(q.Start, q.Lower)
		}
	}
	q.Lower, q.Upper = min(q.Lower, q.Start/room), max(q.Upper, q.Start*room)
}
