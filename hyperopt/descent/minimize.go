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
// The error is nil if at least one start found a finite value and nothing
// interrupted the run; the result's Status reports convergence. The result is nil
// only if p or s is invalid. With an error it holds what was found until then. The
// error is the context's cause if the run was cancelled, the objective's error if
// that ended the run, and the joined [*StartError] of all starts if none could
// begin.
//
// Starts run in sequence or, with several objectives, in parallel. Each depends
// only on p, s and its index, so the result is the same.
func Minimize(ctx context.Context, p Search, s Options) (*Result, error) {
	r, err := newRun(p, s)
	if err != nil {
		return nil, err
	}
	result := &Result{StartResult: StartResult{F: math.Inf(1), GradientNorm: math.NaN(), RelativeChange: math.NaN()}, BestStart: -1}
	warnings := slices.Clone(r.space.warnings)
	if len(r.space.free()) == 0 && len(r.starts) > 1 {
		r.starts = r.starts[:1]
		warnings = append(warnings, "all parameters are fixed: no restarts were run")
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

// each runs the starts in order, each on the next free objective. A start that is
// cancelled or fails fatally ends the others.
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

// collect makes the best start the result and returns errors that end the run.
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
			// The run was cancelled or the objective failed. A cancellation that
			// follows the failure of another start is not the cause.
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
