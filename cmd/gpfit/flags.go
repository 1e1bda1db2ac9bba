package main

import (
	"errors"
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit/fit"
	"gpfit/gp"
	"gpfit/hyperopt"
	"gpfit/internal/suggest"
	"gpfit/kernel"
	"gpfit/mean"
)

// dataFlags say how a table is read.
type dataFlags struct {
	target   string
	features []string
	header   string
	missing  string
	// seed is that of everything random in a command.
	subsample int
	seed      uint64
	// noise is that of training tables.
	noise noiseFlags
}

func (f *dataFlags) add(s *pflag.FlagSet) {
	s.StringVar(&f.target, "target", "", "column of the targets, by `NAME` or index (default: the last); several with commas share kernel and noise")
	s.StringSliceVar(&f.features, "features", nil, "columns of the inputs: `NAMES`, indices or ranges such as 0-3 (default: all others)")
	s.StringVar(&f.header, "header", "auto", "whether the first row names the columns: auto, yes or no")
	s.StringVar(&f.missing, "missing", "error", "rows with empty, NaN or NA cells in a column that is used: error, or drop and say how many")
	s.IntVar(&f.subsample, "subsample", 0, "take `N` rows, drawn at random by --seed, if there are more (default: all)")
	s.Uint64Var(&f.seed, "seed", 1, "seed of everything random: --subsample, --restarts")
}

// modelFlags say what is fitted.
type modelFlags struct {
	kernel, standardize string
	mean, meanFit       string
	ard                 bool
	set, fix, bounds    []string
	maxJitter           float64
	priorFlags
}

func (f *modelFlags) add(s *pflag.FlagSet) {
	s.StringVar(&f.kernel, "kernel", "rbf", "covariance function, an `EXPRESSION` such as 'rbf(ard)' or 'rbf + matern32'")
	s.BoolVar(&f.ard, "ard", false, "one lengthscale per column in every leaf of the kernel")
	s.StringVar(&f.mean, "mean", "zero", "mean function, an `EXPRESSION` of zero, constant, linear, poly(DEGREE), bumps(COUNT) and +, such as 'linear + bumps(5, dims=0)'")
	s.StringVar(&f.meanFit, "mean-fit", "auto", "coefficients of the mean: gls, by least squares within each evaluation; free, as parameters; auto is free if another flag names one")
	s.StringVar(&f.standardize, "standardize", "xy", "bring to mean 0 and deviation 1: xy, x, y or none")
	s.StringArrayVar(&f.set, "set", nil, "start value of a parameter, `NAME=VALUE` (scaled units; may be repeated)")
	s.StringArrayVar(&f.fix, "fix", nil, "fix a parameter, `NAME[=VALUE]` (may be repeated)")
	s.StringArrayVar(&f.bounds, "bounds", nil, "bounds of a parameter, `NAME=LO:HI` (may be repeated)")
	s.Float64Var(&f.maxJitter, "max-jitter", 0, "largest variance that may be added to the diagonal if the covariance is not positive definite; what was added is reported")
	f.priorFlags.add(s)
}

// options turns the flags into fit's options.
func (f *modelFlags) options() (fit.Options, error) {
	o := fit.Options{Kernel: f.kernel, ARD: f.ard, Mean: f.mean, MeanFit: fit.MeanFit(f.meanFit), MaxJitter: f.maxJitter}
	// Mistakes in expressions are found before the table is read.
	if _, err := kernel.Parse(f.kernel); err != nil {
		return o, err
	}
	if _, err := mean.Parse(f.mean); err != nil {
		return o, err
	}
	switch o.MeanFit {
	case "auto":
		o.MeanFit = fit.MeanAuto
	case fit.MeanAuto, fit.MeanGLS, fit.MeanFree:
	default:
		return o, usagef("--mean-fit %q: must be auto, gls or free", f.meanFit)
	}
	var err error
	if o.Standardize, err = gp.ParseStandardize(f.standardize); err != nil {
		return o, usagef("--standardize %q: must be xy, x, y or none", f.standardize)
	}
	if !(f.maxJitter >= 0) || math.IsInf(f.maxJitter, 0) {
		return o, usagef("--max-jitter %v: must be a number from 0", f.maxJitter)
	}
	for _, text := range f.set {
		a, err := parseAssignment("--set", text)
		if err != nil {
			return o, err
		}
		if !a.Given {
			return o, usagef("--set %s: needs NAME=VALUE", text)
		}
		o.Set = append(o.Set, a)
	}
	for _, text := range f.fix {
		a, err := parseAssignment("--fix", text)
		if err != nil {
			return o, err
		}
		o.Fix = append(o.Fix, a)
	}
	for _, text := range f.bounds {
		b, err := parseBounds(text)
		if err != nil {
			return o, err
		}
		o.Bounds = append(o.Bounds, b)
	}
	return o, f.priorFlags.apply(&o)
}

// parseAssignment reads NAME or NAME=VALUE.
func parseAssignment(flag, text string) (fit.Assignment, error) {
	name, value, given := strings.Cut(text, "=")
	a := fit.Assignment{Name: strings.TrimSpace(name), Given: given}
	if a.Name == "" {
		return a, usagef("%s %q: needs a parameter's name", flag, text)
	}
	if given {
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			return a, usagef("%s %s: %q is not a number", flag, text, value)
		}
		a.Value = v
	}
	return a, nil
}

// parseBounds reads NAME=LO:HI.
func parseBounds(text string) (fit.Interval, error) {
	name, rest, ok1 := strings.Cut(text, "=")
	lo, hi, ok2 := strings.Cut(rest, ":")
	b := fit.Interval{Name: strings.TrimSpace(name)}
	var err1, err2 error
	b.Lo, err1 = strconv.ParseFloat(strings.TrimSpace(lo), 64)
	b.Hi, err2 = strconv.ParseFloat(strings.TrimSpace(hi), 64)
	if !ok1 || !ok2 || b.Name == "" || errors.Join(err1, err2) != nil {
		return b, usagef("--bounds %s: needs NAME=LO:HI with two numbers", text)
	}
	return b, nil
}

// deviceFlags say where to compute and how to talk.
type deviceFlags struct {
	device, fallback string
	threads          int
	json, quiet      bool
	calibrate        bool
	// warning is what open had to warn of.
	warning string
}

func (f *deviceFlags) add(s *pflag.FlagSet) {
	s.StringVar(&f.device, "device", "auto", "where to compute: auto, a name from 'gpfit devices', or several with commas")
	s.StringVar(&f.fallback, "fallback", "", "`DEVICE` to take where --device cannot be had, is lost or too small")
	s.IntVar(&f.threads, "threads", 0, "CPU threads (default: all)")
	s.BoolVar(&f.json, "json", false, "print one JSON object instead of text")
	s.BoolVar(&f.quiet, "quiet", false, "no progress and no notes on standard error, only warnings and errors")
}

// completeValues offers fixed values for flags in the shell.
func completeValues(cmd *cobra.Command) {
	for flag, values := range map[string][]string{
		"kernel": kernel.Families(), "mean": mean.Kinds(), "mean-fit": {"auto", "gls", "free"}, "noise": {"estimated", "none"},
		"standardize": {"xy", "x", "y", "none"}, "header": {"auto", "yes", "no"}, "missing": {"error", "drop"}, "device": {"auto", "cpu"},
		"objective": {"nlml", "loo"}, "scores": {"loo", "cv", "loo,cv"},
		"coarse": fit.Coarses(), "optimizer": hyperopt.Methods(),
	} {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// commandLineOnly marks flags without a variable: those that share a name with a
// flag of fit and mean something else, so that what is set for fits would change
// or break other commands.
func commandLineOnly(s *pflag.FlagSet, names ...string) {
	for _, name := range names {
		_ = s.SetAnnotation(name, noVariable, nil) // fails for an unknown flag only
	}
}

const noVariable = "gpfit_no_variable"

// applyEnvironment gives flags that are not on the command line the value of
// their variable, GPFIT_NAME.
func applyEnvironment(flags *pflag.FlagSet) error {
	var failure error
	flags.VisitAll(func(f *pflag.Flag) {
		variable := "GPFIT_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value, ok := os.LookupEnv(variable)
		_, without := f.Annotations[noVariable]
		if !ok || without || f.Changed || f.Name == "help" || failure != nil {
			return
		}
		if err := flags.Set(f.Name, value); err != nil {
			failure = usagef("environment variable %s=%q: %v", variable, value, err)
		}
	})
	return failure
}

// flagError makes a usage error of what pflag says, with a suggestion for an
// unknown flag.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		return usagef("unknown flag --%s%s", unknown.GetSpecifiedName(), suggest.DidYouMean(unknown.GetSpecifiedName(), names))
	}
	return &usageError{err}
}

// exactArgs wraps cobra's check as a usage error.
func exactArgs(n int, usage string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("%d arguments, expected %s", len(args), usage)
		}
		return nil
	}
}
