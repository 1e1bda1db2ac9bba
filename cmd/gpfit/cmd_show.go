package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/cmd/gpfit/internal/runs"
	"gpfit/internal/results"
	"gpfit/internal/rundir"
)

func newShow() *cobra.Command {
	return frame.New("show", &cobra.Command{
		Use:   "show RUN",
		Short: "Show the jobs of a batch and their results",
		Long: `Show the jobs of a batch and their results, even while it runs.

The table lists every job, the kernels of each data set in the order of their
scores, comparisons of kernels in pairs over the same data, split and seed, and
the jobs that failed. json prints the same as lines of the types "job", "ranking",
"comparison" and "run"; csv and parquet have one row per job.`,
		Example: `  gpfit show study.run
  gpfit show study.run --format parquet --out study.parquet`,
	}, runShow)
}

func runShow(c *frame.Command) error {
	format := c.Output.Format
	if f, ok := c.Out.(*os.File); ok && format == "parquet" && c.Output.Out == "" && term.IsTerminal(int(f.Fd())) {
		return exit.Usagef("--format parquet cannot go to a terminal: give --out FILE")
	}
	r, err := rundir.Open(c.Args[0])
	if err != nil {
		return err
	}
	if err := runs.CheckOutput(c.Output.Out, c.Output.Force, r); err != nil {
		return err
	}
	rows, err := results.Collect(r)
	if err != nil {
		return err
	}
	return c.Write(func(w io.Writer) error { return results.Write(w, format, r, rows) })
}
