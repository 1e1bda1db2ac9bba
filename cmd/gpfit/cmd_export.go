package main

import (
	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/output"
)

func newExport() *cobra.Command {
	var format string
	var f flags.Options
	cmd := &cobra.Command{
		Use:   "export MODEL",
		Short: "Write a model for other programs: parameters, scaling, data and weights",
		Long: `Write everything that a prediction needs, with the covariance function as a tree, in
a form that programs can read without gpfit: one JSON object, or a NumPy archive
with the arrays X, y, alpha and the rest in its entry model.json.
examples/EXPORT.md describes the form, examples/model.schema.json is its JSON
Schema, examples/read_model.py predicts from it with NumPy alone, and
examples/to_sklearn.py builds the equivalent scikit-learn model.`,
		Example: `  gpfit export co2.gpfit --out co2.npz
  gpfit export co2.gpfit | jq .kernel`,
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := output.Choose(f.Output.Out, format, false, output.JSON, output.NPZ)
			if err != nil {
				return err
			}
			m, err := f.LoadModel(args[0])
			if err != nil {
				return err
			}
			write := m.ExportJSON
			if file.Format == output.NPZ {
				write = m.ExportNPZ
			}
			return f.Write(cmd.Context(), cmd.OutOrStdout(), file.Compressed(write))
		},
	}
	s := flags.InOrder(cmd)
	s.StringVar(&format, "format", "", "form of the result: json or npz (default: by the name of --out, or json)")
	flags.Completions(s, "format", "json", "npz")
	flags.InGroup(s, "Output", "format")
	f.Add(s, "export")
	return cmd
}
