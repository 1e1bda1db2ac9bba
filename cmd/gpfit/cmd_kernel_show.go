package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/frame"
)

func newKernelShow() *cobra.Command {
	return frame.New("kernel show", &cobra.Command{
		Use:   "show EXPR",
		Short: "Show the values of a covariance function, and draws from it",
		Long: `Show the values of a covariance function along one column. If k(x, x') depends on the
distance of x and x' alone, the text lists k by distance. Otherwise it lists k(x, x') for
some x'. --plot draws k by distance, or all values in colours and slices of them, and
beside it draws of functions with this covariance.

The expression or --set gives the parameters; others are 1. --range sets the distances to
show, from 0, or the range of x; without it, gpfit chooses distances within which k
changes. If the expression takes several columns, --columns gives their number; x changes
along one, --along, and the others are 0.

` + formulaHelp,
		Example: `  gpfit kernel show 'matern32(lengthscale=2)'
  gpfit kernel show 'rbf*periodic(period=1)' --set k1.lengthscale=3 --plot kernel.svg
  gpfit kernel show 'formula(dot^2 + c, c=1)' --range=-2:2 --plot kernel.svg --draws 8`,
	}, runKernelShow)
}

func runKernelShow(c *frame.Command) error {
	o := c.Kernel
	if o.Along >= o.Columns {
		return exit.Usagef("--along %d: must be the index of one of %d columns, from 0; --columns sets their number", o.Along, o.Columns)
	}
	if err := c.CheckOutputs(nil); err != nil {
		return err
	}
	var names []string
	for k := range o.Columns {
		names = append(names, "x"+strconv.Itoa(k))
	}
	process, err := newProcess(c.Args[0], names, c.Fit.Set)
	if err != nil {
		return err
	}
	show := &kernelShow{Type: "kernel_show", SchemaVersion: 1, process: process, columns: o.Columns, along: o.Along}
	show.describe(c.Args[0], names)
	if err := show.measure(o.Range); err != nil {
		return err
	}
	doubtful, err := show.doubt()
	if err != nil {
		return err
	}
	if c.Plot.Path != "" {
		var draws []float64
		if !doubtful && o.Draws > 0 {
			if draws, err = show.draw(c.Ctx, o.Draws, o.Seed); err != nil {
				return fmt.Errorf("draws: %w", err)
			}
		}
		if err := c.WritePlot(show.figure(draws)); err != nil {
			return err
		}
	}
	return c.Report(show)
}

func newKernel() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kernel",
		Short: "Show and check covariance functions",
		Args:  cobra.ArbitraryArgs,
		RunE:  noCommand,
	}
	cmd.AddCommand(newKernelShow(), newKernelCheck())
	return cmd
}
