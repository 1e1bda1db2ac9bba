package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/graph"
	"gpfit/internal/atomicfile"
	"gpfit/internal/hostmem"
)

// tellDraws returns the function that shows how far the chains of a posterior are.
func tellDraws(msg *messages.Writer) func(chain, iteration int) {
	done := map[int]int{}
	return func(chain, iteration int) {
		done[chain] = iteration
		all := 0
		for _, n := range done {
			all += n
		}
		chains := "chains"
		if len(done) == 1 {
			chains = "chain"
		}
		msg.Status("posterior: %d iterations of %d %s", all, len(done), chains)
	}
}

// saveModel writes the model of an outcome to the file of --out.
func saveModel(c *cli.Command, o *fit.Outcome) error {
	save := atomicfile.Keep // another program may have made the file while the fit ran
	if c.Output.Force {
		save = atomicfile.Write
	}
	err := save(c.Ctx, c.Output.Out, func(w io.Writer) error { return o.WriteModel(w, c.Output.SaveFactor) })
	var exists *atomicfile.ExistsError
	if err == nil || errors.As(err, &exists) && exists.Saved != "" {
		return err
	}
	return fmt.Errorf("%s: cannot write the model: %w", c.Output.Out, err)
}

// earlyModel is the file of a model that was written before its report was complete, so that a fit
// that is killed after tuning leaves its model.
type earlyModel struct{ file os.FileInfo }

// saveEarly writes the model to the file of --out, and returns nil if it cannot: the fit goes on, and
// says at its end what is wrong with the file.
func saveEarly(c *cli.Command, o *fit.Outcome) *earlyModel {
	if atomicfile.IsDirect(c.Output.Out) {
		return nil // a pipe or a device takes one model
	}
	o.Report.Interrupted = true // until the report is complete: the same command continues from a checkpoint
	var text bytes.Buffer
	err := o.WriteModel(&text, false)
	o.Report.Interrupted = false
	size := int64(text.Len())
	if err == nil {
		err = c.Write(c.Output.Out, func(w io.Writer) error { _, err := text.WriteTo(w); return err })
	}
	if err != nil {
		return nil
	}
	file, err := os.Stat(c.Output.Out)
	if err != nil || file.Size() != size { // another program was quicker
		return nil
	}
	return &earlyModel{file}
}

// unchanged reports whether no program has changed the file at path since.
func (e *earlyModel) unchanged(path string) bool {
	now, err := os.Stat(path)
	return err == nil && os.SameFile(now, e.file) && now.ModTime().Equal(e.file.ModTime()) && now.Size() == e.file.Size()
}

func runFit(c *cli.Command) error {
	path := c.Args[0]
	from, err := c.StartModel()
	if err != nil {
		return err
	}
	opts, events := c.Fit, c.Events()
	opts.From, events.OnDraw = from, tellDraws(c.Msg)
	if c.Run.Dry {
		return plan(c, opts, true)
	}
	if err := checkFiles(c, path); err != nil {
		return err
	}
	job, err := c.OpenJob(path, opts, events, false)
	if err != nil {
		return withCommand(c, path, err)
	}
	defer job.Close()
	c.Within(0, 1, "")
	outcome, err := fit.Tune(c.Ctx, job.Job, job.Backends...)
	if outcome == nil {
		return err
	}
	defer outcome.Close()
	job.Job = outcome.Job
	outcome.Record = summary.ModelRecord{Program: programName(), Data: path, Options: recordedOptions(c)}
	early := saveEarly(c, outcome)
	err = outcome.Complete(c.Ctx)
	c.Output.Force = c.Output.Force || early != nil && early.unchanged(c.Output.Out)
	if err != nil && !problem.IsCancelled(err) {
		if early != nil {
			err = fmt.Errorf("%w\nthe model is in %s; its report is incomplete", err, c.Output.Out)
		}
		return err
	}
	if err == nil && c.CrossValidate {
		if !c.Output.SaveFactor && c.Output.Page == "" {
			outcome.Close() // the folds need its memory
		}
		err = c.CrossValidated(job, &outcome.Report)
	}
	c.Msg.Clear()
	return finishFit(c, job, outcome, err)
}

// recordedOptions returns the options that a model's record has.
func recordedOptions(c *cli.Command) map[string]string {
	return c.Texts("out", "force", "json", "quiet", "report", "posterior-out")
}

// advise adds to the advice in a report the fit that follows it, with further options. It writes a model of its own.
func advise(c *cli.Command, r *summary.Report, also map[string]string) {
	r.Judge()
	next := r.Verdict.Next
	switch {
	case next == nil || next.Options == nil && c.Fit.Checkpoint == "" && (c.Output.Out == "" || slices.Contains(r.Barred, "from")):
	case next.Options == nil && c.Fit.Checkpoint != "": // interrupted
		next.Command = c.CommandLine([]string{"gpfit", "fit", c.Args[0]}, nil, nil)
	default:
		more := map[string]string{"out": "next.gpfit", "force": "true"}
		if next.Options == nil {
			more["from"] = c.Output.Out
			if c.Output.Out == more["out"] {
				more["out"] = "continued.gpfit"
			}
		}
		maps.Copy(more, also)
		maps.Copy(more, next.Options)
		if one := more["target"]; one != "" && !c.Changed("features") { // the other targets are no features
			others := slices.DeleteFunc(slices.Clone(c.Data.Targets), func(name string) bool { return name == one })
			more["exclude"] = strings.Join(append(slices.Clone(c.Data.Exclude), others...), ",")
		}
		next.Command = c.CommandLine([]string{"gpfit", "fit", c.Args[0]}, []string{"json", "quiet", "report", "posterior-out", "checkpoint"}, more)
	}
}

// checkFiles checks that a fit to the table at path can write its files, and completes the
// name of the model.
func checkFiles(c *cli.Command, path string) error {
	model := cli.Destination("out", c.Output.Out)
	if model.Path == "" {
		model.Path, model.Other = output.ModelName(path), output.DistinctName(path)
		if model.Path == path { // the table is a model, as reading it tells
			return nil
		}
		c.Output.Out = model.Path
	}
	// A fit that continues replaces the model that it wrote when it was interrupted.
	c.Output.Force = c.Output.Force || output.Continues(c.Output.Out, c.Fit.Checkpoint, path, recordedOptions(c))
	checkpoint := output.Destination{Flag: "checkpoint", Path: c.Fit.Checkpoint, Continued: true}
	return output.Check(c.Output.Force, []output.Destination{
		model, cli.Destination("posterior-out", c.Output.Draws), cli.Destination("report", c.Output.Page), checkpoint,
	}, c.Inputs(path, c.From)...)
}

// finishFit prints the result, writes the model and returns how the fit ended.
// The result is printed even if the model cannot be written.
func finishFit(c *cli.Command, job *cli.OpenJob, o *fit.Outcome, fitErr error) error {
	o.Report.Interrupted = problem.IsCancelled(fitErr)
	plan := job.Plan(job.Backends[0])
	o.Report.PlannedBytes, o.Report.PeakBytes = plan.HostBytes()+plan.DeviceBytes(), hostmem.Peak()
	advise(c, &o.Report, nil)
	saveErr := saveModel(c, o)
	if saveErr == nil {
		o.Report.ModelFile = c.Output.Out
		if p := o.Report.Posterior; p != nil && c.Output.Draws != "" {
			saveErr = c.Write(c.Output.Draws, p.WriteDraws)
		}
		saveErr = errors.Join(saveErr, savePage(c, job.Job, o))
	}
	o.Report.Warnings = c.Warned(o.Report.Warnings, len(job.Warnings()), job.Warning)
	err := c.Report(&o.Report)
	switch {
	case saveErr != nil:
		return errors.Join(&output.WriteError{Err: saveErr}, fitErr)
	case problem.IsCancelled(fitErr):
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

func runNLML(c *cli.Command) error {
	path := c.Args[0]
	if c.Run.Dry {
		return plan(c, c.Fit, false)
	}
	if err := c.CheckOutputs(c.Inputs(path), cli.Destination("graph", c.Output.Graph)); err != nil {
		return err
	}
	job, err := c.OpenJob(path, c.Fit, c.Events(), true)
	if err != nil {
		return err
	}
	defer job.Close()
	var writeGraph func(*graph.Objective) error
	if c.Output.Graph != "" {
		writeGraph = func(o *graph.Objective) error { return c.Write(c.Output.Graph, o.WriteDOT) }
	}
	report, err := fit.Evaluate(c.Ctx, job.Job, job.Backends[0], writeGraph)
	if err == nil {
		err = c.CrossValidated(job, report)
	}
	c.Msg.Clear()
	if err != nil {
		return err
	}
	if c.Output.Graph != "" {
		c.Msg.Note("expression graph written to %s", c.Output.Graph)
	}
	report.Warnings = c.Warned(report.Warnings, len(job.Warnings()), job.Warning)
	return c.Report(report)
}
