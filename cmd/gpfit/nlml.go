package main

import (
	"errors"

	"github.com/spf13/cobra"

	"gpfit/fit"
	"gpfit/graph"
	"gpfit/internal/atomicfile"
)

type nlmlFlags struct {
	dataFlags
	modelFlags
	deviceFlags
	scoreFlags
	graph string
}

func newNLML() *cobra.Command {
	var f nlmlFlags
	cmd := &cobra.Command{
		Use:   "nlml DATA",
		Short: "The negative log marginal likelihood, its terms and gradient at given parameters",
		Long: `Evaluate the negative log marginal likelihood (NLML), its three terms and its
gradient at the parameters given by --set, or at the start values that a fit
would take. Nothing is optimised.`,
		Example: `  gpfit nlml data.csv --set lengthscale=1 --set signal_variance=1 --set noise_variance=0.1
  gpfit nlml data.csv --kernel 'matern52(ard)' --graph objective.dot`,
		Args: exactArgs(1, "DATA"),
		RunE: func(cmd *cobra.Command, args []string) error { return runNLML(cmd, args[0], &f) },
	}
	s := cmd.Flags()
	s.SortFlags = false
	f.dataFlags.add(s)
	f.modelFlags.add(s)
	f.noise.add(s)
	f.scoreFlags.add(s)
	s.StringVar(&f.graph, "graph", "", "also write the expression graph to `FILE`, for Graphviz (dot -Tsvg FILE)")
	f.deviceFlags.add(s)
	completeValues(cmd)
	return cmd
}

func runNLML(cmd *cobra.Command, path string, f *nlmlFlags) error {
	ctx := cmd.Context()
	msg := newMessages(cmd.ErrOrStderr(), f.quiet)
	opts, err := f.options()
	if err == nil {
		err = errors.Join(f.noise.apply(&opts), f.scoreFlags.apply(&opts))
	}
	if err != nil {
		return err
	}
	data, err := readData(path, cmd.InOrStdin(), &f.dataFlags, "")
	if err != nil {
		return err
	}
	opts.OnProgress, opts.Fallback = msg.progress, f.reopen()
	task, err := fit.Prepare(data, opts)
	if err != nil {
		return err
	}
	if err := f.check(task.N()); err != nil {
		return err
	}
	for _, w := range task.Warnings() {
		msg.warn(w)
	}
	b, err := f.openOne(ctx, msg, task.N(), task.Program())
	if err != nil {
		return err
	}
	defer b.Close()
	if err := f.checkPlan(msg, task, b); err != nil {
		return err
	}
	var writeGraph func(*graph.Objective) error
	if f.graph != "" {
		writeGraph = func(o *graph.Objective) error { return atomicfile.Write(f.graph, o.WriteDOT) }
	}
	report, err := task.Evaluate(ctx, b, writeGraph)
	if err == nil {
		err = f.crossValidate(ctx, msg, task, b, report)
	}
	msg.clear()
	if err != nil {
		return err
	}
	if f.graph != "" {
		msg.note("expression graph written to %s", f.graph)
	}
	if f.warning != "" {
		report.Warnings = append(report.Warnings, f.warning)
	}
	return f.printReport(cmd.OutOrStdout(), report)
}
