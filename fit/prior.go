package fit

import (
	"fmt"
	"math"

	"gpfit/graph"
)

// Prior gives a parameter a prior density, in natural units of the scaled
// problem; see [graph.Prior] for what density over which variable is meant.
type Prior struct {
	// Name is a parameter's or that of a whole vector, each element of which
	// then has this prior; one given for an element takes precedence.
	Name    string
	Density graph.Prior
}

// applyPriors finds the priors' parameters. A uniform prior is a bound, too:
// a default start value outside of it moves to its middle.
func (t *Task) applyPriors() error {
	t.priors = map[string]graph.Prior{}
	given := map[string]bool{}
	for _, whole := range []bool{true, false} {
		for _, p := range t.opts.Priors {
			matches := t.find(p.Name)
			if matches == nil {
				return t.unknownParameter("--prior", p.Name)
			}
			if isWhole := t.params[matches[0]].name != p.Name; isWhole != whole {
				continue
			}
			if given[p.Name] {
				return optionErrorf("--prior %s is given twice", p.Name)
			}
			given[p.Name] = true
			for _, i := range matches {
				if err := t.suits(p, t.params[i]); err != nil {
					return err
				}
				t.priors[t.params[i].name] = p.Density
			}
		}
	}
	for i := range t.params {
		q := &t.params[i]
		d, ok := t.priors[q.name]
		if !ok {
			continue
		}
		if err := t.boundBy(d, q); err != nil {
			return err
		}
		if q.fixed {
			t.warnings = append(t.warnings, fmt.Sprintf("the prior of %s does not change the fit: it is fixed", q.name))
		}
	}
	return nil
}

func (t *Task) suits(p Prior, q parameter) error {
	switch {
	case p.Density.Suits(q.isLog):
		return nil
	case q.isLog:
		return optionErrorf("--prior %s=%s: %s is positive; take lognormal, gamma, halfnormal, uniform or smoothedbox", p.Name, p.Density, q.name)
	}
	return optionErrorf("--prior %s=%s: %s can be negative; take normal, uniform or smoothedbox", p.Name, p.Density, q.name)
}

// boundBy makes the support of d part of q's bounds.
func (t *Task) boundBy(d graph.Prior, q *parameter) error {
	lo, hi := d.Support()
	if q.isLog && !(hi > 0) {
		return optionErrorf("--prior %s=%s: %s is positive", q.name, d, q.name)
	}
	if q.given && !(q.start >= lo && q.start <= hi) {
		return optionErrorf("--prior %s=%s: the value %v given for %s has no density", q.name, d, q.start, q.name)
	}
	if q.isLog && lo <= 0 && math.IsInf(hi, 1) || math.IsInf(lo, -1) && math.IsInf(hi, 1) {
		return nil
	}
	if q.bounded {
		if lo, hi = max(lo, q.lo), min(hi, q.hi); !(lo < hi) {
			return optionErrorf("--prior %s=%s: the bounds %v:%v of %s have no density", q.name, d, q.lo, q.hi, q.name)
		}
	} else if q.isLog && lo <= 0 {
		// The default bound, which is small, stands for 0.
		if lo = q.lo; !(lo < hi) {
			lo = hi * positiveShare
		}
	}
	q.lo, q.hi = lo, hi
	if !q.given && !(q.start > lo && q.start < hi) {
		q.start = lo/2 + hi/2
		if q.isLog {
			q.start = math.Sqrt(lo) * math.Sqrt(hi)
		}
	}
	return nil
}

// positiveShare of a uniform prior's upper limit stands for a lower limit of 0
// where the default bound does not serve.
const positiveShare = 1e-6

// addPriors adds the priors' part of the graph.
func (t *Task) addPriors(spec *graph.Spec) {
	if len(t.priors) > 0 {
		spec.Prior = graph.NegLogPrior(t.priors)
	}
}
