package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"gpfit/gp"
	"gpfit/internal/atomicfile"
)

// predictRows is how many rows are read, predicted and written at a time.
const predictRows = 1 << 13

type predictFlags struct {
	features []string
	header   string
	out      string
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
others, in the model's order. Rows are read and written a few thousand at a time,
so that DATA may be larger than memory; with --json all predictions are held.`,
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
	in, err := openModelRows(dataPath, cmd.InOrStdin(), f, model)
	if err != nil {
		return err
	}
	defer in.close()
	// What is wrong at the beginning is found before the work.
	rows, n, err := in.next(predictRows)
	if err != nil {
		return err
	}
	warnings := in.warnings()
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
	write := func(w io.Writer) error {
		out := newPredictionWriter(w, f.json)
		for done := 0; n > 0; {
			p, err := posterior.Predict(ctx, rows, n)
			if err != nil {
				return err
			}
			if err := out.add(p); err != nil {
				return err
			}
			done += n
			msg.status = fmt.Sprintf("%d rows done", done)
			if rows, n, err = in.next(predictRows); err != nil {
				return err
			}
		}
		return out.end()
	}
	if f.out != "" {
		err = atomicfile.Write(f.out, write)
	} else {
		err = write(cmd.OutOrStdout())
	}
	msg.clear()
	for _, w := range in.warnings()[len(warnings):] {
		msg.warn(w)
	}
	return err
}
