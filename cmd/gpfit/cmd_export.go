package main

import (
	"io"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/gp"
)

type exportFlags struct {
	flags.Options
	format string
}

func newExport() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export MODEL",
		Short: "Write a model for other programs",
		Long: `Write everything that a prediction needs, with the covariance function as a tree, in
a form that programs can read without gpfit: one JSON object, or a NumPy archive
with the arrays X, y, alpha and the rest in its entry model.json.
examples/EXPORT.md describes the form, examples/model.schema.json is its JSON
Schema, examples/read_model.py predicts from it with NumPy alone, and
examples/to_sklearn.py builds the equivalent scikit-learn model.

MLflow gets models, checkpoints and batches from Python: pygpfit.mlflow.log.`,
		Example: `  gpfit export co2.gpfit --out co2.npz
  gpfit export co2.gpfit | jq .kernel`,
		RunE: func(cmd *cobra.Command, args []string) error { return runExport(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	s.StringVar(&f.format, "format", "", "form of the result: json or npz (default: by the name of --out, or json)")
	flags.Completions(s, "format", "json", "npz")
	flags.InGroup(s, "Output", "format")
	f.Add(s, "export")
	return cmd
}

func runExport(cmd *cobra.Command, path string, f *exportFlags) error {
	switch f.format {
	case "", "json", "npz":
	case "mlflow":
		return exit.Usagef("--format mlflow: pygpfit.mlflow.log, a function in Python, logs models, checkpoints and batches to MLflow")
	default:
		return exit.Usagef("--format %q: must be json or npz", f.format)
	}
	file, err := output.Choose(f.Output.Out, f.format, false, output.JSON, output.NPZ)
	if err != nil {
		return err
	}
	m, err := f.LoadModel(path)
	if err != nil {
		return err
	}
	export := gp.ExportJSON
	if file.Format == output.NPZ {
		export = gp.ExportNPZ
	}
	return f.Write(cmd.Context(), cmd.OutOrStdout(), file.Compressed(func(w io.Writer) error { return export(m, w) }))
}
