package main

import (
	"io"

	"github.com/spf13/cobra"

	"gpfit/gp"
	"gpfit/internal/atomicfile"
)

type predictFlags struct {
	features []string
	header   string
	outputFlags
	noise rowNoiseFlags
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

Columns are found by the names the model was trained with; --features names
others, in the model's order. The same holds for the columns of known noise
variances and of noise groups. Without known variances, std has the estimated
part of the noise alone, which is a warning; rows without a noise group are an
error unless --noise-group-default names one.`,
		Example: `  gpfit predict co2.gpfit examples/co2_new.csv
  gpfit predict model.gpfit new.csv --interval 0.9 --out predictions.csv
  gpfit predict model.gpfit new.csv --terms --gradient --json
  gpfit predict model.gpfit new.csv --draws 100 --seed 7 --cov covariance.npy`,
		Args: exactArgs(2, "MODEL DATA"),
		RunE: func(cmd *cobra.Command, args []string) error { return runPredict(cmd, args[0], args[1], &f) },
	}
	s := cmd.Flags()
	s.SortFlags = false
	s.StringSliceVar(&f.features, "features", nil, "columns of the inputs, in the order of the model's (default: the same names)")
	s.StringVar(&f.header, "header", "auto", "whether the first row names the columns: auto, yes or no")
	f.outputFlags.add(s)
	f.noise.add(s)
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
	model, err := gp.Load(modelPath)
	if err != nil {
		return err
	}
	rows, n, noise, warnings, err := readRows(dataPath, cmd.InOrStdin(), f, model)
	if err != nil {
		return err
	}
	if err := model.CheckNoise(n, noise); err != nil {
		return explainNoise(err)
	}
	for _, w := range warnings {
		msg.warn(w)
	}
	b, err := f.openOne(ctx, msg, model.N())
	if err != nil {
		return err
	}
	defer b.Close()
	posterior, err := model.Condition(ctx, b)
	if err != nil {
		return err
	}
	defer posterior.Close()
	posterior.Workspace().OnProgress(msg.progress)
	result, err := f.predict(ctx, posterior, rows, n, noise, msg)
	msg.clear()
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return result.write(w, f.json) }
	if f.out != "" {
		return atomicfile.Write(f.out, write)
	}
	return write(cmd.OutOrStdout())
}

// readRows reads the model's columns. Features that the model does not use,
// because they were constant, need not be in the table and are left zero.
func readRows(path string, stdin io.Reader, f *predictFlags, m *gp.Model) (rows []float64, n int, noise gp.RowNoise, warnings []string, err error) {
	data := dataFlags{target: m.TargetName, features: f.features, header: f.header}
	o, err := data.tableOptions()
	if err != nil {
		return nil, 0, noise, nil, err
	}
	o.NoTarget = true
	into := m.Columns
	switch len(f.features) {
	case 0:
		for _, c := range m.Columns {
			o.Features = append(o.Features, m.FeatureNames[c])
		}
	default:
		o.Target = ""
	}
	if m.Noise.Column != "" || m.Noise.GroupColumn != "" || f.noise != (rowNoiseFlags{}) {
		var names []string
		if names, stdin, err = tableNames(path, stdin, o); err == nil {
			err = f.noise.choose(m, names, &o)
		}
		if err != nil {
			return nil, 0, noise, nil, err
		}
	}
	t, err := readTable(path, stdin, o)
	if err != nil {
		return nil, 0, noise, nil, err
	}
	switch t.D {
	case len(m.Columns):
	case len(m.FeatureNames):
		into = nil
		for c := range m.FeatureNames {
			into = append(into, c)
		}
	default:
		return nil, 0, noise, nil, usagef("--features gives %d columns, the model has %d", t.D, len(m.FeatureNames))
	}
	all := len(m.FeatureNames)
	rows = make([]float64, t.N*all)
	for i := range t.N {
		for q, c := range into {
			rows[i*all+c] = t.X[i*t.D+q]
		}
	}
	noise, warnings = f.noise.rows(m, t)
	return rows, t.N, noise, append(warnings, t.Warnings...), nil
}
