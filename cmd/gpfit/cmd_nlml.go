package main

import (
	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/cmd/gpfit/internal/training"
	"gpfit/fit"
	"gpfit/graph"
	"gpfit/internal/atomicfile"
)

type nlmlFlags struct {
	training.Flags
	graph string
}

func newNLML() *cobra.Command {
	var f nlmlFlags
	cmd := &cobra.Command{
		Use:   "nlml DATA",
		Short: "Evaluate the negative log marginal likelihood, its terms and its gradient",
		Long: `Evaluate the negative log marginal likelihood (NLML), its three terms and its
gradient at the parameters given by --set, or at the start values that a fit
would take. Nothing is optimised.`,
		Example: `  gpfit nlml data.csv --set lengthscale=1 --set signal_variance=1 --set noise_variance=0.1
  gpfit nlml data.csv --kernel 'matern52(ard)' --graph objective.dot`,
		RunE: func(cmd *cobra.Command, args []string) error { return runNLML(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	f.Add(s, "nlml")
	s.StringVar(&f.graph, "graph", "", "also write the expression graph and its derivatives to `FILE` for Graphviz (dot -Tsvg FILE)")
	flags.InGroup(s, "Output", "graph")
	return cmd
}

func runNLML(cmd *cobra.Command, path string, f *nlmlFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Output.Quiet)
	if err := f.CheckScores(); err != nil {
		return err
	}
	if err := output.Check(f.Output.Force, []output.Destination{{Flag: "graph", Path: f.graph}}, f.Inputs(path)...); err != nil {
		return err
	}
	data, err := f.ReadTable(cmd.Context(), path, cmd.InOrStdin())
	if err != nil {
		return err
	}
	job, err := f.Open(ctx, msg, data, f.Fit, f.Events(msg), true)
	if err != nil {
		return err
	}
	defer job.Close()
	var writeGraph func(*graph.Objective) error
	if f.graph != "" {
		writeGraph = func(o *graph.Objective) error { return atomicfile.Writer(f.Output.Force)(ctx, f.graph, o.WriteDOT) }
	}
	report, err := fit.Evaluate(ctx, job.Job, job.Backends[0], writeGraph)
	if err == nil {
		err = f.Score(ctx, msg, job.Job, job.Backends[0], report)
	}
	msg.Clear()
	if err != nil {
		return err
	}
	if f.graph != "" {
		msg.Note("expression graph written to %s", f.graph)
	}
	for _, w := range report.Warnings[len(job.Warnings()):] {
		msg.Warn(w)
	}
	if job.Warning != "" {
		report.Warnings = append(report.Warnings, job.Warning)
	}
	messages.AllFlags(report.Warnings)
	return output.Report(cmd.OutOrStdout(), f.Output.JSON, report)
}
