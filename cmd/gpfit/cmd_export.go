package main

import (
	"io"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/gp"
)

func newExport() *cobra.Command {
	return frame.New("export", &cobra.Command{
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
	}, runExport)
}

func runExport(c *frame.Command) error {
	file, err := output.Choose(c.Output.Out, c.Output.Format, false, output.JSON, output.NPZ)
	if err != nil {
		return err
	}
	m, err := c.LoadModel(c.Args[0])
	if err != nil {
		return err
	}
	export := gp.ExportJSON
	if file.Format == output.NPZ {
		export = gp.ExportNPZ
	}
	return c.Write(file.Compressed(func(w io.Writer) error { return export(m, w) }))
}
