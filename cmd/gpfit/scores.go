package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/pflag"

	"gpfit/device"
	"gpfit/fit"
	"gpfit/internal/suggest"
)

// scoreFlags say what is minimised, and what is reported beside it.
type scoreFlags struct {
	objective string
	scores    []string
	folds     int
	foldSeed  uint64
	refit     bool
}

func (f *scoreFlags) add(s *pflag.FlagSet) {
	s.StringVar(&f.objective, "objective", string(fit.ObjectiveNLML), "what the parameters minimise: nlml, or loo, the negative log predictive density of leave-one-out")
	s.StringSliceVar(&f.scores, "scores", nil, "predictive scores at the parameters, beside the NLML: loo, cv or both")
	s.IntVar(&f.folds, "folds", 0, "folds of --scores cv (default 10)")
	s.Uint64Var(&f.foldSeed, "fold-seed", 1, "seed of the assignment of rows to folds")
	s.BoolVar(&f.refit, "refit", false, "tune the parameters anew for each fold")
}

func (f *scoreFlags) has(score string) bool { return slices.Contains(f.scores, score) }

func (f *scoreFlags) apply(o *fit.Options) error {
	for _, s := range f.scores {
		if s != "loo" && s != "cv" {
			return usagef("--scores %s: must be loo or cv%s", s, suggest.DidYouMean(s, []string{"loo", "cv"}))
		}
	}
	if !f.has("cv") && (f.folds != 0 || f.refit) {
		return usagef("--folds and --refit go with --scores cv")
	}
	if f.folds < 0 || f.folds == 1 {
		return usagef("--folds %d: must be at least 2", f.folds)
	}
	o.Objective, o.LeaveOneOut = fit.Objective(f.objective), f.has("loo")
	if !slices.Contains([]fit.Objective{fit.ObjectiveNLML, fit.ObjectiveLOO}, o.Objective) {
		return usagef("--objective %q: must be nlml or loo", f.objective)
	}
	return nil
}

// crossValidation is what the flags say of one.
func (f *scoreFlags) crossValidation(msg *messages) fit.CrossValidation {
	return fit.CrossValidation{Folds: f.folds, Seed: f.foldSeed, Refit: f.refit, OnFold: func(k, folds int) {
		msg.step("fold %d of %d", k+1, folds)
	}}
}

// check finds out before the work whether the folds fit the rows.
func (f *scoreFlags) check(n int) error {
	if !f.has("cv") {
		return nil
	}
	return fit.CrossValidation{Folds: f.folds}.Check(n)
}

// crossValidate adds the scores of --scores cv to a report.
func (f *scoreFlags) crossValidate(ctx context.Context, msg *messages, t *fit.Task, b device.Backend, r *fit.Report) error {
	if !f.has("cv") {
		return nil
	}
	scores, err := fit.CrossValidate(ctx, t, b, r.Parameters, f.crossValidation(msg))
	if r.Scores.CrossValidation = scores; scores != nil {
		r.Warnings = append(r.Warnings, scores.Warnings...)
	}
	if errors.Is(err, context.Canceled) {
		return &fit.CancelledError{Msg: "interrupted before the cross-validation was done"}
	}
	return err
}
