package hyperopt

import (
	"cmp"
	"context"
	"math"
	"slices"

	"gpfit/hyperopt/descent"
	"gpfit/internal/each"
)

// basins tells which ends of a stage are the same optimum, by values at points between them.
type basins struct {
	*descent.Oracle
	withinReach func(z []float64) []float64
}

// basins compares ends over the rows of o.
func (t *tuner) basins(stream string, o Session) basins {
	return basins{descent.NewOracle(o, t.journal.Sequence(stream+"-between")), t.withinReach}
}

// distinct sorts the ends of a stage, best first, and merges ends at the same optimum. It
// returns separately the ends that the race has dropped. from are the candidates from which
// the descents began.
func (b basins) distinct(ctx context.Context, r *descent.Result, from []candidate) (out, dropped []candidate, err error) {
	ends := each.Of(r.Starts, endOf)
	for k, s := range r.Starts {
		into := k
		for r.Starts[into].Status == descent.StatusMerged {
			into = r.Starts[into].MergedInto
		}
		if s.X != nil {
			c := from[k]
			c.Evaluations.Add(s.Evaluations)
			ends[into].join(c)
		}
	}
	ends = slices.DeleteFunc(ends, func(c candidate) bool { return c.Z == nil || c.Starts == 0 })
	slices.SortStableFunc(ends, func(a, b candidate) int { return cmp.Compare(a.F, b.F) })
next:
	for _, c := range ends {
		if c.Dropped {
			dropped = append(dropped, c)
			continue
		}
		for i, o := range out {
			one, err := b.same(ctx, o, c)
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
	c.Starts += o.Starts
	c.Drawn += o.Drawn
	c.Evaluations.Add(o.Evaluations)
}

// same reports whether two ends of a stage are the same
// optimum: close in value, and either close according to the quadratic model of one or without a
// ridge between them. It does not compare elements beyond the problem's limits, because loose
// descents stop at random points along such a valley.
func (b basins) same(ctx context.Context, better, worse candidate) (bool, error) {
	if worse.F-better.F > sameValue {
		return false, nil
	}
	z, other := b.withinReach(better.Z), b.withinReach(worse.Z)
	if min(better.Metric.Nats(z, other), worse.Metric.Nats(z, other)) <= sameNats {
		return true, nil
	}
	middle := slices.Clone(better.Z)
	for i, v := range worse.Z {
		middle[i] = (middle[i] + v) / 2
	}
	f, err := b.Value(ctx, middle)
	return f <= worse.F+sameRidge, err
}

// known reports whether c is at the optimum of one of the ends and no lower.
func (b basins) known(ctx context.Context, ends []candidate, c candidate) (bool, error) {
	for _, o := range ends {
		if o.Dropped || o.same || c.F <= o.F-sameRidge {
			continue
		}
		better, worse := o, c
		if worse.F < better.F {
			better, worse = worse, better
		}
		if one, err := b.same(ctx, better, worse); one || err != nil {
			return one, err
		}
	}
	return false, nil
}

// Coverage counts what the starts of a run found. The given start and the end of its descent on
// half of the rows count as two.
type Coverage struct {
	// Starts counts the starts that reached an optimum, and Best the starts that reached
	// the best one. Stopped counts the starts that did not end: they promised nothing better.
	Starts, Best, Stopped int
	// Next is how far the next optimum is above the best, +Inf without one.
	Next float64
	// Rows is the largest number of rows on which several starts descended, if only one of them
	// did over all rows, and 0 otherwise.
	Rows int
}

// NewCoverage counts the starts of a result.
func NewCoverage(r *Result) Coverage {
	c, descents := Coverage{Next: math.Inf(1)}, 0
	for i, o := range r.Optima {
		switch {
		case o.Dropped:
			c.Stopped += o.Starts
			continue
		case i == 0:
			c.Best = o.Starts
		case i == 1:
			c.Next = o.F - r.Optima[0].F
		}
		c.Starts += o.Starts
	}
	for _, s := range r.Path {
		if s.Rows == r.Path[len(r.Path)-1].Rows && (s.Step == "descent" || s.Step == "plain") {
			descents += s.Starts
		}
	}
	for _, s := range r.Path {
		if descents == 1 && c.Starts+c.Stopped > 1 && s.Step == "descent" && s.Starts > 1 && s.Rows < r.Path[len(r.Path)-1].Rows {
			c.Rows = s.Rows
		}
	}
	return c
}
