package main

import (
	"io"

	"github.com/spf13/cobra"

	"gpfit/batch/results"
	"gpfit/batch/rundir"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/runs"
	"gpfit/internal/atomicfile"
)

func newReport() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "report RUN",
		Short: "Write a page with the results of a batch",
		Long: `Write a page with the results of a batch: the scores of the kernels on every data
set, comparisons of kernels in pairs, every job with its parameters, and the jobs
that failed. The page is one HTML file that contains its plots.`,
		Example: "  gpfit report study.run --out study.html",
		RunE:    func(cmd *cobra.Command, args []string) error { return runReport(cmd, args[0], out) },
	}
	cmd.Flags().StringVar(&out, "out", "", "HTML `FILE`, or - for standard output (default: RUN/report.html)")
	return cmd
}

func runReport(cmd *cobra.Command, dir, out string) error {
	r, err := rundir.Open(dir)
	if err != nil {
		return err
	}
	if out == "" {
		out = r.Path("", "report") + ".html"
	}
	if out != "-" {
		if err := runs.CheckOutput(out, r); err != nil {
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
	if err := atomicfile.Write(cmd.Context(), out, func(w io.Writer) error { return results.WriteHTML(w, r, rows) }); err != nil {
		return err
	}
	messages.New(cmd.ErrOrStderr(), false).Note("page written to %s", out)
	return nil
}
