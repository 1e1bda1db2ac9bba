package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/gp"
	"gpfit/kernel"
)

type kernelShowFlags struct {
	flags.Options
	plot    flags.Plot
	set     []string
	reach   string
	columns int
	along   int
	draws   int
	seed    uint64
}

func newKernelShow() *cobra.Command {
	var f kernelShowFlags
	cmd := &cobra.Command{
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
		RunE: func(cmd *cobra.Command, args []string) error { return runKernelShow(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	s.StringArrayVar(&f.set, "set", nil, "value of a parameter, `NAME=VALUE` (may be repeated)")
	s.StringVar(&f.reach, "range", "", "`LO:HI`, the range of x; distances go from 0 to HI")
	s.IntVar(&f.columns, "columns", 1, "number of columns of x")
	s.IntVar(&f.along, "along", 0, "index of the column along which x changes")
	s.IntVar(&f.draws, "draws", 5, "number of functions to draw in the plot")
	s.Uint64Var(&f.seed, "seed", 1, "seed of the draws")
	flags.CommandLineOnly(s, "set")
	flags.InGroup(s, "Points", "set", "range", "columns", "along", "draws", "seed")
	f.Add(s, "kernel show")
	f.plot.Add(s, "k and draws")
	return cmd
}

// check finds mistakes in the flags.
func (f *kernelShowFlags) check() error {
	switch {
	case f.columns < 1 || f.columns > 1000:
		return exit.Usagef("--columns %d: must be from 1 to 1000", f.columns)
	case f.along < 0 || f.along >= f.columns:
		return exit.Usagef("--along %d: must be the index of one of %d columns, from 0; --columns sets their number", f.along, f.columns)
	case f.draws < 0 || f.draws > 1000:
		return exit.Usagef("--draws %d: must be from 0 to 1000", f.draws)
	}
	if err := f.plot.Check(); err != nil {
		return err
	}
	return output.Check(f.Output.Force, []output.Destination{{Flag: "plot", Path: f.plot.Path}})
}

// parseRange reads LO:HI, nil if it is empty.
func parseRange(text string) ([]float64, error) {
	if text == "" {
		return nil, nil
	}
	first, second, ok := strings.Cut(text, ":")
	lo, err := strconv.ParseFloat(first, 64)
	hi, err2 := strconv.ParseFloat(second, 64)
	if !ok || err != nil || err2 != nil || !(lo < hi) || hi-lo-(hi-lo) != 0 {
		return nil, exit.Usagef("--range %s: needs LO:HI with LO < HI, such as 0:5", text)
	}
	return []float64{lo, hi}, nil
}

func runKernelShow(cmd *cobra.Command, text string, f *kernelShowFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	reach, err := parseRange(f.reach)
	if err != nil {
		return err
	}
	process, names, err := f.process(text)
	if err != nil {
		return err
	}
	show := &kernelShow{Type: "kernel_show", SchemaVersion: 1, process: process, columns: f.columns, along: f.along}
	show.describe(text, names)
	if err := show.measure(reach); err != nil {
		return err
	}
	doubtful, err := show.doubt()
	if err != nil {
		return err
	}
	if f.plot.Path != "" {
		var draws []float64
		if !doubtful && f.draws > 0 {
			if draws, err = show.draw(cmd.Context(), f.draws, f.seed); err != nil {
				return fmt.Errorf("draws: %w", err)
			}
		}
		if err := f.plot.Write(cmd.Context(), show.figure(draws), f.Output.Force); err != nil {
			return err
		}
	}
	return output.Report(cmd.OutOrStdout(), f.Output.JSON, show)
}

// process reads the expression and --set.
func (f *kernelShowFlags) process(text string) (*gp.Process, []string, error) {
	var names []string
	for c := range f.columns {
		names = append(names, "x"+strconv.Itoa(c))
	}
	if err := kernel.CheckText(text); err != nil {
		return nil, nil, err
	}
	expr, err := kernel.Parser{Columns: names}.Parse(text)
	if err != nil {
		return nil, nil, err
	}
	process, err := gp.NewProcess(expr, f.columns)
	if err != nil {
		return nil, nil, err
	}
	for _, assignment := range f.set {
		if err := setParameter(process, names, assignment); err != nil {
			return nil, nil, err
		}
	}
	return process, names, nil
}
