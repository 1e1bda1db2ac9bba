package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gpfit/batch"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/runs"
	"gpfit/internal/rundir"
	"gpfit/internal/spec"
)

type resumeFlags struct {
	runs.BatchFlags
	allowChanged bool
}

func newResume() *cobra.Command {
	var f resumeFlags
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Continue a batch after Ctrl-C, a crash or a failure",
		Long: `Continue a batch after Ctrl-C, a crash or a failure.

gpfit keeps the results of finished jobs and continues the others from their
checkpoints, with the same bits as without an interruption. It tries jobs again
that failed because a device or memory was missing, and other failed jobs only
with --retry-failed. If the spec or a data file has changed, gpfit runs nothing
(exit code 10). With --allow-changed it repeats the jobs that the change affects
and adds new jobs of the spec.`,
		RunE: func(cmd *cobra.Command, args []string) error { return runResume(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	s.BoolVar(&f.allowChanged, "allow-changed", false, "accept a changed spec or changed data, and repeat the jobs that the change affects")
	s.BoolVar(&f.RetryFailed, "retry-failed", false, "try all failed jobs again")
	s.BoolVar(&f.Shared, "worker", false, "share the run with other workers: take jobs that no worker has claimed")
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
	if errors.Is(err, batch.ErrChanged) {
		if !f.allowChanged {
			return fmt.Errorf("%w; with --allow-changed gpfit repeats the jobs that depend on it", err)
		}
		err = takeOver(ctx, msg, r)
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

// takeOver resolves the spec again, with the files as they are now, and replaces the
// run's resolved spec.
func takeOver(ctx context.Context, msg *messages.Writer, r *rundir.Run) error {
	s, text, err := spec.Read(r.SpecPath)
	if err != nil {
		return err
	}
	m, err := batch.Plan(ctx, s, runs.PlanOptions(msg, programName(), r.SpecPath, text, r.Extra))
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
	msg.Warn("accepting the changes, as --allow-changed allows")
	msg.Note("%d jobs, of which %d are unchanged", len(m.Jobs), kept)
	return r.Replace(m, text)
}
