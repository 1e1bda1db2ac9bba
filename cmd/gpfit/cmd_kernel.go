package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/kernel"
)

func newKernel() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kernel",
		Short: "Show and check covariance functions",
		Args:  cobra.ArbitraryArgs,
		RunE:  noCommand,
	}
	cmd.AddCommand(newKernelShow(), newKernelCheck())
	for _, sub := range cmd.Commands() {
		flags.Finish(sub)
	}
	return cmd
}

type kernelCheckFlags struct {
	flags.Options
	check   problem.KernelCheckOptions
	columns int
	// matrix and table are files of values; tolerance is their relative rounding error.
	matrix, table string
	tolerance     float64
}

func newKernelCheck() *cobra.Command {
	var f kernelCheckFlags
	cmd := &cobra.Command{
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
		Args: func(_ *cobra.Command, args []string) error {
			given := f.matrix != "" || f.table != ""
			switch {
			case given && len(args) > 0:
				return exit.Usagef("%d arguments, expected none: --matrix and --table replace EXPR and DATA", len(args))
			case given || len(args) == 1 || len(args) == 2:
				return nil
			}
			return flags.WrongArgs(len(args), []string{"EXPR", "[DATA]"})
		},
		RunE: func(cmd *cobra.Command, args []string) error { return runKernelCheck(cmd, args, &f) },
	}
	s := flags.InOrder(cmd)
	s.IntVar(&f.check.Points, "points", 300, "largest number of points; the time grows with its cube")
	s.IntVar(&f.check.Draws, "draws", 4, "number of random parameter vectors around the start values")
	s.IntVar(&f.columns, "columns", 3, "number of columns of random points, without DATA")
	s.StringVar(&f.matrix, "matrix", "", "check the square matrix in `FILE`, the values at all pairs of points")
	s.StringVar(&f.table, "table", "", "check the values in `FILE`, with columns for x, x' and k(x, x')")
	s.Float64Var(&f.tolerance, "tolerance", 0, "relative rounding error of the values of --matrix or --table, `SHARE` of the largest (default: rounding in double precision)")
	flags.InGroup(s, "Points", "points", "draws", "columns", "matrix", "table", "tolerance")
	f.Add(s, "kernel check")
	s.Lookup("seed").Usage = "seed of the points, of the parameters around the start values, and of option subsample"
	return cmd
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

func runKernelCheck(cmd *cobra.Command, args []string, f *kernelCheckFlags) error {
	if err := f.checkFlags(); err != nil {
		return err
	}
	if len(args) == 0 {
		return f.runGiven(cmd)
	}
	if err := kernel.CheckText(args[0]); err != nil { // before the table is read
		return err
	}
	opts := f.Fit
	opts.Kernel, f.check.Seed = args[0], f.Data.Seed
	data, err := f.points(cmd.Context(), args[1:], cmd.InOrStdin(), &opts)
	if err != nil {
		return err
	}
	messages.New(cmd.ErrOrStderr(), f.Output.JSON).Columns(data.Encoding)
	job, err := fit.Prepare(data, opts, problem.Events{})
	if err != nil {
		return err
	}
	report, err := job.CheckKernel(f.check)
	if err != nil {
		return err
	}
	if err := output.Report(cmd.OutOrStdout(), f.Output.JSON, report); err != nil {
		return err
	}
	if err := report.Err(); err != nil {
		return disproved(fmt.Sprintf("kernel %s is not a covariance function", args[0]), err)
	}
	return nil
}

// runGiven checks values from a file.
func (f *kernelCheckFlags) runGiven(cmd *cobra.Command) error {
	report, err := f.checkGiven(cmd.Context(), cmd.InOrStdin())
	if err != nil {
		return err
	}
	if err := output.Report(cmd.OutOrStdout(), f.Output.JSON, report); err != nil {
		return err
	}
	if report.OK {
		return nil
	}
	return disproved(
		fmt.Sprintf("%s does not hold the values of a covariance function", report.File),
		&kernel.KernelhoodError{Text: report.File, Kernelhood: report.kernelhood},
	)
}

// disproved ends the command after a report that says why the kernel is not a covariance
// function. verdict, which has that reason, is not part of the text.
func disproved(finding string, verdict error) error {
	return fmt.Errorf("%s; the report says why%.0w", finding, verdict)
}

// points reads DATA if it is given, and otherwise draws a table.
func (f *kernelCheckFlags) points(ctx context.Context, path []string, stdin io.Reader, opts *problem.Options) (problem.Data, error) {
	if len(path) > 0 {
		return f.ReadTable(ctx, path[0], stdin)
	}
	opts.Standardize = gp.StandardizeNone
	rng := rand.New(rand.NewPCG(f.Data.Seed, 2))
	data := problem.Data{N: max(2, f.check.Points), D: f.columns, TargetName: "y"}
	for c := range data.D {
		data.FeatureNames = append(data.FeatureNames, fmt.Sprintf("x%d", c))
	}
	for range data.N {
		for range data.D {
			data.X = append(data.X, rng.NormFloat64())
		}
		data.Y = append(data.Y, rng.NormFloat64())
	}
	return data, nil
}
