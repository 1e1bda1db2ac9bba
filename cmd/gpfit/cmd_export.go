package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/gp"
	"gpfit/internal/journal"
	"gpfit/internal/mlflow"
	"gpfit/internal/rundir"
)

type exportFlags struct {
	flags.Options
	format, experiment string
}

func newExport() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export MODEL",
		Short: "Write a model or a batch for other programs",
		Long: `Write everything that a prediction needs, with the covariance function as a tree, in
a form that programs can read without gpfit: one JSON object, or a NumPy archive
with the arrays X, y, alpha and the rest in its entry model.json.
examples/EXPORT.md describes the form, examples/model.schema.json is its JSON
Schema, examples/read_model.py predicts from it with NumPy alone, and
examples/to_sklearn.py builds the equivalent scikit-learn model.

With --format mlflow, MODEL may also be the run directory of a batch or a checkpoint,
and --out is an MLflow file store, such as mlruns, which gpfit makes or adds to. A
model becomes one run, and every job of a batch one: options are its params; scores,
tuned parameters and, from a checkpoint, the values of the objective are its
metrics; model and log are its artifacts. A second export replaces the runs of the
first. MLflow reads the store with MLFLOW_ALLOW_FILE_STORE=true, and 'mlflow
migrate-filestore' copies it into a database.`,
		Example: `  gpfit export co2.gpfit --out co2.npz
  gpfit export co2.gpfit | jq .kernel
  gpfit export study.run --format mlflow --out mlruns`,
		RunE: func(cmd *cobra.Command, args []string) error { return runExport(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	s.StringVar(&f.format, "format", "", "form of the result: json, npz or mlflow (default: by the name of --out, or json)")
	flags.Completions(s, "format", "json", "npz", "mlflow")
	s.StringVar(&f.experiment, "experiment", "", "`NAME` of MLflow's experiment (default: the name of the batch, or gpfit)")
	flags.InGroup(s, "Output", "format", "experiment")
	f.Add(s, "export")
	return cmd
}

func runExport(cmd *cobra.Command, path string, f *exportFlags) error {
	switch f.format {
	case "mlflow":
		return exportRuns(cmd, path, f)
	case "", "json", "npz":
	default:
		return exit.Usagef("--format %q: must be json, npz or mlflow", f.format)
	}
	if f.experiment != "" {
		return exit.Usagef("--experiment %s: needs --format mlflow", f.experiment)
	}
	file, err := output.Choose(f.Output.Out, f.format, false, output.JSON, output.NPZ)
	if err != nil {
		return err
	}
	m, err := f.LoadModel(path)
	if err != nil {
		return err
	}
	write := m.ExportJSON
	if file.Format == output.NPZ {
		write = m.ExportNPZ
	}
	return f.Write(cmd.Context(), cmd.OutOrStdout(), file.Compressed(write))
}

// exportRuns adds what path holds to an MLflow file store.
func exportRuns(cmd *cobra.Command, path string, f *exportFlags) error {
	switch {
	case f.Output.Out == "":
		return exit.Usagef("--format mlflow writes a folder: give --out FOLDER, such as mlruns")
	case f.Target != "":
		return exit.Usagef("--target %s: a run of MLflow has all targets; leave it out with --format mlflow", f.Target)
	}
	name, runs, err := mlflowRuns(path)
	if err != nil {
		return err
	}
	if f.experiment != "" {
		name = f.experiment
	}
	if err := (mlflow.Store{Dir: f.Output.Out}).Write(cmd.Context(), name, runs); err != nil {
		return err
	}
	messages.New(cmd.ErrOrStderr(), false).Note("written to the experiment %s in %s; number of runs: %d", name, f.Output.Out, len(runs))
	return nil
}

// mlflowRuns returns the runs of a run directory, a checkpoint or a model, with the name of
// their experiment.
func mlflowRuns(path string) (experiment string, runs []mlflow.TrackedRun, err error) {
	experiment = "gpfit"
	var run mlflow.TrackedRun
	switch info, statErr := os.Stat(path); {
	case statErr == nil && info.IsDir():
		b, err := rundir.Open(path)
		if err != nil {
			return "", nil, err
		}
		if experiment = b.Name; experiment == "" {
			experiment = filepath.Base(b.Dir)
		}
		runs, err = mlflow.FromBatch(b)
		return experiment, runs, err
	case journal.IsJournal(path):
		run, err = mlflow.FromCheckpoint(path)
	default:
		var m *gp.Model
		if m, err = gp.Load(path); err == nil {
			run, err = mlflow.FromModel(m, path)
		}
	}
	return experiment, []mlflow.TrackedRun{run}, err
}
