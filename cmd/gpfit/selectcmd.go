package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"gpfit/choose"
	"gpfit/fit"
	"gpfit/hyperopt"
	"gpfit/kernel"
)

type selectFlags struct {
	dataFlags
	modelFlags
	deviceFlags
	kernels            []string
	score              string
	greedy             bool
	maxTerms, budget   int
	folds              int
	refit              bool
	splitMask, out     string
	restarts, maxEvals int
	force              bool
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
		Args: exactArgs(1, "DATA"),
		RunE: func(cmd *cobra.Command, args []string) error { return runSelect(cmd, args[0], &f) },
	}
	s := cmd.Flags()
	s.SortFlags = false
	f.dataFlags.add(s)
	s.StringVar(&f.splitMask, "split-mask", "", "`FILE[:COL]` with a row of 0 or 1 for each row of DATA: rows marked 1 are held out and scored; COL is a name or index")
	s.StringArrayVar(&f.kernels, "kernels", nil, "a kernel to compare, an `EXPRESSION` (to be repeated)")
	f.modelFlags.add(s)
	s.Lookup("kernel").Hidden = true
	f.noise.add(s)
	s.StringVar(&f.score, "score", string(choose.BIC), "what decides: nlml, bic, loo or cv")
	s.BoolVar(&f.greedy, "greedy", false, "search over sums and products of the kernels")
	s.IntVar(&f.maxTerms, "max-terms", 0, "leaves in a grown kernel (default 4)")
	s.IntVar(&f.budget, "budget", 0, "kernels that a search fits (default 60)")
	s.IntVar(&f.folds, "folds", 0, "folds of the cross-validation (default 10)")
	s.BoolVar(&f.refit, "refit", false, "tune the parameters anew for each fold")
	s.IntVar(&f.restarts, "restarts", 0, "further random starts for every kernel")
	s.IntVar(&f.maxEvals, "max-evals", 0, "limit on the evaluations of each start (default 1000)")
	s.StringVar(&f.out, "out", "", "model `FILE` (default: none is written)")
	s.BoolVar(&f.force, "force", false, "replace the file of --out even if it is not a model")
	f.deviceFlags.add(s)
	completeValues(cmd)
	return cmd
}

// options turns the flags into fit's options and the settings of a comparison.
func (f *selectFlags) options(msg *messages) (fit.Options, choose.Settings, error) {
	s := choose.Settings{
		Kernels: f.kernels, Score: choose.Score(f.score), Greedy: f.greedy, MaxTerms: f.maxTerms, Budget: f.budget,
		CrossValidation: fit.CrossValidation{Folds: f.folds, Seed: f.seed, Refit: f.refit},
		OnCandidate:     func(index, known int, text string) { msg.step("kernel %d of %d: %s", index+1, known, text) },
	}
	opts, err := f.modelFlags.options()
	switch {
	case err != nil:
		return opts, s, err
	case len(f.kernels) == 0:
		return opts, s, usagef("no kernels to compare: give --kernels, once for each")
	case f.targets() != nil:
		return opts, s, usagef("--target %s: kernels are compared on one target; take them one by one", f.target)
	case f.kernel != "rbf":
		return opts, s, usagef("--kernel is for one kernel; give --kernels, once for each")
	case !slices.Contains(choose.Scores(), s.Score):
		return opts, s, usagef("--score %q: must be nlml, bic, loo or cv", f.score)
	case f.restarts < 0 || f.maxEvals < 0 || f.maxTerms < 0 || f.budget < 0 || f.folds < 0:
		return opts, s, usagef("--restarts, --max-evals, --max-terms, --budget and --folds must not be negative")
	case !f.greedy && (f.maxTerms != 0 || f.budget != 0):
		return opts, s, usagef("--max-terms and --budget go with --greedy")
	}
	for _, text := range f.kernels {
		if _, err := kernel.Parse(text); err != nil {
			return opts, s, err
		}
	}
	opts.Settings = hyperopt.Settings{Restarts: f.restarts, Seed: f.seed, MaxEvaluations: f.maxEvals}
	opts.OnProgress, opts.Fallback = msg.progress, f.reopen()
	opts.OnWarning = func(text string) { msg.note("%s", text) }
	return opts, s, f.noise.apply(&opts)
}

func runSelect(cmd *cobra.Command, path string, f *selectFlags) error {
	ctx := cmd.Context()
	msg := newMessages(cmd.ErrOrStderr(), f.quiet)
	opts, settings, err := f.options(msg)
	if err != nil {
		return err
	}
	if f.out != "" {
		if err := checkOutput(f.out, f.force); err != nil {
			return err
		}
	}
	data, err := readData(path, cmd.InOrStdin(), &f.dataFlags, f.splitMask)
	if err != nil {
		return err
	}
	// The first kernel's task says how many rows there are to fit.
	first := opts
	first.Kernel = f.kernels[0]
	task, err := fit.Prepare(data, first)
	if err != nil {
		return err
	}
	backends, err := f.open(ctx, msg, task.N(), task.Program())
	if err != nil {
		return err
	}
	defer closeAll(backends)
	if err := f.checkPlan(msg, task, backends...); err != nil {
		return err
	}
	result, err := choose.Run(ctx, data, opts, settings, backends...)
	msg.clear()
	if result == nil {
		return err
	}
	return finishSelect(cmd, msg, f, result, err)
}

// finishSelect prints the comparison, writes the best model and returns how it
// ended.
func finishSelect(cmd *cobra.Command, msg *messages, f *selectFlags, r *choose.Result, runErr error) error {
	var saveErr error
	if f.out != "" {
		if saveErr = r.Outcome.SaveModel(f.out, false); saveErr == nil {
			r.ModelFile = f.out
			r.Report.ModelFile = f.out
		}
	}
	if f.warning != "" {
		r.Report.Warnings = append([]string{f.warning}, r.Report.Warnings...)
	}
	for _, w := range r.Report.Warnings {
		msg.warn(w)
	}
	err := f.printReport(cmd.OutOrStdout(), r)
	if saveErr != nil {
		return errors.Join(&writeError{saveErr}, runErr)
	}
	if f.out != "" {
		msg.note("model written to %s", f.out)
	}
	return errors.Join(err, runErr)
}
