package flags

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/fit"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/suggest"
	"gpfit/kernel"
	"gpfit/mean"
)

// ModelFlags say what is fitted.
type ModelFlags struct {
	// Fit collects the options; Options returns them complete.
	Fit            fit.Options
	noise, meanFit string
	// optimizer names Settings.Method.
	optimizer string
	parameterFlags
}

// Add declares the flags.
func (f *ModelFlags) Add(s *pflag.FlagSet) {
	o := &f.Fit
	s.StringVar(&o.Kernel, "kernel", "rbf", "covariance function, an `EXPRESSION` such as 'rbf(ard)', 'rbf + matern32' or 'formula(exp(-r/a), a=1)'; 'gpfit help kernel check' says more")
	s.BoolVar(&o.ARD, "ard", false, "one lengthscale per column in every leaf of the kernel")
	s.StringVar(&o.Mean, "mean", "zero", "mean function, an `EXPRESSION` of zero, constant, linear, poly(DEGREE), bumps(COUNT) and +, such as 'linear + bumps(5, dims=0)'")
	s.BoolVar(&o.RequirePSD, "require-psd", false, "refuse a kernel with a formula that is no covariance function on a sample of the rows, instead of warning")
	Completions(s, "kernel", kernel.Families()...)
	Completions(s, "mean", mean.Kinds()...)
	Choice(s, &f.meanFit, "mean-fit", "auto", "coefficients of the mean: gls, by least squares within each evaluation; free, as parameters; auto is free if another flag names one",
		"auto", string(fit.MeanGLS), string(fit.MeanFree))
	Choice(s, &o.Standardize, "standardize", gp.StandardizeXY, "bring to mean 0 and deviation 1: %s",
		gp.StandardizeXY, gp.StandardizeX, gp.StandardizeY, gp.StandardizeNone)
	s.StringArrayVar(&f.set, "set", nil, "start value of a parameter, `NAME=VALUE` (scaled units; may be repeated)")
	s.StringArrayVar(&f.fix, "fix", nil, "fix a parameter, `NAME[=VALUE]` (may be repeated)")
	s.StringArrayVar(&f.bounds, "bounds", nil, "bounds of a parameter, `NAME=LO:HI` (may be repeated)")
	s.Float64Var(&o.MaxJitter, "max-jitter", 0, "largest variance that may be added to the diagonal if the covariance is not positive definite; what was added is reported")
	s.StringArrayVar(&f.priors, "prior", nil, "prior density of a parameter, `NAME=DENSITY` such as 'noise_variance=lognormal(-4, 1)': "+
		strings.Join(graph.PriorFamilies(), ", ")+" (scaled units; may be repeated)")
	s.StringArrayVar(&f.ties, "tie", nil, "let a parameter take the value of another, `NAME=OTHER` (may be repeated)")
}

// AddNoise declares the flags of the noise, some of which are of the data.
func (f *ModelFlags) AddNoise(s *pflag.FlagSet, data *DataFlags) {
	Choice(s, &f.noise, "noise", "estimated", "estimated, or none: the fit goes through the targets, but for --noise-column", "estimated", "none")
	data.addNoise(s)
}

// Options turns the flags into fit's options.
func (f *ModelFlags) Options() (fit.Options, error) {
	o := f.Fit
	// Mistakes in expressions are found before the table is read.
	if _, err := kernel.Parse(o.Kernel); err != nil {
		return o, err
	}
	if _, err := mean.Parse(o.Mean); err != nil {
		return o, err
	}
	if f.meanFit != "auto" {
		o.MeanFit = fit.MeanFit(f.meanFit)
	}
	if !(o.MaxJitter >= 0) || math.IsInf(o.MaxJitter, 0) {
		return o, exit.Usagef("--max-jitter %v: must be a number from 0", o.MaxJitter)
	}
	if r := o.Settings.Restarts; r < 0 || r > hyperopt.MaxRestarts {
		return o, exit.Usagef("--restarts %d: must be from 0 to %d", r, hyperopt.MaxRestarts)
	}
	if o.Settings.MaxEvaluations < 0 {
		return o, exit.Usagef("--max-evals %d: must not be negative", o.Settings.MaxEvaluations)
	}
	o.NoNoise = f.noise == "none"
	o.Settings.Method = descent.MethodNamed(f.optimizer)
	return o, f.parameterFlags.apply(&o)
}

// AddTuning declares the flags of how the parameters are tuned.
func (f *ModelFlags) AddTuning(s *pflag.FlagSet) {
	o := &f.Fit
	s.IntVar(&o.Settings.Restarts, "restarts", 0, "further starts, from a Latin hypercube; from 200 rows on they begin on half of the rows or less and race over all, with --coarse off each runs to its end over all; the best result is taken; at most "+strconv.Itoa(hyperopt.MaxRestarts))
	s.IntVar(&o.Settings.MaxEvaluations, "max-evals", 0, "limit on the evaluations of each descent (default 1000)")
	Choice(s, &f.optimizer, "optimizer", "lbfgs", "%s; the others are for comparison", descent.MethodNames()...)
	Choice(s, &o.Settings.Coarse, "coarse", hyperopt.CoarseAuto, "tune on growing random subsets before all rows: auto (from 2,000 rows on), on or off", hyperopt.Coarses()...)
	s.StringVar(&o.Checkpoint, "checkpoint", "", "keep every evaluation in `FILE`: the same command then goes on after a crash or Ctrl-C, to the same bits; removed at the end")
	s.BoolVar(&o.StdErrors, "std-errors", false, "standard errors and 95 % intervals of the parameters, from the Hessian at the optimum: two gradients more for each")
}

// AddCandidateTuning is AddTuning for kernels that are compared.
func (f *ModelFlags) AddCandidateTuning(s *pflag.FlagSet) {
	s.IntVar(&f.Fit.Settings.Restarts, "restarts", 0, "further starts for every kernel, from a Latin hypercube")
	s.IntVar(&f.Fit.Settings.MaxEvaluations, "max-evals", 0, "limit on the evaluations of each start (default 1000)")
}

// ScoreFlags say what is minimised, and what is reported beside it.
type ScoreFlags struct {
	objective fit.Criterion
	scores    []string
	folds     int
	foldSeed  uint64
	refit     bool
}

// Add declares the flags.
func (f *ScoreFlags) Add(s *pflag.FlagSet) {
	Choice(s, &f.objective, "objective", fit.NLML, "what the parameters minimise: nlml, or loo, the negative log predictive density of leave-one-out",
		fit.NLML, fit.LOO)
	s.StringSliceVar(&f.scores, "scores", nil, "predictive scores at the parameters, beside the NLML: loo, cv or both")
	Completions(s, "scores", "loo", "cv", "loo,cv")
	s.IntVar(&f.folds, "folds", 0, "folds of --scores cv (default 10)")
	s.Uint64Var(&f.foldSeed, "fold-seed", 1, "seed of the assignment of rows to folds")
	s.BoolVar(&f.refit, "refit", false, "tune the parameters anew for each fold")
}

// CrossValidation returns the cross-validation that the flags ask for, nil for
// none.
func (f *ScoreFlags) CrossValidation() *fit.CrossValidation {
	if !slices.Contains(f.scores, "cv") {
		return nil
	}
	return &fit.CrossValidation{Folds: f.folds, Seed: f.foldSeed, Refit: f.refit}
}

// Apply turns the flags into fit's options.
func (f *ScoreFlags) Apply(o *fit.Options) error {
	for _, s := range f.scores {
		if s != "loo" && s != "cv" {
			return exit.Usagef("--scores %s: must be loo or cv%s", s, suggest.DidYouMean(s, []string{"loo", "cv"}))
		}
	}
	if f.CrossValidation() == nil && (f.folds != 0 || f.refit) {
		return exit.Usagef("--folds and --refit go with --scores cv")
	}
	if f.folds < 0 || f.folds == 1 {
		return exit.Usagef("--folds %d: must be at least 2", f.folds)
	}
	o.Objective, o.LeaveOneOut = f.objective, slices.Contains(f.scores, "loo")
	return nil
}
