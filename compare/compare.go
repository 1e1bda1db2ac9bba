// Package compare compares regressions with Gaussian processes: it fits all to the same training
// rows of a table and scores them on the same held-out rows. Start at [Run].
package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
)

// Run compares methods on data. opts describes the Gaussian process; HoldOut, Blocks,
// Standardize and the seed count for all methods, and the objective cannot have folds. Rows
// that data or opts hold out are the rows to predict; if there are none, the rows are divided into folds, and each fold is predicted
// by fits to the others. A method that fails is an entry with its error, and the others go
// on. If ctx is cancelled, Run returns what is done, with a [*problem.CancelledError]; the
// result is nil if nothing is done. A Gaussian process needs at least one backend, and uses
// all. Errors: [*problem.OptionError], [*problem.DataError] and errors in the text of a kernel,
// before any fit; and an error if no method could be fitted.
func Run(ctx context.Context, data problem.Data, opts problem.Options, c Options, backends ...device.Backend) (*Result, error) {
	began := time.Now()
	r, err := newRunner(data, opts, c, backends)
	if err != nil {
		return nil, err
	}
	stopped := r.run(ctx)
	if stopped != nil && !slices.ContainsFunc(r.trials, func(t Trial) bool { return t.done() }) {
		return nil, &problem.CancelledError{Msg: "interrupted before the first fit was done", Err: stopped}
	}
	result := r.result()
	if err := result.noneDone(); err != nil {
		return nil, err
	}
	if stopped == nil && (c.Curves || c.OnModel != nil) {
		result.Curves, stopped = r.last(ctx)
		result.Warnings = r.warnings
	}
	result.Seconds = time.Since(began).Seconds()
	if stopped != nil {
		result.Stopped = fmt.Sprintf("interrupted after %d of %d fits", r.finished, r.total())
		return result, &problem.CancelledError{Msg: result.Stopped, Err: stopped}
	}
	return result, nil
}

// noneDone returns an error if every method failed.
func (r *Result) noneDone() error {
	var words []string
	for _, e := range r.Methods {
		if e.Status != Failed {
			return nil
		}
		words = append(words, e.Method+": "+e.Error)
	}
	return fmt.Errorf("no method could be fitted:\n%s", strings.Join(words, "\n"))
}
