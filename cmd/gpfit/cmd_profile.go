package main

import (
	"fmt"
	"io"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/fit"
)

func runProfile(c *cli.Command) error {
	path := c.Args[0]
	file, err := output.Beside(c.Output.Out, c.Output.Format, output.Tables()...)
	if err != nil {
		return err
	}
	from, err := c.StartModel()
	if err != nil {
		return err
	}
	if err := c.CheckOutputs(c.Inputs(path, c.From)); err != nil {
		return err
	}
	opts := c.Fit
	opts.From = from
	job, err := c.OpenJob(path, opts, c.Events(), false)
	if err != nil {
		return err
	}
	defer job.Close()
	settings, pass := c.Profile, 0
	settings.OnPoint = func(done, all int) {
		if done == 0 {
			pass++
		}
		c.Msg.Count(fmt.Sprintf("pass %d, point", pass), done, all, "of this pass")
	}
	profile, err := fit.Profile(c.Ctx, job.Job, settings, job.Backends...)
	c.Msg.Clear()
	if err != nil {
		return err
	}
	profile.Warnings = c.Warned(profile.Warnings, len(job.Warnings()), job.Warning)
	messages.AllFlags(profile.Report.Warnings)
	if file != nil {
		if err := c.WriteFile(file, func(w io.Writer) error { return writeProfile(w, file, profile) }); err != nil {
			return err
		}
		c.Msg.Note("table written to %s", c.Output.Out)
	}
	if c.Plot.Path != "" {
		if err := c.WritePlot(profileFigure(profile)); err != nil {
			return err
		}
		c.Msg.Note("picture written to %s", c.Plot.Path)
	}
	return c.Report(profile)
}
