package main

import (
	"errors"
	"fmt"
	"slices"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/hyperopt"
)

func runSelect(c *cli.Command) error {
	settings, path, events := c.Select, c.Args[0], c.Events()
	c.CrossValidate = true // each kernel has folds
	c.Within(0, 1, "")
	settings.OnCandidate = func(index, known int, text string) {
		c.Within(float64(index)/float64(known), float64(index+1)/float64(known), fmt.Sprintf("kernel %d of %d: %s", index+1, known, text))
	}
	if settings.Greedy { // nobody knows how many kernels follow
		events.OnFit = nil
		settings.OnCandidate = func(index, known int, text string) { c.Msg.Status("kernel %d of %d: %s", index+1, known, text) }
	}
	settings.CrossValidation = c.CrossValidation
	settings.CrossValidation.Seed = c.Data.Seed
	settings.CrossValidation.OnFold = func(k, folds int) { c.CrossValidation.OnFold(k, folds) }
	if err := c.CheckOutputs(c.Inputs(path)); err != nil {
		return err
	}
	data, err := c.Table(path)
	if err != nil {
		return err
	}
	c.Msg.Columns(data.Encoding)
	// The job of the first kernel gives the number of rows to fit.
	first := c.Fit
	first.Kernel = settings.Kernels[0]
	job, err := fit.Prepare(data, first, problem.Events{})
	if err != nil {
		return err
	}
	opened, err := c.OpenFor(job, len(settings.Kernels), false)
	if err != nil {
		return err
	}
	defer opened.Close()
	result, err := fit.Select(c.Ctx, data, c.Fit, events, settings, opened.Backends...)
	if result != nil && err == nil {
		c.Msg.Within(0, 1, "")
		c.Msg.Fit(hyperopt.FitProgress{Share: 1, Best: result.Report.Objective})
	}
	c.Msg.Clear()
	if result == nil {
		return err
	}
	return finishSelect(c, opened.Warning, result, err)
}

// finishSelect prints the comparison, writes the best model and returns how it ended.
func finishSelect(c *cli.Command, warning string, r *fit.Selection, runErr error) error {
	var saveErr error
	if c.Output.Out != "" {
		if saveErr = saveModel(c, r.Outcome); saveErr == nil {
			r.ModelFile = c.Output.Out
			r.Report.ModelFile = c.Output.Out
		}
	}
	if !c.Changed("target-transform") { // no transform is the default
		r.Report.Barred = slices.DeleteFunc(r.Report.Barred, func(name string) bool { return name == "target-transform" })
	}
	advise(c, r.Report, map[string]string{"kernel": r.Report.Kernel, "mean": r.Report.Mean, "scores": "cv"})
	r.Report.Warnings = c.Warned(r.Report.Warnings, 0, warning)
	for i := range r.Candidates {
		r.Candidates[i].Error = messages.Flags(r.Candidates[i].Error)
	}
	err := c.Report(r)
	if saveErr != nil {
		return errors.Join(&output.WriteError{Err: saveErr}, runErr)
	}
	if c.Output.Out != "" {
		c.Msg.Note("model written to %s", c.Output.Out)
	}
	return errors.Join(err, runErr)
}
