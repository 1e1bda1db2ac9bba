package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/atomicfile"
	"gpfit/internal/rows"
)

type updateFlags struct {
	flags.Options
	retune bool
}

func newUpdate() *cobra.Command {
	var f updateFlags
	cmd := &cobra.Command{
		Use:   "update MODEL DATA",
		Short: "Add the rows of a table to a model, with or without new parameters",
		Long: `Add the rows of DATA to the training rows of MODEL and write the result as a new
model. The parameters, the encoding of columns and the scaling stay those of MODEL.

If MODEL has its Cholesky factor (gpfit fit --save-factor), gpfit extends it: m new
rows beside n cost n²m operations. Otherwise it computes the whole factor, which costs
n³/3. The result is the same up to rounding. A GPU always computes the whole factor.

gpfit first predicts the new rows with MODEL and compares: RMSE, NLPD, the share of rows
in their 95 % interval, and the deviance, the squared error of all rows in units of
their joint predictive covariance. If MODEL is right, the deviance has a chi-squared
distribution with one degree of freedom for each row. gpfit advises new parameters if
its two-sided p-value is below 0.001, or if the model has more than half as many rows
again as its parameters were tuned on. --retune tunes them on all rows, from those of
MODEL and with its ties and priors; --fix, --bounds and --max-evals then have the
meaning that they have for gpfit fit.

gpfit finds the columns of DATA by the names that the model was trained with, as gpfit
predict does. A noise group or a category that MODEL does not have is an error.`,
		Example: `  gpfit fit data.csv --save-factor --out model.gpfit
  gpfit update model.gpfit new.csv --out newer.gpfit
  gpfit update model.gpfit new.csv --retune --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return runUpdate(cmd, args[0], args[1], &f) },
	}
	s := flags.InOrder(cmd)
	f.Add(s, "update")
	s.BoolVar(&f.retune, "retune", false, "tune the parameters on all rows, starting from those of MODEL")
	flags.InGroup(s, "Tuning", "retune")
	return cmd
}

// updatedName returns the name of the model with new rows.
func updatedName(model string) string {
	base := filepath.Base(model)
	return strings.TrimSuffix(base, filepath.Ext(base)) + "-updated.gpfit"
}

func runUpdate(cmd *cobra.Command, modelPath, dataPath string, f *updateFlags) error {
	ctx, msg, began := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Output.Quiet), time.Now()
	if !f.retune && f.Changed("fix", "bounds", "max-evals") {
		return exit.Usagef("--fix, --bounds and --max-evals tune parameters: they need --retune")
	}
	if f.Output.Out == "" {
		f.Output.Out = updatedName(modelPath)
	}
	if err := output.Check(f.Output.Force, []output.Destination{{Flag: "out", Path: f.Output.Out}}, modelPath, dataPath); err != nil {
		return err
	}
	model, err := gp.Load(modelPath)
	if err != nil {
		return err
	}
	if model.Experts != nil {
		return exit.Usagef("%s: the model has local experts, which cannot take more rows: fit all rows together", modelPath)
	}
	if !f.Changed("save-factor") {
		f.Output.SaveFactor = model.HasFactor()
	}
	add, warnings, err := f.readAddition(ctx, dataPath, cmd.InOrStdin(), model)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		msg.Warn(w)
	}
	u := &update{updateFlags: f, msg: msg, model: model, data: dataPath, began: began}
	if err := u.extend(ctx, add); err != nil {
		return err
	}
	defer u.close()
	u.report.Warnings = append(u.report.Warnings, warnings...)
	if f.retune {
		return u.tune(cmd)
	}
	return u.finish(cmd, nil, nil)
}

// readAddition reads the rows of a table and the warnings about it.
func (f *updateFlags) readAddition(ctx context.Context, path string, stdin io.Reader, m *gp.Model) (gp.Addition, []string, error) {
	f.Rows.Observed = true
	in, err := f.OpenRows(ctx, path, stdin, m)
	if err != nil {
		return gp.Addition{}, nil, err
	}
	defer in.Close()
	all, err := flags.Await(ctx, path, in.All)
	if err != nil {
		return gp.Addition{}, nil, flags.RowsError(err)
	}
	warnings := in.Warnings()
	if all, err = f.complete(all, path, m, &warnings); err != nil {
		return gp.Addition{}, nil, err
	}
	add := gp.Addition{X: all.X, N: all.N, Noise: all.Noise}
	for _, y := range all.Observed {
		add.Y = append(add.Y, y...)
	}
	return add, warnings, nil
}

// complete returns the rows whose targets are all known. Others are an error, or, with
// --missing drop, a warning.
func (f *updateFlags) complete(all rows.Rows, path string, m *gp.Model, warnings *[]string) (rows.Rows, error) {
	var keep []int
	for i := range all.N {
		gap := -1
		for t := range all.Observed {
			if v := all.Observed[t][i]; v != v {
				gap = t
			}
		}
		switch {
		case gap < 0:
			keep = append(keep, i)
		case f.Rows.Missing != "drop":
			return all, &problem.DataError{Msg: fmt.Sprintf("%s: row %d (from 1): the target %q is missing; option missing drop leaves such rows out", path, i+1, m.TargetNames()[gap])}
		}
	}
	if dropped := all.N - len(keep); dropped > 0 {
		*warnings = append(*warnings, fmt.Sprintf("left out %d of %d rows: a target is missing", dropped, all.N))
	}
	if len(keep) == 0 {
		return all, &problem.DataError{Msg: path + ": there are no rows to add"}
	}
	return all.Pick(keep), nil
}

// update is a run of the command.
type update struct {
	*updateFlags
	msg   *messages.Writer
	model *gp.Model
	data  string
	began time.Time
	// posterior has the new rows.
	posterior *gp.Posterior
	report    *summary.UpdateReport
	close     func()
}

// extend adds the rows at the model's parameters.
func (u *update) extend(ctx context.Context, add gp.Addition) error {
	prog, err := u.model.Program()
	if err != nil {
		return err
	}
	opened, err := devices.Open(ctx, u.msg, u.Compute, device.Workload{N: u.model.N() + add.N, D: len(u.model.Columns), Program: prog}, true)
	if err != nil {
		return err
	}
	b := opened.Backends[0]
	devices.NotePlan(u.msg, b.Plan(device.Workload{N: u.model.N() + add.N, D: len(u.model.Columns)}))
	posterior, extension, err := u.model.Extend(ctx, b, add)
	u.msg.Clear()
	if err == nil {
		u.report, err = summary.NewUpdateReport(u.model, posterior.Model(), extension)
	}
	if err != nil {
		opened.Close()
		return explainUpdate(err)
	}
	u.report.Device, u.posterior = b.Info().Name, posterior
	u.close = func() {
		_ = posterior.Close()
		opened.Close()
	}
	if !extension.Extended && !u.retune {
		u.note()
	}
	return nil
}

// note says why the factor was not extended.
func (u *update) note() {
	if u.model.HasFactor() {
		u.msg.Note("the device %s cannot extend a factor: it computed all of it", u.report.Device)
		return
	}
	u.msg.Note("the model has no Cholesky factor: gpfit computed all of it. With --save-factor, later updates begin with it")
}

// explainUpdate adds advice to errors about the new rows.
func explainUpdate(err error) error {
	var noise *gp.NoiseError
	if errors.As(err, &noise) {
		return exit.Usagef("%v; give --noise-column", err)
	}
	return err
}

// tune fits the parameters to all rows and writes the model.
func (u *update) tune(cmd *cobra.Command) error {
	ctx := cmd.Context()
	whole := u.posterior.Whole()
	data, err := problem.TrainingData(whole)
	if err != nil {
		return err
	}
	whole.Record = u.model.Record
	u.close() // the fit needs its memory
	u.close = func() {}
	opts := u.Fit
	opts.From, opts.DiscardCancelled = whole, true
	job, err := fit.Prepare(data, opts, problem.Events{
		OnProgress: u.msg.Progress, OnIteration: u.msg.Iteration, OnWarning: u.msg.Say, Fallback: devices.Reopen(u.Compute),
	})
	if err != nil {
		return err
	}
	u.msg.Objective = job.ObjectiveLabel()
	opened, err := devices.OpenFor(ctx, u.msg, u.Compute, job, false)
	if err != nil {
		return err
	}
	defer opened.Close()
	u.msg.Expect(job.Expected())
	outcome, err := fit.Run(ctx, job, opened.Backends...)
	u.msg.Clear()
	if err != nil {
		return err
	}
	defer outcome.Close()
	outcome.Model.HeldOut = whole.HeldOut
	u.report.Retuned = true
	return u.finish(cmd, outcome, outcome.Report.Warnings)
}

// finish writes the model, of a fit if there was one, and prints the report.
func (u *update) finish(cmd *cobra.Command, o *fit.Outcome, warnings []string) error {
	u.report.Warnings = append(u.report.Warnings, warnings...)
	u.report.Seconds = time.Since(u.began).Seconds()
	record, err := summary.UpdatedRecord(u.model.Record, u.report)
	if err != nil {
		return err
	}
	posterior := u.posterior
	if o != nil {
		posterior, u.report.Fit = o.Posterior(), &o.Report
	}
	if o != nil {
		if record, err = o.UpdatedRecord(record); err != nil {
			return err
		}
	}
	whole := posterior.Whole()
	whole.Record = record
	write := whole.Write
	if u.Output.SaveFactor {
		write = posterior.WriteWithFactor
	}
	if err := atomicfile.Writer(u.Output.Force)(cmd.Context(), u.Output.Out, write); err != nil {
		return &output.WriteError{Err: fmt.Errorf("%s: cannot write the model: %w", u.Output.Out, err)}
	}
	u.report.ModelFile = u.Output.Out
	for _, w := range warnings {
		u.msg.Warn(w)
	}
	messages.AllFlags(u.report.Warnings)
	messages.AllFlags(u.report.Advice)
	if err := output.Report(cmd.OutOrStdout(), u.Output.JSON, u.report); err != nil {
		return err
	}
	u.msg.Note("model written to %s", u.Output.Out)
	return nil
}
