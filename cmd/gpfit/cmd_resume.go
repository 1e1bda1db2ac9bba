package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gpfit/batch"
	"gpfit/batch/rundir"
	"gpfit/batch/spec"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/runs"
)

type resumeFlags struct {
	runs.BatchFlags
	allowChanged bool
}

func newResume() *cobra.Command {
	var f resumeFlags
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Go on with a batch after Ctrl-C, a crash or a failure",
		Long: `Go on with a batch after Ctrl-C, a crash or a failure.

Jobs that are done stay done, others go on from their checkpoints, to the same
bits as without an interruption. Jobs that failed for want of a device or of
memory are tried again, others only with --retry-failed. If the spec or a data
file is not what it was, nothing is done (exit code 10), unless --allow-changed
is given: then the jobs that the change touches are done anew, and new jobs of
the spec are added.`,
		RunE: func(cmd *cobra.Command, args []string) error { return runResume(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	s.BoolVar(&f.allowChanged, "allow-changed", false, "take over a changed spec or changed data, and do anew what they touch")
	s.BoolVar(&f.RetryFailed, "retry-failed", false, "try again whatever failed")
	s.BoolVar(&f.Shared, "worker", false, "share the run with other workers: take jobs that nobody has claimed")
	flags.InGroup(s, "Run", "allow-changed", "retry-failed", "worker")
	f.BatchFlags.Add(s)
	return cmd
}

func runResume(cmd *cobra.Command, dir string, f *resumeFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Quiet)
	if err := f.Check(); err != nil {
		return err
	}
	mode := rundir.Exclusive
	if f.Shared {
		mode = rundir.Shared
	}
	if f.allowChanged && f.Shared {
		return exit.Usagef("--allow-changed is for one process: resume without --worker and --shard first")
	}
	r, lock, err := rundir.OpenLocked(dir, mode)
	if err != nil {
		return err
	}
	defer lock.Release()
	err = batch.Changed(r)
	var changed *batch.ChangedError
	if errors.As(err, &changed) && f.allowChanged {
		err = takeOver(ctx, msg, r)
	}
	if changed != nil && !f.allowChanged {
		return fmt.Errorf("%w; with --allow-changed gpfit does again what depends on it", err)
	}
	if err != nil {
		return err
	}
	if f.OnSlurm() {
		lock.Release()
		var further []string
		if f.RetryFailed {
			further = append(further, "--retry-failed")
		}
		return f.Submit(cmd, msg, r, r.Slurm, further)
	}
	return f.Run(cmd, msg, r)
}

// takeOver replaces the resolved spec by that of the files as they are now.
func takeOver(ctx context.Context, msg *messages.Writer, r *rundir.Run) error {
	s, text, err := spec.Read(r.SpecPath)
	if err != nil {
		return err
	}
	m, err := batch.Plan(ctx, s, runs.PlanOptions(msg, programName, r.SpecPath, text, r.Extra))
	if err != nil {
		return err
	}
	same := map[string]string{}
	for _, j := range r.Jobs {
		same[j.ID] = j.Fingerprint
	}
	kept := 0
	for _, j := range m.Jobs {
		if same[j.ID] == j.Fingerprint {
			kept++
		}
	}
	msg.Warn("taking over what has changed, as --allow-changed allows")
	msg.Note("%d jobs, of which %d are as before", len(m.Jobs), kept)
	return r.Replace(m, text)
}
