package main

import (
	"context"
	"errors"
	"io"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/internal/columns"
	"gpfit/internal/dataset"
	"gpfit/internal/option"
	"gpfit/internal/plotting"
	"gpfit/internal/textform"
	"gpfit/kernel"
)

type sampleFlags struct {
	flags.Options
	prior, grid   string
	set           []string
	unconditional bool
	plot          flags.Plot
	plotColumn    string
	format        string
	file          *output.File
}

func newSample() *cobra.Command {
	var f sampleFlags
	cmd := &cobra.Command{
		Use:   "sample [MODEL] [DATA]",
		Short: "Draw jointly at the rows of a table, from a posterior or a prior",
		Long: `Draw functions jointly at the rows of DATA:

  gpfit sample MODEL DATA                  from the posterior of a model
  gpfit sample MODEL DATA --unconditional  from its prior, as if it had seen no data
  gpfit sample --prior EXPRESSION DATA     from a covariance function, with mean 0

The columns of the result are the features, then draw0, draw1, … in original
units. With --prior all columns of DATA are inputs unless --features names some.
The expression or --set gives the parameters; others are 1, and noise_variance
(for --observed) is 0. --grid LO:HI:COUNT replaces DATA by one column of equally
spaced numbers.

--plot draws the prior and, beside it, the posterior along one column, each with mean,
95 % interval and draws; the other columns have their median or most common category.
The column is the most relevant one unless --plot-column names another. Without DATA, the
result then has the draws along this column. --draws sets the number of draws, here 5 by
default.

If rows are so close that their covariance is singular to working precision, gpfit
draws from its numerical range; it adds nothing to the diagonal.`,
		Example: `  gpfit sample co2.gpfit examples/co2_new.csv --draws 20 --seed 7
  gpfit sample --prior 'rbf(lengthscale=2) + matern12' --grid 0:10:101 --draws 5
  gpfit sample co2.gpfit --plot draws.svg --plot-column year --draws 10 --out draws.csv`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return runSample(cmd, args, &f) },
	}
	s := flags.InOrder(cmd)
	s.StringVar(&f.prior, "prior", "", "covariance function to draw from instead of a MODEL, an `EXPRESSION`")
	s.StringArrayVar(&f.set, "set", nil, "parameter of --prior, `NAME=VALUE` (may be repeated)")
	s.BoolVar(&f.unconditional, "unconditional", false, "draw from the model's prior")
	s.StringVar(&f.grid, "grid", "", "`LO:HI:COUNT`, equally spaced rows of one feature instead of DATA")
	flags.CommandLineOnly(s, "prior", "set")
	flags.InGroup(s, "Prior", "prior", "set", "unconditional", "grid")
	f.Add(s, "sample")
	f.plot.Add(s, "prior and posterior along one column")
	s.StringVar(&f.plotColumn, "plot-column", "", "column `NAME` of the plot (default: the most relevant one)")
	flags.InGroup(s, "Output", "plot-column")
	addFormat(s, &f.format)
	return cmd
}

// sampleRows are the rows to draw at: n rows of all features. The result shows the
// features of the indices used.
type sampleRows struct {
	// target is the target to draw, if the model has several.
	target string
	names  []string
	used   []int
	x      []float64
	n      int
	figure *plotting.Figure
}

func runSample(cmd *cobra.Command, args []string, f *sampleFlags) error {
	msg := messages.New(cmd.ErrOrStderr(), f.Output.Quiet)
	if err := f.check(args); err != nil {
		return err
	}
	f.Joint.OnNote = msg.Say
	from := f.fromModel
	if f.prior != "" {
		from = f.fromExpression
	}
	joint, at, err := from(cmd.Context(), cmd.InOrStdin(), args, msg)
	msg.Clear()
	if err != nil {
		return err
	}
	r := columns.TargetColumns{}
	for _, c := range at.used {
		r.Add(at.names[c], columns.Of(at.x, at.n, c), "inputs", at.names[c])
	}
	if err := f.Joint.Add(cmd.Context(), joint, &r, at.target); err != nil {
		return err
	}
	info := map[string]any{"type": "sample", "n": at.n}
	err = f.Write(cmd.Context(), cmd.OutOrStdout(), f.file.Compressed(func(w io.Writer) error { return f.file.Table(w, info, r) }))
	if err == nil && at.figure != nil {
		err = f.plot.Write(cmd.Context(), at.figure, f.Output.Force)
	}
	if err != nil {
		return err
	}
	return f.file.Summary(cmd.OutOrStdout(), f.Output.JSON, info)
}

// check checks that the arguments and flags belong together.
func (f *sampleFlags) check(args []string) error {
	var want []string
	if f.prior == "" {
		want = append(want, "MODEL")
	}
	if f.grid == "" && (f.plot.Path == "" || f.prior != "" || len(args) > 1) {
		want = append(want, "DATA")
	}
	if err := f.plot.Check(); err != nil {
		return err
	}
	switch {
	case f.plot.Path == "" && f.plotColumn != "":
		return exit.Usagef("--plot-column %s: needs --plot FILE", f.plotColumn)
	case len(args) != len(want) && want == nil:
		return exit.Usagef("%d arguments, expected none: --prior and --grid replace MODEL and DATA", len(args))
	case len(args) != len(want):
		return flags.WrongArgs(len(args), want)
	case f.prior != "" && f.unconditional:
		return exit.Usagef("--unconditional needs a MODEL: leave it out with --prior")
	case f.prior != "" && f.Target != "":
		return exit.Usagef("--target needs a MODEL: leave it out with --prior")
	case f.prior != "" && f.Rows.UnseenZero:
		return exit.Usagef("--unseen needs a MODEL, which knows the categories of its table: leave it out with --prior")
	case f.prior == "" && f.set != nil:
		return exit.Usagef("--set needs --prior: a MODEL has its parameters")
	case f.TellNoise() && (f.prior != "" || !f.Joint.Observed):
		return exit.Usagef("--noise-column, --noise-group and --noise-group-default need a MODEL and --observed")
	}
	var err error
	if f.file, err = output.Choose(f.Output.Out, f.format, f.Output.JSON, output.Tables()...); err != nil {
		return err
	}
	return output.Check(f.Output.Force, []output.Destination{{Flag: "out", Path: f.Output.Out}, {Flag: "cov", Path: f.Joint.Covariance}, {Flag: "plot", Path: f.plot.Path}}, args...)
}

// fromModel returns the distribution that a model gives.
func (f *sampleFlags) fromModel(ctx context.Context, stdin io.Reader, args []string, msg *messages.Writer) (*gp.Joint, sampleRows, error) {
	at, opts := sampleRows{}, gp.JointOptions{Observed: f.Joint.Observed}
	model, err := gp.Load(args[0])
	if err != nil {
		return nil, at, err
	}
	if model.T() > 1 {
		at.target = f.Target
	}
	if model, err = flags.Target(model, f.Target); err != nil {
		return nil, at, err
	}
	if model.Experts != nil && len(model.Experts.Centres) > 1 && !f.unconditional {
		return nil, at, exit.Usagef("%s: the model has local experts, which have no joint distribution of rows: fit a model without --experts, or draw from the prior with --unconditional", args[0])
	}
	if model.Locals != nil {
		return nil, at, exit.Usagef("%s: each local expert of the model has parameters and so a prior of its own: give one with --kernel and --set", args[0])
	}
	at.names, at.used = model.FeatureNames, model.Columns
	plot, err := f.openPlot(ctx, model)
	if err != nil {
		return nil, at, err
	}
	switch {
	case f.grid == "" && len(args) == 1:
		_, at.x = plot.rows()
		at.n = len(at.x) / len(at.names)
		if err := model.CheckNoise(at.n, opts.Noise); err != nil && f.Joint.Observed {
			return nil, at, flags.RowsError(err)
		}
	case f.grid != "":
		if len(at.names) != 1 {
			return nil, at, exit.Usagef("--grid gives one feature, but the model has %d", len(at.names))
		}
		if at.x, err = flags.ParseGrid(f.grid); err != nil {
			return nil, at, err
		}
		at.n = len(at.x)
		if err := model.CheckNoise(at.n, opts.Noise); err != nil && f.Joint.Observed {
			return nil, at, flags.RowsError(err)
		}
	default:
		of := *model
		if !f.Joint.Observed {
			of.Noise = gp.Noise{} // the rows need no noise columns
		}
		in, err := f.OpenRows(ctx, args[1], stdin, &of)
		if err != nil {
			return nil, at, err
		}
		defer in.Close()
		all, err := flags.Await(ctx, args[1], in.All)
		if err != nil {
			return nil, at, flags.RowsError(err)
		}
		for _, w := range in.Warnings() {
			msg.Warn(w)
		}
		at.x, at.n, opts.Noise = all.X, all.N, all.Noise
	}
	if plot != nil {
		plot.widen(at.x, at.n)
	}
	if f.unconditional {
		if plot != nil {
			if err := plot.addModel(ctx, nil); err != nil {
				return nil, at, err
			}
			at.figure = plot.figure("Prior of " + model.TargetName)
		}
		j, err := model.Prior(ctx, at.x, at.n, opts)
		return j, at, err
	}
	posterior, done, err := devices.Condition(ctx, msg, f.Compute, model)
	if err != nil {
		return nil, at, err
	}
	defer done()
	if plot != nil {
		if err := plot.addModel(ctx, posterior); err != nil {
			return nil, at, err
		}
		at.figure = plot.figure("Prior and posterior of " + model.TargetName)
	}
	j, err := posterior.Joint(ctx, at.x, at.n, opts)
	return j, at, err
}

// fromExpression returns the distribution that a covariance function gives.
func (f *sampleFlags) fromExpression(ctx context.Context, stdin io.Reader, args []string, msg *messages.Writer) (*gp.Joint, sampleRows, error) {
	at := sampleRows{names: []string{"x"}}
	err := kernel.CheckText(f.prior) // before the table is read
	if err != nil {
		return nil, at, err
	}
	if f.grid != "" {
		at.x, err = flags.ParseGrid(f.grid)
		at.n = len(at.x)
	} else {
		var data problem.Data
		data, err = flags.Await(ctx, args[0], func() (problem.Data, error) {
			return dataset.Read(args[0], stdin, dataset.Options{NoTarget: true, Features: f.Rows.Features, Header: f.Rows.Header, Decimal: f.Rows.Decimal, Formats: flags.Formats()})
		})
		msg.Columns(data.Encoding)
		at.names, at.x, at.n = data.FeatureNames, data.X, data.N
		for _, w := range data.Warnings {
			msg.Warn(w)
		}
	}
	if err != nil {
		return nil, at, err
	}
	at.used = kernel.Columns(len(at.names))
	expr, err := kernel.Parser{Columns: at.names}.Parse(f.prior)
	if err != nil {
		return nil, at, err
	}
	process, err := gp.NewProcess(expr, len(at.names))
	if err != nil {
		return nil, at, err
	}
	for _, text := range f.set {
		if err := setParameter(process, at.names, text); err != nil {
			return nil, at, err
		}
	}
	if err := f.plotPrior(ctx, process, &at); err != nil {
		return nil, at, err
	}
	j, err := process.Joint(ctx, at.x, at.n, f.Joint.Observed)
	return j, at, err
}

// setParameter sets the parameter of process that text, a value of --set, names. It may
// name one of the columns.
func setParameter(process *gp.Process, columns []string, text string) error {
	value, err := option.All().Find("set", "nlml").Read(nil, text)
	if err != nil {
		return err
	}
	a := value.([]problem.Assignment)[0]
	if !(a.Value >= 0) {
		return &problem.OptionError{Option: "set", Value: text, Msg: "must be a positive number"}
	}
	err = process.Set(textform.Columns(columns).Indexed(a.Name), a.Value)
	var unknown *gp.NameError
	if errors.As(err, &unknown) {
		return exit.Usagef("--set %v", err)
	}
	return err
}
