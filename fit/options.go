package fit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gpfit/device"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/kernel"
)

// Assignment gives a parameter a value in natural units of the scaled problem.
type Assignment struct {
	// Name is a parameter's, "lengthscale[2]", or that of a whole vector,
	// "lengthscale".
	Name  string
	Value float64
	// Given is false in Options.Fix for a parameter that is fixed at its start value.
	Given bool
}

func (a Assignment) String() string { return fmt.Sprintf("%s=%v", a.Name, a.Value) }

// Interval bounds a parameter, natural units of the scaled problem.
type Interval struct {
	Name   string
	Lo, Hi float64
}

func (b Interval) String() string { return fmt.Sprintf("%s=%v:%v", b.Name, b.Lo, b.Hi) }

// Options says how to fit. The zero value is an isotropic rbf on standardised
// data with no restarts.
//
// Errors and warnings call a field by the name of its option: the field's name in
// lower case, with hyphens, such as "max-jitter", but "noise" for NoNoise, "prior" and
// "tie" for Priors and Ties, "scores" for LeaveOneOut, "optimizer" for Settings.Method
// and "max-evals" for Settings.MaxEvaluations.
type Options struct {
	// Kernel is the text form; empty means "rbf". ARD gives every leaf one
	// lengthscale per column.
	Kernel string
	ARD    bool
	// Kernels are kernels of the user's own that Kernel may name, each with its
	// function written once; all devices evaluate them. A model file holds their
	// names alone, so that [gp.Load] needs them, too. What needs no name can be a
	// formula in Kernel: formula(exp(-r/a), a=1).
	Kernels []*kernel.Family
	// RequirePSD makes an error of a kernel with a formula or one of Kernels whose
	// matrix on up to 300 training rows is asymmetric or has an eigenvalue below 0
	// at the start values. Otherwise that is a warning.
	RequirePSD bool
	// Mean is the mean function in the text form of package mean; empty means
	// zero. MeanFit says how its coefficients are found.
	Mean    string
	MeanFit MeanFit
	// NoNoise leaves the estimated noise variance out. Without known variances
	// the fit goes through the targets.
	NoNoise bool
	// Standardize is what is scaled; empty means both.
	Standardize gp.Standardize
	// Set gives start values, Fix fixes parameters, Bounds replaces default
	// bounds.
	Set, Fix []Assignment
	Bounds   []Interval
	// Ties bind parameters to others, Priors give them densities: the fit is
	// then that of maximum posterior density.
	Ties   []Tie
	Priors []ParameterPrior
	// Objective is what is minimised; empty means NLML. LeaveOneOut asks for its
	// leave-one-out score, too.
	Objective   Criterion
	LeaveOneOut bool
	// StdErrors asks for standard errors at the optimum: two gradients more for
	// every free parameter.
	StdErrors bool
	// MaxJitter is the largest variance that may be added to the diagonal if
	// the covariance is not positive definite; 0 allows none.
	MaxJitter float64
	// Checkpoint, if not empty, is a file that keeps every evaluation. The same
	// fit with the same file goes on where it ended, whether it was cancelled,
	// killed, or lost its device, and comes to the same bits. A file of other
	// data or options is an [*OptionError], a damaged one a [*DataError]. It
	// stays until [Outcome.RemoveCheckpoint].
	Checkpoint string
	// DiscardCancelled makes a fit that is cancelled end at once, without the
	// best model so far, which takes one more evaluation.
	DiscardCancelled bool
	// Settings are those of tuning. Its Callback is called after every accepted
	// iteration; its Precision is the device's. OnProgress, unless nil, is called
	// within long evaluations.
	Settings   hyperopt.Settings
	OnProgress func(device.Progress)
	// Fallback, if not nil, opens the device on which to go on if one is lost
	// or its memory does not suffice. The job closes it. OnWarning is told.
	Fallback  func(ctx context.Context) (device.Backend, error)
	OnWarning func(text string)
}

// Tie makes a parameter take the value of another: it is no free parameter any
// more.
type Tie struct {
	// Name and Source are names of parameters, of whole vectors or of their
	// elements. Vectors of the same length are tied element by element; one
	// number as the source serves all elements of Name.
	Name, Source string
}

func (t Tie) String() string { return t.Name + "=" + t.Source }

// ParameterPrior gives a parameter a prior density, in natural units of the scaled
// problem; see [graph.Prior] for what density over which variable is meant.
type ParameterPrior struct {
	// Name is a parameter's or that of a whole vector, each element of which
	// then has this prior; one given for an element takes precedence.
	Name    string
	Density graph.Prior
}

func (d ParameterPrior) String() string { return d.Name + "=" + d.Density.String() }

// MeanFit says how the coefficients of the mean function are found.
type MeanFit string

// The choices for Options.MeanFit. MeanAuto is the default: MeanFree if Set, Fix,
// Bounds or Priors name a coefficient, MeanGLS otherwise.
const (
	MeanAuto MeanFit = ""
	// MeanGLS takes those of largest likelihood at the other parameters, by
	// generalised least squares within each evaluation. Predictions have their
	// uncertainty in them.
	MeanGLS MeanFit = "gls"
	// MeanFree makes them parameters of the objective.
	MeanFree MeanFit = "free"
)

// Criterion is what a fit minimises over the parameters, priors apart.
type Criterion string

// The choices for Options.Objective.
const (
	// NLML is the negative log marginal likelihood, the default.
	NLML Criterion = "nlml"
	// LOO is the negative log predictive density of leave-one-out, which asks less
	// of the model's prior and more of its predictions (Rasmussen & Williams 2006,
	// §5.4.2). An evaluation costs about twice as much.
	LOO Criterion = "loo"
)

// checked returns the options with the criterion filled in, and the scaling.
func (o Options) checked() (Options, gp.Standardize, error) {
	how, err := gp.ParseStandardize(string(o.Standardize))
	if err != nil {
		return o, how, optionErrorf("standardize", "", "%v", err)
	}
	switch o.Objective {
	case "":
		o.Objective = NLML
	case NLML, LOO:
	default:
		return o, how, optionErrorf("objective", strconv.Quote(string(o.Objective)), "must be nlml or loo")
	}
	if o.StdErrors && o.Objective == LOO {
		return o, how, optionErrorf("std-errors", "", "the Hessian of a leave-one-out density is not the parameters' precision; take option objective nlml")
	}
	if c := o.Settings.Coarse; c != "" && !slices.Contains(hyperopt.Coarses(), c) {
		return o, how, optionErrorf("coarse", string(c), "must be auto, on or off")
	}
	if r := o.Settings.Restarts; r < 0 || r > hyperopt.MaxRestarts {
		return o, how, optionErrorf("restarts", strconv.Itoa(r), "must be from 0 to %d", hyperopt.MaxRestarts)
	}
	if n := o.Settings.MaxEvaluations; n < 0 {
		return o, how, optionErrorf("max-evals", strconv.Itoa(n), "must not be negative")
	}
	return o, how, nil
}

// DataError reports a table that cannot be fitted. The command line maps it to
// exit code 10.
type DataError struct{ Msg string }

func (e *DataError) Error() string { return e.Msg }

// OptionError reports an option that does not fit the problem, such as a
// parameter that the kernel does not have. The command line maps it to exit
// code 2.
type OptionError struct {
	// Option is the option's name, as the doc comment of [Options] explains, such as
	// "max-jitter"; empty if the error is about no one option. Value is what was given for it, empty where that does not
	// help.
	Option, Value string
	// Msg says what is wrong. In it, other options are called "option NAME", too.
	Msg string
}

// Error is "option NAME VALUE: " and the message, or the message alone.
func (e *OptionError) Error() string {
	switch {
	case e.Option == "":
		return e.Msg
	case e.Value == "":
		return "option " + e.Option + ": " + e.Msg
	}
	return "option " + e.Option + " " + e.Value + ": " + e.Msg
}

// optionErrorf is an error about an option and the value that was given for it,
// either of which may be empty.
func optionErrorf(option, value, format string, args ...any) error {
	return &OptionError{Option: option, Value: value, Msg: fmt.Sprintf(format, args...)}
}

// UnfinishedError reports a fit that failed after it had found parameters from which
// another fit can go on.
type UnfinishedError struct {
	// Err is why it failed.
	Err error
	// Best is the label and the value of the objective at the parameters, such as
	// "NLML 3.25"; empty if the fit knows the objective on fewer rows alone.
	Best string
	// Parameters are natural values of the scaled problem. A fit with them in
	// Options.Set goes on from there.
	Parameters []Assignment
}

// Error is the error of the fit, with what was found below it.
func (e *UnfinishedError) Error() string {
	values := make([]string, len(e.Parameters))
	for i, a := range e.Parameters {
		values[i] = fmt.Sprintf("%s=%.10g", a.Name, a.Value)
	}
	return e.Err.Error() + "\n" + e.Found() + "set " + strings.Join(values, ", ")
}

// Found says what the parameters are, and ends where they are to be named.
func (e *UnfinishedError) Found() string {
	if e.Best == "" {
		return "to go on from the optimum on fewer rows: "
	}
	return "best so far: " + e.Best + "; to go on from there: "
}

// Unwrap returns the error of the fit.
func (e *UnfinishedError) Unwrap() error { return e.Err }

// CancelledError reports a fit that was interrupted.
type CancelledError struct{ Msg string }

func (e *CancelledError) Error() string { return e.Msg }

// Unwrap returns [context.Canceled].
func (e *CancelledError) Unwrap() error { return context.Canceled }

func isCancelled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
