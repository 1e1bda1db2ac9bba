package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit/batch"
	"gpfit/batch/results"
	"gpfit/batch/rundir"
	"gpfit/batch/slurm"
	"gpfit/batch/spec"
	"gpfit/device"
)

// runFlags say how a batch is run; batch and resume share them.
type runFlags struct {
	cores, gpuJobs int
	memory         string
	shard          string
	wait           bool
	engine         string
	slurm          spec.Slurm
	json, quiet    bool
}

func (f *runFlags) add(s *pflag.FlagSet) {
	s.IntVar(&f.cores, "cores", 0, "CPU cores to use, for as many jobs side by side (default: all)")
	s.StringVar(&f.memory, "memory", "", "the most host memory that running jobs may plan for, such as `16GiB` (default: 90 % of what is free)")
	s.IntVar(&f.gpuJobs, "gpu-jobs", 1, "jobs that may share a GPU, if its memory allows")
	s.StringVar(&f.shard, "shard", "", "do only share `i/N` of the jobs, i from 0; auto or auto/N takes i from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX")
	s.BoolVar(&f.wait, "wait", false, "with others on the same run: stay until their jobs are done, to take them up if they die")
	s.StringVar(&f.engine, "engine", "local", "where the jobs run: local, or slurm to submit a job array")
	s.StringVar(&f.slurm.Partition, "slurm-partition", "", "sbatch --partition")
	s.StringVar(&f.slurm.Gres, "slurm-gres", "", "sbatch --gres, such as gpu:1")
	s.StringVar(&f.slurm.Time, "slurm-time", "", "sbatch --time")
	s.StringVar(&f.slurm.Memory, "slurm-mem", "", "sbatch --mem")
	s.StringVar(&f.slurm.Account, "slurm-account", "", "sbatch --account")
	s.StringVar(&f.slurm.QOS, "slurm-qos", "", "sbatch --qos")
	s.IntVar(&f.slurm.Tasks, "slurm-tasks", 0, "width of the job array (default: one task for each job, at most 8)")
	s.IntVar(&f.slurm.CPUs, "slurm-cpus", 0, "CPUs of each task (default: the most threads that a job has)")
	s.StringArrayVar(&f.slurm.Options, "slurm-option", nil, "a further option of sbatch, such as --exclude=node7 (may be repeated)")
	s.BoolVar(&f.json, "json", false, "print JSON lines instead of text")
	s.BoolVar(&f.quiet, "quiet", false, "no progress and no notes on standard error, only warnings and errors")
}

// check turns the flags into options.
func (f *runFlags) check() (batch.Options, error) {
	o := batch.Options{Drivers: drivers(), Cores: f.cores, JobsPerDevice: f.gpuJobs, Wait: f.wait}
	if f.cores < 0 || f.gpuJobs < 1 {
		return o, usagef("--cores must not be negative, --gpu-jobs at least 1")
	}
	if f.slurm.Tasks < 0 || f.slurm.CPUs < 0 {
		return o, usagef("--slurm-tasks and --slurm-cpus must not be negative")
	}
	if f.memory != "" {
		b, err := spec.ParseBytes(f.memory)
		if err != nil {
			return o, usagef("--memory: %v", err)
		}
		o.Memory = int64(b)
	}
	if f.shard != "" {
		var err error
		if o.Shard, err = batch.ParseShard(f.shard, os.LookupEnv); err != nil {
			return o, usagef("--%v", err)
		}
		o.Shared = true
	}
	if !slices.Contains([]string{"local", "slurm"}, f.engine) {
		return o, usagef("--engine %q: must be local or slurm", f.engine)
	}
	if f.engine == "slurm" && f.shard != "" {
		return o, usagef("--engine slurm shares the jobs out itself: leave --shard away")
	}
	return o, nil
}

type batchFlags struct {
	runFlags
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

A job that fails does not stop the others; the exit code is then 3. With
--engine slurm a job array is submitted. Without a scheduler, or with another
one, start the same command with --shard 0/4, 1/4, … on machines that share the
run directory.`,
		Example: `  gpfit batch examples/batch/co2.yaml
  gpfit batch study.yaml --dry-run
  gpfit batch study.yaml --engine slurm --slurm-partition gpu --slurm-gres gpu:1 --slurm-tasks 4`,
		Args: exactArgs(1, "SPEC"),
		RunE: func(cmd *cobra.Command, args []string) error { return runBatch(cmd, args[0], &f) },
	}
	s := cmd.Flags()
	s.SortFlags = false
	s.StringVar(&f.out, "out", "", "run `DIRECTORY` (default: the name of SPEC with .run, in this folder)")
	s.BoolVar(&f.dryRun, "dry-run", false, "print the jobs with memory, operations and expected time, and do nothing")
	s.StringVar(&f.device, "device", "", "device of every job, before the spec: auto, cpu, cuda or a name")
	s.StringVar(&f.fallback, "fallback", "", "`DEVICE` to take where a job's own cannot be had, is lost or too small")
	s.IntVar(&f.threads, "threads", 0, "CPU threads of every job, before the spec")
	s.IntVar(&f.restarts, "restarts", 0, "further random starts of every job, before the spec")
	s.IntVar(&f.maxEvals, "max-evals", 0, "limit on the evaluations of each start of every job, before the spec")
	f.runFlags.add(s)
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
	ctx, msg := cmd.Context(), newMessages(cmd.ErrOrStderr(), f.quiet)
	o, err := f.check()
	if err != nil {
		return err
	}
	s, text, err := spec.Read(path)
	if err != nil {
		return err
	}
	sl := slurm.Merge(f.slurm, s.Slurm)
	build := func() (*rundir.Manifest, []byte, error) {
		m, err := batch.Plan(ctx, s, batch.PlanOptions{
			SpecPath: path, SpecText: text, Extra: f.extra(cmd.Flags()), Program: "gpfit " + version, Drivers: drivers(),
			Crossover: device.CachedCrossover(false), Accelerated: f.engine == "slurm" && strings.Contains(sl.Gres, "gpu"), OnWarning: msg.warn,
		})
		return m, text, err
	}
	if f.dryRun {
		m, _, err := build()
		if err != nil {
			return err
		}
		return dryRun(ctx, cmd, m, f)
	}
	out := f.out
	if out == "" {
		out = strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)) + ".run"
	}
	r, lock, err := openNew(out, o.Shared, build)
	if err != nil {
		return err
	}
	if o.Shared && r.SpecSHA256 != rundir.SHA256(text) {
		lock.Release()
		return &batch.ChangedError{Dir: out, What: []string{"the spec " + path}}
	}
	if f.engine == "slurm" {
		lock.Release()
		return submit(ctx, cmd, msg, r, sl, nil)
	}
	defer lock.Release()
	return runJobs(ctx, cmd, msg, r, o, f.json)
}

// openNew makes the run, or joins it where shards share it.
func openNew(out string, shared bool, build func() (*rundir.Manifest, []byte, error)) (*rundir.Run, *rundir.Lock, error) {
	if shared {
		return rundir.Join(out, build)
	}
	r, lock, err := rundir.Create(out, build)
	if errors.Is(err, rundir.ErrExists) {
		return nil, nil, usagef("%v: go on with 'gpfit resume %s', or choose another directory with --out", err, out)
	}
	return r, lock, err
}

// submit hands the run to Slurm.
func submit(ctx context.Context, cmd *cobra.Command, msg *messages, r *rundir.Run, s spec.Slurm, flags []string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	run, err := filepath.Abs(r.Dir)
	if err != nil {
		return err
	}
	sub, err := slurm.Submit(ctx, slurm.Array{Slurm: s, Program: program, Run: run, Resume: flags}, r.Jobs)
	if err != nil {
		return err
	}
	msg.note("submitted %d jobs as Slurm job %s; 'gpfit show %s' tells how far they are", len(r.Jobs), sub.ID, r.Dir)
	_, err = fmt.Fprintln(cmd.OutOrStdout(), sub.ID)
	return err
}

// runJobs runs what is not done and prints the results.
func runJobs(ctx context.Context, cmd *cobra.Command, msg *messages, r *rundir.Run, o batch.Options, asJSON bool) error {
	o.OnNote = func(text string) { msg.note("%s", text) }
	o.OnProgress = msg.batchProgress
	sum, runErr := batch.Run(ctx, r, o)
	msg.clear()
	if sum.Total == 0 && runErr != nil {
		return runErr
	}
	if sum.Here > 0 {
		msg.note("%d jobs in %s, %.1f %% of the time of %d cores within evaluations", sum.Here, sum.Wall.Round(time.Millisecond),
			100*sum.Utilization(), sum.Workers)
	}
	if sum.Elsewhere > 0 {
		msg.note("%d jobs are with other processes", sum.Elsewhere)
	}
	if errors.Is(runErr, context.Canceled) {
		return fmt.Errorf("interrupted with %d of %d jobs done; 'gpfit resume %s' goes on (%w)", sum.Done, sum.Total, r.Dir, runErr)
	}
	rows, err := results.Collect(r)
	if err != nil {
		return errors.Join(runErr, err)
	}
	format := "table"
	if asJSON {
		format = "json"
	}
	return errors.Join(runErr, results.Write(cmd.OutOrStdout(), format, r, rows))
}

// batchProgress shows how far a batch is.
func (m *messages) batchProgress(p batch.RunProgress) {
	text := fmt.Sprintf("%d of %d jobs done", p.Done, p.Total)
	if p.Failed > 0 {
		text += fmt.Sprintf(", %d failed", p.Failed)
	}
	text += fmt.Sprintf(", %d running", p.Running)
	if p.Left > 0 {
		text += fmt.Sprintf(", about %s left", p.Left.Round(time.Second))
	}
	if p.Current != "" {
		text += "; " + p.Current
	}
	m.draw(text, false)
}

// dryRun prints what the jobs need.
func dryRun(ctx context.Context, cmd *cobra.Command, m *rundir.Manifest, f *batchFlags) error {
	estimates, err := batch.Estimates(ctx, m.Jobs, drivers())
	if err != nil {
		return err
	}
	if f.json {
		for _, e := range estimates {
			if err := encodeJSON(cmd.OutOrStdout(), map[string]any{
				"type": "planned_job", "schema_version": results.SchemaVersion, "job": e.Job.ID, "fingerprint": e.Job.Fingerprint,
				"n": e.Job.N, "d": e.Job.D, "device": e.Job.Options.Device, "threads": e.Job.Options.Threads, "host_bytes": e.HostBytes(),
				"device_bytes": e.DeviceBytes(), "flops_gradient": e.FlopsGradient, "estimated_seconds": e.Seconds,
			}, nil); err != nil {
				return err
			}
		}
		return nil
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "job\tn\td\tdevice\tthreads\tmemory\toperations\testimated time\t")
	seconds, operations, biggest := 0.0, 0.0, int64(0)
	for _, e := range estimates {
		starts := 1.0
		if e.Job.Options.Restarts != nil {
			starts += float64(*e.Job.Options.Restarts)
		}
		ops := e.FlopsGradient * batch.TypicalEvaluations * starts
		fmt.Fprintf(w, "%s\t%d\t%d\t%s\t%d\t%s\t%.2g\t%s\t\n", e.Job.ID, e.Job.N, e.Job.D, *e.Job.Options.Device, *e.Job.Options.Threads,
			device.FormatBytes(e.HostBytes()+e.DeviceBytes()), ops, duration(e.Seconds))
		seconds, operations, biggest = seconds+e.Seconds, operations+ops, max(biggest, e.HostBytes()+e.DeviceBytes())
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "\n%d jobs, %.2g operations, at most %s for one job, %s one after another;\ncounting %d evaluations for each start; times below 1,000 rows are too short\n",
		len(estimates), operations, device.FormatBytes(biggest), duration(seconds), batch.TypicalEvaluations)
	return err
}

func duration(seconds float64) string {
	if seconds == 0 {
		return "-"
	}
	return time.Duration(seconds * float64(time.Second)).Round(100 * time.Millisecond).String()
}
