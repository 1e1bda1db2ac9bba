package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/gp"
	"gpfit/internal/columns"
)

func newWeights() *cobra.Command {
	var f looFlags
	cmd := &cobra.Command{
		Use:   "weights MODEL",
		Short: "Print the weights of linear, polynomial and similar terms: posterior mean and deviation",
		Long: `Print the posterior of the weights w in f(x) = w'φ(x) for every term of a model's
kernel that has finitely many features φ, such as linear in 'rbf + linear(ard)', in
original units:

  term, feature  the weight: the term's path, k1, k2, …, and the feature
  mean, std      posterior mean and standard deviation
  prior_std      standard deviation before any data

Features are made of columns less their means. The column x stands for x - mean of x:

  linear         x
  poly           1, x, z, x^2, x*z, z^2, …
  cosine         cos(2pi*x/period), sin(2pi*x/period)
  constant       1
  formula        phi1 for a product phi1(x)*phi1(y), such as the basis function
                 formula(exp(-(x-1)^2)*exp(-(y-1)^2)) of scaled columns

Sums and products of these have the products of their features. A model whose only kernel
is linear is Bayesian linear regression, and the means are the coefficients of ridge
regression; with poly it is the same on powers of columns. --json also prints the
covariances.`,
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
	if weights, err := gp.HasWeights(model); err != nil || !weights {
		if err == nil {
			return exit.Usagef("%s: the kernel %s has no term with finitely many features, such as linear or poly, and so no weights", path, model.KernelText())
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	if model.Experts != nil && len(model.Experts.Centres) > 1 {
		return exit.Usagef("%s: the model has local experts, each with weights of its own: fit a model without --experts", path)
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
