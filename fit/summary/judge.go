package summary

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/device"
	"gpfit/fit/internal/psis"
	"gpfit/fit/problem"
	"gpfit/internal/textform"
	"gpfit/internal/transform"
)

// missedShare is the chance of a lower optimum from which more restarts are advised.
const missedShare = 0.2

// Judge sets the verdict on a fit, and does nothing for other reports. Call it again after a change of
// the report.
func (r *Report) Judge() {
	if r.Type == "fit" {
		r.Verdict = r.JudgedOn(evidenceOf(r))
	}
}

// JudgedOn returns the verdict on a report with other scores than its own. Its warnings do not repeat the
// warnings of the report.
func (r *Report) JudgedOn(evidence []Evidence) *Verdict {
	v, known := Judge(evidence), Facts{Report: r, Evidence: evidence, Digits: r.Digits}
	known.bound(v)
	v.Next = nextStep(r, v, evidence)
	return v
}

// roughDraws warns of draws of the parameters that are not the posterior's.
func roughDraws(r *Report) []string {
	switch p := r.Posterior; {
	case p != nil && p.Method == problem.HMC:
		return apart(p)
	case p == nil || p.Method != problem.Laplace || p.ParetoK == nil || *p.ParetoK <= psis.MostK: // auto takes no others
		return nil
	default:
		return because(true, "the normal distribution of laplace is not close to the posterior (k-hat of the importance ratios is %.2f, above %g): do not trust its intervals of the parameters", *p.ParetoK, psis.MostK)
	}
}

// mostRHat is the R-hat from which chains have not drawn from one distribution.
const mostRHat = 1.05

// apart warns of chains that disagree.
func apart(p *PosteriorReport) []string {
	worst, name := mostRHat, ""
	for _, n := range slices.Sorted(maps.Keys(p.Parameters)) {
		if h := p.Parameters[n].RHat; h != nil && *h > worst {
			worst, name = *h, n
		}
	}
	return because(name != "", "the chains of the posterior disagree about %s (R-hat %.2f, above %g): predictions average over draws that may miss a part of it", name, worst, mostRHat)
}

// The names of rows in evidence. leftOutPlaces are rows of a table with equal inputs.
const (
	HeldOutRows   = "held-out rows"
	inFolds       = "rows predicted from other folds"
	leftOutRows   = "training rows left out one by one"
	leftOutPlaces = "training rows left out together with rows of equal inputs"
	holdoutNext   = 0.2
)

// LeftOut names training rows that leave-one-out predicts; places is the number of different inputs if
// some repeat.
func LeftOut(places int) string {
	if places > 0 {
		return leftOutPlaces
	}
	return leftOutRows
}

func onlyLeftOut(evidence []Evidence) bool {
	return len(evidence) > 0 && (evidence[0].Rows == leftOutRows || evidence[0].Rows == leftOutPlaces)
}

// forecastFold returns the last block of a cross-validation that is the evidence if it is a forecast, else nil.
func forecastFold(r *Report, evidence []Evidence) *FoldScores {
	cv := r.Scores.CrossValidation
	if cv == nil || len(cv.Folds) == 0 || len(evidence) == 0 || evidence[0].Rows != inFolds {
		return nil
	}
	if last := &cv.Folds[len(cv.Folds)-1]; last.Naive != nil {
		return last
	}
	return nil
}

// between reports whether all rows of the evidence on a series lie between others.
func between(r *Report, evidence []Evidence) bool {
	return (onlyLeftOut(evidence) || len(evidence) > 0 && evidence[0].Rows == inFolds) && forecastFold(r, evidence) == nil
}

// leastFar is the number of rows far from their predictions from which they are advised a noise of their
// own: one such row in a table does happen.
const leastFar = 2

// mostOutlying is the share of rows that can be exceptions: the mean of the prior of their number.
const mostOutlying = 0.2

func manyOutlying(r *Report) bool {
	return r.Robust != nil && float64(len(r.Robust.Rows)) > mostOutlying*float64(r.N)
}

// manyAside warns if more new rows are set aside as outlying than the outlying training rows explain: then
// it is the model that misses them.
func manyAside(r *Report, e *Evidence) []string {
	if e.Outlying == 0 || r.Robust == nil || onlyLeftOut([]Evidence{*e}) {
		return nil
	}
	all, known := e.N+e.Outlying, len(r.Robust.Rows)
	text := fmt.Sprintf("%d of %d %s are too far off to count, but %d of %d training rows are outlying, so about %.0f are expected: the model misses the others", e.Outlying, all, e.Rows, known, r.N, float64(all)*shareAside(known, r.N))
	return because(chanceOfAside(e.Outlying, all, known, r.N) < alarmTail, "%s", e.named(text))
}

// shareAside returns the share of outlying rows that known ones of n suggest: Laplace's rule of succession.
func shareAside(known, n int) float64 { return float64(known+1) / float64(n+2) }

// chanceOfAside returns the probability that at least some of all new rows are outlying, if known of n rows are.
func chanceOfAside(some, all, known, n int) float64 {
	return 1 - distuv.Binomial{N: float64(all), P: shareAside(known, n)}.CDF(float64(some-1))
}

// NewEvidence returns the scores of rows of a target, which has a name if there are several, for a verdict. Errors
// count rows that fit, and densities and intervals, which expect outlying rows, count all.
func NewEvidence(t *TestScores, rows, target string) Evidence {
	fit := cmp.Or(t.Fitting, t)
	return Evidence{Rows: rows, Target: target, N: fit.N, Outlying: t.N - fit.N, Far: t.Far, Naive: t.Naive, RMSE: fit.RMSE, RMSEStandardized: fit.RMSEStandardized, WithOutlying: t.RMSEStandardized, NLPDStandardized: float64(t.NLPDStandardized), Coverage95: t.Coverage95}
}

// evidenceOf returns the scores that say most about new rows: of held-out rows, else of
// cross-validation, else of leave-one-out; one for each target. Held-out rows that are too few for a
// verdict are the last resort.
func evidenceOf(r *Report) []Evidence {
	held := heldOut(r)
	if len(held) > 0 && held[0].N+held[0].Outlying >= LeastRows {
		return held
	}
	var out []Evidence
	if cv := r.Scores.CrossValidation; cv != nil {
		for _, t := range cv.Targets {
			out = append(out, NewEvidence(&TestScores{N: r.N, RMSE: t.RMSE, RMSEStandardized: t.RMSEStandardized, NLPDStandardized: t.NLPDStandardized, Coverage95: t.Coverage95, Fitting: t.Fitting}, inFolds, t.Name))
		}
		if cv.Targets == nil {
			out = append(out, NewEvidence(&TestScores{N: r.N, RMSE: cv.RMSE, RMSEStandardized: cv.RMSEStandardized, NLPDStandardized: cv.NLPDStandardized, Coverage95: cv.Coverage95, Fitting: cv.Fitting}, inFolds, ""))
		}
		return out
	}
	l := r.Scores.LeaveOneOut
	if l == nil {
		return held
	}
	for i, t := range l.Targets {
		name := ""
		if len(r.Targets) > 0 {
			name = r.Targets[i].Name
		}
		out = append(out, NewEvidence(t, LeftOut(l.Places), name))
	}
	if l.Targets == nil {
		all := &TestScores{N: r.N, RMSE: l.RMSE, RMSEStandardized: l.RMSEStandardized, NLPDStandardized: Number(l.NLPDStandardized), Coverage95: math.NaN()}
		if l.Coverage95 != nil {
			all.Coverage95 = *l.Coverage95
		}
		out = append(out, NewEvidence(all, LeftOut(l.Places), ""))
	}
	for i := range out {
		out[i].Parameters = len(r.GradientLog)
	}
	return out
}

// heldOut returns the scores of held-out rows, one for each target; nil without.
func heldOut(r *Report) (out []Evidence) {
	if r.Test != nil {
		return []Evidence{NewEvidence(r.Test, HeldOutRows, "")}
	}
	for _, target := range r.Targets {
		if t := target.Test; t != nil {
			out = append(out, NewEvidence(t, HeldOutRows, target.Name))
		}
	}
	return out
}

// smallGradient is the largest component, in nats for a factor of e, of a gradient so small that a descent
// which rounding stops is finished.
const smallGradient = 0.05

// smallError is an error, in standard deviations of the target, so small that the covariance of targets without
// noise leaves no digits for a better end.
const smallError = 0.01

// unfinished reports whether the fit ended before it converged.
func unfinished(r *Report, evidence []Evidence) bool {
	exact := len(evidence) > 0 && worstOf(evidence).RMSEStandardized <= smallError
	if r.Status == stalled && (exact || r.GradientNorm != nil && *r.GradientNorm <= smallGradient) {
		return r.Interrupted
	}
	const merged = "merged" // with the end of another descent, so that there was nothing left to do
	return r.Interrupted || r.Type == "fit" && r.Status != "all-fixed" && r.Status != merged && !strings.HasSuffix(r.Status, "converged")
}

// denseRows is the largest number of rows for which a fit by the method dense is the advice: it takes 7 GB, and minutes a value.
const denseRows = 30000

// startedOver reports whether a fit started over, since its objective was not defined at the optimum of fewer rows.
func startedOver(r *Report) bool {
	return slices.ContainsFunc(r.Path, func(s StageReport) bool { return strings.HasSuffix(s.Step, "-anew") })
}

// nextStep returns what to do next: what most likely improves the model, or else what tells more about it.
func nextStep(r *Report, v *Verdict, evidence []Evidence) *Advice {
	advise := func(text, option, value string) *Advice {
		return &Advice{Text: text, Options: map[string]string{option: value}}
	}
	may := func(option string) bool { return !slices.Contains(r.Barred, option) }
	restarts := strconv.Itoa(5)
	if r.Search != nil && r.Search.More > 0 {
		restarts = strconv.Itoa(r.Search.More)
	}
	chance := r.Search != nil && r.Search.Chance != nil && *r.Search.Chance >= missedShare
	far, held := 0, 0
	for _, e := range evidence {
		far = max(far, e.Far)
	}
	for _, e := range heldOut(r) {
		held = e.N + e.Outlying
	}
	enough := holdoutNext*float64(r.N+held) >= LeastRows
	switch i := r.Interpolation; {
	case r.Interrupted || r.Status == "cancelled":
		return &Advice{Text: "let the fit go on, from its checkpoint or from this model"}
	case r.N <= denseRows && (r.Approximation.Loose() || r.Approximation != nil && startedOver(r)):
		return advise("take the exact method, which has more digits", "method", device.DenseName)
	case unfinished(r, evidence) && r.Status == stalled:
		return advise("look for an end where rounding leaves more digits", "restarts", restarts)
	case unfinished(r, evidence):
		return advise("let the fit go on for longer", "max-evals", strconv.Itoa(4*max(r.Evaluations.Value, 250)))
	case may("holdout") && r.Series && between(r, evidence) && enough:
		return advise("score a forecast of the last rows; without last:, rows between others", "holdout", fmt.Sprint("last:", holdoutNext))
	case may("noise-floor") && i != nil && i.Degenerate && r.NoiseFloor == nil: // with a floor it predicts worse
		return advise("if the targets have noise, bound it from below", "noise-floor", fmt.Sprint(i.NoiseFloor))
	case r.Missed != nil && r.Choice == nil && (r.Missed.Mean != "" || may("kernel")): // a choice has compared seasons
		return r.Missed.advice()
	case len(evidence) > 1 && (v.Level == Fair || v.Level == Poor):
		return advise("fit each target by itself, with a kernel and noise of its own", "target", worstOf(evidence).Target)
	case may("target-transform") && manyOutlying(r) && r.TargetTransform == nil:
		return advise("compare transforms of the target, whose noise may grow with it", "target-transform", string(transform.Auto))
	case may("target-transform") && r.Skewed && r.TargetTransform == nil:
		return advise("compare transforms of the target, which is positive and skewed", "target-transform", string(transform.Auto))
	case far >= leastFar && r.Experts == nil && minimizes(r, problem.NLML):
		return advise(fmt.Sprintf("give rows that do not fit a noise variance of their own; %s far from the prediction", textform.Counted(far, "row is", "rows are")), "robust", "true")
	case r.Isotropic && r.Choice == nil: // a choice has compared lengthscales of their own
		return advise(fmt.Sprintf("give each of the %d columns a lengthscale of its own", r.D), "ard", "true")
	case may("posterior") && v.Calibration == Overconfident && r.Posterior == nil:
		return advise("let the intervals hold the uncertainty of the parameters, too", "posterior", string(problem.Laplace))
	case roughDraws(r) != nil && r.Posterior.Method != problem.HMC:
		return advise("draw the parameters from the posterior itself", "posterior", string(problem.HMC))
	case chance:
		return advise("look for a better optimum from more starts", "restarts", restarts)
	case may("holdout") && r.Levels == 0 && (v.Level == Unknown || onlyLeftOut(evidence)) && enough:
		return advise("score rows that the fit has not seen, which is a harder test", "holdout", fmt.Sprint(holdoutNext))
	}
	return nil
}

// stalled is the status of a descent that rounding stopped.
const stalled = "stalled"

// statusTexts says what a status means.
var statusTexts = map[string]string{
	"gradient-converged": "converged: the gradient is zero", "function-converged": "converged: rounding hides smaller changes of the objective",
	"gain-converged": "converged: more steps would gain next to nothing", "all-fixed": "not tuned: all parameters are fixed",
	stalled: "stopped: no step lowers the objective", "max-evaluations": "stopped: it used up its evaluations",
	"cancelled": "interrupted", "dropped": "stopped early: it could not become the best", "merged": "stopped early: it came to the end of another start",
	"evaluated": "evaluated, not tuned",
}

// StatusText returns what a status means, in words that need no knowledge of the optimizer.
func StatusText(status string) string {
	if text, ok := statusTexts[status]; ok {
		return text
	}
	return status
}

// StateText returns a status in one or two words: the beginning of its StatusText.
func StateText(status string) string {
	text, _, _ := strings.Cut(StatusText(status), ":")
	return text
}

// StepText returns the name of a step of the search for people.
func StepText(step string) string {
	switch step {
	case "halves":
		return "first steps"
	case "values":
		return "comparison"
	case "screen":
		return "trials"
	case "hessian":
		return "curvature"
	}
	return step
}
