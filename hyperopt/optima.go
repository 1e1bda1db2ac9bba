package hyperopt

import (
	"cmp"
	"context"
	"slices"

	"gpfit/hyperopt/descent"
)

// pointsBetween returns an oracle for points between the ends of a stage.
func pointsBetween(t *tuner, stream string, o Session) *descent.Oracle {
	return descent.NewOracle(o, t.journal.Sequence(stream+"-between"))
}

// distinct sorts the ends of a stage, best first, and merges ends at the same optimum. It
// returns separately the ends that the race has dropped. from are the candidates from which
// the descents began, and between evaluates the objective of the stage.
func distinct(ctx context.Context, t *tuner, r *descent.Result, from []candidate, between *descent.Oracle) (out, dropped []candidate, err error) {
	ends := make([]candidate, len(r.Starts))
	for k, s := range r.Starts {
		ends[k] = candidate{Start: descent.Start{Z: s.X, Metric: s.Metric}, f: s.F, left: s.Status == descent.StatusDropped}
	}
	for k, s := range r.Starts {
		into := k
		for r.Starts[into].Status == descent.StatusMerged {
			into = r.Starts[into].MergedInto
		}
		if s.X != nil {
			c := from[k]
			c.spent.Add(s.Evaluations)
			ends[into].join(c)
		}
	}
	ends = slices.DeleteFunc(ends, func(c candidate) bool { return c.Z == nil || c.starts == 0 })
	slices.SortStableFunc(ends, func(a, b candidate) int { return cmp.Compare(a.f, b.f) })
next:
	for _, c := range ends {
		if c.left {
			dropped = append(dropped, c)
			continue
		}
		for i, o := range out {
			one, err := sameOptimum(ctx, t, o, c, between)
			if err != nil {
				return nil, nil, err
			}
			if one {
				out[i].join(c)
				continue next
			}
		}
		out = append(out, c)
	}
	return out, dropped, nil
}

// join counts the starts of another candidate as its own.
func (c *candidate) join(o candidate) {
	c.starts += o.starts
	c.drawn += o.drawn
	c.spent.Add(o.spent)
}

// sameOptimum reports whether two ends of a stage, of which a is the better, are the same
// optimum: close in value, and either close according to the quadratic model of one or without a
// ridge between them. It does not compare elements beyond the problem's limits, because loose
// descents stop at random points along such a valley.
func sameOptimum(ctx context.Context, t *tuner, a, b candidate, between *descent.Oracle) (bool, error) {
	if b.f-a.f > sameValue {
		return false, nil
	}
	za, zb := t.withinReach(a.Z), t.withinReach(b.Z)
	if min(a.Metric.Nats(za, zb), b.Metric.Nats(za, zb)) <= sameNats {
		return true, nil
	}
	middle := slices.Clone(a.Z)
	for i, v := range b.Z {
		middle[i] = (middle[i] + v) / 2
	}
	f, err := between.Value(ctx, middle)
	return f <= b.f+sameRidge, err
}

// optimaOf lists the optima over all rows, followed by the dropped starts.
func optimaOf(all []candidate) []Optimum {
	out := make([]Optimum, len(all))
	for i, c := range all {
		out[i] = Optimum{Z: c.Z, F: c.f, Starts: c.starts, Drawn: c.drawn, Evaluations: c.spent, Dropped: c.left, Rows: c.rows}
	}
	return out
}

// Coverage says how much of the space the starts of a run have explored, by the Bayesian
// estimates of Boender and Rinnooy Kan (1987), Bayesian stopping rules for multistart global
// optimization methods, Mathematical Programming 37. They assume that starts are drawn at random
// and independently, that each leads to one optimum, and that nothing is known beforehand about
// the number of optima or the shares of the space that lead to them. Of the starts, only random
// ones that reached an optimum count. That an optimum which no random start found may be known
// from another start makes the estimates of what is unknown too large rather than too small.
type Coverage struct {
	// Starts counts the starts that reached an optimum, and Best the starts that reached
	// the best one. Stopped counts the starts that did not end, because they could no
	// longer become the best.
	Starts, Best, Stopped int
	// Drawn counts the starts drawn at random that reached an optimum, and Distinct the
	// optima that they reached.
	Drawn, Distinct int
}

// NewCoverage counts the starts that led to optima. Dropped starts did not.
func NewCoverage(optima []Optimum) Coverage {
	var c Coverage
	for i, o := range optima {
		if o.Dropped {
			c.Stopped += o.Starts
			continue
		}
		c.Starts += o.Starts
		c.Drawn += o.Drawn
		c.Distinct += min(o.Drawn, 1)
		if i == 0 {
			c.Best = o.Starts
		}
	}
	return c
}

// Unseen returns the expected share of the space from which descents lead to optima that
// no random start has found, w(w+1)/(n(n−1)) for w optima of n starts. It is the
// probability that another random start finds a new optimum, and so an upper limit of the
// probability that it finds a better one. ok is false if n is below w+2.
func (c Coverage) Unseen() (share float64, ok bool) {
	w, n := float64(c.Distinct), float64(c.Drawn)
	if c.Distinct == 0 || c.Drawn < c.Distinct+2 {
		return 0, false
	}
	return w * (w + 1) / (n * (n - 1)), true
}

// LeastRestarts returns the least number of restarts with which Unseen can be known, if all
// starts run to their end and the random ones find no more optima than now: suggested starts
// precede random ones.
func (c Coverage) LeastRestarts(suggested int) int { return suggested + max(c.Distinct, 1) + 2 }

// Optima returns the expected number of optima, w(n−1)/(n−w−2). ok is false if n is below w+3.
func (c Coverage) Optima() (number float64, ok bool) {
	w, n := float64(c.Distinct), float64(c.Drawn)
	if c.Distinct == 0 || c.Drawn < c.Distinct+3 {
		return 0, false
	}
	return w * (n - 1) / (n - w - 2), true
}
