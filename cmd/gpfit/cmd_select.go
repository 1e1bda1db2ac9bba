package main

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/cmd/gpfit/internal/training"
	"gpfit/fit"
	"gpfit/fit/problem"
)

type selectFlags struct {
	training.Flags
	// kernel is the value of --kernel, which settings refuses in favor of --kernels.
	kernel string
}

func newSelect() *cobra.Command {
	var f selectFlags
	cmd := &cobra.Command{
		Use:   "select DATA",
		Short: "Compare kernels by likelihood and predictive scores, or grow one",
		Long: `Fit several kernels to a table and compare them by their negative log marginal
likelihood (NLML), the Bayesian information criterion (BIC), the leave-one-out
predictive density (LOO) and K-fold cross-validation (CV NLPD); lower is better in
all of them. With --out, gpfit writes the model that is best by --score.

With --greedy the kernels are leaves. The search begins with the best of them.
While the score improves, it adds a leaf to a part of the best kernel, multiplies a
part by a leaf, or exchanges a leaf.

After Ctrl-C gpfit writes the best model so far (exit code 130).`,
		Example: `  gpfit select data.csv --kernels 'rbf(ard)' --kernels 'matern52(ard)' --score cv
  gpfit select data.csv --kernels rbf --kernels periodic --kernels linear --greedy --max-terms 3`,
		RunE: func(cmd *cobra.Command, args []string) error { return runSelect(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	f.Add(s, "select")
	s.StringVar(&f.kernel, "kernel", "", "not for this command")
	s.Lookup("kernel").Hidden = true
	return cmd
}

// settings returns the settings of the comparison.
func (f *selectFlags) settings(msg *messages.Writer) (fit.SelectOptions, error) {
	s := f.Select
	s.CrossValidation = f.CrossValidation
	s.CrossValidation.Seed = f.Data.Seed
	s.OnCandidate = func(index, known int, text string) { msg.Step("kernel %d of %d: %s", index+1, known, text) }
	switch {
	case len(s.Kernels) == 0:
		return s, exit.Usagef("no kernels to compare: give --kernels once for each kernel")
	case f.Data.Targets != nil:
		return s, exit.Usagef("--target %s: select compares kernels on one target; run it once for each target", strings.Join(f.Data.Targets, ","))
	case f.kernel != "":
		return s, exit.Usagef("--kernel names one kernel; give --kernels once for each kernel")
	case !s.Greedy && (s.MaxTerms != 0 || s.Budget != 0):
		return s, exit.Usagef("--max-terms and --budget need --greedy")
	}
	return s, nil
}

func runSelect(cmd *cobra.Command, path string, f *selectFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Output.Quiet)
	settings, err := f.settings(msg)
	if err != nil {
		return err
	}
	opts, events := f.Fit, f.Events(msg)
	events.OnWarning = msg.Say
	if f.Output.Out != "" {
		if err := output.Check(f.Output.Force, []output.Destination{{Flag: "out", Path: f.Output.Out}}, f.Inputs(path)...); err != nil {
			return err
		}
	}
	data, err := f.ReadTable(cmd.Context(), path, cmd.InOrStdin())
	if err != nil {
		return err
	}
	msg.Columns(data.Encoding)
	// The job of the first kernel gives the number of rows to fit.
	first := opts
	first.Kernel = settings.Kernels[0]
	job, err := fit.Prepare(data, first, problem.Events{})
	if err != nil {
		return err
	}
	opened, err := devices.OpenFor(ctx, msg, f.Compute, job, false)
	if err != nil {
		return err
	}
	defer opened.Close()
	result, err := fit.Select(ctx, data, opts, events, settings, opened.Backends...)
	msg.Clear()
	if result == nil {
		return err
	}
	return finishSelect(cmd, msg, f, opened.Warning, result, err)
}

// finishSelect prints the comparison, writes the best model and returns how it
// ended.
func finishSelect(cmd *cobra.Command, msg *messages.Writer, f *selectFlags, warning string, r *fit.Selection, runErr error) error {
	var saveErr error
	if f.Output.Out != "" {
		if saveErr = saveModel(cmd.Context(), f.Output.Out, f.Output.Force, r.Outcome, false); saveErr == nil {
			r.ModelFile = f.Output.Out
			r.Report.ModelFile = f.Output.Out
		}
	}
	if warning != "" {
		r.Report.Warnings = append([]string{warning}, r.Report.Warnings...)
	}
	for _, w := range r.Report.Warnings {
		msg.Warn(w)
	}
	messages.AllFlags(r.Report.Warnings)
	for i := range r.Candidates {
		r.Candidates[i].Error = messages.Flags(r.Candidates[i].Error)
	}
	err := output.Report(cmd.OutOrStdout(), f.Output.JSON, r)
	if saveErr != nil {
		return errors.Join(&output.WriteError{Err: saveErr}, runErr)
	}
	if f.Output.Out != "" {
		msg.Note("model written to %s", f.Output.Out)
	}
	return errors.Join(err, runErr)
}
