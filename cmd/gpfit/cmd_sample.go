package main

import (
	"errors"

	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/fit/columns"
	"gpfit/fit/dataset"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/textform"
	"gpfit/kernel"
)

func runSample(c *cli.Command) error {
	file, err := checkSample(c)
	if err != nil {
		return err
	}
	c.Predict.OnNote = c.Msg.Say
	from := sampleModel
	if c.Sample.Prior != "" {
		from = sampleExpression
	}
	joint, at, err := from(c)
	c.Msg.Clear()
	if err != nil {
		return err
	}
	r := columns.TargetColumns{}
	for _, k := range at.used {
		r.Add(at.names[k], columns.Of(at.x, at.n, k), "inputs", at.names[k])
	}
	if err := c.Predict.Add(c.Ctx, joint, &r, at.target); err != nil {
		return err
	}
	info := map[string]any{"type": "sample", "n": at.n}
	if err := c.WriteFile(file, file.Table(info, r)); err != nil {
		return err
	}
	if at.figure != nil {
		if err := c.WritePlot(at.figure); err != nil {
			return err
		}
	}
	return file.Summary(c.Out, c.Output.JSON, info)
}

// checkSample checks that the arguments belong to the options, and returns the file of the result.
func checkSample(c *cli.Command) (*output.File, error) {
	var want []string
	if c.Sample.Prior == "" {
		want = append(want, "MODEL")
	}
	if c.Sample.Grid == nil && (c.Plot.Path == "" || c.Sample.Prior != "" || len(c.Args) > 1) {
		want = append(want, "DATA")
	}
	switch {
	case len(c.Args) != len(want) && want == nil:
		return nil, exit.Usagef("%d arguments, expected none: --prior and --grid replace MODEL and DATA", len(c.Args))
	case len(c.Args) != len(want):
		return nil, flags.WrongArgs(len(c.Args), want)
	}
	file, err := c.File(output.Tables()...)
	if err != nil {
		return nil, err
	}
	return file, c.CheckOutputs(c.Args, cli.Destination("cov", c.Predict.Covariance))
}

// sampleModel returns the distribution that a model gives.
func sampleModel(c *cli.Command) (*gp.Joint, sampleRows, error) {
	at, opts := sampleRows{}, gp.JointOptions{Observed: c.Predict.Observed}
	model, err := c.Load(c.Args[0])
	if err != nil {
		return nil, at, err
	}
	if model.T() > 1 {
		at.target = c.Target
	}
	if model, err = c.ModelOfTarget(model); err != nil {
		return nil, at, err
	}
	if model.State.Method != "" && !c.Sample.Unconditional {
		return nil, at, exit.Usagef("%s: the model has local experts, which have no joint distribution of rows: fit a model without --experts, or draw from the prior with --unconditional", c.Args[0])
	}
	at.names, at.used = model.FeatureNames, model.Columns
	plot, err := openSamplePlot(c, model)
	if err != nil {
		return nil, at, err
	}
	if opts.Noise, err = at.read(c, model, plot); err != nil {
		return nil, at, err
	}
	if plot != nil {
		plot.columns[plot.along].Widen(at.x, at.n)
	}
	if c.Sample.Unconditional {
		if err := at.draw(c, plot, nil, "Prior of "+model.TargetName); err != nil {
			return nil, at, err
		}
		j, err := gp.Prior(c.Ctx, model, at.x, at.n, opts)
		return j, at, err
	}
	if n := model.Draws.Len(); n > 0 {
		c.Msg.Note("the functions have the parameters of the optimum: they do not average over its %d draws of the parameters, as predictions do", n)
	}
	posterior, done, err := c.Condition(model)
	if err != nil {
		return nil, at, err
	}
	defer done()
	if err := at.draw(c, plot, posterior, "Prior and posterior of "+model.TargetName); err != nil {
		return nil, at, err
	}
	j, err := posterior.Joint(c.Ctx, at.x, at.n, opts)
	return j, at, err
}

// read sets the rows of a model, and returns their noise: the rows of DATA, of --grid
// or of the plot.
func (at *sampleRows) read(c *cli.Command, model *gp.Model, plot *samplePlot) (noise gp.RowNoise, err error) {
	switch {
	case c.Sample.Grid != nil && len(at.names) != 1:
		return noise, exit.Usagef("--grid gives one feature, but the model has %d", len(at.names))
	case c.Sample.Grid != nil:
		at.x = c.Sample.Grid
	case len(c.Args) == 1:
		_, at.x = plot.rows()
	default:
		of := *model
		if !c.Predict.Observed {
			of.Noise = gp.Noise{} // the rows need no noise columns
		}
		all, warnings, err := c.AllRows(c.Args[1], &of)
		if err != nil {
			return noise, err
		}
		c.Msg.Warn(warnings...)
		at.x, at.n = all.X, all.N
		return all.Noise, nil
	}
	at.n = len(at.x) / len(at.names)
	if c.Predict.Observed {
		_, err = noise.Variances(model, at.n)
		err = cli.RowsError(err)
	}
	return noise, err
}

// draw draws the plot of a model, if there is one.
func (at *sampleRows) draw(c *cli.Command, plot *samplePlot, posterior *gp.Posterior, title string) error {
	if plot == nil {
		return nil
	}
	err := plot.addModel(c.Ctx, posterior)
	at.figure = plot.figure(title)
	return err
}

// sampleExpression returns the distribution that a covariance function gives.
func sampleExpression(c *cli.Command) (*gp.Joint, sampleRows, error) {
	at := sampleRows{names: []string{"x"}, x: c.Sample.Grid, n: len(c.Sample.Grid)}
	if err := kernel.CheckText(c.Sample.Prior); err != nil { // before the table is read
		return nil, at, err
	}
	if c.Sample.Grid == nil {
		data, err := flags.ReadTable(c.Ctx, c.Args[0], c.In, dataset.Options{NoTarget: true, Features: c.Rows.Features, Header: c.Rows.Header, Text: c.Rows.Text, SkipLines: c.Rows.SkipLines})
		if err != nil {
			return nil, at, err
		}
		c.Msg.Columns(data.Encoding)
		at.names, at.x, at.n = data.FeatureNames, data.X, data.N
		c.Msg.Warn(data.Warnings...)
	}
	at.used = kernel.Columns(len(at.names))
	process, err := newProcess(c.Sample.Prior, at.names, c.Fit.Set)
	if err != nil {
		return nil, at, err
	}
	if err := plotPrior(c, process, &at); err != nil {
		return nil, at, err
	}
	j, err := process.Joint(c.Ctx, at.x, at.n, c.Predict.Observed)
	return j, at, err
}

// newProcess reads a covariance function of columns and sets its parameters. Their
// names may contain the columns' names.
func newProcess(text string, columns []string, set []problem.Assignment) (*gp.Process, error) {
	if err := kernel.CheckText(text); err != nil {
		return nil, err
	}
	expr, err := kernel.Parser{Columns: columns}.Parse(text)
	if err != nil {
		return nil, err
	}
	process, err := gp.NewProcess(expr, len(columns))
	if err != nil {
		return nil, err
	}
	for _, a := range set {
		err := process.Set(textform.Columns(columns).Indexed(a.Name), a.Value)
		if _, ok := errors.AsType[*gp.NameError](err); ok {
			return nil, exit.Usagef("--set %v", err)
		}
		if err != nil {
			return nil, err
		}
	}
	return process, nil
}
