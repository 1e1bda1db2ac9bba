package main

import (
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/internal/columns"
)

type looFlags struct {
	flags.Options
	format string
}

func newLOO() *cobra.Command {
	var f looFlags
	cmd := &cobra.Command{
		Use:   "loo MODEL",
		Short: "Predict each training row of a model from the others, with scores",
		Long: `Predict every training row of a model from all the others, with one factorisation
(Rasmussen & Williams 2006, section 5.4.2). The parameters do not change: their fit
included the row. The result has these columns, in original units:

  row           number of the training row in its table, from 0 without the header
  target        the observed value
  mean, std     its prediction from the other rows, noise included
  residual      target - mean
  standardized  residual/std, standard normal if the model is right
  log_density   log predictive density of the target

gpfit prints the scores over all rows on standard error: RMSE, NLPD (mean negative
log predictive density), Q2 (1 - squared residuals/squared deviations from the
mean), and the shares of targets in their 50, 90 and 95 % intervals. With --json
the result also contains them.`,
		Example: `  gpfit loo co2.gpfit --out residuals.csv
  gpfit loo co2.gpfit --json`,
		RunE: func(cmd *cobra.Command, args []string) error { return runLOO(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	f.Add(s, "loo")
	addFormat(s, &f.format)
	return cmd
}

// addFormat declares the flag --format of commands that write a table.
func addFormat(s *pflag.FlagSet, format *string) {
	s.StringVar(format, "format", "", "format of the result: csv, jsonl, json, parquet or npy (default: by the name of --out, or csv)")
	flags.CommandLineOnly(s, "format") // other commands have a flag of this name
	flags.Completions(s, "format", "csv", "jsonl", "json", "parquet", "npy")
	flags.InGroup(s, "Output", "format")
}

func runLOO(cmd *cobra.Command, path string, f *looFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Output.Quiet)
	file, err := output.Choose(f.Output.Out, f.format, f.Output.JSON, output.Tables()...)
	if err != nil {
		return err
	}
	model, err := f.LoadModel(path)
	if err != nil {
		return err
	}
	posterior, done, err := devices.Condition(ctx, msg, f.Compute, model)
	if err != nil {
		return err
	}
	defer done()
	l, err := posterior.LeaveOneOut(ctx)
	msg.Clear()
	if err != nil {
		return err
	}
	s := l.Summary()
	info := map[string]any{"type": "loo", "n": s.N, "summary": s}
	err = f.Write(ctx, cmd.OutOrStdout(), file.Compressed(func(w io.Writer) error { return file.Table(w, info, columns.LeaveOneOut(model, l)) }))
	if err == nil {
		err = file.Summary(cmd.OutOrStdout(), f.Output.JSON, info)
	}
	if err != nil {
		return err
	}
	msg.Note("leave-one-out over %d rows: RMSE %.6g, NLPD %.6g, Q2 %.6g", s.N, s.RMSE, s.NLPD, s.Q2)
	msg.Note("in the 50, 90, 95 %% interval: %.1f, %.1f, %.1f %%; standardized residuals: mean %.3f, root mean square %.3f",
		100*s.Coverage50, 100*s.Coverage90, 100*s.Coverage95, s.MeanStandardized, s.RMSStandardized)
	return nil
}
