package main

import (
	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/fit"
	"gpfit/graph"
)

func newNLML() *cobra.Command {
	return frame.New("nlml", &cobra.Command{
		Use:   "nlml DATA",
		Short: "Evaluate the negative log marginal likelihood, its terms and its gradient",
		Long: `Evaluate the negative log marginal likelihood (NLML), its three terms and its
gradient at the parameters given by --set, or at the start values that a fit
would take. Nothing is optimised.`,
		Example: `  gpfit nlml data.csv --set lengthscale=1 --set signal_variance=1 --set noise_variance=0.1
  gpfit nlml data.csv --kernel 'matern52(ard)' --graph objective.dot`,
	}, runNLML)
}

func runNLML(c *frame.Command) error {
	path := c.Args[0]
	if err := c.CheckOutputs(c.Inputs(path), frame.Destination("graph", c.Output.Graph)); err != nil {
		return err
	}
	data, err := c.Table(path)
	if err != nil {
		return err
	}
	job, err := c.OpenJob(data, c.Fit, c.Events(), true)
	if err != nil {
		return err
	}
	defer job.Close()
	var writeGraph func(*graph.Objective) error
	if c.Output.Graph != "" {
		writeGraph = func(o *graph.Objective) error { return c.WriteFile(c.Output.Graph, o.WriteDOT) }
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
