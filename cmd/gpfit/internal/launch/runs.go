// Package launch runs a batch here or submits it to Slurm. The commands that run batches share it.
package launch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gpfit"
	"gpfit/batch"
	"gpfit/batch/results"
	"gpfit/batch/rundir"
	"gpfit/batch/slurm"
	"gpfit/batch/spec"
	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/cmd/gpfit/internal/ranks"
	"gpfit/device"
	"gpfit/option"
)

// Runner is a command that runs the jobs of a batch.
type Runner struct {
	*cli.Command
	run batch.Options
}

// Shared reports whether processes share the run.
func (o *Runner) Shared() bool { return o.run.Shared }

// New checks the options of a command and completes them.
func New(c *cli.Command) (*Runner, error) {
	r := c.Run
	o := &Runner{c, batch.Options{
		Drivers: gpfit.Drivers(), Methods: gpfit.Methods(), Formats: flags.Formats(), Cores: r.Cores, Memory: r.Memory, JobsPerDevice: r.JobsPerDevice,
		Shared: r.Worker || r.Shard != "", Wait: r.Wait, RetryFailed: r.RetryFailed,
		OnNote: c.Msg.Say, OnProgress: func(p batch.RunProgress) { c.Msg.Share(false, p.Done, p.Total, p.Left, p.String()) },
	}}
	if r.Shard == "" {
		return o, nil
	}
	var err error
	if o.run.Shard, err = batch.ParseShard(r.Shard, os.LookupEnv); err != nil {
		return nil, exit.Usagef("--%v", err)
	}
	return o, nil
}

// PlanOptions returns the options for the plan of the spec at path, which reads text.
// extra overrides the spec's options.
func PlanOptions(msg *messages.Writer, program, path string, text []byte, extra spec.Options) batch.PlanOptions {
	return batch.PlanOptions{
		SpecPath: path, SpecText: text, Extra: extra, Program: program,
		Drivers: gpfit.Drivers(), Methods: gpfit.Methods(), Formats: flags.Formats(), Crossover: device.NewCrossover(), OnWarning: func(text string) { msg.Warn(text) },
	}
}

// Open opens the run that a command names, to read it only.
func Open(c *cli.Command) (*rundir.Run, error) {
	r, err := rundir.Open(c.Args[0])
	if err == nil {
		TellDamage(c, r)
	}
	return r, err
}

// TellDamage warns of a damaged run.json, or of a damaged copy.
func TellDamage(c *cli.Command, r *rundir.Run) {
	if r.Damage != "" {
		c.Msg.Warn(r.Damage)
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
	_ = filepath.WalkDir(r.Dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && path != r.Path("", "report")+".html" {
			inputs = append(inputs, path)
		}
		return nil
	})
	return output.Check(force, []output.Destination{{Flag: "out", Path: out}}, inputs...)
}

// array returns the job array for jobs of the run in dir, with flags for "gpfit resume". specified
// are the options of the spec. Unless they say how much memory a task has, the plans of the jobs do.
func (o *Runner) array(dir string, specified option.Slurm, jobs []rundir.PlannedJob, flags []string) (slurm.Array, error) {
	program, err := os.Executable()
	if err != nil {
		return slurm.Array{}, err
	}
	run, err := filepath.Abs(dir)
	a := slurm.Array{Slurm: slurm.Merge(o.Slurm, specified), Program: program, Run: run, Resume: flags}
	if err != nil || a.Memory != "" {
		return a, err
	}
	estimates, _, err := Estimates(o, jobs)
	if err != nil {
		return a, err
	}
	bytes := make([]int64, len(jobs))
	for i := range estimates {
		bytes[i] = estimates[i].HostBytes()
	}
	a.Memory = slurm.Memory(a, jobs, bytes)
	return a, nil
}

// ShowSubmission prints the script for the jobs of a run that would be in dir, and the command
// that would submit it: as text, or as a JSON line of the type "slurm_array".
func (o *Runner) ShowSubmission(dir string, specified option.Slurm, jobs []rundir.PlannedJob) error {
	a, err := o.array(dir, specified, jobs, nil)
	if err != nil {
		return err
	}
	script, err := slurm.Script(a, jobs)
	if err != nil {
		return err
	}
	command := slurm.Command(a.Run)
	if o.Output.JSON {
		return json.NewEncoder(o.Out).Encode(map[string]any{
			"type": "slurm_array", "schema_version": results.SchemaVersion, "command": command, "script": string(script),
		})
	}
	_, err = fmt.Fprintf(o.Out, "\n%s would submit this script:\n\n%s", strings.Join(command, " "), script)
	return err
}

// Submit submits the run to Slurm, with flags for "gpfit resume". specified are the
// options of the spec.
func (o *Runner) Submit(r *rundir.Run, specified option.Slurm, flags []string) error {
	a, err := o.array(r.Dir, specified, r.Jobs, flags)
	if err != nil {
		return err
	}
	sub, err := slurm.Submit(o.Ctx, a, r.Jobs)
	if err != nil {
		return fmt.Errorf("%w\nthe run is planned: 'gpfit resume %s --engine slurm' submits it", err, r.Dir)
	}
	o.Msg.Note("submitted %d jobs as Slurm job %s; 'gpfit show %s' shows their progress", r.Fits(), sub.ID, r.Dir)
	_, err = fmt.Fprintln(o.Out, sub.ID)
	return err
}

// Estimates returns what jobs are expected to take with the options of the command.
func Estimates(o *Runner, jobs []rundir.PlannedJob) ([]batch.Estimate, batch.Forecast, error) {
	return batch.Estimates(o.Ctx, jobs, o.run)
}

// WriteModels writes models of values of a column each, as [batch.WriteModels].
func (o *Runner) WriteModels(r *rundir.Run) error {
	return batch.WriteModels(o.Ctx, r, o.Output.Model, cmp.Or(o.Output.Models, o.Output.Out), o.run)
}

// Start runs the unfinished jobs and prints the results.
func (o *Runner) Start(r *rundir.Run) error {
	for _, job := range r.Jobs {
		method := device.Chosen
		if job.Options.Method != nil {
			method = *job.Options.Method
		}
		if err := ranks.Check(method); err != nil {
			return err
		}
	}
	sum, runErr := batch.Run(o.Ctx, r, o.run)
	o.Msg.Clear()
	if sum.Total == 0 && runErr != nil {
		return runErr
	}
	if sum.Here > 0 {
		o.Msg.Note("ran %d jobs in %s; evaluations took %.1f %% of the time of %d cores", sum.Here, sum.Wall.Round(time.Millisecond),
			100*sum.Utilization(), sum.Workers)
	}
	if sum.Elsewhere > 0 {
		o.Msg.Note("other processes have %d jobs", sum.Elsewhere)
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
	if o.Output.JSON {
		format = "json"
	}
	return errors.Join(runErr, results.Write(o.Out, format, r, rows))
}
