package main

import (
	"cmp"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/cmd/gpfit/internal/runs"
	"gpfit/internal/option"
	"gpfit/internal/results"
	"gpfit/internal/rundir"
)

func newReport() *cobra.Command {
	return frame.New("report", &cobra.Command{
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
	}, func(c *frame.Command) error {
		if isRun(c.Args[0]) {
			return reportBatch(c)
		}
		return reportModel(c)
	})
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
var batchOptions = []string{"out", "force", "quiet"}

// unused returns an error if an option is given on the command line that has no effect.
func unused(c *frame.Command, why string, allowed ...string) error {
	for name := range c.Texts(append(allowed, batchOptions...)...) {
		if _, variable := os.LookupEnv(option.Variable(name)); !variable {
			return exit.Usagef("--%s: %s", name, why)
		}
	}
	return nil
}

func reportBatch(c *frame.Command) error {
	if len(c.Args) > 1 {
		return exit.Usagef("%s: %s is the folder of a batch, whose page takes no DATA; give a model with DATA", c.Args[1], c.Args[0])
	}
	if err := unused(c, "the page of a batch does not have it"); err != nil {
		return err
	}
	r, err := rundir.Open(c.Args[0])
	if err != nil {
		return err
	}
	if c.Output.Out == "" {
		// Only gpfit writes this page, and it follows from the rest of the run.
		c.Output.Out, c.Output.Force = r.Path("", "report")+".html", true
	}
	if c.Output.Out != "-" {
		if err := runs.CheckOutput(c.Output.Out, c.Output.Force, r); err != nil {
			return err
		}
	}
	rows, err := results.Collect(r)
	if err != nil {
		return err
	}
	return writePage(c, c.Output.Out, func(w io.Writer) error { return results.WriteHTML(w, r, rows) })
}

func reportModel(c *frame.Command) error {
	data := ""
	if len(c.Args) > 1 {
		data = c.Args[1]
	} else if err := unused(c, "it needs DATA", "device", "threads", "fallback"); err != nil {
		return err
	}
	c.Output.Out = cmp.Or(c.Output.Out, modelName(c.Args[0])+".html")
	if c.Output.Out != "-" {
		if err := c.CheckOutputs(c.Args); err != nil {
			return err
		}
	}
	p, err := modelPage(c, c.Args[0], data)
	c.Msg.Clear()
	if err != nil {
		return err
	}
	return writePage(c, c.Output.Out, p.Write)
}
