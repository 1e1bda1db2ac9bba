package main

import (
	"cmp"
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gpfit"
	"gpfit/batch"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/cmd/gpfit/internal/runs"
	"gpfit/internal/option"
	"gpfit/internal/results"
	"gpfit/internal/rundir"
	"gpfit/internal/slurm"
	"gpfit/internal/spec"
)

func newBatch() *cobra.Command {
	// jobs are options of every job. They override the spec.
	var jobs flags.Set
	cmd := frame.New("batch", &cobra.Command{
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
	}, func(c *frame.Command) error { return runBatch(c, jobs.Given) })
	jobs.Add(cmd, option.Every)
	return cmd
}

func runBatch(c *frame.Command, jobs map[string]any) error {
	path := c.Args[0]
	run, err := runs.New(c)
	if err != nil {
		return err
	}
	var text []byte
	s, err := flags.Await(c.Ctx, path, func() (s *spec.Batch, err error) {
		s, text, err = spec.Read(path)
		return s, err
	})
	if err != nil {
		return err
	}
	build := func() (*rundir.Manifest, []byte, error) {
		plan := runs.PlanOptions(c.Msg, programName(), path, text, spec.Stating(jobs))
		plan.Accelerated = c.Run.OnSlurm && slurm.Accelerated(slurm.Merge(c.Slurm, s.Slurm))
		m, err := batch.Plan(c.Ctx, s, plan)
		return m, text, err
	}
	out := cmp.Or(c.Output.Out, strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))+".run")
	if c.Run.Dry {
		return showPlan(run, out, s.Slurm, build)
	}
	if c.Run.OnSlurm {
		if err := slurm.Check(); err != nil {
			return err
		}
	}
	r, lock, err := openNew(out, run.Shared(), build)
	if err != nil {
		return err
	}
	if run.Shared() && r.SpecSHA256 != rundir.SHA256(text) {
		lock.Release()
		return batch.ChangedError(out, "the spec "+path)
	}
	if c.Run.OnSlurm {
		lock.Release()
		return run.Submit(r, s.Slurm, nil)
	}
	defer lock.Release()
	return run.Start(r)
}

// showPlan prints the plan of --dry-run for the run that would be in out.
func showPlan(run *runs.Runner, out string, specified option.Slurm, build func() (*rundir.Manifest, []byte, error)) error {
	m, _, err := build()
	if err != nil {
		return err
	}
	estimates, err := batch.Estimates(run.Ctx, m.Jobs, gpfit.Drivers(), gpfit.Methods()...)
	if err != nil {
		return err
	}
	if err := results.WritePlan(run.Out, run.Output.JSON, estimates); err != nil {
		return err
	}
	if run.Run.OnSlurm {
		err = run.ShowSubmission(out, specified, m.Jobs)
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
