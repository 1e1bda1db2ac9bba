// Package compare fits several regressions and Gaussian processes to the same training
// rows of a table and scores them on the same held-out rows. Start at [Run].
//
//	file         what it holds
//	compare.go   Options and Run
//	methods.go   the methods by name
//	process.go   the Gaussian process as a method
//	split.go     folds, hold-outs and nested subsets of the rows
//	trial.go     one fit of one method, and its scores by row
//	runner.go    the order of the trials, progress, interruption
//	rank.go      scores pooled over the folds, ranks
//	paired.go    differences from the best method, with their standard errors
//	result.go    the result and its forms as text and as records
//	curves.go    the fits over one input
//
// Package figure draws the result.
package compare

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/internal/baseline"
)

// RankBy names the score that ranks the methods; less is better.
type RankBy string

// The scores for Options.RankBy.
const (
	// ByRMSE is the root mean squared error on held-out rows, the default.
	ByRMSE RankBy = "rmse"
	// ByNLPD is the mean negative log predictive density of held-out rows. Methods
	// without a density rank after the others.
	ByNLPD RankBy = "nlpd"
)

// Rankings returns all scores that can rank the methods.
func Rankings() []RankBy { return []RankBy{ByRMSE, ByNLPD} }

// Options configures [Run]. The zero value compares all methods by tenfold
// cross-validation.
type Options struct {
	// Methods are names from [Methods]; nil means all. Own are further methods.
	Methods []string
	Own     []NamedMethod
	// Kernels are the kernels of the Gaussian process in text form, each a method of its
	// own; nil means the kernel of the fit's options.
	Kernels []string
	// Folds is the number of folds if no rows are held out; 0 means problem.DefaultFolds.
	Folds int
	// RankBy is the score that decides; empty means ByRMSE.
	RankBy RankBy
	// Sizes are numbers of training rows. Each method is fitted to nested random subsets
	// of these sizes, too.
	Sizes []int
	// Curves asks for the fits over the input, of which there must be one.
	Curves bool
	// OnStep, if not nil, is called before each fit.
	OnStep func(Step)
	// Events are those of the fits of the Gaussian process.
	Events problem.Events
}

// NamedMethod is a method under the name that results give it.
type NamedMethod struct {
	Name   string
	Method baseline.Method
}

// Step says what a comparison does next.
type Step struct {
	// Method is fitted to Rows training rows of a fold. Fold counts from 1.
	Method            string
	Fold, Folds, Rows int
	// Done of Total fits are done.
	Done, Total int
	// Left is about how much time is left, 0 if that is not known yet.
	Left time.Duration
	// Stages describes the fit of a Gaussian process; nil for other methods.
	Stages []hyperopt.Expectation
}

// Run compares methods on data. opts describes the Gaussian process; HoldOut, Blocks,
// Standardize and the seed count for all methods, and the objective cannot have folds. Rows
// that data or opts hold out are the rows to predict; if there are none, the rows are divided into folds, and each fold is predicted
// by fits to the others. A method that fails is an entry with its error, and the others go
// on. If ctx is cancelled, Run returns what is done, with a [*problem.CancelledError]; the
// result is nil if nothing is done. A Gaussian process needs at least one backend, and uses
// all. Errors: [*problem.OptionError], [*problem.DataError] and those of the text of a kernel,
// before any fit; and an error if no method could be fitted.
func Run(ctx context.Context, data problem.Data, opts problem.Options, c Options, backends ...device.Backend) (*Result, error) {
	began := time.Now()
	r, err := newRunner(data, opts, c, backends)
	if err != nil {
		return nil, err
	}
	stopped := r.run(ctx)
	if stopped != nil && !slices.ContainsFunc(r.trials, func(t Trial) bool { return t.done() }) {
		return nil, &problem.CancelledError{Msg: "interrupted before the first fit was done"}
	}
	result := r.result()
	if err := result.noneDone(); err != nil {
		return nil, err
	}
	if stopped == nil && c.Curves {
		result.Curves, stopped = r.curves(ctx)
	}
	result.Seconds = time.Since(began).Seconds()
	if stopped != nil {
		result.Stopped = fmt.Sprintf("interrupted after %d of %d fits", r.finished, r.total())
		return result, &problem.CancelledError{Msg: result.Stopped}
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

func optionError(name, value, format string, args ...any) error {
	return &problem.OptionError{Option: name, Value: value, Msg: fmt.Sprintf(format, args...)}
}
