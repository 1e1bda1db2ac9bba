package main

import (
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/experts"
	"gpfit/gp"
)

// results reports which results besides means and deviations of rows the flags ask for.
func (f *predictFlags) results() map[string]bool {
	return map[string]bool{
		"terms": f.predict.Terms, "gradient": f.predict.Gradient, "gradient-std": f.predict.GradientStd,
		"draws": f.predict.Draws > 0, "cov": f.predict.Covariance != "",
	}
}

// refuse returns an error with the reason if one of the flags is given.
func refuse(given map[string]bool, reason string) error {
	for flag, is := range given {
		if is {
			return exit.Usagef("--%s: %s", flag, reason)
		}
	}
	return nil
}

// checkMixture returns an error for results that draws of the parameters do not have.
func (f *predictFlags) checkMixture(m *gp.Model) error {
	if !f.mixes(m) {
		return nil
	}
	given := f.results()
	given["mean-only"] = f.predict.MeanOnly
	return refuse(given, "predictions that average over draws of the parameters do not have it; give --posterior-draws 0 to predict with the parameters of the optimum")
}

// takeExperts applies the rule of --combine and returns an error for results that local
// experts do not have.
func (f *predictFlags) takeExperts(m *gp.Model) error {
	if m.Experts == nil {
		if f.combine != "" {
			return exit.Usagef("--combine %s: the model has no local experts (gpfit fit --experts)", f.combine)
		}
		return nil
	}
	if f.combine != "" {
		rule := experts.Rule(f.combine)
		if err := rule.Check(); err != nil {
			return exit.Usagef("--combine %v", err)
		}
		m.Experts.Combine = rule
	}
	if len(m.Experts.Centres) == 1 {
		return nil
	}
	return refuse(f.results(), "the model has local experts, which predict each row alone; leave it out, or fit a model without --experts")
}
