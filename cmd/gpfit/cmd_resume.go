package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gpfit/batch"
	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/runs"
	"gpfit/internal/rundir"
	"gpfit/internal/spec"
)

func newResume() *cobra.Command {
	return frame.New("resume", &cobra.Command{
		Use:   "resume RUN",
		Short: "Continue a batch after Ctrl-C, a crash or a failure",
		Long: `Continue a batch after Ctrl-C, a crash or a failure.

gpfit keeps the results of finished jobs and continues the others from their
checkpoints, with the same bits as without an interruption. It tries jobs again
that failed because a device or memory was missing, and other failed jobs only
with --retry-failed. If the spec or a data file has changed, gpfit runs nothing
(exit code 10). With --allow-changed it repeats the jobs that the change affects
and adds new jobs of the spec.`,
	}, runResume)
}

func runResume(c *frame.Command) error {
	run, err := runs.New(c)
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
