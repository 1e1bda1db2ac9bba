package compare

import (
	"fmt"
	"time"

	"gpfit/compare/baseline"
	"gpfit/compare/companion"
	"gpfit/fit"
	"gpfit/fit/problem"
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

// Options configures [Run]. The zero value compares all methods by tenfold cross-validation.
type Options struct {
	// Methods are names from [Methods]; nil means all. Own are further methods.
	Methods []string
	Own     []NamedMethod
	// Kernels are the kernels of the Gaussian process in text form, each a method of its
	// own; nil means the kernel of the fit's options.
	Kernels []string
	// Penalties are penalties of the methods ridge, lasso and spline, by the name of the method. One is
	// used as it is, and of several the method chooses. Without any it finds its own.
	Penalties []problem.Assignment
	// Spline is the kind of spline, empty for linear ones, and Knots are the knots of a table with one
	// column, in its units; nil places them.
	Spline baseline.SplineKind
	Knots  []float64
	// Folds is the number of folds if no rows are held out; 0 means problem.DefaultFolds.
	Folds int
	// RankBy is the score that decides; empty means ByRMSE.
	RankBy RankBy
	// Sizes are numbers of training rows. Each method is fitted to nested random subsets
	// of these sizes, too.
	Sizes []int
	// Curves asks for the fits over the input, of which there must be one.
	Curves bool
	// OnModel, if not nil, is called at the end with each method fitted to the training rows of a hold-out,
	// or to all rows. Its error is a warning of the result.
	OnModel func(*Fitted) error
	// OnStep, if not nil, is called before each fit.
	OnStep func(Step)
	// Events are called by the fits of the Gaussian process.
	Events problem.Events
}

// NamedMethod is a method under the name that results give it.
type NamedMethod struct {
	Name   string
	Method baseline.Method
}

// Fitted is a fitted method: a regression, or the outcome of the fit of a Gaussian process with the kernel of that
// index in Options.Kernels. The outcome is closed after the call that hands it over.
type Fitted struct {
	Method     string
	Regression *companion.Regression
	Process    *fit.Outcome
	Kernel     int
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
}

func optionError(name, value, format string, args ...any) error {
	return &problem.OptionError{Option: name, Value: value, Msg: fmt.Sprintf(format, args...)}
}
