package hyperopt

import (
	"context"
	"fmt"
	"math"
	"time"

	"gpfit/hyperopt/descent"
)

// Subsets and their starts may all miss an optimum that only all rows show, such as the
// one at a third of a period. So after the descents over all rows, values over all rows at
// the alternatives to the best end decide whether another descent is worth it.

// alternatives descends from the best alternative to the best end, unless that is much
// worse, and adds its outcome to the result and its start to found.
func alternatives(ctx context.Context, t *tuner, objectives []Session, found []candidate) ([]candidate, error) {
	if !t.racing() || !t.result.Status.Converged() {
		return found, nil
	}
	began := time.Now()
	best := candidate{f: math.Inf(1), starts: 1}
	var values descent.Evaluations
	for k, z := range t.problem.Alternatives(t.result.X) {
		ev := descent.NewOracle(objectives[0], t.journal.Sequence(fmt.Sprintf("alternative-%d", k)))
		f, err := ev.Value(ctx, z)
		values.Add(ev.Counts())
		if err != nil {
			t.result.FullSize.Add(values)
			return found, err
		}
		if f < best.f {
			best.Start, best.f = descent.Start{Z: z}, f
		}
	}
	t.result.FullSize.Add(values)
	if !(best.f <= t.result.F+worthwhile) {
		return found, nil
	}
	result, found, err := another(ctx, t, objectives, "alternative", found, best)
	if result != nil {
		values.Add(result.Evaluations)
		t.record(Stage{Step: "alternatives", Rows: t.rows, Starts: 1, Z: result.X, F: result.F, Evaluations: values}, began)
	}
	return found, err
}
