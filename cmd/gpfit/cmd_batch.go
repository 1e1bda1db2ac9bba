package main

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit"
	"gpfit/batch"
	"gpfit/batch/results"
	"gpfit/batch/rundir"
	"gpfit/batch/slurm"
	"gpfit/batch/spec"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/runs"
)

type batchFlags struct {
	runs.BatchFlags
	out                         string
	dryRun                      bool
	device, fallback            string
	threads, restarts, maxEvals int
}

func newBatch() *cobra.Command {
	var f batchFlags
	cmd := &cobra.Command{
		Use:   "batch SPEC",
		Short: "Run many fits: data sets × kernels × splits × seeds",
		Long: `Run many fits: data sets × kernels × splits × seeds.

SPEC is a YAML file; examples/batch/full.yaml shows all that it can say. Jobs run
side by side on the cores and GPUs, as many as memory allows, each with the
threads that the spec gives it. Everything about the run is in its directory:
"gpfit show" makes tables of it, "gpfit report" a page, "gpfit resume" goes on
after Ctrl-C, a crash or a kill, from the checkpoints, to the same bits.

A job that fails does not stop the others; the exit code is then 3, as it is that
of --dry-run where a job will fail. At most 1,000,000 jobs make a batch. With
--engine slurm a job array is submitted. Without a scheduler, or with another
one, start the same command with --shard 0/4, 1/4, … on machines that share the
run directory.`,
		Example: `  gpfit batch examples/batch/co2.yaml
  gpfit batch study.yaml --dry-run
  gpfit batch study.yaml --engine slurm --slurm-partition gpu --slurm-gres gpu:1 --slurm-tasks 4`,
		RunE: func(cmd *cobra.Command, args []string) error { return runBatch(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	s.StringVar(&f.out, "out", "", "run `DIRECTORY` (default: the name of SPEC with .run, in this folder)")
	s.BoolVar(&f.dryRun, "dry-run", false, "print the jobs with memory, operations and expected time, and do nothing")
	s.StringVar(&f.device, "device", "", "device of every job, before the spec: auto, cpu, cuda or a name")
	s.StringVar(&f.fallback, "fallback", "", "`DEVICE` to take where a job's own cannot be had, is lost or too small")
	s.IntVar(&f.threads, "threads", 0, "CPU threads of every job, before the spec")
	s.IntVar(&f.restarts, "restarts", 0, "further starts of every job, from a Latin hypercube, before the spec")
	s.IntVar(&f.maxEvals, "max-evals", 0, "limit on the evaluations of each start of every job, before the spec")
	f.BatchFlags.Add(s)
	return cmd
}

// extra are the options of the command line, which come before the spec.
func (f *batchFlags) extra(s *pflag.FlagSet) spec.Options {
	var o spec.Options
	for name, set := range map[string]func(){
		"device": func() { o.Device = &f.device }, "fallback": func() { o.Fallback = &f.fallback },
		"threads": func() { o.Threads = &f.threads }, "restarts": func() { o.Restarts = &f.restarts },
		"max-evals": func() { o.MaxEvals = &f.maxEvals },
	} {
		if s.Lookup(name).Changed {
			set()
		}
	}
	return o
}

func runBatch(cmd *cobra.Command, path string, f *batchFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Quiet)
	if err := f.Check(); err != nil {
		return err
	}
	s, text, err := spec.Read(path)
	if err != nil {
		return err
	}
	build := func() (*rundir.Manifest, []byte, error) {
		plan := runs.PlanOptions(msg, programName, path, text, f.extra(cmd.Flags()))
		plan.Accelerated = f.OnSlurm() && strings.Contains(slurm.Merge(f.Slurm, s.Slurm).Gres, "gpu")
		m, err := batch.Plan(ctx, s, plan)
		return m, text, err
	}
	if f.dryRun {
		m, _, err := build()
		if err != nil {
			return err
		}
		estimates, err := batch.Estimates(ctx, m.Jobs, gpfit.Drivers())
		if err != nil {
			return err
		}
		return errors.Join(results.WritePlan(cmd.OutOrStdout(), f.JSON, estimates), batch.CheckPlan(m.Jobs))
	}
	if f.out == "" {
		f.out = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + ".run"
	}
	r, lock, err := openNew(f.out, f.Shared, build)
	if err != nil {
		return err
	}
	if f.Shared && r.SpecSHA256 != rundir.SHA256(text) {
		lock.Release()
		return &batch.ChangedError{Dir: f.out, What: []string{"the spec " + path}}
	}
	if f.OnSlurm() {
		lock.Release()
		return f.Submit(cmd, msg, r, s.Slurm, nil)
	}
	defer lock.Release()
	return f.Run(cmd, msg, r)
}

// openNew makes the run, or joins it where shards share it.
func openNew(out string, shared bool, build func() (*rundir.Manifest, []byte, error)) (*rundir.Run, *rundir.Lock, error) {
	if shared {
		return rundir.Join(out, build)
	}
	r, lock, err := rundir.Create(out, build)
	if errors.Is(err, rundir.ErrExists) {
		return nil, nil, exit.Usagef("%v: go on with 'gpfit resume %s', or choose another directory with --out", err, out)
	}
	return r, lock, err
}
