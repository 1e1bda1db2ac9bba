package main

import (
	"context"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/gp"
	"gpfit/gp/columns"
	"gpfit/gp/rows"
	"gpfit/internal/plotting"
	"gpfit/internal/suggest"
)

type predictFlags struct {
	flags.Options
	predict      columns.Predict
	plot, plotBy string
}

func newPredict() *cobra.Command {
	var f predictFlags
	cmd := &cobra.Command{
		Use:   "predict MODEL DATA",
		Short: "Predict mean, standard deviation and interval for every row of a table",
		Long: `Predict with a model that "gpfit fit" wrote. For every row of DATA the result has, in
original units:

  mean              posterior mean
  std               standard deviation of a new observation, noise included
  lower95, upper95  its central interval, with the probability --interval
  std_latent        standard deviation of the function without noise

and on request

  mean_function, mean_TERM, std_TERM  with --terms: the part of the mean function
                    (and of the scaling), and posterior mean and deviation of each
                    term of a sum of kernels, k1, k2, …; the means add up to mean
  gradient_NAME     with --gradient: derivative of the mean by that feature
  gradient_std_NAME  with --gradient-std: standard deviation of the function's
                    derivative by that feature, for kernels without a kink
  draw0, draw1, …   with --draws: joint draws of all rows from the posterior

If the model has several targets, each of these names begins with the name of its
target and a point.

gpfit finds the columns by the names that the model was trained with; --features
names others, in the model's order. It finds the columns of known noise variances
and of noise groups in the same way. Without known variances, std includes only the
estimated noise, and gpfit warns. Rows without a noise group are an error unless
--noise-group-default names one.

gpfit reads and writes a few thousand rows at a time, so DATA may be larger than
memory. With --json, --draws or --cov it holds all rows in memory. --plot plots mean
and interval along one feature, with the training data.`,
		Example: `  gpfit predict co2.gpfit examples/co2_new.csv
  gpfit predict model.gpfit new.csv --interval 0.9 --out predictions.csv
  gpfit predict co2.gpfit examples/co2_new.csv --plot forecast.svg
  gpfit predict model.gpfit new.csv --terms --gradient --json
  gpfit predict model.gpfit new.csv --draws 100 --seed 7 --cov covariance.npy`,
		RunE: func(cmd *cobra.Command, args []string) error { return runPredict(cmd, args[0], args[1], &f) },
	}
	s := flags.InOrder(cmd)
	f.Add(s, "predict")
	s.Float64Var(&f.predict.Probability, "interval", 0.95, "probability of the interval for a new observation")
	s.BoolVar(&f.predict.Terms, "terms", false, "also predict each term of a sum of kernels")
	s.BoolVar(&f.predict.Gradient, "gradient", false, "also give the derivatives of the mean by the features")
	s.BoolVar(&f.predict.GradientStd, "gradient-std", false, "also give the standard deviations of the function's derivatives: 2n² operations per row and feature")
	s.StringVar(&f.plot, "plot", "", "also plot mean, interval and training data in `FILE`.svg or .png")
	s.StringVar(&f.plotBy, "plot-by", "", "`NAME` of the feature along which to plot (default: the first that the model uses)")
	flags.InGroup(s, "Prediction", "interval", "terms", "gradient", "gradient-std")
	flags.InGroup(s, "Output", "plot", "plot-by")
	return cmd
}

// check finds mistakes in the flags before any work.
func (f *predictFlags) check() error {
	if p := f.predict.Probability; !(p > 0 && p < 1) {
		return exit.Usagef("--interval %v: must be a probability between 0 and 1, such as 0.9", p)
	}
	f.predict.Sampling = f.Joint
	return nil
}

// outputs returns the files to write. Each of several targets has its own covariance
// file.
func (f *predictFlags) outputs(m *gp.Model) []output.Destination {
	files := []output.Destination{{Flag: "out", Path: f.Output.Out}, {Flag: "plot", Path: f.plot}}
	if len(m.Targets) == 0 {
		return append(files, output.Destination{Flag: "cov", Path: f.predict.Covariance})
	}
	for _, t := range m.Targets {
		files = append(files, output.Destination{Flag: "cov", Path: f.predict.CovarianceFile(t.Name)})
	}
	return files
}

func runPredict(cmd *cobra.Command, modelPath, dataPath string, f *predictFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Output.Quiet)
	if err := f.check(); err != nil {
		return err
	}
	model, err := gp.Load(modelPath)
	if err != nil {
		return err
	}
	if err := output.Check(f.Output.Force, f.outputs(model), modelPath, dataPath); err != nil {
		return err
	}
	f.predict.OnNote = msg.Say
	plot, err := f.openPlot(model)
	if err != nil {
		return err
	}
	in, err := f.OpenRows(ctx, dataPath, cmd.InOrStdin(), model)
	if err != nil {
		return err
	}
	defer in.Close()
	// Errors in the first rows end the command before the work begins.
	next := in.Next
	if f.predict.Wanted() {
		next = in.All
	}
	first, err := flags.Await(ctx, dataPath, next)
	if err != nil {
		return flags.RowsError(err)
	}
	warnings := in.Warnings()
	for _, w := range warnings {
		msg.Warn(w)
	}
	posterior, done, err := devices.Condition(ctx, msg, f.Compute, model)
	if err != nil {
		return err
	}
	defer done()
	err = f.Write(ctx, cmd.OutOrStdout(), func(w io.Writer) error { return f.writePieces(ctx, w, posterior, first, in, plot, msg) })
	msg.Clear()
	for _, w := range in.Warnings()[len(warnings):] {
		msg.Warn(w)
	}
	if err == nil && plot != nil {
		err = plot.Write(ctx, f.plot, f.Output.Force)
	}
	return err
}

// writePieces predicts the rows of piece and all further rows of in, and writes the
// results of each piece at once.
func (f *predictFlags) writePieces(ctx context.Context, w io.Writer, p *gp.Posterior, piece rows.Rows, in *rows.ModelRows, plot *forecast, msg *messages.Writer) error {
	out := columns.NewSheet(w, f.Output.JSON, f.predict.Info())
	for done := 0; piece.N > 0; {
		parts, err := f.predict.Parts(ctx, p, piece)
		if err != nil {
			return err
		}
		if err := out.Add(parts); err != nil {
			return err
		}
		if plot != nil {
			plot.add(piece, parts[0])
		}
		done += piece.N
		msg.Status("%d rows done", done)
		if piece, err = flags.Await(ctx, "DATA", in.Next); err != nil {
			return flags.RowsError(err)
		}
	}
	return out.End()
}

// forecast collects a prediction for its plot along one of the model's features.
type forecast struct {
	plotting.Forecast
	column int
}

// openPlot checks the flags of the plot against the model. Without --plot it returns
// nil.
func (f *predictFlags) openPlot(m *gp.Model) (*forecast, error) {
	switch {
	case f.plot == "" && f.plotBy != "":
		return nil, exit.Usagef("--plot-by %s: needs --plot FILE", f.plotBy)
	case f.plot == "":
		return nil, nil
	}
	if _, err := plotting.Format(f.plot); err != nil {
		return nil, exit.Usagef("--plot %v", err)
	}
	if len(m.Targets) > 1 {
		return nil, exit.Usagef("--plot: the model has %d targets, and a plot shows one", len(m.Targets))
	}
	p := &forecast{column: m.Columns[0]}
	if f.plotBy != "" {
		if p.column = slices.Index(m.FeatureNames, f.plotBy); p.column < 0 {
			return nil, exit.Usagef("--plot-by %s: the model has no such feature%s", f.plotBy, suggest.DidYouMean(f.plotBy, m.FeatureNames))
		}
	}
	p.XLabel, p.YLabel, p.Band = m.FeatureNames[p.column], m.TargetName, f.predict.Level()+" % interval"
	if used := slices.Index(m.Columns, p.column); used >= 0 {
		p.DataX, p.DataY = columns.Of(m.X, m.N(), used), m.Y
	}
	return p, nil
}

// add appends the result of the rows in, which have all features.
func (p *forecast) add(in rows.Rows, result columns.TargetColumns) {
	p.X = append(p.X, columns.Of(in.X, in.N, p.column)...)
	// The columns are mean, std, lower, upper.
	p.Mean = append(p.Mean, result.Columns[0].Values...)
	p.Lower = append(p.Lower, result.Columns[2].Values...)
	p.Upper = append(p.Upper, result.Columns[3].Values...)
}
