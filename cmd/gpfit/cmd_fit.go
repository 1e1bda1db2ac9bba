package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/internal/atomicfile"
)

func newFit() *cobra.Command {
	return frame.New("fit", &cobra.Command{
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
	}, runFit)
}

// tellDraws returns the function that shows how far the chains of a posterior are.
func tellDraws(msg *messages.Writer) func(chain, iteration int) {
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

// saveModel writes the model of an outcome to the file of --out.
func saveModel(c *frame.Command, o *fit.Outcome) error {
	err := c.WriteFile(c.Output.Out, func(w io.Writer) error { return o.WriteModel(w, c.Output.SaveFactor) })
	var exists *atomicfile.ExistsError
	if err == nil || errors.As(err, &exists) && exists.Saved != "" {
		return err
	}
	return fmt.Errorf("%s: cannot write the model: %w", c.Output.Out, err)
}

func runFit(c *frame.Command) error {
	path := c.Args[0]
	from, err := c.StartModel()
	if err != nil {
		return err
	}
	opts, events := c.Fit, c.Events()
	opts.From, events.OnDraw, events.OnExpert = from, tellDraws(c.Msg), tellExperts(c.Msg)
	if err := checkFiles(c, path); err != nil {
		return err
	}
	data, err := c.Table(path)
	if err != nil {
		return err
	}
	if info, err := os.Stat(opts.Checkpoint); err == nil && info.Size() > 0 {
		c.Msg.Note("continuing from the checkpoint %s", opts.Checkpoint)
	}
	job, err := c.OpenJob(data, opts, events, false)
	if err != nil {
		return err
	}
	defer job.Close()
	if stages := job.Expected(); stages != nil {
		c.Msg.Expect(stages)
	}
	outcome, err := fit.Run(c.Ctx, job.Job, job.Backends...)
	if outcome == nil {
		return err
	}
	defer outcome.Close()
	outcome.Record = summary.ModelRecord{Program: programName(), Data: path, Options: c.Texts("out", "force", "json", "quiet", "report", "posterior-out")}
	if err == nil && c.CrossValidate {
		if !c.Output.SaveFactor && c.Output.Page == "" {
			outcome.Close() // the folds need its memory
		}
		err = c.CrossValidated(job, &outcome.Report)
	}
	c.Msg.Clear()
	return finishFit(c, job, outcome, err)
}

// checkFiles checks that a fit to the table at path can write its files, and completes the
// name of the model.
func checkFiles(c *frame.Command, path string) error {
	model := frame.Destination("out", c.Output.Out)
	if model.Path == "" {
		model.Path, model.Other = output.ModelName(path), output.DistinctName(path)
		c.Output.Out = model.Path
	}
	// A fit that continues replaces the model that it wrote when it was interrupted.
	c.Output.Force = c.Output.Force || output.Continues(c.Output.Out, c.Fit.Checkpoint)
	checkpoint := output.Destination{Flag: "checkpoint", Path: c.Fit.Checkpoint, Continued: true}
	return output.Check(c.Output.Force, []output.Destination{
		model, frame.Destination("posterior-out", c.Output.Draws), frame.Destination("report", c.Output.Page), checkpoint,
	}, c.Inputs(path, c.From)...)
}

// finishFit prints the result, writes the model and returns how the fit ended.
// The result is printed even if the model cannot be written.
func finishFit(c *frame.Command, job *frame.OpenJob, o *fit.Outcome, fitErr error) error {
	saveErr := saveModel(c, o)
	if saveErr == nil {
		o.Report.ModelFile = c.Output.Out
		if p := o.Report.Posterior; p != nil && c.Output.Draws != "" {
			saveErr = c.WriteFile(c.Output.Draws, p.WriteDraws)
		}
		saveErr = errors.Join(saveErr, savePage(c, job.Job, o))
	}
	o.Report.Warnings = c.Warned(o.Report.Warnings, len(job.Warnings()), job.Warning)
	err := c.Report(&o.Report)
	switch {
	case saveErr != nil:
		return errors.Join(&output.WriteError{Err: saveErr}, fitErr)
	case errors.Is(fitErr, context.Canceled):
		text := "interrupted: the best model so far is in " + c.Output.Out
		if checkpoint := c.Fit.Checkpoint; checkpoint != "" {
			text += "; the same command continues from the checkpoint " + checkpoint
		}
		return &problem.CancelledError{Msg: text}
	case err != nil || fitErr != nil:
		return errors.Join(err, fitErr)
	}
	c.Msg.Note("model written to %s", c.Output.Out)
	if err := o.RemoveCheckpoint(); err != nil {
		return &output.WriteError{Err: err}
	}
	return nil
}
