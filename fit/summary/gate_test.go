package summary

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gpfit/fit/internal/sampler"
	"gpfit/fit/problem"
	"gpfit/gp"
)

// TestGate has facts for each diagnosis with which it holds, and neighbours of them with which it does not. A diagnosis
// without a case fails.
func TestGate(t *testing.T) {
	digits := func(v float64) Facts { return Facts{Report: &Report{}, Digits: &v} }
	khat := func(v float64) Facts { return Facts{KHat: &v} }
	of := func(change func(r *Report)) Facts {
		r := finished()
		change(r)
		return Facts{Report: r, Evidence: evidenceOf(r)}
	}
	wrong := errors.New("wrong")
	disproved := func(left float64) Facts { f := digits(left); f.Disproof = wrong; return f }
	robust := func(aside int, coverage float64) Facts {
		return of(func(r *Report) {
			r.N, r.Robust = 200, &RobustReport{Rows: make([]OutlyingRow, 5)}
			r.Test = &TestScores{N: 100, RMSEStandardized: 0.3, Coverage95: coverage, Fitting: &TestScores{N: 100 - aside, RMSEStandardized: 0.3, Coverage95: 0.95}}
		})
	}
	outlying := func(rows int) Facts {
		return of(func(r *Report) { r.N, r.Robust = 100, &RobustReport{Rows: make([]OutlyingRow, rows)} })
	}
	draws := func(rhat float64) Facts {
		return of(func(r *Report) {
			r.Posterior = &PosteriorReport{Method: problem.HMC, Parameters: map[string]sampler.DrawSummary{"period": {RHat: &rhat}}}
		})
	}
	blocks := func(rmse, naive float64) Facts {
		return of(func(r *Report) {
			r.Series = true
			folds := []FoldScores{{RMSE: 1}, {RMSE: rmse, Naive: &NaiveForecast{RMSE: naive}}}
			r.Scores.CrossValidation = &CrossValidationScores{RMSEStandardized: 0.3, Coverage95: 0.95, Blocks: true, Folds: folds}
		})
	}
	screened := func(kernel string, held int) Facts {
		return of(func(r *Report) {
			r.Kernel, r.Choice = kernel, &ModelChoice{Screened: &Screened{}}
			if held > 0 {
				r.Test = &TestScores{N: held, RMSEStandardized: 0.3, Coverage95: 0.95}
			}
		})
	}
	cases := map[string]struct{ fires, not []Facts }{
		"value":             {[]Facts{{Undefined: true}}, []Facts{{}}},
		"noise":             {[]Facts{{Noise: 0.03, Missed: 0.4}, {Noise: 0.07, Missed: 0.4, Copies: 1}}, []Facts{{Noise: 0.05, Missed: 0.4}, {Noise: 0.001, Missed: 0.03}, {Noise: 0.15, Missed: 3}}},
		"few digits":        {[]Facts{digits(1.9)}, []Facts{digits(2), {}}},
		"weights":           {[]Facts{{Weights: wrong}}, []Facts{{}}},
		"kernel, no digits": {[]Facts{disproved(0.9)}, []Facts{disproved(1), digits(0.9)}},
		"few digits still":  {[]Facts{digits(1.9)}, []Facts{digits(2), {}}},
		"k-hat":             {[]Facts{khat(0.71), khat(math.NaN())}, []Facts{khat(0.7), {}}},
		"average":           {[]Facts{{Averaged: 0.04, AtOptimum: 0.01}}, []Facts{{Averaged: 0.03, AtOptimum: 0.01}, {Averaged: 0.04, AtOptimum: 0.01, Noise: 0.02}, {}}},
		"end":               {[]Facts{of(func(r *Report) { r.Status = "max-evaluations" })}, []Facts{of(func(*Report) {})}},
		"part of the rows":  {[]Facts{of(func(r *Report) { r.N, r.OfRows = 50, 100 })}, []Facts{of(func(*Report) {})}},
		"no digit still":    {[]Facts{digits(0.9)}, []Facts{digits(1), {}}},
		"bound":             {[]Facts{of(func(r *Report) { r.LowerElsewhere = []string{"lengthscale"} })}, []Facts{of(func(*Report) {})}},
		"approximation": {
			[]Facts{of(func(r *Report) {
				r.Approximation = &gp.Approximation{Method: "tree", Bound: new(2.0), Tolerance: 1, RowsVerified: 9}
			}), of(func(r *Report) { r.Approximation = &gp.Approximation{Method: "tree", Tolerance: 1} }),
				of(func(r *Report) { r.Approximation = &gp.Approximation{Tolerance: 1, RowsVerified: 9, Missed: 5} })},
			[]Facts{of(func(*Report) {}), of(func(r *Report) { r.Approximation = &gp.Approximation{Bound: new(1.0), Tolerance: 1, RowsVerified: 9} })},
		},
		"kernel": {[]Facts{of(func(r *Report) { r.Disproved = true })}, []Facts{of(func(*Report) {})}},
		"interpolator": {[]Facts{of(func(r *Report) {
			r.Interpolation = &Interpolation{Degenerate: true, LeaveOneOut: &LeaveOneOutScore{RMSEStandardized: 0.2}}
		})}, []Facts{of(func(r *Report) { r.Interpolation = &Interpolation{AtBound: true} }), of(func(*Report) {})}},
		"rows aside":                   {[]Facts{robust(28, 0.95)}, []Facts{robust(4, 0.95), of(func(*Report) {})}},
		"rows aside, few in intervals": {[]Facts{robust(28, 0.7)}, []Facts{robust(28, 0.95), robust(4, 0.7)}},
		"outlying":                     {[]Facts{outlying(21)}, []Facts{outlying(20), of(func(*Report) {})}},
		"own scores": {[]Facts{of(func(r *Report) { r.ObjectiveName = "loo" })}, []Facts{of(func(*Report) {}), of(func(r *Report) {
			r.ObjectiveName, r.Test = "loo", &TestScores{N: 100, RMSEStandardized: 0.3, Coverage95: 0.95}
		})}},
		"draws": {[]Facts{draws(1.06)}, []Facts{draws(1.05), of(func(*Report) {})}},
		"naive forecast": {[]Facts{blocks(3, 2), blocks(2, 2)}, []Facts{blocks(1, 2), of(func(*Report) {}), of(func(r *Report) {
			r.Scores = blocks(3, 2).Report.Scores
			r.Test = &TestScores{N: 100, RMSEStandardized: 0.3, Coverage95: 0.95}
		})}},
		"series": {[]Facts{of(func(r *Report) { r.Series = true }), of(func(r *Report) {
			r.Series, r.Scores.CrossValidation = true, &CrossValidationScores{RMSEStandardized: 0.3, Coverage95: 0.95, Folds: make([]FoldScores, 5)}
		})}, []Facts{blocks(1, 2), of(func(*Report) {}), of(func(r *Report) {
			r.Series, r.Test = true, &TestScores{N: 100, RMSEStandardized: 0.3, Coverage95: 0.95}
		})}},
		"chosen columns": {[]Facts{screened("rbf(ard, dims=[3, 7])", 0)}, []Facts{screened("matern32", 0), screened("rbf(ard, dims=[3, 7])", 100), of(func(r *Report) { r.Kernel = "rbf(ard, dims=[3, 7])" })}},
		"few levels":     {[]Facts{of(func(r *Report) { r.Levels = 5 })}, []Facts{of(func(*Report) {})}},
	}
	for _, d := range Gate {
		c, found := cases[d.Name]
		if !found {
			t.Errorf("%s: no case", d.Name)
		}
		delete(cases, d.Name)
		for _, f := range c.fires {
			if why := d.fires(&f); why == nil || strings.Contains(strings.Join(why, ""), "%!") {
				t.Errorf("%s does not hold with %+v: %q", d.Name, f, why)
			} else if _, bounds := caps[d.Then]; !bounds && f.Found(d.Then) == nil {
				t.Errorf("%s: %s is not found", d.Name, d.Then)
			}
		}
		for _, f := range c.not {
			if why := d.fires(&f); f.Report != nil && why != nil || f.Report == nil && caps[d.Then] == "" && why != nil {
				t.Errorf("%s holds with %+v: %q", d.Name, f, why)
			}
		}
	}
	for name := range cases {
		t.Errorf("%s is no diagnosis", name)
	}
}

// TestBounds checks the verdict that each consequence leaves of a better, an equal and a worse one.
func TestBounds(t *testing.T) {
	for level, want := range map[Level][]Level{Good: {Poor, Fair, Unknown}, Fair: {Poor, Fair, Unknown}, Poor: {Poor, Poor, Poor}, Unknown: {Unknown, Unknown, Unknown}} {
		for i, then := range []Consequence{OnlyPoor, OnlyFair, OnlyUnknown} {
			v := &Verdict{Level: level, Headline: string(level) + ": scores"}
			v.limit(then, "a reason: its rest")
			if v.Level != want[i] || !strings.HasPrefix(v.Headline, string(want[i])+": ") || !strings.HasSuffix(v.Headline, "scores") || len(v.Warnings) != 1 {
				t.Errorf("%s after %s: %+v", then, level, v)
			}
		}
	}
}
