package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"gpfit/batch/results"
	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/launch"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/fit"
	"gpfit/fit/dataset"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/gp"
	"gpfit/option"
	"gpfit/show/page"
	"gpfit/show/report"
)

func runReport(c *cli.Command) error {
	info, err := os.Stat(c.Args[0])
	if err == nil && info.IsDir() || err != nil && strings.HasSuffix(strings.TrimRight(c.Args[0], `/\`), ".run") { // the name decides without a file
		err = reportBatch(c)
	} else {
		err = reportModel(c)
	}
	if err != nil || !c.Output.JSON || c.Output.Out == "-" {
		return err
	}
	return json.NewEncoder(c.Out).Encode(struct {
		Type          string `json:"type"`
		SchemaVersion int    `json:"schema_version"`
		File          string `json:"file"`
	}{"report", summary.SchemaVersion, c.Output.Out})
}

// batchOptions are the options that the page of a batch has.
var batchOptions = []string{"out", "force", "quiet", "json"}

// unused returns an error if an option is given on the command line that has no effect.
func unused(c *cli.Command, why string, allowed ...string) error {
	for name := range c.Texts(append(allowed, batchOptions...)...) {
		if _, variable := os.LookupEnv(option.Variable(name)); !variable {
			return exit.Usagef("--%s: %s", name, why)
		}
	}
	return nil
}

func reportBatch(c *cli.Command) error {
	if len(c.Args) > 1 {
		return exit.Usagef("%s: %s is the folder of a batch, whose page takes no DATA; give a model with DATA", c.Args[1], c.Args[0])
	}
	if err := unused(c, "the page of a batch does not have it"); err != nil {
		return err
	}
	r, err := launch.Open(c)
	if err != nil {
		return err
	}
	if c.Output.Out == "" {
		// Only gpfit writes this page, and it follows from the rest of the run.
		if c.Output.Out, err = r.Page(); err != nil {
			return err
		}
		c.Output.Force = true
	}
	if c.Output.Out != "-" {
		if err := launch.CheckOutput(c.Output.Out, c.Output.Force, r); err != nil {
			return err
		}
	}
	rows, err := results.Collect(r)
	if err != nil {
		return err
	}
	return writePage(c, c.Output.Out, func(w io.Writer) error { return results.WriteHTML(w, r, rows) })
}

func reportModel(c *cli.Command) error {
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

// modelPage collects the page of the model at path, with the scores of the rows of data if
// that is not "".
func modelPage(c *cli.Command, path, data string) (*page.Page, error) {
	m, err := gp.Load(path)
	if err != nil {
		return nil, err
	}
	record, err := recordOf(m, path)
	if err != nil {
		return nil, err
	}
	subject := report.Subject{Name: modelName(path), Record: record, Threads: c.Compute.Threads}
	if data != "" {
		if subject.Rows, err = readScored(c, m, data); err != nil {
			return nil, err
		}
	}
	posterior, done, err := c.Condition(m)
	if err != nil {
		return nil, err
	}
	defer done()
	subject.Posterior = posterior
	if r := subject.Rows; r != nil {
		if err := predictScored(c.Ctx, posterior, r); err != nil {
			return nil, err
		}
	}
	return pageOf(c.Ctx, subject)
}

// modelName returns the name of a model file without folder and extension.
func modelName(path string) string {
	base := filepath.Base(path)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// pageOf collects a page, and writes its advice in the words of the command line.
func pageOf(ctx context.Context, about report.Subject) (*page.Page, error) {
	p, err := report.Page(ctx, about)
	if err != nil {
		return nil, err
	}
	messages.AllFlags(p.Headline)
	for _, s := range p.Sections {
		messages.AllFlags(s.Notes)
		for i, point := range s.Points {
			s.Points[i] = page.Remark{Text: messages.Flags(point.Text), Advice: messages.Flags(point.Advice)}
		}
	}
	return p, nil
}

// predictScored predicts rows, with draws of the parameters if the model has any.
func predictScored(ctx context.Context, p *gp.Posterior, r *report.Scored) (err error) {
	r.Predictions, err = gp.Predict(ctx, p, r.Rows.X, r.Rows.N, r.Rows.Noise)
	if err == nil && r.Predictions[0].Parts != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("Predictions average over %d draws of the parameters.", len(r.Predictions[0].Parts)))
	}
	return err
}

// readScored reads the rows to score. It returns nil if all of them are training rows.
func readScored(c *cli.Command, m *gp.Model, path string) (*report.Scored, error) {
	c.Rows.Observed = true
	drop := c.Rows.Missing == "drop"
	if drop {
		c.Rows.Missing = "blank" // rows then keep their numbers
	}
	all, warnings, err := c.AllRows(path, m)
	if err != nil {
		return nil, err
	}
	if !drop {
		c.Msg.Warn(warnings...)
	}
	if all.N == 0 {
		return nil, &problem.DataError{Msg: path + ": there are no rows to score"}
	}
	name := filepath.Base(path)
	if path == "-" {
		name = "standard input"
	}
	scored := report.NewScored(m, name, all)
	for _, text := range scored.Notes {
		c.Msg.Say(text)
	}
	if scored.Rows.N == 0 {
		c.Msg.Note("the fit used all rows of %s: the scores are leave-one-out", path)
		return nil, nil
	}
	return scored, nil
}

// savePage writes the page of a fitted model for --report. The page has the scores of
// the held-out rows, if there are any. An interrupted fit has no page, because
// leave-one-out can take as long as several evaluations.
func savePage(c *cli.Command, job *tuning.Job, o *fit.Outcome) error {
	if c.Output.Page == "" {
		return nil
	}
	if c.Ctx.Err() != nil {
		c.Msg.Note("interrupted: no page was written; 'gpfit report %s' writes it", c.Output.Out)
		return nil
	}
	record, err := summary.ReadRecord(o.Model.Record)
	if err != nil {
		return err
	}
	subject := report.Subject{Name: modelName(c.Output.Out), Posterior: o.Posterior(), Record: record, Threads: c.Compute.Threads}
	if x, noise, observed, numbers := fit.HeldOut(job.Prepared); len(numbers) > 0 {
		n := len(numbers)
		subject.Rows = &report.Scored{Of: summary.HeldOutRows, Rows: dataset.Rows{X: x, N: n, Total: n, Noise: noise, Observed: observed}, Numbers: numbers}
		if err := predictScored(c.Ctx, o.Posterior(), subject.Rows); err != nil {
			return err
		}
	}
	p, err := pageOf(c.Ctx, subject)
	if err != nil {
		return err
	}
	return writePage(c, c.Output.Page, p.Write)
}

// writePage writes a page to a file, or for "-" to standard output.
func writePage(c *cli.Command, out string, write func(io.Writer) error) error {
	if out == "-" {
		return write(c.Out)
	}
	if err := c.Write(out, write); err != nil {
		return err
	}
	c.Msg.Note("page written to %s", out)
	return nil
}
