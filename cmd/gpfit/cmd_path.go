package main

import (
	"io"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/compare/figure"
	"gpfit/compare/shrinkage"
	"gpfit/gp"
)

// runPath prints and writes the path of ridge regression or the lasso.
func runPath(c *cli.Command) error {
	if how := c.Fit.Standardize; c.Path.NoIntercept && how != gp.StandardizeNone {
		return exit.Usagef("--no-intercept: --standardize %s takes means away before the fit; give --standardize none", how)
	}
	if err := c.CheckOutputs(c.Inputs(c.Args[0])); err != nil {
		return err
	}
	file, err := output.Beside(c.Output.Out, c.Output.Format, output.CSV, output.JSONLines, output.Parquet)
	if err != nil {
		return err
	}
	data, err := flags.ReadTable(c.Ctx, c.Args[0], c.In, c.Data)
	if err != nil {
		return err
	}
	c.Msg.Columns(data.Encoding)
	path, err := shrinkage.Run(c.Ctx, data, c.Fit, c.Path)
	if err != nil {
		return err
	}
	path.Warnings = c.Warned(path.Warnings, 0, "")
	if file != nil {
		if err := c.WriteFile(file, func(w io.Writer) error { return path.Encode(file.Encoder(w)) }); err != nil {
			return &output.WriteError{Err: err}
		}
		c.Msg.Note("path written to %s", c.Output.Out)
	}
	if c.Plot.Path != "" {
		if err := c.WritePlot(figure.Path(path)); err != nil {
			return err
		}
		c.Msg.Note("plot written to %s", c.Plot.Path)
	}
	return c.Report(path)
}
