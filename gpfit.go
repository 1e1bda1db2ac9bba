package gpfit

import (
	"context"
	"fmt"

	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/kernel"
)

// Options configures a fit. The zero value is ready to use. Package fit/problem has the types of its
// fields, and all of the comments.
//
//	// Fields of Options:
//	// Kernel is the kernel in text form, in which dims= may name columns; empty or AutoKernel means that the fit chooses it by the data.
//	Kernel string
//	ARD bool
//	// Kernels are user-defined kernels that Kernel may name.
//	Kernels []*kernel.Family
//	// RequirePSD concerns kernels with a formula or one of Kernels.
//	RequirePSD bool
//	// Mean is the mean function in the text form of package mean; empty or AutoMean means DefaultMean or, if the fit chooses the kernel, also a linear one.
//	Mean string
//	MeanFit MeanFit
//	// MeanPrior gives the coefficients of the mean the prior N(0, s²) with that variance s².
//	MeanPrior MeanPrior
//	// NoNoise leaves out the estimated noise variance.
//	NoNoise bool
//	// NoiseFloor is a lower bound of the estimated noise variances.
//	NoiseFloor NoiseFloor
//	// Robust gives rows that do not fit the model noise variances of their own; see fit.Run.
//	Robust bool
//	// Standardize selects what is scaled; empty means inputs and targets.
//	Standardize gp.Standardize
//	// TargetTransform maps the targets before they are scaled: "log", "boxcox" or "yeojohnson", whose λ is the parameter lambda, or "auto", of which fit.Run takes the lowest BIC; "none" for none.
//	TargetTransform transform.Name
//	// InputTransform is [transform.Skewed] for transforms of columns with long tails, or "none".
//	InputTransform transform.Name
//	// Set gives start values, Fix fixes parameters, and Bounds replaces default bounds.
//	Set, Fix []Assignment
//	Bounds []Interval
//	// Ties bind parameters to others.
//	Ties []Tie
//	Priors []ParameterPrior
//	// Objective is the quantity to minimize; empty means NLML.
//	Objective Criterion
//	LeaveOneOut bool
//	// Folds and FoldSeed describe the folds of the objectives CV and CVRMSE, as in [CrossValidation].
//	Folds int
//	FoldSeed uint64
//	// HoldOut is the share of the rows (below 1) or the number of rows (from 1) that the fit holds out and scores; 0 means none.
//	HoldOut float64
//	// HoldOutLast takes the last rows for HoldOut: the latest by the only column that varies, or by the only date, with all rows of equal times, and otherwise the last rows of the table, with a warning.
//	HoldOutLast bool
//	// Blocks takes consecutive rows instead of random ones: the last rows for HoldOut, and blocks of rows for the folds of fit.CrossValidate and of the objectives.
//	Blocks bool
//	// StdErrors asks for standard errors at the optimum, which take two more gradients for every free parameter.
//	StdErrors bool
//	// Posterior asks for draws of the parameters from their posterior, after the fit, over which predictions then average: by the Laplace approximation, or by HMC with PosteriorChains chains of PosteriorDraws draws after PosteriorWarmup others; 0 means 4, 1000 and 500.
//	Posterior PosteriorMethod
//	PosteriorChains int
//	PosteriorWarmup int
//	PosteriorDraws int
//	// MaxJitter is the largest variance that gpfit may add to the diagonal if the covariance is not positive definite; 0 allows none.
//	MaxJitter float64
//	// Tolerance is the wanted bound of the error of the NLML, in nats, if the method is tree, which is not exact but bounds its error; 0 means [device.DefaultTolerance].
//	Tolerance float64
//	// Checkpoint, if not empty, is a file that records every evaluation.
//	Checkpoint string
//	// DiscardCancelled makes a cancelled fit end at once.
//	DiscardCancelled bool
//	// Settings configures tuning.
//	Settings hyperopt.Settings
//	// Experts, if not empty, divides the training rows among local experts, for tables that are too large for one process: kmeans:K finds K clusters of the scaled rows, and the covariance of rows of different clusters counts as 0.
//	Experts string
//	Combine experts.Rule
//	ExpertRows int
//	// From, if not nil, is a model from which the fit starts: its parameters are start values, and its kernel, mean, scaling, noise, ties, priors and objective replace what the options leave open.
//	From *gp.Model
type Options = problem.Options

// Data is a table in row-major slices. In addition to the arguments of [Fit], it has names, several
// targets, known noise and held-out rows.
//
//	// Fields of Data:
//	// X holds n rows of d features, row-major.
//	X, Y []float64
//	N, D int
//	// FeatureNames and TargetName appear in messages and in the model file.
//	FeatureNames []string
//	TargetName string
//	// Encoding says how the columns of a table became the features; the model keeps it, to read later tables in the same way.
//	Encoding *feature.Encoding
//	// TargetNames names several targets; nil means one target, TargetName.
//	TargetNames []string
//	// NoiseVariance holds the known noise variance of each row, in squared units of the target; the estimated variance comes on top.
//	NoiseVariance []float64
//	NoiseGroup []string
//	NoiseColumn, NoiseGroupColumn string
//	// Weight holds a weight for each row, from 0; nil means 1.
//	Weight []float64
//	WeightColumn string
//	// Group holds a label for each row; nil means none.
//	Group []string
//	GroupColumn string
//	// Row holds the number of each row, from 0, in the larger table that the rows come from; nil if they are the whole table.
//	Row []int
//	// Test marks the rows to hold out and score; nil means none.
//	Test []bool
//	// Reading says what was read of the table; nil if the data come from elsewhere.
//	Reading *feature.Reading
//	// Warnings holds warnings from reading the table, which reports repeat.
//	Warnings []string
type Data = problem.Data

// Fit tunes the hyperparameters on the rows x, all of the same length, and their
// targets y, and returns the model. It chooses the device. The caller closes the
// model. [Devices.FitData] describes cancellation and the fallback.
func Fit(ctx context.Context, x [][]float64, y []float64, opts Options) (*Model, error) {
	return Devices{}.Fit(ctx, x, y, opts)
}

// FitData is Fit for a table in row-major slices. The matrix of gonum.org/v1/gonum/mat.Dense is
// such a slice: its RawMatrix().Data, if its stride equals its number of columns.
func FitData(ctx context.Context, data Data, opts Options) (*Model, error) {
	return Devices{}.FitData(ctx, data, opts)
}

// Load reads a model file, chooses a device and prepares the model for prediction
// there, as [Devices.Load] does.
func Load(ctx context.Context, path string, kernels ...*kernel.Family) (*Model, error) {
	return Devices{}.Load(ctx, path, kernels...)
}

// Fit is the function [Fit] on these devices.
func (d Devices) Fit(ctx context.Context, x [][]float64, y []float64, opts Options) (*Model, error) {
	if len(x) == 0 {
		return nil, &problem.DataError{Msg: "there are no rows to fit"}
	}
	columns := len(x[0])
	rows, err := flatten(x, columns)
	if err != nil {
		return nil, err
	}
	return d.FitData(ctx, Data{X: rows, Y: y, N: len(x), D: columns}, opts)
}

// FitData is the function [FitData] on these devices. With several devices, restarts
// run in parallel.
//
// If ctx is cancelled, FitData returns the best model so far together with a
// [*problem.CancelledError], unless it has not evaluated any point or Options.DiscardCancelled is
// set. With any other error the model is nil. Unless Events.Fallback is set, the fallback of d
// replaces a device that fails, with a warning in the report.
func (d Devices) FitData(ctx context.Context, data Data, opts Options) (*Model, error) {
	events := d.Events
	if events.Fallback == nil {
		events.Fallback = d.OpenFallback()
	}
	if _, err := problem.FindMethod(d.Method, Methods(), opts); err != nil {
		return nil, err
	}
	job, err := fit.Prepare(data, opts, events)
	if err != nil {
		return nil, err
	}
	d.Parts = max(d.Parts, tuning.Parts(job))
	opened, err := d.Open(ctx, tuning.Workload(job))
	if err != nil {
		return nil, err
	}
	if err := opened.CheckMemory(job); err != nil && events.Fallback == nil {
		opened.Close()
		return nil, err
	}
	outcome, err := fit.Run(ctx, job, opened.Backends...)
	if outcome == nil {
		opened.Close()
		return nil, err
	}
	return fitted(outcome, opened, err == nil), err
}

// Load reads a model file and prepares the model for prediction on the first of these devices. It
// takes n³/3 operations, or none if the file has the factor. kernels must contain the user-defined
// kernels that the model names. Errors: [*gp.FileError], and errors in opening a device.
func (d Devices) Load(ctx context.Context, path string, kernels ...*kernel.Family) (*Model, error) {
	m, err := gp.Load(path, kernels...)
	if err != nil {
		return nil, err
	}
	return d.Condition(ctx, m)
}

// Condition makes a model ready to predict, such as a result of [FitMany], on a device that it chooses.
// It takes n³/3 operations.
func Condition(ctx context.Context, m *gp.Model) (*Model, error) { return Devices{}.Condition(ctx, m) }

// Condition is the function [Condition] on the first of these devices.
func (d Devices) Condition(ctx context.Context, m *gp.Model) (*Model, error) {
	w, err := d.Workload(m)
	if err != nil {
		return nil, err
	}
	opened, err := d.Open(ctx, w)
	if err != nil {
		return nil, err
	}
	opened.KeepFirst()
	posterior, err := m.Condition(ctx, opened.Backends[0])
	if err != nil {
		opened.Close()
		return nil, err
	}
	return loaded(m, posterior, opened), nil
}

// flatten copies rows with the given number of columns to one row-major slice. It
// returns a [*problem.DataError] for a row of another length.
func flatten(x [][]float64, columns int) ([]float64, error) {
	flat := make([]float64, 0, len(x)*columns)
	for i, row := range x {
		if len(row) != columns {
			return nil, &problem.DataError{Msg: fmt.Sprintf("row %d (from 0) has %d columns, but row 0 has %d", i, len(row), columns)}
		}
		flat = append(flat, row...)
	}
	return flat, nil
}
