package hyperopt

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Minimize minimises p.Objective from p.Start and s.Restarts further starts.
//
// The error is nil if at least one start found a finite value and the run was
// not cut short; whether it converged is in the result's Status. The result is
// nil only if p or s is invalid. With an error it holds what was found until
// then: the error is the context's cause if the run was cancelled, that of the
// objective if it reported one that ends the run, and the joined [*StartError]
// of all starts if none could begin.
//
// Starts run one after the other. Each has a state of its own and depends on p,
// s and its index only, so that running them side by side, on objectives of
// their own, would change no result.
func Minimize(ctx context.Context, p Problem, s Settings) (*Result, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := p.check()
	if err != nil {
		return nil, err
	}
	r := &Result{F: math.Inf(1), GradientNorm: math.NaN(), RelativeChange: math.NaN(), BestStart: -1, Seed: s.Seed}
	r.Warnings = append(r.Warnings, c.warnings...)
	starts := 1 + s.Restarts
	if len(c.free()) == 0 && starts > 1 {
		starts = 1
		r.Warnings = append(r.Warnings, "all parameters are fixed: restarts left out")
	}
	var errs []error
	for k := range starts {
		start := runStart(ctx, c, s, k, drawStart(c, s, k), func(l *local) { r.notify(s, k, l) })
		r.add(k, start)
		var begin *StartError
		switch {
		case start.Err == nil:
		case errors.As(start.Err, &begin):
			errs = append(errs, start.Err)
		default:
			// Cancelled, or the objective is broken: no use in going on.
			r.settle()
			r.Status = start.Status
			return r, fmt.Errorf("hyperopt: start %d: %w", k, start.Err)
		}
	}
	r.settle()
	if r.BestStart < 0 {
		r.Status = StatusFailed
		return r, fmt.Errorf("hyperopt: the objective is not defined at any start: %w", errors.Join(errs...))
	}
	for _, err := range errs {
		r.Warnings = append(r.Warnings, err.Error())
	}
	return r, nil
}

// notify reports an iteration to the callback.
func (r *Result) notify(s Settings, k int, l *local) {
	if s.Callback == nil {
		return
	}
	it := Iteration{
		Start: k, Iteration: l.iter, F: l.at.f, GradientNorm: l.norm(l.at.z, l.at.g),
		Evaluations: l.ev.counts, Total: r.Evaluations, Best: l.ev.best.f, Z: slices.Clone(l.at.z),
	}
	it.Total.add(l.ev.counts)
	for _, st := range r.Starts {
		it.Best = math.Min(it.Best, st.F)
	}
	s.Callback(it)
}

// add takes up the outcome of start k.
func (r *Result) add(k int, start StartResult) {
	r.Starts = append(r.Starts, start)
	r.Evaluations.add(start.Evaluations)
	r.Iterations += start.Iterations
	if start.X != nil && (r.BestStart < 0 || start.F < r.F) {
		r.BestStart, r.F = k, start.F
	}
}

// settle copies the best start to the result.
func (r *Result) settle() {
	if r.BestStart < 0 {
		return
	}
	b := r.Starts[r.BestStart]
	r.X, r.Gradient = slices.Clone(b.X), slices.Clone(b.Gradient)
	r.Status, r.GradientNorm, r.RelativeChange = b.Status, b.GradientNorm, b.RelativeChange
	r.AtBound = slices.Clone(b.AtBound)
	r.Warnings = append(r.Warnings, b.Warnings...)
}

// drawStart returns start k: the problem's own for 0, otherwise that plus
// normal deviates from the generator seeded with (Seed, k), as said at
// Settings.RestartStd. Fixed parameters use up their deviates too, so that
// fixing one does not change the starts of the others.
func drawStart(c *checked, s Settings, k int) []float64 {
	z := slices.Clone(c.start)
	if k == 0 {
		return z
	}
	rng := rand.New(rand.NewPCG(s.Seed, uint64(k)))
	sizes := make(map[string]int)
	for _, name := range c.names {
		sizes[group(name)]++
	}
	shifts := make(map[string]float64)
	for i, name := range c.names {
		g, dev := group(name), rng.NormFloat64()
		if sizes[g] > 1 {
			shift, ok := shifts[g]
			if !ok {
				shift = rng.NormFloat64()
				shifts[g] = shift
			}
			dev = math.Sqrt2 / 2 * (dev + shift)
		}
		if !c.fixed[i] {
			z[i] = c.clamps[i].inside(z[i] + s.RestartStd*dev)
		}
	}
	return z
}

// group returns a parameter's name without the index in brackets.
func group(name string) string {
	if i := strings.LastIndexByte(name, '['); i > 0 && strings.HasSuffix(name, "]") {
		return name[:i]
	}
	return name
}
