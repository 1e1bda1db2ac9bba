package main

import (
	"bufio"
	"encoding/csv"
	"io"
	"math"
	"strconv"

	"github.com/spf13/cobra"

	"gpfit/gp"
)

func newWeights() *cobra.Command {
	var f modelResultFlags
	cmd := &cobra.Command{
		Use:   "weights MODEL",
		Short: "The weights of a model's linear terms: posterior mean and deviation",
		Long: `For every linear term of a model's kernel, such as that of 'rbf + linear(ard)',
the posterior of its weights w in f(x) = w'(x - mean of x), in original units:

  term, feature  which weight: the term's path, k1, k2, …, and the column
  mean, std      of the posterior
  prior_std      standard deviation before any data

A model whose kernel is linear alone is Bayesian linear regression, and the means
are those of ridge regression. --json has the covariances, too.`,
		Example: `  gpfit fit data.csv --kernel 'rbf + linear(ard)' --out model.gpfit
  gpfit weights model.gpfit`,
		Args: exactArgs(1, "MODEL"),
		RunE: func(cmd *cobra.Command, args []string) error { return runWeights(cmd, args[0], &f) },
	}
	f.add(cmd)
	return cmd
}

func runWeights(cmd *cobra.Command, path string, f *modelResultFlags) error {
	ctx := cmd.Context()
	msg := newMessages(cmd.ErrOrStderr(), f.quiet)
	model, err := f.load(path)
	if err != nil {
		return err
	}
	if linear, err := model.HasLinearTerm(); err != nil || !linear {
		if err == nil {
			err = usagef("%s: the kernel %s has no linear term", path, model.Kernel)
		}
		return err
	}
	posterior, done, err := f.condition(ctx, msg, model)
	if err != nil {
		return err
	}
	defer done()
	weights, err := posterior.Weights(ctx)
	msg.clear()
	if err != nil {
		return err
	}
	return writeOut(cmd, f.out, func(w io.Writer) error { return writeWeights(w, weights, f.json) })
}

func writeWeights(w io.Writer, weights []gp.Weights, asJSON bool) error {
	if asJSON {
		terms := make([]map[string]any, len(weights))
		for i, t := range weights {
			k := len(t.Mean)
			cov := make([][]float64, k)
			for j := range cov {
				cov[j] = t.Cov[j*k : (j+1)*k]
			}
			terms[i] = map[string]any{"path": t.Path, "kernel": t.Text, "features": t.Names, "mean": t.Mean, "covariance": cov, "prior_variance": t.PriorVariance}
		}
		return encodeJSON(w, map[string]any{"type": "weights", "schema_version": 1, "terms": terms}, nil)
	}
	b := bufio.NewWriter(w)
	rows := csv.NewWriter(b)
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	if err := rows.Write([]string{"term", "feature", "mean", "std", "prior_std"}); err != nil {
		return err
	}
	for _, t := range weights {
		for i, name := range t.Names {
			// Rounding can take the variance a little below zero.
			std := math.Sqrt(max(t.Cov[i*len(t.Names)+i], 0))
			if err := rows.Write([]string{t.Path, name, number(t.Mean[i]), number(std), number(math.Sqrt(t.PriorVariance[i]))}); err != nil {
				return err
			}
		}
	}
	rows.Flush()
	return b.Flush()
}
