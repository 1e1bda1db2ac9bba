package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/cmd/gpfit/internal/training"
	"gpfit/experts"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/atomicfile"
)

type fitFlags struct {
	training.Flags
	from, draws, page string
}

func newFit() *cobra.Command {
	var f fitFlags
	cmd := &cobra.Command{
		Use:   "fit DATA",
		Short: "Tune the hyperparameters on a table and write a model",
		Long: `Tune the hyperparameters on a table and write a model.

DATA is a table: CSV with or without a header, plain or gzip-compressed; Parquet; a
NumPy .npy file with a two-dimensional array, or .npz with one such array or with X
and y; a directory or a quoted pattern, whose files have the same columns and form
one table, in the order of their names; or "-" for CSV from standard input.

gpfit tunes the parameters by L-BFGS on their logarithms, with the gradient of the
exact negative log marginal likelihood (NLML). From 2,000 rows on it begins with
growing random subsets (--coarse), which saves most evaluations at full size;
either way the result is an optimum over all rows. --prior adds the negative log
prior density: the result is then the mode of the posterior density of the
parameters (MAP), in natural units of the scaled problem.

The mean function, such as --mean 'linear + bumps(5, dims=0)', is a sum of
constant; linear, in every column; poly(K), the powers 1 to K of every column,
without products of columns; and bumps(M), M Gaussian bumps on every column, with
centres at its quantiles and their mean distance as width. Each of them includes
the constant. dims=temp or dims=[temp, 2] limits a term to columns, by name or index. gpfit finds the
coefficients by generalised least squares within each evaluation, and predictions
include their uncertainty.

The noise has one variance for all rows, one for each group of rows
(--noise-group), or a known variance for each row plus an estimated one
(--noise-column).

Limits: a kernel has at most 1,000 leaves. Without --subsample, gpfit stops reading
at the row from which no device could hold the n×n matrix (about 370,000, or more
on a host with more than 64 GiB free). It refuses columns whose values are beyond
1e150 or vary by less than 1e-150.

--experts kmeans:K divides a table that is too large for one process among K local
experts; --combine says how they predict together. The covariance between experts counts
as 0: this is an approximation. --expert-parameters separate tunes the parameters of each
expert on its own rows, several experts at the same time.

Several targets (--target a,b) share kernel and noise; gpfit sums their NLMLs.

After Ctrl-C gpfit writes the best model so far (exit code 130). With --checkpoint
the same command continues from there, as it does after a crash, and ends with the
same bits as an uninterrupted fit.`,
		Example: `  gpfit fit examples/co2.csv --kernel 'rbf(ard)' --split-mask examples/co2_mask.csv:1
  gpfit fit data.csv --target price --ard --restarts 5 --json
  gpfit fit data.csv --mean 'linear + bumps(5, dims=0)' --noise-group instrument
  gpfit fit data.csv --fix noise_variance=0.01 --bounds lengthscale=0.1:10`,
		RunE: func(cmd *cobra.Command, args []string) error { return runFit(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	f.Add(s, "fit")
	s.StringVar(&f.from, "from", "", "model `FILE` to start from: columns, kernel, mean, noise, ties, priors and start values that the options do not give")
	s.StringVar(&f.draws, "posterior-out", "", "also write the draws of --posterior to `FILE`, as JSON that ArviZ reads")
	s.StringVar(&f.page, "report", "", "also write the page of the model to `FILE`.html, as gpfit report does, with the scores of held-out rows if there are any")
	flags.InGroup(s, "Tuning", "from")
	flags.InGroup(s, "Output", "report")
	flags.InGroup(s, "Posterior of the parameters", "posterior-out")
	return cmd
}

// startModel loads the model of --from and takes from it what the flags do not give; nil
// without --from.
func startModel(from string, take func(*gp.Model) error) (*gp.Model, error) {
	if from == "" {
		return nil, nil
	}
	m, err := gp.Load(from)
	if err != nil {
		return nil, err
	}
	return m, take(m)
}

// tellDraws returns the function that shows how far the chains of a posterior are.
func (f *fitFlags) tellDraws(msg *messages.Writer) func(chain, iteration int) {
	if f.Fit.Posterior == "" || f.Fit.Posterior == problem.NoPosterior {
		return nil
	}
	done := map[int]int{}
	return func(chain, iteration int) {
		done[chain] = iteration
		all := 0
		for _, n := range done {
			all += n
		}
		msg.Status("posterior: %d iterations of %d chains", all, len(done))
	}
}

// tellExperts returns the function that shows how many experts are tuned.
func tellExperts(msg *messages.Writer) func(done, all int, left time.Duration) {
	return func(done, all int, left time.Duration) {
		text := fmt.Sprintf("%d of %d local experts are tuned", done, all)
		if left > time.Second {
			text += fmt.Sprintf("; about %s left", messages.Roughly(left))
		}
		msg.Status("%s", text)
	}
}

// saveDraws writes the draws of a posterior for --posterior-out.
func (f *fitFlags) saveDraws(ctx context.Context, o *fit.Outcome) error {
	if f.draws == "" || o.Report.Posterior == nil {
		return nil
	}
	return output.Write(ctx, nil, f.draws, f.Output.Force, o.Report.Posterior.WriteDraws)
}

// saveModel writes the model of an outcome. Only if replace is true, it replaces an
// existing file.
func saveModel(ctx context.Context, path string, replace bool, o *fit.Outcome, withFactor bool) error {
	err := atomicfile.Writer(replace)(ctx, path, func(w io.Writer) error { return o.WriteModel(w, withFactor) })
	var exists *atomicfile.ExistsError
	if err == nil || errors.As(err, &exists) && exists.Saved != "" {
		return err
	}
	return fmt.Errorf("%s: cannot write the model: %w", path, err)
}

func runFit(cmd *cobra.Command, path string, f *fitFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Output.Quiet)
	if err := f.CheckScores(); err != nil {
		return err
	}
	if f.draws != "" && (f.Fit.Posterior == "" || f.Fit.Posterior == problem.NoPosterior) {
		return exit.Usagef("--posterior-out writes draws: it needs --posterior laplace or hmc")
	}
	if f.Fit.Experts != "" && f.Output.SaveFactor {
		return exit.Usagef("--save-factor: local experts have no common Cholesky factor: leave it out; predictions factor the matrix of each expert again")
	}
	if f.Fit.ExpertParameters == experts.Separate && f.CrossValidate {
		return exit.Usagef("--scores cv: predictions of folds need parameters that all local experts share: hold rows out (--holdout), score with loo, or use --expert-parameters shared")
	}
	from, err := startModel(f.from, f.TakeModel)
	if err != nil {
		return err
	}
	opts, events := f.Fit, f.Events(msg)
	opts.From = from
	events.OnDraw, events.OnExpert, events.OnIteration, events.OnWarning = f.tellDraws(msg), tellExperts(msg), msg.Iteration, msg.Say
	model := output.Destination{Flag: "out", Path: f.Output.Out}
	if model.Path == "" {
		model.Path, model.Other = output.ModelName(path), output.DistinctName(path)
		f.Output.Out = model.Path
	}
	// A fit that continues replaces the model that it wrote when it was interrupted.
	f.Output.Force = f.Output.Force || output.Continues(f.Output.Out, opts.Checkpoint)
	draws := output.Destination{Flag: "posterior-out", Path: f.draws}
	reported := output.Destination{Flag: "report", Path: f.page}
	checkpoint := output.Destination{Flag: "checkpoint", Path: opts.Checkpoint, Continued: true}
	if err := output.Check(f.Output.Force, []output.Destination{model, draws, reported, checkpoint}, append(f.Inputs(path), f.from)...); err != nil {
		return err
	}
	data, err := f.ReadTable(cmd.Context(), path, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if info, err := os.Stat(opts.Checkpoint); err == nil && info.Size() > 0 {
		msg.Note("continuing from the checkpoint %s", opts.Checkpoint)
	}
	job, err := f.Open(ctx, msg, data, opts, events, false)
	if err != nil {
		return err
	}
	defer job.Close()
	if stages := job.Expected(); stages != nil {
		msg.Expect(stages)
	}
	outcome, err := fit.Run(ctx, job.Job, job.Backends...)
	if outcome == nil {
		return err
	}
	defer outcome.Close()
	outcome.Record = summary.ModelRecord{Program: programName(), Data: path, Options: f.Texts("out", "force", "json", "quiet")}
	if f.from != "" {
		outcome.Record.Options["from"] = f.from
	}
	if err == nil && f.CrossValidate {
		if !f.Output.SaveFactor && f.page == "" {
			outcome.Close() // the folds need its memory
		}
		err = f.Score(ctx, msg, job.Job, job.Backends[0], &outcome.Report)
	}
	msg.Clear()
	return finishFit(cmd, msg, f, job, outcome, err)
}

// finishFit prints the result, writes the model and returns how the fit ended.
// The result is printed even if the model cannot be written.
func finishFit(cmd *cobra.Command, msg *messages.Writer, f *fitFlags, job *training.OpenJob, o *fit.Outcome, fitErr error) error {
	saveErr := saveModel(cmd.Context(), f.Output.Out, f.Output.Force, o, f.Output.SaveFactor)
	if saveErr == nil {
		o.Report.ModelFile = f.Output.Out
	}
	if saveErr == nil {
		saveErr = errors.Join(f.saveDraws(cmd.Context(), o), f.savePage(cmd.Context(), msg, job.Job, o))
	}
	for _, w := range o.Report.Warnings[len(job.Warnings()):] {
		msg.Warn(w)
	}
	if job.Warning != "" { // it was shown before
		o.Report.Warnings = append([]string{job.Warning}, o.Report.Warnings...)
	}
	messages.AllFlags(o.Report.Warnings)
	err := output.Report(cmd.OutOrStdout(), f.Output.JSON, &o.Report)
	switch {
	case saveErr != nil:
		return errors.Join(&output.WriteError{Err: saveErr}, fitErr)
	case errors.Is(fitErr, context.Canceled):
		text := "interrupted: the best model so far is in " + f.Output.Out
		if checkpoint := f.Fit.Checkpoint; checkpoint != "" {
			text += "; the same command continues from the checkpoint " + checkpoint
		}
		return &problem.CancelledError{Msg: text}
	case err != nil || fitErr != nil:
		return errors.Join(err, fitErr)
	}
	msg.Note("model written to %s", f.Output.Out)
	if err := o.RemoveCheckpoint(); err != nil {
		return &output.WriteError{Err: err}
	}
	return nil
}
