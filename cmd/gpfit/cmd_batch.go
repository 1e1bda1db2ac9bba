package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"gpfit"
	"gpfit/batch"
	"gpfit/batch/results"
	"gpfit/batch/rundir"
	"gpfit/batch/slurm"
	"gpfit/batch/spec"
	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/launch"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/fit/problem"
	"gpfit/option"
)

func runBatch(c *cli.Command) error {
	path := c.Args[0]
	if _, err := problem.FindMethod(c.Jobs.Compute.Method, gpfit.Methods(), c.Jobs.Fit); err != nil {
		return err
	}
	run, err := launch.New(c)
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
		plan := launch.PlanOptions(c.Msg, programName(), path, text, spec.Stating(c.Jobs.Given))
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
	open := rundir.Create
	if run.Shared() {
		open = rundir.Join
	}
	r, lock, err := open(out, build)
	if errors.Is(err, rundir.ErrExists) {
		return exit.Usagef("%v: continue with 'gpfit resume %s', or choose another directory with --out", err, out)
	}
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
func showPlan(run *launch.Runner, out string, specified option.Slurm, build func() (*rundir.Manifest, []byte, error)) error {
	m, _, err := build()
	if err != nil {
		return err
	}
	estimates, all, err := launch.Estimates(run, m.Jobs)
	if err != nil {
		return err
	}
	if err := results.WritePlan(run.Out, run.Output.JSON, estimates, all); err != nil {
		return err
	}
	if run.Run.OnSlurm {
		err = run.ShowSubmission(out, specified, m.Jobs)
	}
	return errors.Join(err, batch.CheckPlan(m.Jobs))
}

func runResume(c *cli.Command) error {
	run, err := launch.New(c)
	if err != nil {
		return err
	}
	mode := rundir.Exclusive
	if run.Shared() {
		mode = rundir.Shared
	}
	r, lock, err := rundir.OpenLocked(c.Args[0], mode)
	if err != nil {
		return err
	}
	defer lock.Release()
	launch.TellDamage(c, r)
	err = batch.Changed(r)
	if errors.Is(err, batch.ErrChanged) {
		if !c.Run.AllowChanged {
			return fmt.Errorf("%w; with --allow-changed gpfit repeats the jobs that depend on it", err)
		}
		err = takeOver(c.Ctx, c.Msg, r)
	}
	if err != nil {
		return err
	}
	if !c.Run.OnSlurm {
		return run.Start(r)
	}
	lock.Release()
	var further []string
	if c.Run.RetryFailed {
		further = append(further, "--retry-failed")
	}
	return run.Submit(r, r.Slurm, further)
}

// takeOver resolves the spec again, with the files as they are now, and replaces the
// run's resolved spec.
func takeOver(ctx context.Context, msg *messages.Writer, r *rundir.Run) error {
	s, text, err := spec.Read(r.SpecPath)
	if err != nil {
		return err
	}
	m, err := batch.Plan(ctx, s, launch.PlanOptions(msg, programName(), r.SpecPath, text, r.Extra))
	if err != nil {
		return err
	}
	same, kept := map[string]string{}, 0
	for _, j := range r.Jobs {
		same[j.ID] = j.Fingerprint
	}
	for _, j := range m.Jobs {
		if same[j.ID] == j.Fingerprint {
			kept += j.Fits()
		}
	}
	msg.Warn("accepting the changes, as --allow-changed allows")
	msg.Note("%d jobs, of which %d are unchanged", m.Fits(), kept)
	return r.Replace(m, text)
}

func runShow(c *cli.Command) error {
	format := c.Output.Format
	if c.Output.JSON {
		if c.Changed("format") && format != "json" {
			return exit.Usagef("give --json or --format %s", format)
		}
		format = "json"
	}
	if err := output.CheckTerminal(c.Out, c.Output.Out, output.FileFormat(format)); err != nil {
		return err
	}
	run, err := launch.New(c)
	if err != nil {
		return err
	}
	r, err := launch.Open(c)
	if err != nil {
		return err
	}
	if err := launch.CheckOutput(c.Output.Out, c.Output.Force, r); err != nil {
		return err
	}
	if c.Output.Model+c.Output.Models != "" {
		return run.WriteModels(r)
	}
	rows, err := results.Collect(r)
	if err != nil {
		return err
	}
	return c.Write(c.Output.Out, func(w io.Writer) error { return results.Write(w, format, r, rows) })
}
