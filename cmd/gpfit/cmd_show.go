package main

import (
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/cmd/gpfit/internal/runs"
	"gpfit/internal/results"
	"gpfit/internal/rundir"
	"gpfit/internal/suggest"
)

func newShow() *cobra.Command {
	var format, out string
	var f flags.Options
	cmd := &cobra.Command{
		Use:   "show RUN",
		Short: "Show the jobs of a batch and their results",
		Long: `Show the jobs of a batch and their results, even while it runs.

The table lists every job, the kernels of each data set in the order of their
scores, comparisons of kernels in pairs over the same data, split and seed, and
the jobs that failed. json prints the same as lines of the types "job", "ranking",
"comparison" and "run"; csv and parquet have one row per job.`,
		Example: `  gpfit show study.run
  gpfit show study.run --format parquet --out study.parquet`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return runShow(cmd, args[0], format, out, f.Output.Force)
		},
	}
	cmd.Flags().StringVar(&format, "format", "table", "table, json, csv or parquet")
	flags.Completions(cmd.Flags(), "format", results.Formats...)
	cmd.Flags().StringVar(&out, "out", "", "write to `FILE`, whole or not at all, instead of standard output")
	f.Add(cmd.Flags(), "show")
	return cmd
}

func runShow(cmd *cobra.Command, dir, format, out string, force bool) error {
	if !slices.Contains(results.Formats, format) {
		return exit.Usagef("--format %q: must be table, json, csv or parquet%s", format, suggest.DidYouMean(format, results.Formats))
	}
	if f, ok := cmd.OutOrStdout().(*os.File); ok && format == "parquet" && out == "" && term.IsTerminal(int(f.Fd())) {
		return exit.Usagef("--format parquet cannot go to a terminal: give --out FILE")
	}
	r, err := rundir.Open(dir)
	if err != nil {
		return err
	}
	if err := runs.CheckOutput(out, force, r); err != nil {
		return err
	}
	rows, err := results.Collect(r)
	if err != nil {
		return err
	}
	return output.Write(cmd.Context(), cmd.OutOrStdout(), out, force, func(w io.Writer) error { return results.Write(w, format, r, rows) })
}
