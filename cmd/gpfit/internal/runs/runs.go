// Package runs runs a batch on this machine or submits it to Slurm. The commands that
// run batches share it.
package runs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpfit"
	"gpfit/batch"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/device"
	"gpfit/internal/option"
	"gpfit/internal/results"
	"gpfit/internal/rundir"
	"gpfit/internal/slurm"
	"gpfit/internal/spec"
)

// BatchFlags are the flags of commands that run a batch.
type BatchFlags struct {
	batch.Options
	Slurm                 spec.Slurm
	JSON, Quiet           bool
	memory, shard, engine string
}

// Add declares the flags.
func (f *BatchFlags) Add(s *pflag.FlagSet) {
	s.IntVar(&f.Cores, "cores", 0, "number of CPU cores, and largest number of jobs that run side by side (default: all cores)")
	s.StringVar(&f.memory, "memory", "", "the most host memory that running jobs may plan for, such as `16GiB` (default: 90 % of the free memory)")
	s.IntVar(&f.JobsPerDevice, "gpu-jobs", 1, "number of jobs that may share a GPU, if its memory allows")
	s.StringVar(&f.shard, "shard", "", "run only shard `i/N` of the jobs, i from 0; auto or auto/N takes i from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX")
	s.BoolVar(&f.Wait, "wait", false, "wait for the jobs of other processes of the run, and continue these jobs if the processes die")
	flags.Choice(s, &f.engine, "engine", "where the jobs run: on this machine, or on Slurm as a job array", "local", "slurm")
	s.StringVar(&f.Slurm.Partition, "slurm-partition", "", "sbatch --partition")
	s.StringVar(&f.Slurm.Gres, "slurm-gres", "", "sbatch --gres, such as gpu:1")
	s.StringVar(&f.Slurm.Time, "slurm-time", "", "sbatch --time")
	s.StringVar(&f.Slurm.Memory, "slurm-mem", "", "sbatch --mem")
	s.StringVar(&f.Slurm.Account, "slurm-account", "", "sbatch --account")
	s.StringVar(&f.Slurm.QOS, "slurm-qos", "", "sbatch --qos")
	s.IntVar(&f.Slurm.Tasks, "slurm-tasks", 0, "number of tasks of the job array (default: one task per job, at most 8)")
	s.IntVar(&f.Slurm.CPUs, "slurm-cpus", 0, "CPUs per task (default: the largest number of threads of a job)")
	s.StringArrayVar(&f.Slurm.Options, "slurm-option", nil, "another option for sbatch, such as --exclude=node7 (may be repeated)")
	s.BoolVar(&f.JSON, "json", false, "print JSON lines instead of text")
	s.BoolVar(&f.Quiet, "quiet", false, "print only warnings and errors on standard error, no progress and no notes")
	flags.InGroup(s, "Run", "cores", "memory", "gpu-jobs", "shard", "wait")
	flags.InGroup(s, "Cluster", "engine", "slurm-partition", "slurm-gres", "slurm-time", "slurm-mem", "slurm-account", "slurm-qos", "slurm-tasks", "slurm-cpus", "slurm-option")
	flags.InGroup(s, "Output", "json", "quiet")
}

// maxWorkers bounds the numbers of cores, jobs and tasks; a larger one is a mistake.
const maxWorkers = 100_000

// Check finds mistakes in the flags and completes the options.
func (f *BatchFlags) Check() error {
	f.Drivers, f.Methods, f.Formats = gpfit.Drivers(), gpfit.Methods(), flags.Formats()
	for _, n := range []struct {
		flag         string
		value, least int
	}{{"cores", f.Cores, 0}, {"gpu-jobs", f.JobsPerDevice, 1}, {"slurm-tasks", f.Slurm.Tasks, 0}, {"slurm-cpus", f.Slurm.CPUs, 0}} {
		if n.value < n.least || n.value > maxWorkers {
			return exit.Usagef("--%s %d: must be from %d to %d", n.flag, n.value, n.least, maxWorkers)
		}
	}
	if f.memory != "" {
		b, err := option.ParseBytes(f.memory)
		if err != nil {
			return exit.Usagef("--memory: %v", err)
		}
		f.Memory = b
	}
	if f.shard != "" {
		var err error
		if f.Shard, err = batch.ParseShard(f.shard, os.LookupEnv); err != nil {
			return exit.Usagef("--%v", err)
		}
		f.Shared = true
	}
	if f.OnSlurm() && f.shard != "" {
		return exit.Usagef("--engine slurm distributes the jobs itself: leave out --shard")
	}
	return nil
}

// OnSlurm reports whether Slurm runs the jobs.
func (f *BatchFlags) OnSlurm() bool { return f.engine == "slurm" }

// PlanOptions returns the options for the plan of the spec at path, which reads text.
// extra overrides the spec's options.
func PlanOptions(msg *messages.Writer, program, path string, text []byte, extra spec.Options) batch.PlanOptions {
	return batch.PlanOptions{
		SpecPath: path, SpecText: text, Extra: extra, Program: program,
		Drivers: gpfit.Drivers(), Methods: gpfit.Methods(), Formats: flags.Formats(), Crossover: device.NewCrossover(), OnWarning: msg.Warn,
	}
}

// CheckOutput returns an error if out is an input of the run's jobs, or one of the run's
// files other than its page, or if it exists and force is false.
func CheckOutput(out string, force bool, r *rundir.Run) error {
	inputs := []string{r.SpecPath}
	for _, in := range r.Inputs {
		inputs = append(inputs, in.Path)
	}
	// A running batch may remove files, which then need no protection.
	_ = filepath.WalkDir(r.Dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && path != r.Path("", "report")+".html" {
			inputs = append(inputs, path)
		}
		return nil
	})
	return output.Check(force, []output.Destination{{Flag: "out", Path: out}}, inputs...)
}

// array returns the job array for the run in dir, with flags for "gpfit resume". specified
// are the options of the spec.
func (f *BatchFlags) array(dir string, specified spec.Slurm, flags []string) (slurm.Array, error) {
	program, err := os.Executable()
	if err != nil {
		return slurm.Array{}, err
	}
	run, err := filepath.Abs(dir)
	return slurm.Array{Slurm: slurm.Merge(f.Slurm, specified), Program: program, Run: run, Resume: flags}, err
}

// ShowSubmission prints the script for the jobs of a run that would be in dir, and the command
// that would submit it: as text, or as a JSON line of the type "slurm_array".
func (f *BatchFlags) ShowSubmission(w io.Writer, dir string, specified spec.Slurm, jobs []rundir.PlannedJob) error {
	a, err := f.array(dir, specified, nil)
	if err != nil {
		return err
	}
	script, err := slurm.Script(a, jobs)
	if err != nil {
		return err
	}
	command := slurm.Command(a.Run)
	if f.JSON {
		return json.NewEncoder(w).Encode(map[string]any{
			"type": "slurm_array", "schema_version": results.SchemaVersion, "command": command, "script": string(script),
		})
	}
	_, err = fmt.Fprintf(w, "\n%s would submit this script:\n\n%s", strings.Join(command, " "), script)
	return err
}

// Submit submits the run to Slurm, with flags for "gpfit resume". specified are the
// options of the spec.
func (f *BatchFlags) Submit(cmd *cobra.Command, msg *messages.Writer, r *rundir.Run, specified spec.Slurm, flags []string) error {
	a, err := f.array(r.Dir, specified, flags)
	if err != nil {
		return err
	}
	sub, err := slurm.Submit(cmd.Context(), a, r.Jobs)
	if err != nil {
		return fmt.Errorf("%w\nthe run is planned: 'gpfit resume %s --engine slurm' submits it", err, r.Dir)
	}
	msg.Note("submitted %d jobs as Slurm job %s; 'gpfit show %s' shows their progress", len(r.Jobs), sub.ID, r.Dir)
	_, err = fmt.Fprintln(cmd.OutOrStdout(), sub.ID)
	return err
}

// Run runs the unfinished jobs and prints the results.
func (f *BatchFlags) Run(cmd *cobra.Command, msg *messages.Writer, r *rundir.Run) error {
	f.OnNote = msg.Say
	f.OnProgress = func(p batch.RunProgress) { msg.Status("%s", p) }
	sum, runErr := batch.Run(cmd.Context(), r, f.Options)
	msg.Clear()
	if sum.Total == 0 && runErr != nil {
		return runErr
	}
	if sum.Here > 0 {
		msg.Note("ran %d jobs in %s; evaluations took %.1f %% of the time of %d cores", sum.Here, sum.Wall.Round(time.Millisecond),
			100*sum.Utilization(), sum.Workers)
	}
	if sum.Elsewhere > 0 {
		msg.Note("other processes have %d jobs", sum.Elsewhere)
	}
	if errors.Is(runErr, context.Canceled) {
		// By the cause, which is not part of the text, the program finds its exit code.
		return fmt.Errorf("interrupted with %d of %d jobs done; 'gpfit resume %s' continues%.0w", sum.Done, sum.Total, r.Dir, runErr)
	}
	rows, err := results.Collect(r)
	if err != nil {
		return errors.Join(runErr, err)
	}
	format := "table"
	if f.JSON {
		format = "json"
	}
	return errors.Join(runErr, results.Write(cmd.OutOrStdout(), format, r, rows))
}
