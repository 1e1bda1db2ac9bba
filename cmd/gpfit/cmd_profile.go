package main

import (
	"io"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/cmd/gpfit/internal/training"
	"gpfit/fit"
	"gpfit/fit/summary"
)

type profileFlags struct {
	training.Flags
	from, format string
	plot         flags.Plot
}

func newProfile() *cobra.Command {
	var f profileFlags
	cmd := &cobra.Command{
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
		RunE: func(cmd *cobra.Command, args []string) error { return runProfile(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	f.Add(s, "profile")
	s.StringVar(&f.from, "from", "", "model `FILE` to start from: columns, kernel, mean, noise, ties, priors and start values that the options do not give")
	flags.InGroup(s, "Tuning", "from")
	f.plot.Add(s, "the profile")
	addFormat(s, &f.format)
	s.Lookup("format").Usage = "format of --out: csv, jsonl, json, parquet or npy (default: by the name of the file)"
	return cmd
}

// table returns the file of --out, nil without it.
func (f *profileFlags) table() (*output.File, error) {
	if f.Output.Out == "" {
		if f.format != "" {
			return nil, exit.Usagef("--format %s: needs --out FILE", f.format)
		}
		return nil, nil
	}
	return output.Choose(f.Output.Out, f.format, false, output.Tables()...)
}

func runProfile(cmd *cobra.Command, path string, f *profileFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Output.Quiet)
	if err := f.CheckScores(); err != nil {
		return err
	}
	file, err := f.table()
	if err != nil {
		return err
	}
	from, err := startModel(f.from, f.TakeModel)
	if err != nil {
		return err
	}
	if err := f.plot.Check(); err != nil {
		return err
	}
	outputs := []output.Destination{{Flag: "out", Path: f.Output.Out}, {Flag: "plot", Path: f.plot.Path}}
	if err := output.Check(f.Output.Force, outputs, append(f.Inputs(path), f.from)...); err != nil {
		return err
	}
	data, err := f.ReadTable(ctx, path, cmd.InOrStdin())
	if err != nil {
		return err
	}
	opts, events := f.Fit, f.Events(msg)
	opts.From = from
	events.OnIteration, events.OnWarning = msg.Iteration, msg.Say
	job, err := f.Open(ctx, msg, data, opts, events, false)
	if err != nil {
		return err
	}
	defer job.Close()
	msg.Expect(job.Expected())
	settings := f.Profile
	settings.OnPoint = func(done, all int) { msg.Count("point", done, all) }
	profile, err := fit.Profile(ctx, job.Job, settings, job.Backends...)
	msg.Clear()
	if err != nil {
		return err
	}
	for _, w := range profile.Warnings[len(job.Warnings()):] {
		msg.Warn(w)
	}
	if job.Warning != "" { // it was shown before
		profile.Warnings = append([]string{job.Warning}, profile.Warnings...)
	}
	messages.AllFlags(profile.Warnings)
	messages.AllFlags(profile.Report.Warnings)
	return f.finish(cmd, msg, file, profile)
}

// finish prints the profile and writes its files.
func (f *profileFlags) finish(cmd *cobra.Command, msg *messages.Writer, file *output.File, p *summary.Profile) error {
	ctx := cmd.Context()
	if file != nil {
		err := f.Write(ctx, cmd.OutOrStdout(), file.Compressed(func(w io.Writer) error { return writeProfile(w, file, p) }))
		if err != nil {
			return err
		}
		msg.Note("table written to %s", f.Output.Out)
	}
	if f.plot.Path != "" {
		if err := f.plot.Write(ctx, profileFigure(p), f.Output.Force); err != nil {
			return err
		}
		msg.Note("picture written to %s", f.plot.Path)
	}
	return output.Report(cmd.OutOrStdout(), f.Output.JSON, p)
}
