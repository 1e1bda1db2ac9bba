package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/kernel"
)

func newKernelCheck() *cobra.Command {
	return frame.New("kernel check", &cobra.Command{
		Use:   "check EXPR [DATA]",
		Short: "Check on a sample of points whether an expression, or a table of values, is a covariance function",
		Long: `Check on a sample of points whether a function is a covariance function:

  gpfit kernel check EXPR [DATA]     an expression
  gpfit kernel check --matrix FILE   the matrix of its values at all pairs of points
  gpfit kernel check --table FILE    a table with columns for x, for x' and for k(x, x')

The check fails if the matrix of the points is not symmetric, or if an eigenvalue is below
0 by more than rounding explains: by 1e-14·n times the largest one for n points. For an
expression, the points are rows of DATA, scaled as a fit scales them; without DATA they are
standard normal, with --columns columns. The parameters are the start values of a fit and
random values around them.

Files have any format that gpfit reads. In a table, x and x' have as many columns each,
numbers or labels, and k(x, x') is the last column unless --target names it. If the table
has only one of k(x, x') and k(x', x), it stands for both. --tolerance says how far the
values are rounded: 1e-6 for six digits.

A function that passes may still fail at other points or parameters. A function that
fails is not a covariance function, and the exit code is 10.

` + formulaHelp,
		Example: `  gpfit kernel check 'formula(exp(-r/a)*cos(2*pi*r/b), a=1, b=2)' --columns 1
  gpfit kernel check 'formula(exp(-(r/a)^g), a=1, g=1.5)*periodic(dims=0)' data.csv --json
  gpfit kernel check --matrix gram.npy
  gpfit kernel check --table values.csv --tolerance 1e-6`,
		Args: cobra.ArbitraryArgs,
	}, runKernelCheck)
}

// formulaHelp describes formulas.
const formulaHelp = `A kernel combines families and formulas by + and *. formula(exp(-r/a), a=1) has the
parameter a, whose start value is 1. A formula may contain numbers, pi, + - * / ^,
the functions exp, log, log1p, sqrt, sin, cos, tanh, asin, abs, sigmoid and pos (the
positive part), and these quantities of two points x and x':

  r, r2        their distance and its square; with ard, each column is divided by a
               lengthscale
  dot          their inner product; xx and yy: the inner product of x, or of x',
               with itself
  x, y         their coordinates, for a kernel of one column
  mismatches   the number of columns in which they differ`

func runKernelCheck(c *frame.Command) error {
	switch n := len(c.Args); {
	case n == 0 && c.Kernel.Matrix+c.Kernel.Table != "":
		return runGiven(c)
	case n > 0 && c.Kernel.Matrix+c.Kernel.Table != "":
		return exit.Usagef("%d arguments, expected none: --matrix and --table replace EXPR and DATA", n)
	case n == 0 || n > 2:
		return flags.WrongArgs(n, []string{"EXPR", "[DATA]"})
	}
	if err := kernel.CheckText(c.Args[0]); err != nil { // before the table is read
		return err
	}
	opts := c.Fit
	opts.Kernel = c.Args[0]
	data, err := checkedPoints(c, &opts)
	if err != nil {
		return err
	}
	if !c.Output.JSON {
		c.Msg.Columns(data.Encoding)
	}
	job, err := fit.Prepare(data, opts, problem.Events{})
	if err != nil {
		return err
	}
	report, err := job.CheckKernel(problem.KernelCheckOptions{Points: c.Kernel.Points, Draws: c.Kernel.Draws, Seed: c.Data.Seed})
	if err != nil {
		return err
	}
	if err := c.Report(report); err != nil {
		return err
	}
	if err := report.Err(); err != nil {
		return disproved(fmt.Sprintf("kernel %s is not a covariance function", c.Args[0]), err)
	}
	return nil
}

// runGiven checks values from a file.
func runGiven(c *frame.Command) error {
	report, err := checkGiven(c)
	if err != nil {
		return err
	}
	if err := c.Report(report); err != nil || report.OK {
		return err
	}
	return disproved(fmt.Sprintf("%s does not hold the values of a covariance function", report.File),
		&kernel.KernelhoodError{Text: report.File, Kernelhood: report.kernelhood})
}

// disproved ends the command after a report that says why the kernel is not a covariance
// function. verdict, which has that reason, is not part of the text.
func disproved(finding string, verdict error) error {
	return fmt.Errorf("%s; the report says why%.0w", finding, verdict)
}

// checkedPoints reads DATA if it is given, and otherwise draws a table.
func checkedPoints(c *frame.Command, opts *problem.Options) (problem.Data, error) {
	if len(c.Args) > 1 {
		return c.Table(c.Args[1])
	}
	opts.Standardize = gp.StandardizeNone
	rng := rand.New(rand.NewPCG(c.Data.Seed, 2))
	data := problem.Data{N: max(2, c.Kernel.Points), D: c.Kernel.Columns, TargetName: "y"}
	for k := range data.D {
		data.FeatureNames = append(data.FeatureNames, fmt.Sprintf("x%d", k))
	}
	for range data.N {
		for range data.D {
			data.X = append(data.X, rng.NormFloat64())
		}
		data.Y = append(data.Y, rng.NormFloat64())
	}
	return data, nil
}
