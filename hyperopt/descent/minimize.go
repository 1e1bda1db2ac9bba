package descent

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Minimize minimises from every start of the problem.
//
// The error is nil if at least one start found a finite value and the run was
// not cut short; whether it converged is in the result's Status. The result is
// nil only if p or s is invalid. With an error it holds what was found until
// then: the error is the context's cause if the run was cancelled, that of the
// objective if it reported one that ends the run, and the joined [*StartError]
// of all starts if none could begin.
//
// Starts run one after the other, or with several objectives side by side. Each
// has a state of its own and depends on p, s and its index only: the result is
// the same.
func Minimize(ctx context.Context, p Search, s Options) (*Result, error) {
	r, err := newRun(p, s)
	if err != nil {
		return nil, err
	}
	result := &Result{StartResult: StartResult{F: math.Inf(1), GradientNorm: math.NaN(), RelativeChange: math.NaN()}, BestStart: -1}
	warnings := slices.Clone(r.space.warnings)
	if len(r.space.free()) == 0 && len(r.starts) > 1 {
		r.starts = r.starts[:1]
		warnings = append(warnings, "all parameters are fixed: restarts left out")
	}
	var ends []StartResult
	if r.settings.Race && len(r.starts) > 1 && TakesMetric(r.settings.Method) {
		ends = r.race(ctx)
	} else {
		ends = r.each(ctx)
	}
	err = result.collect(ctx, ends)
	result.Warnings = append(warnings, result.Warnings...)
	return result, err
}

// each runs the starts one after the other, each on the next objective that is
// free. A start that fails for good, or is cancelled, ends the others.
func (r *run) each(ctx context.Context) []StartResult {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make([]StartResult, len(r.starts))
	SideBySide(len(r.starts), r.objectives, func(obj Func, k int) bool {
		if k > 0 && ctx.Err() != nil {
			return false
		}
		d := r.descent(k, obj, func(d *Descent) { r.board.notify(k, d) })
		results[k] = d.run(ctx)
		r.board.finish(k, results[k])
		if results[k].fatal() {
			cancel()
		}
		return true
	})
	return results
}

// collect takes up the outcomes of the starts: the best of them becomes the
// result, and errors that end the run are returned.
func (r *Result) collect(ctx context.Context, starts []StartResult) error {
	var err error
	var errs []error
	status, iterations, counts := StatusNone, 0, Evaluations{}
	for k, start := range starts {
		if start.Status == StatusNone {
			continue // not begun, because another start ended the run
		}
		r.Starts = append(r.Starts, start)
		counts.Add(start.Evaluations)
		iterations += start.Iterations
		left := start.Status == StatusDropped || start.Status == StatusMerged
		if start.X != nil && !left && (r.BestStart < 0 || start.F < r.F) {
			r.BestStart, r.F = len(r.Starts)-1, start.F
		}
		switch {
		case start.Err == nil:
		case !start.fatal():
			errs = append(errs, start.Err)
		case err == nil || errors.Is(err, context.Canceled) && ctx.Err() == nil:
			// Cancelled, or the objective is broken. What the failure of one
			// start cancelled in others is not the cause.
			err = fmt.Errorf("hyperopt: start %d: %w", k, start.Err)
			status = start.Status
		}
	}
	if r.BestStart >= 0 {
		r.StartResult = r.Starts[r.BestStart]
	}
	r.Iterations, r.Evaluations = iterations, counts
	switch {
	case err != nil:
		r.Status = status
		return err
	case r.BestStart < 0:
		r.Status = StatusFailed
		return fmt.Errorf("hyperopt: the objective is not defined at any start: %w", errors.Join(errs...))
	}
	for _, err := range errs {
		r.Warnings = append(slices.Clip(r.Warnings), err.Error())
	}
	return nil
}
