package problem

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gpfit/device"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/each"
	"gpfit/internal/textform"
	"gpfit/internal/transform"
	"gpfit/kernel"
	"gpfit/method/experts"
)

// Assignment assigns a value to a parameter, in natural units of the scaled problem.
type Assignment struct {
	// Name is the name of a parameter, with the name or the index of a column, such as
	// "lengthscale[temp]" or "lengthscale[2]", or of a whole vector, such as
	// "lengthscale". A name of a column with blanks, brackets, commas, quotes or equals
	// signs, or that looks like a number, is in double quotes with the escapes of JSON.
	Name  string
	Value float64
	// Given is false in Options.Fix if the parameter is fixed at its start value.
	Given bool
	// Found says that another fit found the value: nobody chose it, so that it may move, as the
	// start values of Options.From may.
	Found bool `hash:"omitzero"`
}

func (a Assignment) String() string { return fmt.Sprintf("%s=%v", a.Name, a.Value) }

// FoundValues returns values by name as start values that a fit found, sorted by name.
func FoundValues(values map[string]float64) (out []Assignment) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		out = append(out, Assignment{Name: name, Value: values[name], Given: true, Found: true})
	}
	return out
}

// Interval bounds a parameter, in natural units of the scaled problem.
type Interval struct {
	Name   string
	Lo, Hi float64
}

func (b Interval) String() string { return fmt.Sprintf("%s=%v:%v", b.Name, b.Lo, b.Hi) }

// Options configures a fit. The zero value chooses a kernel for standardized data
// and tunes it with no restarts.
//
// Errors and warnings call a field by the name of its option: the field's name in
// lower case, with hyphens, such as "max-jitter", but "noise" for NoNoise, "prior"
// and "tie" for Priors and Ties, "scores" for LeaveOneOut, "holdout" for HoldOut and HoldOutLast, "optimizer"
// for Settings.Method and "max-evals" for Settings.MaxEvaluations.
type Options struct {
	// Kernel is the kernel in text form, in which dims= may name columns; empty or AutoKernel means
	// that the fit chooses it by the data. ARD gives every leaf one lengthscale per column.
	Kernel string
	ARD    bool
	// Kernels are user-defined kernels that Kernel may name. Write each function once; all devices
	// evaluate it. A model file holds only their names, so that [gp.Load] needs the kernels, too. A
	// kernel that needs no name can be a formula in Kernel: formula(exp(-r/a), a=1).
	Kernels []*kernel.Family
	// RequirePSD concerns kernels with a formula or one of Kernels. If the kernel's
	// matrix on up to 300 training rows at the start values is asymmetric or has a
	// negative eigenvalue, that is an error with RequirePSD and a warning otherwise.
	RequirePSD bool
	// Mean is the mean function in the text form of package mean; empty or AutoMean means
	// DefaultMean or, if the fit chooses the kernel, also a linear one. MeanFit selects how gpfit finds its
	// coefficients.
	Mean    string
	MeanFit MeanFit
	// MeanPrior gives the coefficients of the mean the prior N(0, s²) with that variance s². The basis functions
	// become terms of the kernel with s² as signal variance, so that the coefficients are integrated out. Kernel
	// may then be NoKernel.
	MeanPrior MeanPrior `hash:"omitzero"`
	// NoNoise leaves out the estimated noise variance. Without known variances the
	// fit interpolates the targets.
	NoNoise bool
	// NoiseFloor is a lower bound of the estimated noise variances.
	NoiseFloor NoiseFloor `hash:"omitzero,text"`
	// Robust gives rows that do not fit the model noise variances of their own; see fit.Run.
	Robust bool `hash:"omitzero"`
	// Standardize selects what is scaled; empty means inputs and targets.
	Standardize gp.Standardize
	// TargetTransform maps the targets before they are scaled: "log", "boxcox" or "yeojohnson",
	// whose λ is the parameter lambda, or "auto", of which fit.Run takes the lowest BIC; "none" for none.
	// If it is empty, fit.Run may take one where it chooses kernel and mean, and there is none otherwise.
	// The likelihood and all scores are densities of the target itself. See [gp.Scaling].
	TargetTransform transform.Name `hash:"omitzero"`
	// InputTransform is [transform.Skewed] for transforms of columns with long tails, or "none". If it is empty, fit.Run
	// may take them where it chooses kernel and mean, and there are none otherwise.
	InputTransform transform.Name `hash:"omitzero"`
	// Set gives start values, Fix fixes parameters, and Bounds replaces default bounds.
	Set, Fix []Assignment
	Bounds   []Interval
	// Ties bind parameters to others. Priors give parameters densities; the fit then
	// maximizes the posterior density.
	Ties   []Tie
	Priors []ParameterPrior
	// Objective is the quantity to minimize; empty means NLML. LeaveOneOut adds the
	// leave-one-out score to the report.
	Objective   Criterion
	LeaveOneOut bool
	// Folds and FoldSeed describe the folds of the objectives CV and CVRMSE, as in
	// [CrossValidation].
	Folds    int    `hash:"omitzero"`
	FoldSeed uint64 `hash:"omitzero"`
	// HoldOut is the share of the rows (below 1) or the number of rows (from 1) that the
	// fit holds out and scores; 0 means none. Settings.Seed draws the rows. With
	// Data.Group it counts groups, which are held out whole.
	HoldOut float64 `hash:"omitzero"`
	// HoldOutLast takes the last rows for HoldOut: the latest by the only column that varies, or by the only date, with
	// all rows of equal times, and otherwise the last rows of the table, with a warning.
	HoldOutLast bool `hash:"omitzero"`
	// Blocks takes consecutive rows instead of random ones: the last rows for HoldOut,
	// and blocks of rows for the folds of fit.CrossValidate and of the objectives.
	Blocks bool `hash:"omitzero"`
	// StdErrors asks for standard errors at the optimum, which take two more
	// gradients for every free parameter.
	StdErrors bool
	// Posterior asks for draws of the parameters from their posterior, after the fit, over which
	// predictions then average: by the Laplace approximation, or by HMC with PosteriorChains chains
	// of PosteriorDraws draws after PosteriorWarmup others; 0 means 4, 1000 and 500. Laplace makes as
	// many draws as all chains. Empty means [AutoPosterior]: a few draws, if there are few rows.
	Posterior       PosteriorMethod `hash:"omitzero"`
	PosteriorChains int             `hash:"omitzero"`
	PosteriorWarmup int             `hash:"omitzero"`
	PosteriorDraws  int             `hash:"omitzero"`
	// MaxJitter is the largest variance that gpfit may add to the diagonal if the
	// covariance is not positive definite; 0 allows none.
	MaxJitter float64
	// Tolerance is the wanted bound of the error of the NLML, in nats, if the method is tree, which is not exact but bounds
	// its error; 0 means [device.DefaultTolerance].
	Tolerance float64 `hash:"omitzero"`
	// Checkpoint, if not empty, is a file that records every evaluation. After a cancellation, a
	// crash or a lost device, the same fit with the same file continues where it ended and finds
	// the same bits. A file of other data or options is an [*OptionError], a damaged one a
	// [*DataError]. The file stays until fit.Outcome.RemoveCheckpoint.
	Checkpoint string
	// DiscardCancelled makes a cancelled fit end at once. The fit then does not
	// return the best model so far, which would take one more evaluation.
	DiscardCancelled bool
	// Settings configures tuning. Its Precision is replaced by the device's.
	Settings hyperopt.Settings
	// Experts, if not empty, divides the training rows among local experts, for tables that are too
	// large for one process: kmeans:K finds K clusters of the scaled rows, and the covariance of
	// rows of different clusters counts as 0. Each cluster is an exact process. Combine says how
	// they predict: as a committee, "rbcm", which is the default, or each near its own rows,
	// "nearest". ExpertRows is the largest number of rows of an expert, 0 for twice the mean; larger
	// clusters are divided again.
	Experts    string       `hash:"omitzero"`
	Combine    experts.Rule `hash:"omitzero"`
	ExpertRows int          `hash:"omitzero"`
	// From, if not nil, is a model from which the fit starts: its parameters are start
	// values, and its kernel, mean, scaling, noise, ties, priors and objective replace what
	// the options leave open. Bounds and what is fixed are not taken. Unless Settings ask
	// for restarts or subsets, the fit begins over all rows. If the model has standard
	// errors, their Hessian is the first metric. Errors are [*OptionError] if no parameter
	// of the fit is in the model, or if Data lacks a feature that the model uses.
	From *gp.Model `hash:"omitzero"`
}

// AutoKernel is the word for a kernel that a fit chooses by the data. Where nothing is tuned, and
// first in a fit, it stands for DefaultKernel. NoKernel is the word for a covariance of only noise, with a
// mean whose coefficients have a prior. AutoMean stands for DefaultMean, or for a mean that is
// chosen with the kernel.
const (
	AutoKernel    = "auto"
	DefaultKernel = "matern32(ard)"
	NoKernel      = "none"
	AutoMean      = "auto"
	DefaultMean   = "constant"
)

// Auto reports whether the fit chooses the kernel.
func (o Options) Auto() bool { return o.Kernel == "" || o.Kernel == AutoKernel }

// AutoMean reports whether the fit may choose the mean function.
func (o Options) AutoMean() bool { return o.Mean == "" || o.Mean == AutoMean }

// openModel reports whether the fit may choose kernel and mean.
func (o Options) openModel() bool { return o.Auto() && o.AutoMean() && o.From == nil }

// fewestTransformed is the number of rows from which on a fit may take a transform.
const fewestTransformed = 30

// ChoosesTransforms reports whether a fit tries transforms of inputs, and of the target, with the kernels that it compares: the
// user left that open, and gave nothing that belongs to scaled values.
func (j *Prepared) ChoosesTransforms() (inputs, target bool) {
	o := j.Options
	given := o.Robust || o.NoNoise || o.Experts != "" || o.NoiseFloor != (NoiseFloor{}) || o.MeanPrior != (MeanPrior{}) || len(o.named()) > 0 || o.Ties != nil
	open := o.openModel() && !given && o.Objective == NLML && j.Sample.N() >= fewestTransformed
	return open && o.InputTransform == "", open && o.TargetTransform == "" && j.Sample.T() == 1 && j.Sample.Data.NoiseVariance == nil
}

// barred returns the options that advice on a next fit of the data does not name: the user chose otherwise, or the other options
// exclude them. mask says that a mask holds out rows.
func (o Options) barred(mask bool, d Data) (names []string) {
	add := func(option string, barred bool) {
		if barred {
			names = append(names, option)
		}
	}
	terms := o.MeanPrior != (MeanPrior{})
	add("from", terms)
	add("holdout", mask)
	add("kernel", terms || len(o.named()) > 0 || o.Ties != nil)
	add("noise-floor", o.NoNoise)
	add("posterior", o.Objective.LeavesOut())
	add("target-transform", o.TargetTransform == transform.None || o.NoiseFloor.Original || d.NoiseVariance != nil || d.TargetNames != nil)
	return names
}

// Events are the functions that a job calls while it computes. Each may be nil. They do not
// change the result, except for a fallback device.
type Events struct {
	// OnProgress is called during long evaluations, OnIteration after every accepted
	// iteration of the optimizer. Calls of OnIteration never overlap.
	OnProgress  func(device.Progress)
	OnIteration func(descent.Iteration)
	// OnFit is called with the progress of a whole fit, as the command line shows it, from time to time,
	// and at its end. Calls of it never overlap.
	OnFit func(hyperopt.FitProgress)
	// OnDraw is called after each iteration of a chain of the posterior.
	OnDraw func(chain, iteration int)
	// Fallback opens the device on which the fit continues if a device is lost or its memory
	// does not suffice. The job closes that device. OnWarning receives the warning.
	Fallback  func(ctx context.Context) (device.Backend, error)
	OnWarning func(text string)
}

// Tie makes a parameter take the value of another, so that it is no longer free.
type Tie struct {
	// Name and Source are names of parameters, of whole vectors or of their elements.
	// Vectors of the same length are tied element by element. A single number as
	// Source serves all elements of Name.
	Name, Source string
}

func (t Tie) String() string { return t.Name + "=" + t.Source }

// ParameterPrior gives a parameter a prior density, in natural units of the scaled
// problem; [graph.Prior] defines the densities and their variables.
type ParameterPrior struct {
	// Name is the name of a parameter, or of a whole vector, each element of which
	// then has this prior. A prior for an element takes precedence.
	Name    string
	Density graph.Prior
}

func (d ParameterPrior) String() string { return d.Name + "=" + d.Density.String() }

// MeanFit selects how gpfit finds the coefficients of the mean function.
type MeanFit string

// The choices for Options.MeanFit. MeanAuto is the default: MeanFree if Set, Fix,
// Bounds or Priors name a coefficient, MeanGLS otherwise.
const (
	MeanAuto MeanFit = ""
	// MeanGLS takes the coefficients of largest likelihood at the other parameters, by generalized
	// least squares within each evaluation. Predictions include their uncertainty.
	MeanGLS MeanFit = "gls"
	// MeanFree makes the coefficients parameters of the objective.
	MeanFree MeanFit = "free"
)

// PosteriorMethod says how to draw the parameters from their posterior.
type PosteriorMethod string

// The choices for Options.Posterior; an empty one is AutoPosterior.
const (
	// AutoPosterior draws if there are fewer than [RowsByParameter] rows for each free parameter and
	// the objective is a likelihood: a few draws, around which the Laplace approximation is weighed
	// with the posterior itself.
	AutoPosterior PosteriorMethod = "auto"
	// NoPosterior draws none: predictions use only the parameters of the fit.
	NoPosterior PosteriorMethod = "none"
	// Laplace draws from the normal distribution that has the mode and the curvature of the
	// posterior, over the logarithms of the parameters, or from several if the fit has several optima.
	Laplace PosteriorMethod = "laplace"
	// HMC runs the No-U-Turn sampler, from the modes with the evidence and the curvature there.
	HMC PosteriorMethod = "hmc"
)

// PosteriorMethods lists the choices, the default first.
func PosteriorMethods() []PosteriorMethod {
	return []PosteriorMethod{AutoPosterior, NoPosterior, Laplace, HMC}
}

// mostDraws is the largest number of draws of all chains.
const mostDraws = 1_000_000

// Chains returns the number of chains of HMC.
func (o Options) Chains() int { return cmp.Or(o.PosteriorChains, 4) }

func (o Options) Warmup() int { return cmp.Or(o.PosteriorWarmup, 500) }
func (o Options) Draws() int  { return cmp.Or(o.PosteriorDraws, 1000) }

// Criterion is the quantity that a fit minimizes, apart from priors.
type Criterion string

// The choices for Options.Objective.
const (
	// NLML is the negative log marginal likelihood, the default.
	NLML Criterion = "nlml"
	// LOO is the negative leave-one-out log predictive density. It depends less on
	// the model's prior and more on its predictions (Rasmussen & Williams 2006,
	// §5.4.2). An evaluation costs about twice as much.
	LOO Criterion = "loo"
	// LOORMSE tunes the root mean squared error of leave-one-out predictions: the parameters
	// minimize ½n(log 2πM + 1), where M is the mean squared error, summed over the targets. The
	// error does not depend on the common size of all variances, which a second term chooses such
	// that the mean squared standardized error is 1. An evaluation costs as much as with LOO.
	LOORMSE Criterion = "loo-rmse"
	// LOPO and LOPORMSE are these criteria for leave-one-place-out: all rows with equal inputs are
	// left out together. With LOO a row is predicted from its own repetitions, so a model that
	// calls noise a part of the function looks good. If no inputs repeat, they are LOO and LOORMSE.
	LOPO     Criterion = "lopo"
	LOPORMSE Criterion = "lopo-rmse"
	// CV and CVRMSE are these criteria for predictions of the rows of each fold from the
	// other folds, at the same parameters and scaling: the folds of Options.Folds. Data with
	// Data.Group, or ordered data with Options.Blocks, need them: a row that is predicted
	// beside its neighbours, or beside rows of its own group, says little about rows of
	// other groups or of the future. Each fold of m rows takes memory for m² numbers.
	CV     Criterion = "cv"
	CVRMSE Criterion = "cv-rmse"
)

// Criteria lists the criteria, the default first.
func Criteria() []Criterion { return []Criterion{NLML, LOO, LOORMSE, LOPO, LOPORMSE, CV, CVRMSE} }

// LeavesOut reports whether the criterion scores predictions of single rows or places.
func (c Criterion) LeavesOut() bool { return c == LOO || c == LOORMSE || c.leavesPlacesOut() }

func (c Criterion) leavesPlacesOut() bool { return c == LOPO || c == LOPORMSE }

// LeavesFoldsOut reports whether the criterion scores predictions of folds.
func (c Criterion) LeavesFoldsOut() bool { return c == CV || c == CVRMSE }

// Predictive reports whether the criterion scores predictions, squaredError whether by
// their squared error.
func (c Criterion) Predictive() bool   { return c.LeavesOut() || c.LeavesFoldsOut() }
func (c Criterion) squaredError() bool { return c == LOORMSE || c == LOPORMSE || c == CVRMSE }

// Workload returns the workload of evaluations of the criterion for n points of d columns.
// folds are the ends of its folds or places, nil for single rows.
func (c Criterion) Workload(n, d int, folds []int) device.Workload {
	if c.LeavesFoldsOut() || c.leavesPlacesOut() && folds != nil {
		return device.Workload{N: n, D: d, Blocks: folds}
	}
	return device.Workload{N: n, D: d, Diagonal: c.LeavesOut()}
}

// OptionError reports an option that does not fit the problem, such as a parameter that the kernel
// does not have. The command line maps it to exit code 2.
type OptionError struct {
	// Option is the option's name, as the doc comment of [Options] explains, such as
	// "max-jitter"; empty if the error concerns no single option. Value is the value
	// that it was given; empty if that does not help.
	Option, Value string
	// Msg describes the error. It calls other options "option NAME", too.
	Msg string
}

// Error returns "option NAME VALUE: " and the message, or the message alone.
func (e *OptionError) Error() string {
	switch {
	case e.Option == "":
		return e.Msg
	case e.Value == "":
		return "option " + e.Option + ": " + e.Msg
	}
	value := e.Value
	if !strings.HasPrefix(value, `"`) { // a quoted value is short already
		value = textform.Short(value)
	}
	return "option " + e.Option + " " + value + ": " + e.Msg
}

// OptionErrorf returns an error about an option and the value that it was given.
// Either may be empty.
func OptionErrorf(option, value, format string, args ...any) error {
	return &OptionError{Option: option, Value: value, Msg: fmt.Sprintf(format, args...)}
}

// UnfinishedError reports a fit that failed after it had found parameters from which
// another fit can continue.
type UnfinishedError struct {
	// Err is the cause of the failure.
	Err error
	// Best is the label and the value of the objective at the parameters, such as
	// "NLML 3.25"; empty if the fit knows the objective only on fewer rows.
	Best string
	// Parameters holds natural values of the scaled problem. A fit with them in
	// Options.Set continues from there.
	Parameters []Assignment
}

// Error returns the error of the fit, with the parameters found on a second line.
func (e *UnfinishedError) Error() string {
	values := each.Of(e.Parameters, func(a Assignment) string { return fmt.Sprintf("%s=%.10g", a.Name, a.Value) })
	return e.Err.Error() + "\n" + e.Found() + "set " + strings.Join(values, ", ")
}

// Found describes the parameters. The text ends where their names should follow.
func (e *UnfinishedError) Found() string {
	if e.Best == "" {
		return "to continue from the optimum on fewer rows: "
	}
	return "best so far: " + e.Best + "; to continue from there: "
}

// Unwrap returns the error of the fit.
func (e *UnfinishedError) Unwrap() error { return e.Err }

// CancelledError reports a fit that its context ended.
type CancelledError struct {
	Msg string
	// Err is the error of the context.
	Err error
}

func (e *CancelledError) Error() string { return e.Msg }

// Unwrap returns the error of the context: [context.Canceled] or [context.DeadlineExceeded].
func (e *CancelledError) Unwrap() error { return cmp.Or(e.Err, context.Canceled) }

// IsCancelled reports whether a context that ended caused an error.
func IsCancelled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
