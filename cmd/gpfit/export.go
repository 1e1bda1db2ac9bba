package main

import "github.com/spf13/cobra"

func newExport() *cobra.Command {
	var format, target, out string
	cmd := &cobra.Command{
		Use:   "export MODEL",
		Short: "Write a model for other programs: parameters, scaling, data and weights",
		Long: `Write all that a prediction needs, the covariance function as a tree, in a form
that needs nothing of gpfit's to be read: one JSON object, or a NumPy archive with
arrays X, y, alpha and the rest in its entry model.json. examples/EXPORT.md
describes it, examples/model.schema.json is its JSON Schema,
examples/read_model.py predicts from it with NumPy alone, and
examples/to_sklearn.py builds the equal scikit-learn model.`,
		Example: `  gpfit export co2.gpfit --format npz --out co2.npz
  gpfit export co2.gpfit | jq .kernel`,
		Args: exactArgs(1, "MODEL"),
		RunE: func(cmd *cobra.Command, args []string) error { return runExport(cmd, args[0], format, target, out) },
	}
	s := cmd.Flags()
	s.SortFlags = false
	s.StringVar(&format, "format", "json", "json or npz")
	s.StringVar(&target, "target", "", "`NAME` of the target, if the model has several")
	s.StringVar(&out, "out", "", "write to `FILE` instead of standard output")
	commandLineOnly(s, "target", "out")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"json", "npz"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func runExport(cmd *cobra.Command, path, format, target, out string) error {
	if format != "json" && format != "npz" {
		return usagef("--format %q: must be json or npz", format)
	}
	if err := keepInput("--out", out, path); err != nil {
		return err
	}
	m, err := loadTarget(path, target)
	if err != nil {
		return err
	}
	write := m.ExportJSON
	if format == "npz" {
		write = m.ExportNPZ
	}
	return writeOut(cmd, out, write)
}
