package fit

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/kernel"
)

// Data is a table: inputs and targets in original units.
type Data struct {
	// X holds n rows of d features, row-major; Y the n targets, or n×T numbers
	// column-major for the T targets of TargetNames, which share kernel and
	// noise.
	X, Y []float64
	N, D int
	// FeatureNames and TargetName are for messages and the model file.
	FeatureNames []string
	TargetName   string
	// TargetNames are the names of several targets; nil for TargetName alone.
	TargetNames []string
	// NoiseVariance holds noise variances that are known for each row, in
	// squared units of the target: they come on top of the estimated one.
	// NoiseGroup holds labels of rows that share an estimated variance. Both
	// nil for none; their columns' names are for messages and the model file.
	NoiseVariance                 []float64
	NoiseGroup                    []string
	NoiseColumn, NoiseGroupColumn string
	// Row holds the number of each row, from 0, in a larger table that these are
	// part of; nil if they are all of it.
	Row []int
	// Test marks rows that are held out and scored; nil for none.
	Test []bool
	// Warnings of whoever read the table, to be passed on.
	Warnings []string
}

// Assignment gives a parameter a value in natural units of the scaled problem.
type Assignment struct {
	// Name is a parameter's, "lengthscale[2]", or that of a whole vector,
	// "lengthscale".
	Name  string
	Value float64
	// Given is false for "--fix name", which fixes at the start value.
	Given bool
}

// Interval bounds a parameter, natural units of the scaled problem.
type Interval struct {
	Name   string
	Lo, Hi float64
}

// Options says how to fit. The zero value is an isotropic rbf on standardised
// data with no restarts.
type Options struct {
	// Kernel is the text form; empty means "rbf". ARD gives every leaf one
	// lengthscale per column.
	Kernel string
	ARD    bool
	// Kernels are kernels of the user's own that Kernel may name. Only the CPU
	// evaluates them.
	Kernels []kernel.Custom
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
	Priors []Prior
	// Objective is what is minimised; empty means ObjectiveNLML. LeaveOneOut
	// asks for its leave-one-out score, too.
	Objective   Objective
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
	// Coarse says whether to tune on subsets of the rows first; empty means
	// CoarseAuto. The criteria of Settings hold over all rows either way.
	Coarse Coarse
	// Settings are the optimiser's; its callback is OnIteration here.
	Settings hyperopt.Settings
	// OnIteration is called after every accepted iteration, OnProgress within
	// long evaluations. Both may be nil.
	OnIteration func(hyperopt.Iteration)
	OnProgress  func(device.Progress)
	// Fallback, if not nil, opens the device on which to go on if one is lost
	// or its memory does not suffice. The task closes it. OnWarning is told.
	Fallback  func(ctx context.Context) (device.Backend, error)
	OnWarning func(text string)
}

// DataError reports a table that cannot be fitted. The command line maps it to
// exit code 10.
type DataError struct{ Msg string }

func (e *DataError) Error() string { return e.Msg }

// OptionError reports an option that does not fit the problem, such as a
// parameter that the kernel does not have. The command line maps it to exit
// code 2.
type OptionError struct{ Msg string }

func (e *OptionError) Error() string { return e.Msg }

func optionErrorf(format string, args ...any) error {
	return &OptionError{fmt.Sprintf(format, args...)}
}
