package fit

import (
	"math"
	"testing"

	"gpfit/fit/problem"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
)

// TestProgress follows fits of several kinds: the share of the work never falls, and ends at 1 with the value of the result.
func TestProgress(t *testing.T) {
	series := problem.Data{N: 200, D: 1}
	for i := range series.N {
		series.X, series.Y = append(series.X, float64(i)), append(series.Y, math.Sin(float64(i)/9)+0.1*math.Sin(float64(i*i)))
	}
	for name, c := range map[string]struct {
		data    problem.Data
		options problem.Options
	}{
		"chosen kernel":  {synthetic(120), problem.Options{}},
		"given kernel":   {synthetic(200), problem.Options{Kernel: "rbf(ard)"}},
		"restarts":       {synthetic(600), problem.Options{Kernel: "matern52", Settings: hyperopt.Settings{Restarts: 4}}},
		"subsets":        {synthetic(300), problem.Options{Kernel: "matern32", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOn}}},
		"series":         {series, problem.Options{}},
		"held out":       {synthetic(150), problem.Options{Kernel: "rbf(ard)", HoldOut: 0.2, StdErrors: true}},
		"robust":         {synthetic(100), problem.Options{Kernel: "rbf", Robust: true}},
		"posterior":      {synthetic(60), problem.Options{Kernel: "rbf", Posterior: problem.HMC, PosteriorChains: 1, PosteriorDraws: 40, PosteriorWarmup: 40}},
		"cross-validate": {synthetic(90), problem.Options{Kernel: "rbf", Objective: problem.LOO}},
		"experts":        {synthetic(200), problem.Options{Kernel: "rbf", Experts: "kmeans:3"}},
	} {
		t.Run(name, func(t *testing.T) {
			last := hyperopt.FitProgress{}
			told := func(p hyperopt.FitProgress) {
				if p.Share < last.Share || p.Share > 1 || p.Left < 0 || p.Evaluations < last.Evaluations {
					t.Fatalf("%+v after %+v", p, last)
				}
				last = p
			}
			out := testcheck.Get(Run(t.Context(), watched(t, c.data, c.options, problem.Events{OnFit: told}), backend))(t)
			defer out.Close()
			if last.Share != 1 || last.Best != out.Report.Objective || last.Left != 0 {
				t.Errorf("the end %+v of a fit with the value %v", last, out.Report.Objective)
			}
		})
	}
}
