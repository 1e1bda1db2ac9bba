package main

import (
	"io"

	"github.com/spf13/cobra"

	"gpfit/batch/results"
	"gpfit/batch/rundir"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/runs"
	"gpfit/internal/atomicfile"
)

func newReport() *cobra.Command {
	var out string
	var f flags.Options
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write a page with the results of a batch",
		Long: `Write a page with the results of a batch: the scores of the kernels on every data
set, comparisons of kernels in pairs, every job with its parameters, and the jobs
that failed. The page is one HTML file that contains its plots.`,
		Example: "  gpfit report study.run --out study.html",
		RunE:    func(cmd *cobra.Command, args []string) error { return runReport(cmd, args[0], out, f.Output.Force) },
	}
	cmd.Flags().StringVar(&out, "out", "", "HTML `FILE`, or - for standard output (default: RUN/report.html, which gpfit replaces)")
	f.Add(cmd.Flags(), "report")
	return cmd
}

func runReport(cmd *cobra.Command, dir, out string, force bool) error {
	r, err := rundir.Open(dir)
	if err != nil {
		return err
	}
	if out == "" {
		// Only gpfit writes this page, and it follows from the rest of the run.
		out, force = r.Path("", "report")+".html", true
	}
	if out != "-" {
		if err := runs.CheckOutput(out, force, r); err != nil {
			return err
		}
	}
	rows, err := results.Collect(r)
	if err != nil {
		return err
	}
	if out == "-" {
		return results.WriteHTML(cmd.OutOrStdout(), r, rows)
	}
	if err := atomicfile.Writer(force)(cmd.Context(), out, func(w io.Writer) error { return results.WriteHTML(w, r, rows) }); err != nil {
		return err
	}
	messages.New(cmd.ErrOrStderr(), false).Note("page written to %s", out)
	return nil
}
