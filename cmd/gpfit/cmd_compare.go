package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"gpfit"
	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/compare"
	"gpfit/compare/figure"
	"gpfit/fit"
	"gpfit/fit/columns"
	"gpfit/fit/problem"
	"gpfit/show/plotting"
	"gpfit/table/feature"
)

// compareOptions returns the settings of the comparison, with its progress messages.
func compareOptions(c *cli.Command) compare.Options {
	o := c.Compare
	o.Events, o.Curves = c.Events(), c.Plot.Path != ""
	o.OnStep = func(s compare.Step) {
		step := s.Method
		if s.Folds > 1 {
			step = fmt.Sprintf("fold %d of %d, %s", s.Fold, s.Folds, step)
		}
		text := step
		if s.Left > 0 {
			text += "; about " + messages.Roughly(s.Left) + " left"
		}
		c.Msg.Share(false, 100*s.Done/s.Total, 100, s.Left, fmt.Sprintf("%s; %d rows", text, s.Rows))
		c.Msg.Within(float64(s.Done)/float64(s.Total), float64(s.Done+1)/float64(s.Total), step)
	}
	return o
}

func runCompare(c *cli.Command) error {
	if err := c.CheckOutputs(c.Inputs(c.Args[0]), cli.Destination("plot-sizes", c.Plot.Sizes), cli.Destination("plot-errors", c.Plot.Errors), cli.Destination("page", c.Plot.Page)); err != nil {
		return err
	}
	file, err := output.Beside(c.Output.Out, c.Output.Format, output.CSV, output.JSONLines, output.Parquet)
	if err != nil {
		return err
	}
	data, err := c.Table(c.Args[0])
	if err != nil {
		return err
	}
	c.Msg.Columns(data.Encoding)
	if c.Plot.Path != "" && data.D != 1 {
		return exit.Usagef("--plot %s: shows the fits over one input, but the table has %d; choose one with --features", c.Plot.Path, data.D)
	}
	opened, err := openForKernels(c, data)
	if err != nil {
		return err
	}
	defer opened.Close()
	options := compareOptions(c)
	options.Curves = options.Curves || c.Plot.Page != "" && data.D == 1
	models, err := openModels(c)
	if err != nil {
		return err
	}
	if models != nil {
		options.OnModel = models.add
	}
	noteCost(c, data.N)
	result, err := compare.Run(c.Ctx, data, c.Fit, options, opened.Backends...)
	c.Msg.Clear()
	if result == nil {
		return err
	}
	err = errors.Join(models.finish(result), err)
	result.Warnings = c.Warned(result.Warnings, 0, opened.Warning)
	return finishCompare(c, file, dates(data.Encoding), result, err)
}

// compares reports whether a method is to be compared.
func compares(c *cli.Command, method string) bool {
	return c.Compare.Methods == nil || slices.Contains(c.Compare.Methods, method)
}

// noteCost says before a long comparison of n rows which method will take most of its time.
func noteCost(c *cli.Command, n int) {
	const method, long = "kernel-ridge", 5000
	if n > long && compares(c, method) {
		c.Msg.Note("%s takes about 30·n³ operations on the CPU, which is long for %d rows: --subsample takes fewer rows, --methods leaves it out", method, n)
	}
}

// openForKernels opens the devices for the Gaussian processes, none if --methods leaves them out.
func openForKernels(c *cli.Command, data problem.Data) (*gpfit.OpenDevices, error) {
	if !compares(c, "gp") {
		return &gpfit.OpenDevices{}, nil
	}
	whole := c.Fit
	whole.Kernel = c.Compare.Kernels[0]
	whole.Blocks = whole.Blocks && whole.HoldOut > 0
	job, err := fit.Prepare(data, whole, problem.Events{})
	if err != nil {
		return nil, err
	}
	return c.OpenFor(job, len(c.Compare.Kernels), false)
}

// finishCompare writes files and prints the comparison, and returns how it ended.
func finishCompare(c *cli.Command, file *output.File, date func(float64) time.Time, r *compare.Result, runErr error) error {
	for i := range r.Methods {
		r.Methods[i].Error = messages.Flags(r.Methods[i].Error)
	}
	for i := range r.Trials {
		r.Trials[i].Error = messages.Flags(r.Trials[i].Error)
	}
	done := *c // writes what is done even after Ctrl-C
	done.Ctx = context.WithoutCancel(c.Ctx)
	to := func(path string) func(*plotting.Figure) error {
		return func(f *plotting.Figure) error { return f.Write(done.Ctx, path, c.Output.Force) }
	}
	var errs []error
	for _, out := range []struct {
		path, what string
		write      func() error
	}{
		{c.Output.Out, "scores", func() error {
			return done.WriteFile(file, func(w io.Writer) error { return writeTrials(file.Encoder(w), r.Trials) })
		}},
		{c.Plot.Path, "plot", drawn(func() (*plotting.Figure, error) { return figure.Fits(r, date) }, done.WritePlot)},
		{c.Plot.Errors, "plot", drawn(func() (*plotting.Figure, error) { return figure.Errors(r) }, to(c.Plot.Errors))},
		{c.Plot.Sizes, "plot", drawn(func() (*plotting.Figure, error) { return figure.Growth(r) }, to(c.Plot.Sizes))},
		{c.Plot.Page, "page", func() error {
			p, err := figure.Page(r, filepath.Base(c.Args[0]), date)
			if err != nil {
				return err
			}
			return done.Write(c.Plot.Page, p.Write)
		}},
	} {
		if out.path == "" {
			continue
		}
		err := out.write()
		switch {
		case errors.Is(err, figure.ErrNothing):
			c.Msg.Warn(fmt.Sprintf("%s is not written: the comparison was interrupted before there was something to draw", out.path))
		case err != nil:
			errs = append(errs, &output.WriteError{Err: err})
		default:
			c.Msg.Note("%s written to %s", out.what, out.path)
		}
	}
	errs = append(errs, c.Report(r))
	return errors.Join(append(errs, runErr)...)
}

// drawn returns a function that draws a figure and writes it.
func drawn(draw func() (*plotting.Figure, error), write func(*plotting.Figure) error) func() error {
	return func() error {
		f, err := draw()
		if err != nil {
			return err
		}
		return write(f)
	}
}

// dates returns the dates of the values of the first feature, nil if they are no dates.
func dates(e *feature.Encoding) func(float64) time.Time {
	if e == nil {
		return nil
	}
	dates, _ := e.Columns[0].Dates() // without them the axis shows numbers
	return dates
}

// writeTrials writes a row for each fit.
func writeTrials(e columns.BlockEncoder, trials []compare.Trial) error {
	b := columns.Block{N: len(trials)}
	for _, path := range []string{"method", "status", "error"} {
		b.TextNames, b.Texts = append(b.TextNames, path), append(b.Texts, output.Texts(trials, path))
	}
	for _, path := range []string{"fold", "n_train", "n_test", "rmse", "nlpd", "coverage95", "fit_seconds", "predict_seconds", "training_rmse"} {
		b.Names, b.Numbers = append(b.Names, path), append(b.Numbers, output.Floats(trials, path))
	}
	if err := e.Encode(&b); err != nil {
		return err
	}
	return e.End()
}
