package summary

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gpfit/fit/internal/sampler"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/hyperopt"
)

// finished is a report of a fit without faults.
func finished() *Report {
	coverage := 0.95
	return &Report{Type: "fit", Status: "gain-converged", N: 200, D: 3, Scores: Scores{LeaveOneOut: &LeaveOneOutScore{RMSE: 2, RMSEStandardized: 0.2, NLPDStandardized: -0.2, Coverage95: &coverage}}}
}

// TestJudge checks level, headline, warning and next option of reports with one fault each.
func TestJudge(t *testing.T) {
	chance := 0.25
	test := func(n int, rmse, coverage float64) func(r *Report) {
		return func(r *Report) {
			r.Test = &TestScores{N: n, RMSE: 10 * rmse, RMSEStandardized: rmse, Coverage95: coverage}
		}
	}
	for name, c := range map[string]struct {
		change                    func(r *Report)
		level                     Level
		headline, warning, option string
	}{
		"leave-one-out":  {func(*Report) {}, Good, "good: on 200 training rows left out one by one the error (RMSE) is 2, 20 % of the standard deviation of the target; the 95 % intervals hold 95.0 % of these rows", "", "holdout"},
		"held out first": {test(100, 0.3, 0.95), Good, "good: on 100 held-out rows the error (RMSE) is 3, 30 % of", "", ""},
		"folds": {func(r *Report) {
			r.Scores.CrossValidation = &CrossValidationScores{RMSE: 3, RMSEStandardized: 0.3, Coverage95: 0.9}
		}, Fair, "fair: on 200 rows predicted from other folds", "they hold 180 of 200 rows predicted from other folds, where about 190 are expected", "posterior"},
		"few rows":         {test(10, 0.3, 1), Good, "hold 100.0 % of these rows, which are too few to judge the intervals", "", ""},
		"three rows":       {test(3, 2, 0.1), Good, "good: on 200 training rows left out one by one", "", "holdout=0.2"},
		"three rows alone": {func(r *Report) { test(3, 2, 0.1)(r); r.Scores = Scores{} }, Unknown, "unknown: on 3 held-out rows", "", "holdout=0.2"},
		"few rows in all":  {func(r *Report) { test(3, 2, 0.1)(r); r.N = 30 }, Good, "good: on 30 training rows left out one by one", "", ""},
		"far too narrow":   {test(60, 0.3, 46./60), Poor, "hold 76.7 % of these rows: overconfident", "far too narrow: they hold 46 of 60 held-out rows, where about 57 are expected", "posterior"},
		"narrow, large":    {test(10000, 0.3, 0.94), Fair, "hold 94.0 % of these rows: overconfident", "too narrow: they hold 9400 of 10000", "posterior"},
		"too wide":         {test(1000, 0.3, 1), Fair, "hold 100.0 % of these rows: underconfident", "too wide: they hold 1000 of 1000", ""},
		"too wide, exact":  {test(1000, 0.01, 1), Good, "hold 100.0 % of these rows: underconfident", "too wide: they hold 1000 of 1000", ""},
		"worse than mean":  {test(100, 1.2, 0.95), Poor, "12, 1.2 times the standard deviation of the target", "no better than the mean", ""},
		"as the mean":      {test(100, 1.0005, 0.95), Poor, "the error (RMSE) is 10, as large as the standard deviation of the target; the", "no better than the mean", ""},
		"explains little":  {test(100, 0.85, 0.95), Fair, "85 % of", "explains 28 % of the variance", ""},
		"few rows, large":  {test(20, 0.7, 0.95), Fair, "70 % of", "20 rows are few: scores of other rows can have an error of 0.95 standard deviations", ""},
		"few rows, many parameters": {func(r *Report) {
			r.N, r.Scores.LeaveOneOut.RMSEStandardized = 40, 0.5
			r.GradientLog = map[string]float64{"a": 0, "b": 0, "c": 0, "d": 0, "e": 0, "f": 0, "g": 0, "h": 0}
		}, Fair, "50 % of", "40 rows are few for 8 parameters fitted to them", "holdout"},
		"few parameters": {func(r *Report) {
			r.N, r.Scores.LeaveOneOut.RMSEStandardized = 40, 0.5
			r.GradientLog = map[string]float64{"a": 0, "b": 0, "c": 0}
		}, Good, "50 % of", "", "holdout"},
		"enough rows":       {test(200, 0.7, 0.95), Good, "70 % of", "", ""},
		"nearly noise":      {test(100, 0.97, 0.95), Fair, "97 % of", "nearly everything is noise", ""},
		"far outside":       {func(r *Report) { test(100, 0.3, 0.94)(r); r.Test.NLPDStandardized = 390 }, Poor, "poor: ", "the standardized NLPD is 390, and theirs is 1.42", ""},
		"undefined density": {func(r *Report) { test(100, 0.3, 0.95)(r); r.Test.NLPDStandardized = Number(math.Inf(1)) }, Good, "good: ", "", ""},
		"interpolator": {func(r *Report) {
			r.Interpolation = &Interpolation{Degenerate: true, NoiseFloor: 0.01, LeaveOneOut: &LeaveOneOutScore{RMSEStandardized: 0.2}}
		}, Fair, "fair: ", "an interpolator", "noise-floor"},
		"no holdout":   {func(r *Report) { r.Barred = []string{"holdout"} }, Good, "good: ", "", ""},
		"no transform": {func(r *Report) { r.Skewed, r.Barred = true, []string{"target-transform"} }, Good, "good: ", "", "holdout"},
		"no posterior": {func(r *Report) { test(100, 0.3, 0.7)(r); r.Barred = []string{"posterior"} }, Poor, "poor: ", "far too narrow", ""},
		"no floor": {func(r *Report) {
			r.Interpolation, r.Barred = &Interpolation{Degenerate: true, NoiseFloor: 0.01, LeaveOneOut: &LeaveOneOutScore{RMSEStandardized: 0.2}}, []string{"noise-floor"}
		}, Fair, "fair: ", "an interpolator", "holdout"},
		"no kernel": {func(r *Report) { r.Missed, r.Barred = &MissedSeason{}, []string{"kernel"} }, Good, "good: ", "", "holdout"},
		"loose":     {func(r *Report) { r.Approximation = &gp.Approximation{Method: "tree", Tolerance: 1e-3} }, Fair, "fair: ", "nobody knows", "method"},
		"no digits": {func(r *Report) {
			r.Approximation, r.Path = &gp.Approximation{Method: "tree", Tolerance: 1e-3, Bound: new(1e-4), RowsVerified: 9}, []StageReport{{Step: "descent-anew"}}
		}, Good, "good: ", "", "method"},
		"isotropic":  {func(r *Report) { r.Isotropic = true }, Good, "good: ", "", "ard"},
		"own scores": {func(r *Report) { r.ObjectiveName = "loo" }, Fair, "fair: ", "they are too good", "holdout"},
		"restarts":   {func(r *Report) { r.Search = &SearchReport{Chance: &chance} }, Good, "good: ", "", "restarts"},
		"unfinished": {func(r *Report) { r.Status = "max-evaluations" }, Fair, "fair: ", "the fit is not finished (stopped: it used up its evaluations)", "max-evals"},
		"stalled":    {func(r *Report) { g := 0.3; r.Status, r.GradientNorm = "stalled", &g }, Fair, "fair: ", "not finished (stopped: no step lowers the objective)", "restarts"},
		"stalled, exact": {func(r *Report) {
			g := 0.3
			r.Status, r.GradientNorm, r.Scores.LeaveOneOut.RMSEStandardized = "stalled", &g, 0.005
		}, Good, "good: ", "", "holdout"},
		"merged":             {func(r *Report) { r.Status = "merged" }, Good, "good: ", "", "holdout"},
		"stalled at the end": {func(r *Report) { g := 2e-3; r.Status, r.GradientNorm = "stalled", &g }, Good, "good: ", "", "holdout"},
		"interrupted":        {func(r *Report) { r.Interrupted, r.Status = true, "cancelled" }, Fair, "fair: ", "the fit is not finished", "from its checkpoint or from this model"},
		"interrupted late":   {func(r *Report) { r.Interrupted = true }, Fair, "fair: ", "the search converged, and a signal ended the work after it", "from its checkpoint or from this model"},
		"no scores":          {func(r *Report) { r.Scores = Scores{} }, Unknown, "unknown: there are no scores", "", "holdout"},
		"two targets": {func(r *Report) {
			r.Targets = []TargetReport{{Name: "a", Test: &TestScores{N: 100, RMSEStandardized: 0.1, Coverage95: 0.95}}, {Name: "b", Test: &TestScores{N: 100, RMSEStandardized: 2, Coverage95: 0.95}}}
		}, Poor, "poor: the worst of 2 targets is b: on 100 held-out rows the error (RMSE) is 2 times", "b: the predictions are no better", "by itself, with a kernel and noise of its own: option target=b"},
		"equal levels": {func(r *Report) {
			r.Targets = []TargetReport{{Name: "a"}, {Name: "b"}}
			r.Scores.LeaveOneOut.Targets = []*TestScores{{N: 200, RMSE: 1, RMSEStandardized: 0.2, Coverage95: 0.95}, {N: 200, RMSE: 3, RMSEStandardized: 0.3, Coverage95: 0.95}}
		}, Good, "good: the worst of 2 targets is b: on 200 training rows left out one by one the error (RMSE) is 3, 30 % of", "", "holdout"},
		"outlying rows of a series": {func(r *Report) {
			test(100, 2, 0.95)(r)
			r.Test.Fitting, r.Test.Naive = &TestScores{N: 97, RMSE: 3, RMSEStandardized: 0.3, Coverage95: 0.95}, &NaiveForecast{RMSE: 19, RMSEStandardized: 1.9}
		}, Poor, "poor: on 97 held-out rows, 3 outlying rows aside,", "no better than the naive forecast, the last training value, whose error is 1.9 standard deviations", ""},
		"outlying rows": {func(r *Report) {
			test(100, 2, 0.95)(r)
			r.Test.Fitting = &TestScores{N: 97, RMSE: 3, RMSEStandardized: 0.3, Coverage95: 0.95}
		}, Good, "good: on 97 held-out rows, 3 outlying rows aside, the error (RMSE) is 3, 30 % of the standard deviation of the target, 6.67 times that with all rows; the 95 % intervals hold 95.0 % of all 100 rows", "", ""},
		"many outlying rows": {func(r *Report) {
			test(100, 2, 0.7)(r)
			r.N, r.Robust = 200, &RobustReport{Rows: make([]OutlyingRow, 5)}
			r.Test.Fitting = &TestScores{N: 72, RMSE: 3, RMSEStandardized: 0.3, Coverage95: 0.95}
		}, Poor, "poor: on 72 held-out rows, 28 outlying rows aside, the error (RMSE) is 3, 30 % of", "28 of 100 held-out rows are too far off to count, but 5 of 200 training rows are outlying, so about 3 are expected: the model misses the others", "posterior"},
		"too many outlying": {func(r *Report) { r.N, r.Robust = 100, &RobustReport{Rows: make([]OutlyingRow, 21)} }, Fair, "fair: ", "21 of 100 training rows are outlying, more than 20 %: so many are no exceptions", "target-transform=auto"},
		"a fifth outlying":  {func(r *Report) { r.N, r.Robust = 100, &RobustReport{Rows: make([]OutlyingRow, 20)} }, Good, "good: ", "", "holdout"},
		"an outlying row": {func(r *Report) {
			r.Scores.LeaveOneOut.Targets = []*TestScores{{N: 200, RMSE: 9, RMSEStandardized: 0.9, Coverage95: 0.95, Fitting: &TestScores{N: 199, RMSE: 3, RMSEStandardized: 0.3, Coverage95: 0.95}}}
		}, Good, "good: on 199 training rows left out one by one, 1 outlying row aside, the error (RMSE) is 3, 30 % of", "", "holdout"},
		"far rows": {func(r *Report) {
			r.Scores.LeaveOneOut.Targets = []*TestScores{{N: 200, RMSE: 2, RMSEStandardized: 0.2, Coverage95: 0.95, Far: 2}}
			r.ObjectiveName = "nlml"
		}, Good, "good: ", "", "2 rows are far from the prediction: option robust=true"},
		"few levels": {func(r *Report) { r.Levels = 5 }, Unknown, "unknown: between the levels of the columns, 5 at most, predictions are untested; on 200", "the rows are a grid of few levels", ""},
		"few levels, poor": {func(r *Report) {
			test(100, 1.2, 0.95)(r)
			r.Levels = 5
		}, Poor, "poor: ", "no better than the mean", ""},
		"chains apart": {func(r *Report) {
			h := 1.74
			r.Posterior = &PosteriorReport{Method: problem.HMC, Parameters: map[string]sampler.DrawSummary{"period": {RHat: &h}}}
		}, Fair, "fair: ", "the chains of the posterior disagree about period (R-hat 1.74, above 1.05)", "holdout"},
		"a far row": {func(r *Report) {
			r.Scores.LeaveOneOut.Targets = []*TestScores{{N: 200, RMSE: 2, RMSEStandardized: 0.2, Coverage95: 0.95, Far: 1}}
			r.ObjectiveName = "nlml"
		}, Good, "good: ", "", "holdout"},
		"not normal": {func(r *Report) {
			k := 0.8
			r.Posterior, r.Search = &PosteriorReport{Method: problem.Laplace, ParetoK: &k}, &SearchReport{Chance: &chance}
		}, Fair, "fair: ", "laplace is not close to the posterior (k-hat of the importance ratios is 0.80, above 0.7)", "posterior=hmc"},
		"close to normal": {func(r *Report) {
			k := 0.7
			r.Posterior = &PosteriorReport{Method: problem.Laplace, ParetoK: &k}
		}, Good, "good: ", "", "holdout"},
		"skewed":               {func(r *Report) { r.Skewed = true }, Good, "good: ", "", "target-transform=auto"},
		"skewed by choice":     {func(r *Report) { r.Skewed, r.TargetTransform = true, &TransformReport{Kind: "none"} }, Good, "good: ", "", "holdout"},
		"chosen and isotropic": {func(r *Report) { r.Isotropic, r.Choice = true, &ModelChoice{} }, Good, "good: ", "", "holdout"},
	} {
		r := finished()
		c.change(r)
		r.Judge()
		v := r.Verdict
		next := ""
		if v.Next != nil {
			next = v.Next.String()
		}
		warnings := strings.Join(v.Warnings, "\n")
		if v.Level != c.level || !strings.Contains(v.Headline, c.headline) || !strings.HasPrefix(v.Headline, string(c.level)+": ") || !strings.Contains(warnings, c.warning) || (warnings == "") != (c.warning == "") ||
			!strings.Contains(next, c.option) || (next == "") != (c.option == "") {
			t.Errorf("%s: %s\n%q", name, v.Text(), warnings)
		}
	}
	if r := (&Report{Type: "nlml"}); r.Verdict != nil {
		t.Error("an evaluation has a verdict")
	}
}

// TestOrder checks that scores of the same rows do not have a worse level than worse scores: with a lower error, a lower NLPD and the
// same share of rows in the intervals, which is the reason that a level may have besides.
func TestOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var naive *NaiveForecast
	for range 20000 {
		if naive = nil; rng.IntN(3) == 0 {
			naive = &NaiveForecast{RMSEStandardized: 1.5 * rng.Float64()}
		}
		a := Evidence{Rows: HeldOutRows, N: 5 + rng.IntN(300), Parameters: rng.IntN(9), Naive: naive,
			RMSEStandardized: 1.2 * rng.Float64(), NLPDStandardized: 3*rng.Float64() - 1, Coverage95: 0.8 + 0.2*rng.Float64()}
		b := a
		b.RMSEStandardized += 0.5 * rng.Float64()
		b.NLPDStandardized += rng.Float64()
		better, than := Judge([]Evidence{a}), Judge([]Evidence{b})
		if worse(better.Level, than.Level) != than.Level {
			t.Fatalf("%s is worse than %s", better.Text(), than.Text())
		}
	}
}

// TestMoreRestarts checks that a report names more restarts than the fit had, in its sentence and in its advice.
func TestMoreRestarts(t *testing.T) {
	for _, c := range []struct{ restarts, starts, want int }{{0, 1, 5}, {0, 8, 16}, {20, 3, 40}, {20, 30, 60}, {3, 4, 20}, {8000, 8001, 10000}} {
		s := &Searched{Coverage: hyperopt.Coverage{Starts: 1, Best: 1, Stopped: c.starts - 1, Next: math.Inf(1)}, Converged: true, Restarts: c.restarts}
		r := &Report{Type: "fit", N: 20, Status: "gain-converged", Search: NewSearch(s)}
		r.Judge()
		if !strings.HasSuffix(r.Search.Text, fmt.Sprintf("; %d restarts may find it", c.want)) || r.Verdict.Next == nil || r.Verdict.Next.Options["restarts"] != fmt.Sprint(c.want) {
			t.Errorf("%+v: %s; next: %v", c, r.Search.Text, r.Verdict.Next)
		}
	}
}
