package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/gp"
	"gpfit/internal/columns"
)

func newWeights() *cobra.Command {
	return frame.New("weights", &cobra.Command{
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
	}, runWeights)
}

func runWeights(c *frame.Command) error {
	path := c.Args[0]
	file, err := output.Choose(c.Output.Out, "", c.Output.JSON, output.CSV, output.JSON)
	if err != nil {
		return err
	}
	model, err := c.LoadModel(path)
	if err != nil {
		return err
	}
	weights, err := gp.HasWeights(model)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case !weights:
		return exit.Usagef("%s: the kernel %s has no term with finitely many features, such as linear or poly, and so no weights", path, model.KernelText())
	case model.Experts != nil && len(model.Experts.Centres) > 1:
		return exit.Usagef("%s: the model has local experts, each with weights of its own: fit a model without --experts", path)
	}
	posterior, done, err := c.Condition(model)
	if err != nil {
		return err
	}
	defer done()
	w, err := posterior.Weights(c.Ctx)
	c.Msg.Clear()
	if err != nil {
		return err
	}
	return c.Write(file.Compressed(func(out io.Writer) error { return columns.WriteWeights(out, file.Format == output.JSON, w) }))
}
