package main

import (
	"context"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/cmd/gpfit/internal/runs"
	"gpfit/internal/atomicfile"
	"gpfit/internal/option"
	"gpfit/internal/results"
	"gpfit/internal/rundir"
)

type reportFlags struct {
	flags.Options
	out string
}

func newReport() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use:   "report MODEL|RUN [DATA]",
		Short: "Write a page about a model, or about the results of a batch",
		Long: `Write a page about a model, or about the results of a batch. The page is one HTML file
that contains its pictures, loads nothing, and names no folders of this machine.

The page of a model begins with a headline in words: how well it fits, how large the
error is, and whether the intervals are right. Then come warnings with advice,
pictures of predictions, residuals and calibration, the relevance and the effect of
each column, the terms of a sum of kernels, the parameters, the optima that restarts
found, and the time of each phase.

Without DATA the scores are leave-one-out: each training row is predicted from all the
others, with parameters that have seen it. With DATA they are those of its rows. If DATA
is the table of the fit, the page leaves out the training rows and scores the others. A
model with draws of its parameters predicts DATA with their mixture, as gpfit predict
does. "gpfit fit --report" scores the rows that the fit held out.

The page of a batch says which kernel is best and how clearly, and shows the scores of
the kernels on every data set, comparisons of kernels in pairs, calibration, the
parameters by name, every job, and the jobs that failed.`,
		Example: `  gpfit report co2.gpfit
  gpfit report model.gpfit new.csv --out model.html
  gpfit report study.run --out study.html`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) < 1 || len(args) > 2 {
				return flags.WrongArgs(len(args), []string{"MODEL|RUN", "[DATA]"})
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if isRun(args[0]) {
				return f.runBatch(cmd, args)
			}
			return f.runModel(cmd, args)
		},
	}
	s := flags.InOrder(cmd)
	s.StringVar(&f.out, "out", "", "HTML `FILE`, or - for standard output (default: the name of MODEL with .html, in the current folder, or RUN/report.html, which gpfit replaces)")
	f.Add(s, "report")
	flags.InGroup(s, "Output", "out")
	return cmd
}

// isRun reports whether path is a run folder rather than a model. A missing file is the
// one that its name suggests.
func isRun(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return strings.HasSuffix(strings.TrimRight(path, `/\`), ".run")
	}
	return info.IsDir()
}

// batchOptions are the options that the page of a batch has.
var batchOptions = []string{"force", "quiet"}

// unused returns an error if an option is given on the command line that has no effect.
func (f *reportFlags) unused(cmd *cobra.Command, why string, allowed ...string) error {
	for name := range f.Texts(allowed...) {
		if _, variable := os.LookupEnv(option.Variable(name)); !variable {
			return exit.Usagef("--%s: %s", name, why)
		}
	}
	return nil
}

func (f *reportFlags) runBatch(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return exit.Usagef("%s: %s is the folder of a batch, whose page takes no DATA; give a model with DATA", args[1], args[0])
	}
	if err := f.unused(cmd, "the page of a batch does not have it", batchOptions...); err != nil {
		return err
	}
	r, err := rundir.Open(args[0])
	if err != nil {
		return err
	}
	out, force := f.out, f.Output.Force
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
	msg := messages.New(cmd.ErrOrStderr(), f.Output.Quiet)
	return writePage(cmd.Context(), cmd.OutOrStdout(), msg, out, force, func(w io.Writer) error { return results.WriteHTML(w, r, rows) })
}

func (f *reportFlags) runModel(cmd *cobra.Command, args []string) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Output.Quiet)
	data := ""
	if len(args) > 1 {
		data = args[1]
	} else if err := f.unused(cmd, "it needs DATA", append(slices.Clone(batchOptions), "device", "threads", "fallback")...); err != nil {
		return err
	}
	out := f.out
	if out == "" {
		out = pageName(args[0])
	}
	var destination output.Destination
	if out != "-" {
		destination = output.Destination{Flag: "out", Path: out}
	}
	inputs := []string{args[0]}
	if data != "" && data != "-" {
		inputs = append(inputs, data)
	}
	if err := output.Check(f.Output.Force, []output.Destination{destination}, inputs...); err != nil {
		return err
	}
	p, err := f.modelPage(ctx, cmd.InOrStdin(), msg, args[0], data)
	msg.Clear()
	if err != nil {
		return err
	}
	return writePage(ctx, cmd.OutOrStdout(), msg, out, f.Output.Force, p.Write)
}

// pageName returns the name of the page of a model, in the current folder.
func pageName(model string) string { return modelName(model) + ".html" }

// writePage writes a page to a file, or for "-" to standard output.
func writePage(ctx context.Context, stdout io.Writer, msg *messages.Writer, out string, force bool, write func(io.Writer) error) error {
	if out == "-" {
		return write(stdout)
	}
	if err := atomicfile.Writer(force)(ctx, out, write); err != nil {
		return err
	}
	msg.Note("page written to %s", out)
	return nil
}
