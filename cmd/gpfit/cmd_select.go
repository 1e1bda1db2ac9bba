package main

import (
	"errors"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/output"
	"gpfit/cmd/gpfit/internal/training"
	"gpfit/fit"
	"gpfit/kernel"
)

type selectFlags struct {
	training.TableFlags
	settings fit.SelectOptions
	out      string
	force    bool
}

func newSelect() *cobra.Command {
	var f selectFlags
	cmd := &cobra.Command{
		Use:   "select DATA",
		Short: "Compare kernels by likelihood and predictive scores, or grow one",
		Long: `Fit several kernels to a table and compare them by their negative log marginal
likelihood (NLML), the Bayesian information criterion (BIC), the leave-one-out
predictive density (LOO) and K-fold cross-validation (CV NLPD); less is better in
all of them. The model that is best by --score is written.

With --greedy the kernels are leaves: the search begins with the best of them and
adds or multiplies leaves to any part of the best kernel, or exchanges one, while
the score improves.

Ctrl-C ends the comparison and writes the best model so far (exit code 130).`,
		Example: `  gpfit select data.csv --kernels 'rbf(ard)' --kernels 'matern52(ard)' --score cv
  gpfit select data.csv --kernels rbf --kernels periodic --kernels linear --greedy --max-terms 3`,
		RunE: func(cmd *cobra.Command, args []string) error { return runSelect(cmd, args[0], &f) },
	}
	s := flags.InOrder(cmd)
	f.DataFlags.Add(s)
	f.AddSplitMask(s)
	s.StringArrayVar(&f.settings.Kernels, "kernels", nil, "a kernel to compare, an `EXPRESSION` (to be repeated)")
	f.ModelFlags.Add(s)
	s.Lookup("kernel").Hidden = true
	f.AddNoise(s, &f.DataFlags)
	flags.Choice(s, &f.settings.Score, "score", fit.ByBIC, "what decides: %s", fit.SelectionScores()...)
	s.BoolVar(&f.settings.Greedy, "greedy", false, "search over sums and products of the kernels")
	s.IntVar(&f.settings.MaxTerms, "max-terms", 0, "leaves in a grown kernel (default 4)")
	s.IntVar(&f.settings.Budget, "budget", 0, "kernels that a search fits (default 60)")
	s.IntVar(&f.settings.CrossValidation.Folds, "folds", 0, "folds of the cross-validation (default 10)")
	s.BoolVar(&f.settings.CrossValidation.Refit, "refit", false, "tune the parameters anew for each fold")
	f.AddCandidateTuning(s)
	s.StringVar(&f.out, "out", "", "model `FILE` (default: none is written)")
	s.BoolVar(&f.force, "force", false, "replace the file of --out even if it is not a model")
	f.Flags.Add(s)
	return cmd
}

// options turns the flags into fit's options and the settings of a comparison.
func (f *selectFlags) options(msg *messages.Writer) (fit.Options, fit.SelectOptions, error) {
	s := f.settings
	s.CrossValidation.Seed = f.Seed
	s.OnCandidate = func(index, known int, text string) { msg.Step("kernel %d of %d: %s", index+1, known, text) }
	o, err := f.Options(msg)
	o.Settings.Seed = f.Seed
	o.OnWarning = msg.Say
	switch {
	case err != nil:
		return o, s, err
	case len(s.Kernels) == 0:
		return o, s, exit.Usagef("no kernels to compare: give --kernels, once for each")
	case f.Several():
		return o, s, exit.Usagef("--target %s: kernels are compared on one target; take them one by one", f.Target)
	case o.Kernel != "rbf":
		return o, s, exit.Usagef("--kernel is for one kernel; give --kernels, once for each")
	case min(s.MaxTerms, s.Budget, s.CrossValidation.Folds) < 0:
		return o, s, exit.Usagef("--max-terms, --budget and --folds must not be negative")
	case !s.Greedy && (s.MaxTerms != 0 || s.Budget != 0):
		return o, s, exit.Usagef("--max-terms and --budget go with --greedy")
	}
	for _, text := range s.Kernels {
		if _, err := kernel.Parse(text); err != nil {
			return o, s, err
		}
	}
	return o, s, nil
}

func runSelect(cmd *cobra.Command, path string, f *selectFlags) error {
	ctx, msg := cmd.Context(), messages.New(cmd.ErrOrStderr(), f.Quiet)
	opts, settings, err := f.options(msg)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := output.CheckModel(f.out, f.force, nil, f.Inputs(path)...); err != nil {
			return err
		}
	}
	data, err := f.Read(cmd.Context(), path, cmd.InOrStdin())
	if err != nil {
		return err
	}
	// The first kernel's job says how many rows there are to fit.
	first := opts
	first.Kernel = settings.Kernels[0]
	job, err := fit.Prepare(data, first)
	if err != nil {
		return err
	}
	opened, err := f.OpenFor(ctx, msg, job, false)
	if err != nil {
		return err
	}
	defer opened.Close()
	result, err := fit.Select(ctx, data, opts, settings, opened.Backends...)
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
	if f.out != "" {
		if saveErr = saveModel(cmd.Context(), f.out, r.Outcome, false); saveErr == nil {
			r.ModelFile = f.out
			r.Report.ModelFile = f.out
		}
	}
	if warning != "" {
		r.Report.Warnings = append([]string{warning}, r.Report.Warnings...)
	}
	for _, w := range r.Report.Warnings {
		msg.Warn(w)
	}
	err := output.Report(cmd.OutOrStdout(), f.JSON, r)
	if saveErr != nil {
		return errors.Join(&output.WriteError{Err: saveErr}, runErr)
	}
	if f.out != "" {
		msg.Note("model written to %s", f.out)
	}
	return errors.Join(err, runErr)
}
