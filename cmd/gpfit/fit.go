package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gpfit/fit"
	"gpfit/gp"
	"gpfit/hyperopt"
)

type fitFlags struct {
	dataFlags
	modelFlags
	deviceFlags
	scoreFlags
	splitMask, out    string
	restarts          int
	maxEvals          int
	checkpoint        string
	coarse, optimizer string
	saveFactor        bool
	stdErrors         bool
	force             bool
}

func newFit() *cobra.Command {
	var f fitFlags
	cmd := &cobra.Command{
		Use:   "fit DATA",
		Short: "Tune the hyperparameters on a table and write a model",
		Long: `Tune the hyperparameters on a table and write a model.

DATA is a table: CSV with or without a header, plain or gzip-compressed; Parquet;
NumPy's .npy with an array of two dimensions, or .npz with one, or with X and y;
a directory or a quoted pattern whose files, sorted by name, make one table of
the same columns; or "-", CSV from standard input. Parameters are tuned by L-BFGS
on their logarithms, with the gradient of the exact negative log marginal
likelihood (NLML). From 2,000 rows on it begins on growing random subsets
(--coarse), which saves most evaluations at full size; the result is an optimum
over all rows either way. With --prior the
negative log prior density is added: the result is the mode of the posterior
density of the parameters (MAP), in natural units of the scaled problem.

The mean function is a sum (--mean 'linear + bumps(5, dims=0)') of constant;
linear, every column; poly(K), the powers 1 to K of every column, without
products of columns; bumps(M), M Gaussian bumps on every column, centres at its
quantiles, width their mean distance. dims=0 or dims=[0, 2] limits a term to
columns; all have the constant. Coefficients are found by generalised least
squares within each evaluation, and their uncertainty is in predictions.

Noise is one variance for all rows, one for each group of rows (--noise-group), or
known for each row (--noise-column), the estimated variance on top.

Several targets, --target a,b, share kernel and noise: their NLMLs are summed.

Ctrl-C stops the optimiser and writes the best model so far (exit code 130).
With --checkpoint the same command goes on from there, as it does after a crash,
and ends with the same bits as a fit that was never stopped.`,
		Example: `  gpfit fit examples/co2.csv --kernel 'rbf(ard)' --split-mask examples/co2_mask.csv:1
  gpfit fit data.csv --target price --ard --restarts 5 --json
  gpfit fit data.csv --mean 'linear + bumps(5, dims=0)' --noise-group instrument
  gpfit fit data.csv --fix noise_variance=0.01 --bounds lengthscale=0.1:10`,
		Args: exactArgs(1, "DATA"),
		RunE: func(cmd *cobra.Command, args []string) error { return runFit(cmd, args[0], &f) },
	}
	s := cmd.Flags()
	s.SortFlags = false
	f.dataFlags.add(s)
	s.StringVar(&f.splitMask, "split-mask", "", "`FILE[:COL]` with a row of 0 or 1 for each row of DATA: rows marked 1 are held out and scored; COL is a name or index")
	f.modelFlags.add(s)
	f.noise.add(s)
	f.scoreFlags.add(s)
	s.IntVar(&f.restarts, "restarts", 0, "further starts, from a Latin hypercube; from 200 rows on they begin on half of the rows or less and race over all, with --coarse off each runs to its end over all; the best result is taken")
	s.IntVar(&f.maxEvals, "max-evals", 0, "limit on the evaluations of each descent (default 1000)")
	s.StringVar(&f.optimizer, "optimizer", "lbfgs", "lbfgs, adam or nelder-mead; the others are for comparison")
	s.StringVar(&f.coarse, "coarse", "auto", "tune on growing random subsets before all rows: auto (from 2,000 rows on), on or off")
	s.StringVar(&f.checkpoint, "checkpoint", "", "keep every evaluation in `FILE`: the same command then goes on after a crash or Ctrl-C, to the same bits; removed at the end")
	s.BoolVar(&f.stdErrors, "std-errors", false, "standard errors and 95 % intervals of the parameters, from the Hessian at the optimum: two gradients more for each")
	s.StringVar(&f.out, "out", "", "model `FILE` (default: the name of DATA with .gpfit, in this folder)")
	s.BoolVar(&f.saveFactor, "save-factor", false, "store the Cholesky factor in the model: 8n² bytes, and predictions begin at once")
	s.BoolVar(&f.force, "force", false, "replace the file of --out even if it is not a model")
	f.deviceFlags.add(s)
	completeValues(cmd)
	return cmd
}

// options turns the flags into fit's options.
func (f *fitFlags) options(msg *messages) (fit.Options, error) {
	opts, err := f.modelFlags.options()
	if err == nil {
		err = errors.Join(f.noise.apply(&opts), f.scoreFlags.apply(&opts))
	}
	switch {
	case err != nil:
		return opts, err
	case !slices.Contains(fit.Coarses(), f.coarse):
		return opts, usagef("--coarse %q: must be %s", f.coarse, strings.Join(fit.Coarses(), ", "))
	case !slices.Contains(hyperopt.Methods(), f.optimizer):
		return opts, usagef("--optimizer %q: must be %s", f.optimizer, strings.Join(hyperopt.Methods(), ", "))
	case f.restarts < 0 || f.maxEvals < 0:
		return opts, usagef("--restarts and --max-evals must not be negative")
	}
	opts.Settings = hyperopt.Settings{Method: hyperopt.Method(f.optimizer), Restarts: f.restarts, Seed: f.seed, MaxEvaluations: f.maxEvals}
	opts.Checkpoint, opts.Coarse, opts.StdErrors = f.checkpoint, fit.Coarse(f.coarse), f.stdErrors
	opts.OnIteration, opts.OnProgress = msg.iteration, msg.progress
	opts.Fallback = f.reopen()
	opts.OnWarning = func(text string) { msg.note("%s", text) }
	return opts, nil
}

func runFit(cmd *cobra.Command, path string, f *fitFlags) error {
	ctx := cmd.Context()
	msg := newMessages(cmd.ErrOrStderr(), f.quiet)
	opts, err := f.options(msg)
	if err != nil {
		return err
	}
	out := f.out
	if out == "" {
		out = defaultModelName(path)
	}
	if err := checkOutput(out, f.force); err != nil {
		return err
	}
	data, err := readData(path, cmd.InOrStdin(), &f.dataFlags, f.splitMask)
	if err != nil {
		return err
	}
	if info, err := os.Stat(f.checkpoint); err == nil && info.Size() > 0 {
		msg.note("there is a checkpoint %s: taking up what it holds", f.checkpoint)
	}
	task, err := fit.Prepare(data, opts)
	if err != nil {
		return err
	}
	if err := f.check(task.N()); err != nil {
		return err
	}
	for _, w := range task.Warnings() {
		msg.warn(w)
	}
	msg.objective = task.ObjectiveLabel()
	backends, err := f.open(ctx, msg, task.N(), task.Program())
	if err != nil {
		return err
	}
	defer closeAll(backends)
	if err := f.checkPlan(msg, task, backends...); err != nil {
		return err
	}
	outcome, err := task.Fit(ctx, backends...)
	if outcome == nil {
		return err
	}
	defer outcome.Close()
	if err == nil && f.has("cv") {
		if !f.saveFactor {
			outcome.Close() // its memory is the folds'
		}
		err = f.crossValidate(ctx, msg, task, backends[0], &outcome.Report)
	}
	return finishFit(cmd, msg, f, outcome, out, len(task.Warnings()), err)
}

// finishFit prints the result, writes the model and returns how the fit ended.
// The result is printed even if the model cannot be written. The first warned
// warnings were shown before.
func finishFit(cmd *cobra.Command, msg *messages, f *fitFlags, o *fit.Outcome, out string, warned int, fitErr error) error {
	msg.clear()
	if f.warning != "" {
		o.Report.Warnings = append([]string{f.warning}, o.Report.Warnings...)
		warned++
	}
	saveErr := o.SaveModel(out, f.saveFactor)
	if saveErr == nil {
		o.Report.ModelFile = out
	}
	for _, w := range o.Report.Warnings[warned:] {
		msg.warn(w)
	}
	err := f.printReport(cmd.OutOrStdout(), &o.Report)
	switch {
	case saveErr != nil:
		return errors.Join(&writeError{saveErr}, fitErr)
	case errors.Is(fitErr, context.Canceled):
		text := "interrupted: the best model so far is in " + out
		if f.checkpoint != "" {
			text += "; the same command goes on from the checkpoint " + f.checkpoint
		}
		return &fit.CancelledError{Msg: text}
	case err != nil || fitErr != nil:
		return errors.Join(err, fitErr)
	}
	msg.note("model written to %s", out)
	if err := o.RemoveCheckpoint(); err != nil {
		return &writeError{err}
	}
	return nil
}

// writeError marks a failure to write, which is no fault of the input.
type writeError struct{ err error }

func (e *writeError) Error() string { return e.err.Error() }

// defaultModelName is DATA's base name with .gpfit for its extensions; of a
// pattern it is what is common to the names.
func defaultModelName(path string) string {
	if path == "-" {
		return "model.gpfit"
	}
	name := strings.TrimSuffix(filepath.Base(path), ".gz")
	if base := strings.TrimSuffix(name, filepath.Ext(name)); base != "" {
		name = base
	}
	if strings.ContainsAny(name, "*?[") {
		name = strings.Trim(strings.NewReplacer("*", "", "?", "", "[", "", "]", "").Replace(name), ".-_ ")
	}
	if strings.Trim(name, ".") == "" {
		name = "model"
	}
	return name + ".gpfit"
}

// checkOutput finds out before the work whether the model can be written, and
// does not let it replace a file that is something else.
func checkOutput(path string, force bool) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return usagef("--out %s: is a folder", path)
	case err == nil && !info.Mode().IsRegular():
		return nil
	case err == nil && !force:
		if _, err := gp.Load(path); err != nil && info.Size() > 0 {
			return usagef("--out %s: exists and is not a gpfit model; choose another name, or give --force to replace it", path)
		}
	}
	probe, err := os.CreateTemp(filepath.Dir(path), ".gpfit-probe*")
	if err != nil {
		return usagef("--out %s: cannot write there: %v", path, err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}
