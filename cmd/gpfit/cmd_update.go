package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"gpfit"
	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/dataset"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/table/feature"
)

func runUpdate(c *cli.Command) error {
	began, modelPath, dataPath := time.Now(), c.Args[0], c.Args[1]
	c.Output.Out = cmp.Or(c.Output.Out, modelName(modelPath)+"-updated.gpfit")
	if err := c.CheckOutputs(c.Args); err != nil {
		return err
	}
	model, err := gp.Load(modelPath)
	if err == nil {
		_, err = recordOf(model, modelPath)
	}
	if err != nil {
		return err
	}
	if model.State.Method != "" {
		return exit.Usagef("%s: the model has local experts, which cannot take more rows: fit all rows together", modelPath)
	}
	w, err := gpfit.Devices{Method: c.Compute.Method}.Workload(model)
	if err != nil {
		return err
	}
	if !c.Changed("save-factor") {
		c.Output.SaveFactor = model.HasFactor()
	}
	add, reading, warnings, err := readAddition(c, dataPath, model)
	if err != nil {
		return err
	}
	c.Msg.Warn(warnings...)
	u := &update{Command: c, model: model, workload: w, began: began}
	if err := u.extend(add); err != nil {
		return err
	}
	defer func() { u.close() }()
	u.report.Reading, u.report.Warnings = &reading, append(u.report.Warnings, warnings...)
	if c.Retune {
		return u.tune()
	}
	return u.finish(nil, nil)
}

// readAddition reads the rows of a table, and returns what was read and the warnings about it.
func readAddition(c *cli.Command, path string, m *gp.Model) (gp.Addition, feature.Reading, []string, error) {
	c.Rows.Observed = true
	all, warnings, err := c.AllRows(path, m)
	if err != nil {
		return gp.Addition{}, all.Reading, nil, err
	}
	var weighed []int
	for i := range all.N {
		if all.Noise.Weight == nil || all.Noise.Weight[i] != 0 {
			weighed = append(weighed, i)
		}
	}
	if none := all.N - len(weighed); none > 0 {
		warnings = append(warnings, fmt.Sprintf("left out %d of %d rows: their weight is 0", none, all.N))
		all = all.Pick(weighed)
	}
	keep, err := knownTargets(c, all, path, m)
	if err != nil {
		return gp.Addition{}, all.Reading, nil, err
	}
	if dropped := all.N - len(keep); dropped > 0 {
		warnings = append(warnings, fmt.Sprintf("left out %d of %d rows: a target is missing", dropped, all.N))
		all.Reading.Dropped += dropped
	}
	all = all.Pick(keep)
	add := gp.Addition{X: all.X, N: all.N, Noise: all.Noise}
	for _, y := range all.Observed {
		add.Y = append(add.Y, y...)
	}
	return add, all.Reading, warnings, nil
}

// knownTargets returns the indices of the rows whose targets are all known. Others are an
// error unless option missing drops them.
func knownTargets(c *cli.Command, all dataset.Rows, path string, m *gp.Model) (keep []int, err error) {
	for i := range all.N {
		gap := slices.IndexFunc(all.Observed, func(y []float64) bool { return y[i] != y[i] })
		switch {
		case gap < 0:
			keep = append(keep, i)
		case c.Rows.Missing != "drop":
			return nil, &problem.DataError{Msg: fmt.Sprintf("%s: row %d (from 1): the target %q is missing; option missing drop leaves such rows out", path, i+1, m.TargetNames()[gap])}
		}
	}
	if len(keep) == 0 {
		return nil, &problem.DataError{Msg: path + ": there are no rows to add"}
	}
	return keep, nil
}

// update is a run of the command.
type update struct {
	*cli.Command
	model *gp.Model
	// workload has the rows of the model.
	workload device.Workload
	began    time.Time
	// posterior has the new rows.
	posterior *gp.Posterior
	report    *summary.UpdateReport
	close     func()
}

// extend adds the rows at the model's parameters.
func (u *update) extend(add gp.Addition) error {
	w := u.workload
	w.Factor = w.Factor || u.Output.SaveFactor
	opened, err := u.OpenDevices(w, 0)
	if err != nil {
		return err
	}
	b := opened.Backends[0]
	w.N += add.N
	u.NotePlan(b.Plan(w))
	posterior, extension, err := u.model.Extend(u.Ctx, b, add)
	u.Msg.Clear()
	if err == nil {
		u.report, err = summary.NewUpdateReport(u.model, posterior.Model(), extension)
	}
	if err != nil {
		opened.Close()
		if _, ok := errors.AsType[*gp.NoiseError](err); ok && u.model.Noise.Column != "" {
			return exit.Usagef("%v; give --noise-column", err)
		}
		if device.IsNotPD(err) {
			err = fmt.Errorf("%w: the noise of the model is too small for all rows together; fit a table of all rows with --from", err)
		}
		return err
	}
	u.report.Device, u.posterior = b.Info().Name, posterior
	u.close = func() {
		_ = posterior.Close()
		opened.Close()
	}
	switch {
	case extension.Extended || u.Retune || u.report.Method != "":
	case u.model.HasFactor():
		u.Msg.Note("the device %s cannot extend a factor: it computed all of it", u.report.Device)
	default:
		u.Msg.Note("the model has no Cholesky factor: gpfit computed all of it. With --save-factor, later updates begin with it")
	}
	return nil
}

// tune fits the parameters to all rows and writes the model.
func (u *update) tune() error {
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
	job, err := fit.Prepare(data, opts, u.Events())
	if err != nil {
		return err
	}
	u.Msg.Objective = problem.ObjectiveLabel(job.ObjectiveName())
	opened, err := u.OpenFor(job, 1, false)
	if err != nil {
		return err
	}
	defer opened.Close()
	outcome, err := fit.Run(u.Ctx, job, opened.Backends...)
	u.Msg.Clear()
	if err != nil {
		return err
	}
	defer outcome.Close()
	outcome.Model.HeldOut = whole.HeldOut
	u.report.Retuned = true
	return u.finish(outcome, outcome.Report.Warnings)
}

// finish writes the model, of a fit if there was one, and prints the report.
func (u *update) finish(o *fit.Outcome, warnings []string) error {
	u.report.Warnings = append(u.report.Warnings, warnings...)
	u.report.Seconds = time.Since(u.began).Seconds()
	record, err := summary.UpdatedRecord(u.model.Record, u.report)
	if err != nil {
		return err
	}
	posterior := u.posterior
	if o != nil {
		posterior, u.report.Fit = o.Posterior(), &o.Report
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
	if err := u.Write(u.Output.Out, write); err != nil {
		return &output.WriteError{Err: fmt.Errorf("%s: cannot write the model: %w", u.Output.Out, err)}
	}
	u.report.ModelFile = u.Output.Out
	u.Msg.Warn(warnings...)
	messages.AllFlags(u.report.Warnings)
	messages.AllFlags(u.report.Advice)
	if err := u.Report(u.report); err != nil {
		return err
	}
	u.Msg.Note("model written to %s", u.Output.Out)
	return nil
}
