package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"gpfit/gp"
	"gpfit/internal/atomicfile"
)

type predictFlags struct {
	features []string
	header   string
	out      string
	noise    rowNoiseFlags
	deviceFlags
}

func newPredict() *cobra.Command {
	var f predictFlags
	cmd := &cobra.Command{
		Use:   "predict MODEL DATA",
		Short: "Mean, standard deviation and 95 % interval for every row of a table",
		Long: `Predict with a model from "gpfit fit". For every row of DATA the result has, in
original units: mean; std, the standard deviation of a new observation, noise
included; lower95 and upper95, its central 95 % interval; and std_latent, the
standard deviation of the function without noise.

Columns are found by the names the model was trained with; --features names
others, in the model's order. The same holds for the columns of known noise
variances and of noise groups. Without known variances, std has the estimated
part of the noise alone, which is a warning; rows without a noise group are an
error unless --noise-group-default names one.`,
		Example: `  gpfit predict co2.gpfit examples/co2_new.csv
  gpfit predict model.gpfit new.csv --out predictions.csv`,
		Args: exactArgs(2, "MODEL DATA"),
		RunE: func(cmd *cobra.Command, args []string) error { return runPredict(cmd, args[0], args[1], &f) },
	}
	s := cmd.Flags()
	s.SortFlags = false
	s.StringSliceVar(&f.features, "features", nil, "columns of the inputs, in the order of the model's (default: the same names)")
	s.StringVar(&f.header, "header", "auto", "whether the first row names the columns: auto, yes or no")
	s.StringVar(&f.out, "out", "", "write to `FILE` instead of standard output")
	f.noise.add(s)
	f.deviceFlags.add(s)
	completeValues(cmd)
	return cmd
}

func runPredict(cmd *cobra.Command, modelPath, dataPath string, f *predictFlags) error {
	ctx := cmd.Context()
	msg := newMessages(cmd.ErrOrStderr(), f.quiet)
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
	parts, err := posterior.PredictTargets(ctx, rows, n, noise)
	msg.clear()
	if err != nil {
		return err
	}
	write := func(w io.Writer) error { return writePrediction(w, parts[0], f.json) }
	if len(parts) > 1 {
		write = func(w io.Writer) error { return writePredictions(w, model, parts, f.json) }
	}
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

func writePrediction(w io.Writer, p *gp.Prediction, asJSON bool) error {
	if asJSON {
		return encodeJSON(w, map[string]any{
			"type": "prediction", "schema_version": 1, "n": len(p.Mean), "mean": p.Mean, "std": p.Std,
			"lower95": p.Lower95, "upper95": p.Upper95, "std_latent": p.StdLatent,
		}, nil)
	}
	b := bufio.NewWriter(w)
	fmt.Fprintln(b, "mean,std,lower95,upper95,std_latent")
	var line []byte
	for i := range p.Mean {
		line = line[:0]
		for q, v := range []float64{p.Mean[i], p.Std[i], p.Lower95[i], p.Upper95[i], p.StdLatent[i]} {
			if q > 0 {
				line = append(line, ',')
			}
			line = strconv.AppendFloat(line, v, 'g', -1, 64)
		}
		b.Write(append(line, '\n'))
	}
	return b.Flush()
}
