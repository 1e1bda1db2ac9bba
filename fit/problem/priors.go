package problem

import (
	"fmt"
	"math"

	"gpfit/graph"
)

// addPriors assigns the priors to parameters. A uniform prior is also a bound: a
// default start value outside it moves to its middle.
func (p *application) addPriors() error {
	p.Priors = map[string]graph.Prior{}
	given := map[string]bool{}
	for _, whole := range []bool{true, false} {
		for _, d := range p.opts.Priors {
			found, err := p.MustFind("prior", d.Name)
			if err != nil {
				return err
			}
			if isWhole := p.Free[found[0]].Indexed != p.names.indexed(d.Name); isWhole != whole {
				continue
			}
			if given[p.names.indexed(d.Name)] {
				return OptionErrorf("prior", d.Name, "is given twice")
			}
			given[p.names.indexed(d.Name)] = true
			for _, i := range found {
				if err := d.suits(p.Free[i]); err != nil {
					return err
				}
				p.Priors[p.Free[i].Name] = d.Density
			}
		}
	}
	for i := range p.Free {
		q := p.Free[i]
		d, ok := p.Priors[q.Name]
		if !ok {
			continue
		}
		if err := q.boundBy(d); err != nil {
			return err
		}
		if q.Fixed {
			p.Warnings = append(p.Warnings, fmt.Sprintf("the prior of %s does not change the fit: it is fixed", q.Name))
		}
	}
	return nil
}

func (d ParameterPrior) suits(q *Parameter) error {
	switch {
	case d.Density.Suits(q.Log):
		return nil
	case q.Log:
		return OptionErrorf("prior", d.String(), "%s is positive; use lognormal, gamma, halfnormal, uniform or smoothedbox", q.Name)
	}
	return OptionErrorf("prior", d.String(), "%s can be negative; use normal, uniform or smoothedbox", q.Name)
}

// positiveShare, times a uniform prior's upper limit, replaces a lower limit of 0 if
// the default bound does not serve.
const positiveShare = 1e-6

// boundBy intersects q's bounds with the support of d.
func (q *Parameter) boundBy(d graph.Prior) error {
	lo, hi := d.Support()
	given := q.Name + "=" + d.String()
	if q.Log && !(hi > 0) {
		return OptionErrorf("prior", given, "%s is positive", q.Name)
	}
	if q.Given && q.chosen() && !(q.Start >= lo && q.Start <= hi) {
		return OptionErrorf("prior", given, "the prior has no density at the value %v given for %s", q.Start, q.Name)
	}
	if q.Log && lo <= 0 && math.IsInf(hi, 1) || math.IsInf(lo, -1) && math.IsInf(hi, 1) {
		return nil
	}
	if q.Bounded {
		if lo, hi = max(lo, q.Lower), min(hi, q.Upper); !(lo < hi) {
			return OptionErrorf("prior", given, "the prior has no density within the bounds %v:%v of %s", q.Lower, q.Upper, q.Name)
		}
	} else if q.Log && lo <= 0 {
		// The default bound, which is small, replaces 0.
		if lo = q.Lower; !(lo < hi) {
			lo = hi * positiveShare
		}
	}
	q.Lower, q.Upper = lo, hi
	if q.Found && !q.Fixed {
		q.Start = min(max(q.Start, lo), hi)
	} else if !q.Given && !(q.Start > lo && q.Start < hi) {
		q.Start = lo/2 + hi/2
		if q.Log {
			q.Start = math.Sqrt(lo) * math.Sqrt(hi)
		}
	}
	return nil
}
