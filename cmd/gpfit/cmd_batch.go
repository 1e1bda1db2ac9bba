package main

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gpfit"
	"gpfit/batch"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/runs"
	"gpfit/internal/results"
	"gpfit/internal/rundir"
	"gpfit/internal/slurm"
	"gpfit/internal/spec"
)

type batchFlags struct {
	runs.BatchFlags
	// jobs are options of every job. They override the spec.
	jobs   flags.Options
	out    string
	dryRun bool
}

func newBatch() *cobra.Command {
	var f batchFlags
	cmd := &cobra.Command{
		Use:   "batch SPEC",
		Short: "Run many fits: data sets × kernels × splits × seeds",
		Long: `Run many fits: data sets × kernels × splits × seeds.

SPEC is a YAML file; examples/batch/full.yaml shows all its keys. Jobs run side by
side on the cores and GPUs, as many as memory allows, each with the number of
threads that the spec gives it. The run directory holds everything about the run.
"gpfit show" prints the results as tables, and "gpfit report" writes a page. After
Ctrl-C, a crash or a kill, "gpfit resume" continues from the checkpoints and
computes the same bits.

A job that fails does not stop the others. The exit code is then 3; with --dry-run
it is 3 if a job is going to fail. A batch has at most 1,000,000 jobs. With
--engine slurm, gpfit submits a job array. Without a scheduler, or with another
one, start the same command with --shard 0/4, 1/4, … on machines that share the
run directory.`,
		Example: `  gpfit batch examples/batch/co2.yaml
  gpfit batch study.yaml --dry-run
  gpfit batch study.yaml --engine slurm --slurm-partition gpu --slurm-gres gpu:1 --slurm-tasks 4`,
		RunE: func(cmd *cobra.Command, args []string) error { return runBatch(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	s.StringVar(&f.out, "out", "", "run `DIRECTORY` (default: the name of SPEC with .run, in the current folder)")
	s.BoolVar(&f.dryRun, "dry-run", false, "print the jobs with their memory, operations and expected time, with --engine slurm also the script and the command that submits it, and run nothing")
	flags.InGroup(s, "Run", "out", "dry-run")
	f.jobs.AddOverrides(s, "batch", "Every job (overrides the spec)")
	f.BatchFlags.Add(s)
	return cmd
}

func runBatch(cmd *cobra.Command, path string, f *batchFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Quiet)
	if err := f.Check(); err != nil {
		return err
	}
	var text []byte
	s, err := flags.Await(ctx, path, func() (s *spec.Batch, err error) {
		s, text, err = spec.Read(path)
		return s, err
	})
	if err != nil {
		return err
	}
	build := func() (*rundir.Manifest, []byte, error) {
		plan := runs.PlanOptions(msg, programName(), path, text, spec.Stating(f.jobs.Given))
		plan.Accelerated = f.OnSlurm() && slurm.Accelerated(slurm.Merge(f.Slurm, s.Slurm))
		m, err := batch.Plan(ctx, s, plan)
		return m, text, err
	}
	if f.out == "" {
		f.out = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + ".run"
	}
	if f.dryRun {
		m, _, err := build()
		if err != nil {
			return err
		}
		return f.showPlan(cmd, m, s.Slurm)
	}
	if f.OnSlurm() {
		if err := slurm.Check(); err != nil {
			return err
		}
	}
	r, lock, err := openNew(f.out, f.Shared, build)
	if err != nil {
		return err
	}
	if f.Shared && r.SpecSHA256 != rundir.SHA256(text) {
		lock.Release()
		return batch.ChangedError(f.out, "the spec "+path)
	}
	if f.OnSlurm() {
		lock.Release()
		return f.Submit(cmd, msg, r, s.Slurm, nil)
	}
	defer lock.Release()
	return f.Run(cmd, msg, r)
}

// showPlan prints what --dry-run promises.
func (f *batchFlags) showPlan(cmd *cobra.Command, m *rundir.Manifest, specified spec.Slurm) error {
	estimates, err := batch.Estimates(cmd.Context(), m.Jobs, gpfit.Drivers(), gpfit.Methods()...)
	if err != nil {
		return err
	}
	if err := results.WritePlan(cmd.OutOrStdout(), f.JSON, estimates); err != nil {
		return err
	}
	if f.OnSlurm() {
		err = f.ShowSubmission(cmd.OutOrStdout(), f.out, specified, m.Jobs)
	}
	return errors.Join(err, batch.CheckPlan(m.Jobs))
}

// openNew creates the run, or joins it if shards share it.
func openNew(out string, shared bool, build func() (*rundir.Manifest, []byte, error)) (*rundir.Run, *rundir.Lock, error) {
	if shared {
		return rundir.Join(out, build)
	}
	r, lock, err := rundir.Create(out, build)
	if errors.Is(err, rundir.ErrExists) {
		return nil, nil, exit.Usagef("%v: continue with 'gpfit resume %s', or choose another directory with --out", err, out)
	}
	return r, lock, err
}
