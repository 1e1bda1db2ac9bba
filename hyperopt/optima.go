package hyperopt

import (
	"cmp"
	"context"
	"slices"

	"gpfit/hyperopt/descent"
)

// between returns an oracle for points between the ends of a stage.
func (t *tuner) between(stream string, o Session) *descent.Oracle {
	return descent.NewOracle(o, t.journal.Sequence(stream+"-between"))
}

// distinct sorts the ends of a stage, best first, and merges those at the same
// optimum. It returns separately those that the race has dropped. from are the
// candidates from which the descents began, and between evaluates the objective of
// the stage.
func (t *tuner) distinct(ctx context.Context, r *descent.Result, from []candidate, between *descent.Oracle) (out, dropped []candidate, err error) {
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
			ends[into].starts += from[k].starts
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
			one, err := t.same(ctx, o, c, between)
			if err != nil {
				return nil, nil, err
			}
			if one {
				out[i].starts += c.starts
				continue next
			}
		}
		out = append(out, c)
	}
	return out, dropped, nil
}

// same reports whether two ends of a stage, of which a is the better, are the same
// optimum: close in value, and either close according to the quadratic model of one
// or without a ridge between them. It does not compare elements beyond the
// problem's limits, because loose descents stop at random points along such a
// valley.
func (t *tuner) same(ctx context.Context, a, b candidate, between *descent.Oracle) (bool, error) {
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
		out[i] = Optimum{Z: c.Z, F: c.f, Starts: c.starts, Dropped: c.left, Rows: c.rows}
	}
	return out
}
