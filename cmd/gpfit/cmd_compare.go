package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/cmd/gpfit/internal/training"
	"gpfit/compare"
	"gpfit/device"
	"gpfit/feature"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/hyperopt/descent"
	"gpfit/internal/columns"
	"gpfit/internal/comparefigure"
	"gpfit/internal/plotting"
)

type compareFlags struct {
	training.Flags
	plot      flags.Plot
	plotSizes string
}

func newCompare() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare DATA",
		Short: "Compare Gaussian processes with simpler regressions on one table",
		Long: `Fit simpler regressions and Gaussian processes to the same training rows, and score
them on the same held-out rows. Without --holdout and --split-mask the rows are
divided into folds (--folds), and each fold is predicted by fits to the others.

  mean             the mean of the training targets: what every method must beat
  ridge            linear regression with a penalty
  bayesian-linear  linear regression with a prior on its weights
  lasso            linear regression with few columns
  spline           a linear spline of each column, added up
  polynomial       Bayesian linear regression on products of up to two columns
  gaussians        Bayesian linear regression on 50 bumps
  kernel-ridge     kernel ridge regression with the kernel rbf
  gp               a Gaussian process, one for each --kernel

Each method chooses its penalties and widths from the training rows. All methods see
the table that the Gaussian process sees: columns encoded, those that are constant
over the training rows left out, and scaled by the training rows (--standardize).

The table shows the methods in the order of --score, in original units: RMSE; NLPD,
the mean negative log predictive density, for methods with a density; the share of
rows in their 95 % interval; and seconds for all fits and predictions. The
difference is that from the best method on the same rows. Its standard error
accounts for training rows that folds share, for --group, and for the correlation of
neighbors with --holdout and --blocks. A method that fails gets a line that says why.

--out writes the scores of each fit. --plot draws the fits of a table with one input;
--sizes fits nested subsets of the training rows, and --plot-sizes draws score and
time against their sizes. After Ctrl-C gpfit prints and writes what is done (exit
code 130).`,
		Example: `  gpfit compare data.csv --kernel 'rbf(ard)' --kernel 'matern52(ard)'
  gpfit compare data.csv --holdout 0.2 --methods ridge,lasso,gp --score nlpd
  gpfit compare data.csv --features year --plot fits.svg
  gpfit compare data.csv --folds 5 --sizes 10,30,100,300 --plot-sizes growth.svg --out scores.csv`,
		RunE: func(cmd *cobra.Command, args []string) error { return runCompare(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	f.Add(s, "compare")
	f.plot.Add(s, "the fits over the only input, to the training rows of a hold-out or to all rows,")
	s.StringVar(&f.plotSizes, "plot-sizes", "", "also plot score and time against the sizes of --sizes in `FILE`, .svg, .png or .pdf")
	flags.InGroup(s, "Output", "plot-sizes")
	return cmd
}

// check finds mistakes in the flags before any work, and returns the file of --out, nil if
// there is none.
func (f *compareFlags) check(path string) (*output.File, error) {
	switch {
	case f.Data.Targets != nil:
		return nil, exit.Usagef("--target: compare takes one target; run it once for each target")
	case f.plotSizes != "" && f.Compare.Sizes == nil:
		return nil, exit.Usagef("--plot-sizes %s: needs --sizes", f.plotSizes)
	case f.Changed("kernel") && f.Compare.Methods != nil && !slices.Contains(f.Compare.Methods, "gp"):
		return nil, exit.Usagef("--kernel is for the method gp, which --methods leaves out")
	}
	if err := f.plot.Check(); err != nil {
		return nil, err
	}
	if f.plotSizes != "" {
		if _, err := plotting.Format(f.plotSizes); err != nil {
			return nil, exit.Usagef("--plot-sizes %v", err)
		}
	}
	err := output.Check(f.Output.Force, []output.Destination{
		{Flag: "out", Path: f.Output.Out}, {Flag: "plot", Path: f.plot.Path}, {Flag: "plot-sizes", Path: f.plotSizes},
	}, f.Inputs(path)...)
	if err != nil || f.Output.Out == "" {
		return nil, err
	}
	return output.Choose(f.Output.Out, "", false, output.CSV, output.JSONLines, output.Parquet)
}

// options returns the settings of the comparison, which reports its progress on msg.
func (f *compareFlags) options(msg *messages.Writer) compare.Options {
	o := f.Compare
	o.Events = f.Events(msg)
	o.Events.OnWarning, o.Curves = msg.Say, f.plot.Path != ""
	var stages bool
	var step string
	o.OnStep = func(s compare.Step) {
		step = s.Method
		if s.Folds > 1 {
			step = fmt.Sprintf("fold %d of %d, %s", s.Fold, s.Folds, step)
		}
		if s.Left > 0 {
			step += "; about " + messages.Roughly(s.Left) + " left"
		}
		step += fmt.Sprintf("; %d rows", s.Rows)
		msg.Step("%s", step)
		if stages = s.Stages != nil; stages {
			msg.Expect(s.Stages)
		}
	}
	o.Events.OnIteration = func(it descent.Iteration) {
		if stages {
			msg.Iteration(it)
		} else {
			msg.Status("%s; evaluation %d", step, it.Total.Value)
		}
	}
	return o
}

func runCompare(cmd *cobra.Command, path string, f *compareFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Output.Quiet)
	file, err := f.check(path)
	if err != nil {
		return err
	}
	data, err := f.ReadTable(ctx, path, cmd.InOrStdin())
	if err != nil {
		return err
	}
	msg.Columns(data.Encoding)
	if f.plot.Path != "" && data.D != 1 {
		return exit.Usagef("--plot %s: shows the fits over one input, but the table has %d; choose one with --features", f.plot.Path, data.D)
	}
	settings := f.options(msg)
	backends, warning, done, err := f.open(ctx, msg, data, f.Fit)
	if err != nil {
		return err
	}
	defer done()
	f.noteCost(msg, data.N)
	result, err := compare.Run(ctx, data, f.Fit, settings, backends...)
	msg.Clear()
	if result == nil {
		return err
	}
	if warning != "" {
		result.Warnings = append([]string{warning}, result.Warnings...)
	}
	return f.finish(cmd, msg, file, dates(data.Encoding), result, err)
}

// noteCost says before a long comparison which method will take most of its time.
func (f *compareFlags) noteCost(msg *messages.Writer, n int) {
	const method, long = "kernel-ridge", 5000
	if n > long && (f.Compare.Methods == nil || slices.Contains(f.Compare.Methods, method)) {
		msg.Note("%s takes about 30·n³ operations on the CPU, which is long for %d rows: --subsample takes fewer rows, --methods leaves it out", method, n)
	}
}

// open opens the devices for the Gaussian process, unless --methods leaves it out.
func (f *compareFlags) open(ctx context.Context, msg *messages.Writer, data problem.Data, whole problem.Options) (backends []device.Backend, warning string, done func(), err error) {
	if c := f.Compare; c.Methods != nil && !slices.Contains(c.Methods, "gp") {
		return nil, "", func() {}, nil
	}
	whole.Kernel = f.Compare.Kernels[0]
	whole.Blocks = whole.Blocks && whole.HoldOut > 0
	job, err := fit.Prepare(data, whole, problem.Events{})
	if err != nil {
		return nil, "", nil, err
	}
	opened, err := devices.OpenFor(ctx, msg, f.Compute, job, false)
	if err != nil {
		return nil, "", nil, err
	}
	return opened.Backends, opened.Warning, opened.Close, nil
}

// finish writes files and prints the comparison, and returns how it ended.
func (f *compareFlags) finish(cmd *cobra.Command, msg *messages.Writer, file *output.File, date func(float64) time.Time, r *compare.Result, runErr error) error {
	for _, w := range r.Warnings {
		msg.Warn(w)
	}
	messages.AllFlags(r.Warnings)
	for i := range r.Methods {
		r.Methods[i].Error = messages.Flags(r.Methods[i].Error)
	}
	for i := range r.Trials {
		r.Trials[i].Error = messages.Flags(r.Trials[i].Error)
	}
	var errs []error
	for _, out := range []struct {
		path, what string
		write      func(ctx context.Context) error
	}{
		{f.Output.Out, "scores", func(ctx context.Context) error {
			return f.Write(ctx, nil, file.Compressed(func(w io.Writer) error { return writeTrials(file.Encoder(w), r.Trials) }))
		}},
		{f.plot.Path, "plot", func(ctx context.Context) error {
			fits, err := figure.Fits(r, date)
			if err != nil {
				return err
			}
			return f.plot.Write(ctx, fits, f.Output.Force)
		}},
		{f.plotSizes, "plot", func(ctx context.Context) error {
			growth, err := figure.Growth(r)
			if err != nil {
				return err
			}
			return growth.Write(ctx, f.plotSizes, f.Output.Force)
		}},
	} {
		if out.path == "" {
			continue
		}
		err := out.write(context.WithoutCancel(cmd.Context()))
		switch {
		case errors.Is(err, figure.ErrNothing):
			msg.Warn(fmt.Sprintf("%s is not written: the comparison was interrupted before there was something to draw", out.path))
		case err != nil:
			errs = append(errs, &output.WriteError{Err: err})
		default:
			msg.Note("%s written to %s", out.what, out.path)
		}
	}
	errs = append(errs, output.Report(cmd.OutOrStdout(), f.Output.JSON, r))
	return errors.Join(append(errs, runErr)...)
}

// dates returns the dates of the values of the first feature, nil if they are no dates.
func dates(e *feature.Encoding) func(float64) time.Time {
	if e == nil || e.Columns[0].Kind != feature.Date {
		return nil
	}
	encoder, err := e.Columns[0].Encoder()
	if err != nil {
		return nil // the axis then shows numbers
	}
	return func(x float64) time.Time {
		t, _ := encoder.Time(x) // a column of dates
		return t
	}
}

// writeTrials writes a row for each fit.
func writeTrials(e columns.BlockEncoder, trials []compare.Trial) error {
	b := columns.Block{TextNames: []string{"method", "status", "error"}, Texts: make([][]string, 3), N: len(trials)}
	add := func(name string, of func(*compare.Trial) float64) {
		values := make([]float64, len(trials))
		for i := range trials {
			values[i] = of(&trials[i])
		}
		b.Names, b.Numbers = append(b.Names, name), append(b.Numbers, values)
	}
	for i := range trials {
		t := &trials[i]
		for c, text := range []string{t.Method, t.Status, t.Error} {
			b.Texts[c] = append(b.Texts[c], text)
		}
	}
	add("fold", func(t *compare.Trial) float64 { return float64(t.Fold) })
	add("n_train", func(t *compare.Trial) float64 { return float64(t.Train) })
	add("n_test", func(t *compare.Trial) float64 { return float64(t.Test) })
	add("rmse", func(t *compare.Trial) float64 { return orNaN(t.RMSE) })
	add("nlpd", func(t *compare.Trial) float64 { return orNaN(t.NLPD) })
	add("coverage95", func(t *compare.Trial) float64 { return orNaN(t.Coverage95) })
	add("fit_seconds", func(t *compare.Trial) float64 { return t.FitSeconds })
	add("predict_seconds", func(t *compare.Trial) float64 { return t.PredictSeconds })
	if err := e.Encode(&b); err != nil {
		return err
	}
	return e.End()
}

// orNaN returns a number, or the NaN of a blank cell.
func orNaN(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
