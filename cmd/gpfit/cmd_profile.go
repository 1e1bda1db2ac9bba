package main

import (
	"io"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/fit"
)

func newProfile() *cobra.Command {
	return frame.New("profile", &cobra.Command{
		Use:   "profile DATA",
		Short: "Show the likelihood along parameters, with its terms and its optima",
		Long: `Fit a table as 'gpfit fit' does, and show the objective around the optima.

--show curves evaluates the NLML along each parameter, with data fit ½rᵀΣ⁻¹r and
complexity ½log|Σ| apart; r are the targets less the mean. --show contour evaluates it
over two parameters. --show fits shows the predictions for each pair of values of two
parameters, for a table with one input column.

With --others tuned, all other parameters minimise the objective at each point. The
curve of the NLML is then the profile likelihood, and gpfit prints the 95 % interval of
each parameter that follows from it: where the NLML is at most 1.92 above its minimum.
With --others held, the others stay at the best optimum.

--plot draws the picture, with all optima that the fit found; --restarts looks for
several. Curves are differences from the best optimum in nats. The
numbers are in scaled units, as those of --set. The options that make the model and the
objective are those of fit. No model is written.

Every point is an exact evaluation over all rows, a contour with tuned parameters
thousands of them. --subsample takes random rows of a large table.

After Ctrl-C gpfit writes nothing (exit code 130).`,
		Example: `  gpfit profile data.csv --restarts 10 --plot curves.svg
  gpfit profile data.csv --along noise_variance --range noise_variance=1e-4:1 --others held
  gpfit profile data.csv --show contour --restarts 10 --plot contour.svg --out contour.csv
  gpfit profile data.csv --show fits --along lengthscale --along noise_variance --plot fits.png`,
	}, runProfile)
}

func runProfile(c *frame.Command) error {
	path := c.Args[0]
	var file *output.File
	if c.Output.Out != "" {
		var err error
		if file, err = output.Choose(c.Output.Out, c.Output.Format, false, output.Tables()...); err != nil {
			return err
		}
	}
	from, err := c.StartModel()
	if err != nil {
		return err
	}
	if err := c.CheckOutputs(c.Inputs(path, c.From)); err != nil {
		return err
	}
	data, err := c.Table(path)
	if err != nil {
		return err
	}
	opts := c.Fit
	opts.From = from
	job, err := c.OpenJob(data, opts, c.Events(), false)
	if err != nil {
		return err
	}
	defer job.Close()
	c.Msg.Expect(job.Expected())
	settings := c.Profile
	settings.OnPoint = func(done, all int) { c.Msg.Count("point", done, all) }
	profile, err := fit.Profile(c.Ctx, job.Job, settings, job.Backends...)
	c.Msg.Clear()
	if err != nil {
		return err
	}
	profile.Warnings = c.Warned(profile.Warnings, len(job.Warnings()), job.Warning)
	messages.AllFlags(profile.Report.Warnings)
	if file != nil {
		if err := c.Write(file.Compressed(func(w io.Writer) error { return writeProfile(w, file, profile) })); err != nil {
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
