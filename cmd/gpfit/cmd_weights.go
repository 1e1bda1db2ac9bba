package main

import (
	"io"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/gp/columns"
)

func newWeights() *cobra.Command {
	var f looFlags
	cmd := &cobra.Command{
		Use:   "weights MODEL",
		Short: "Print the weights of a model's linear terms: posterior mean and deviation",
		Long: `Print the posterior of the weights w in f(x) = w'(x - mean of x) for every linear term
of a model's kernel, such as linear in 'rbf + linear(ard)', in original units:

  term, feature  the weight: the term's path, k1, k2, …, and the column
  mean, std      posterior mean and standard deviation
  prior_std      standard deviation before any data

A model whose only kernel is linear is Bayesian linear regression, and the means are
the coefficients of ridge regression. --json also prints the covariances.`,
		Example: `  gpfit fit data.csv --kernel 'rbf + linear(ard)' --out model.gpfit
  gpfit weights model.gpfit`,
		RunE: func(cmd *cobra.Command, args []string) error { return runWeights(cmd, args[0], &f) },
	}
	f.Add(flags.InOrder(cmd), "weights")
	return cmd
}

func runWeights(cmd *cobra.Command, path string, f *looFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Output.Quiet)
	file, err := output.Choose(f.Output.Out, "", f.Output.JSON, output.CSV, output.JSON)
	if err != nil {
		return err
	}
	model, err := f.LoadModel(path)
	if err != nil {
		return err
	}
	if linear, err := model.HasLinearTerm(); err != nil || !linear {
		if err == nil {
			err = exit.Usagef("%s: the kernel %s has no linear term", path, model.KernelText())
		}
		return err
	}
	posterior, done, err := devices.Condition(ctx, msg, f.Compute, model)
	if err != nil {
		return err
	}
	defer done()
	weights, err := posterior.Weights(ctx)
	msg.Clear()
	if err != nil {
		return err
	}
	asJSON := file.Format == output.JSON
	return f.Write(ctx, cmd.OutOrStdout(), file.Compressed(func(w io.Writer) error { return columns.WriteWeights(w, asJSON, weights) }))
}
