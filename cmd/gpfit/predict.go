package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit/gp"
)

// predictRows is how many rows are read, predicted and written at a time.
const predictRows = 1 << 13

// rowFlags say how rows of a table are read for a model.
type rowFlags struct {
	features []string
	header   string
	noise    rowNoiseFlags
}

func (f *rowFlags) add(s *pflag.FlagSet) {
	s.StringSliceVar(&f.features, "features", nil, "columns of the inputs, in the order of the model's (default: the same names)")
	s.StringVar(&f.header, "header", "auto", "whether the first row names the columns: auto, yes or no")
	f.noise.add(s)
}

type predictFlags struct {
	rowFlags
	outputFlags
	plot plotFlags
	deviceFlags
}

func newPredict() *cobra.Command {
	var f predictFlags
	cmd := &cobra.Command{
		Use:   "predict MODEL DATA",
		Short: "Mean, standard deviation and interval for every row of a table",
		Long: `Predict with a model from "gpfit fit". For every row of DATA the result has, in
original units:

  mean              of the posterior
  std               standard deviation of a new observation, noise included
  lower95, upper95  its central interval, of the probability --interval
  std_latent        standard deviation of the function without noise

and, where asked for,

  mean_function, mean_TERM, std_TERM  with --terms: the part of the mean function
                    (and of the scaling), and posterior mean and deviation of each
                    term of a sum of kernels, k1, k2, …; the means add up to mean
  gradient_NAME     with --gradient: derivative of the mean by that feature
  draw0, draw1, …   with --draws: joint draws of all rows from the posterior

In the columns of a model of several targets, each has its name and a point in
front of these.

Columns are found by the names the model was trained with; --features names
others, in the model's order. The same holds for the columns of known noise
variances and of noise groups. Without known variances, std has the estimated
part of the noise alone, which is a warning; rows without a noise group are an
error unless --noise-group-default names one.

Rows are read and written a few thousand at a time, so that DATA may be larger
than memory; but with --json, --draws and --cov all are held. --plot draws mean and
interval along one feature, with the training data.`,
		Example: `  gpfit predict co2.gpfit examples/co2_new.csv
  gpfit predict model.gpfit new.csv --interval 0.9 --out predictions.csv
  gpfit predict co2.gpfit examples/co2_new.csv --plot forecast.svg
  gpfit predict model.gpfit new.csv --terms --gradient --json
  gpfit predict model.gpfit new.csv --draws 100 --seed 7 --cov covariance.npy`,
		Args: exactArgs(2, "MODEL DATA"),
		RunE: func(cmd *cobra.Command, args []string) error { return runPredict(cmd, args[0], args[1], &f) },
	}
	s := cmd.Flags()
	s.SortFlags = false
	f.rowFlags.add(s)
	f.outputFlags.add(s)
	f.plot.add(s)
	f.deviceFlags.add(s)
	completeValues(cmd)
	return cmd
}

func runPredict(cmd *cobra.Command, modelPath, dataPath string, f *predictFlags) error {
	ctx := cmd.Context()
	msg := newMessages(cmd.ErrOrStderr(), f.quiet)
	if err := f.outputFlags.check(); err != nil {
		return err
	}
	if err := errors.Join(keepInput("--out", f.out, modelPath, dataPath), keepInput("--cov", f.cov, modelPath, dataPath)); err != nil {
		return err
	}
	model, err := gp.Load(modelPath)
	if err != nil {
		return err
	}
	plot, err := f.plot.open(model, f.interval)
	if err != nil {
		return err
	}
	in, err := openModelRows(dataPath, cmd.InOrStdin(), f.rowFlags, model)
	if err != nil {
		return err
	}
	defer in.close()
	// What is wrong at the beginning is found before the work.
	rows, err := in.next(predictRows)
	if err == nil && f.wanted() {
		rows, err = in.rest(rows)
	}
	if err != nil {
		return err
	}
	warnings := in.warnings()
	for _, w := range warnings {
		msg.warn(w)
	}
	posterior, done, err := f.condition(ctx, msg, model)
	if err != nil {
		return err
	}
	defer done()
	err = writeOut(cmd, f.out, func(w io.Writer) error { return f.writePieces(ctx, w, posterior, model, rows, in, plot, msg) })
	msg.clear()
	for _, w := range in.warnings()[len(warnings):] {
		msg.warn(w)
	}
	if err == nil && plot != nil {
		err = plot.write()
	}
	return err
}

// writePieces predicts the given rows and those that in has left, and writes the
// results as they come.
func (f *predictFlags) writePieces(ctx context.Context, w io.Writer, p *gp.Posterior, m *gp.Model, rows rowsToPredict, in *modelRows, plot *forecastPlot, msg *messages) error {
	names := make([]string, len(m.Targets))
	for t, target := range m.Targets {
		names[t] = target.Name
	}
	out := newResultWriter(w, f.json, f.info())
	for done := 0; rows.n > 0; {
		parts, err := f.predict(ctx, p, rows, names, msg)
		if err != nil {
			return err
		}
		if err := out.add(parts); err != nil {
			return err
		}
		if plot != nil {
			plot.add(rows, len(m.FeatureNames), parts[0])
		}
		done += rows.n
		msg.status = fmt.Sprintf("%d rows done", done)
		if rows, err = in.next(predictRows); err != nil {
			return err
		}
	}
	return out.end()
}
