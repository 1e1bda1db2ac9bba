package summary

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gpfit/fit/internal/psis"
	"gpfit/fit/problem"
)

// A Consequence follows from a diagnosis.
type Consequence string

// The consequences. The text completes "then …" in docs.
const (
	// LeaveOut concerns a point of the search, or a model of a choice.
	LeaveOut Consequence = "this model is left out of searches, choices and averages"
	// Floor continues the fit with more noise.
	Floor Consequence = "the fit goes on with a floor of the noise, and keeps it if predictions are as good, or worse by a thousandth of a standard deviation at most"
	// Refuse ends the fit with an error.
	Refuse Consequence = "no model is written"
	// Optimum is for averages over draws of the parameters.
	Optimum Consequence = "predictions are of the parameters found, without an average"
	// OnlyPoor, OnlyFair and OnlyUnknown bound the verdict.
	OnlyPoor    Consequence = "the verdict is poor"
	OnlyFair    Consequence = "the verdict is fair at most"
	OnlyUnknown Consequence = "the verdict is unknown, if it is not poor"
)

// A Diagnosis is something that a fit may know of itself, and what follows from it.
type Diagnosis struct {
	Name string
	// When completes "if …".
	When string
	Then Consequence
	// fires returns why, a sentence for each cause; nil if it does not hold, or nobody knows.
	fires func(*Facts) []string
}

// Facts holds the diagnoses of a fit at the time when it asks. Unknown fields are zero.
type Facts struct {
	// Report and Evidence are there after the fit.
	Report   *Report
	Evidence []Evidence
	// Undefined says that the objective has no value where a descent would begin.
	Undefined bool
	// Noise and Missed are the standard deviation of the noise and the error of predictions at other places, in standard
	// deviations of the target. Copies counts rows that repeat the inputs and the target of another.
	Noise, Missed float64
	Copies        int
	// Digits are the decimal digits that the condition of the covariance leaves, nil if they are not known.
	Digits *float64
	// Weights says where the weights of the model do not solve its equations, and Disproof why the kernel is no
	// covariance function at the parameters found.
	Weights, Disproof error
	// KHat is k̂ of the weights of draws, nil without. Averaged and AtOptimum are leave-one-out errors of the average and
	// of the parameters found, in standard deviations of the target.
	KHat                *float64
	Averaged, AtOptimum float64
}

// Limits of the diagnoses. With fewDigits and more, predictions have no error of rounding above 1e-6 standard
// deviations; averages over draws predict 1.6 to 2.7 times worse than the optimum with fewer.
const (
	oneDigit, fewDigits = 1, 2
	// The noise is examined if it is at most plainNoise times the error at other places; copies of rows leave it open, so
	// that copiesNoise is the limit with them. Targets with an error up to exactError count as exact.
	plainNoise, copiesNoise = 0.1, 0.2
	exactError              = 0.03
	// Where the noise is at most littleNoise, an average may miss left-out rows timesMore times as far as the optimum, and
	// shareMore of a standard deviation. Of 995 tables without noise the average then has never more than three times the
	// error of the optimum at new rows, and the intervals of 1,000 tables with noise hold half a percent less.
	littleNoise, timesMore, shareMore = 0.01, 1.3, 0.02
)

// Gate lists the diagnoses that have consequences. Nothing else refuses a model, leaves it out, raises its noise, replaces an
// average or bounds a verdict; what scores say of a model is [Evidence].
var Gate = []Diagnosis{
	{"value", "the covariance has no Cholesky factor, or the data fit, a quadratic form, comes out negative by more than rounding explains", LeaveOut, func(f *Facts) []string {
		return because(f.Undefined, "the objective has no value at its start")
	}},
	{"noise", fmt.Sprintf("the standard deviation of the noise is at most %g of the error of predictions at other places (%g with copies of rows), and that error is more than %g standard deviations of the target", plainNoise, copiesNoise, exactError), Floor, func(f *Facts) []string {
		least := plainNoise
		if f.Copies > 0 {
			least = copiesNoise
		}
		return because(f.Missed > exactError && f.Noise <= least*min(f.Missed, 1), "the noise is far below the errors of predictions at other places")
	}},
	{"few digits", fmt.Sprintf("the condition number of the covariance leaves less than %d decimal digits", fewDigits), Floor, func(f *Facts) []string {
		return because(f.Digits != nil && *f.Digits < fewDigits, "the condition of the covariance leaves too few digits of the gradient and of the weights")
	}},
	{"weights", "the weights α do not solve (K + σ²I)α = y − m within the rounding of its terms", Refuse, func(f *Facts) []string {
		return because(f.Weights != nil, "rounding leaves no digits of the model, which is not written: %v; a floor of the noise leaves more (option noise-floor)", f.Weights)
	}},
	{"kernel, no digits", "the kernel is no covariance function at the parameters found, and less than one digit is left", Refuse, func(f *Facts) []string {
		return because(f.Disproof != nil && f.Digits != nil && *f.Digits < oneDigit, "tuning ended at parameters where this kernel is no covariance function, and no digit of the weights is right: give its parameters bounds, or fix them, or use another formula: %v", f.Disproof)
	}},
	{"few digits still", "more noise was not allowed, or left no more, or predicted worse", Optimum, func(f *Facts) []string {
		return because(f.Digits != nil && *f.Digits < fewDigits, "rounding leaves too few digits of their weights")
	}},
	{"k-hat", fmt.Sprintf("k-hat of the smoothed importance weights is above %g, after up to five rounds of draws (Vehtari and others, JMLR 25 (2024), 72)", psis.MostK), Optimum, func(f *Facts) []string {
		switch k := f.KHat; {
		case k == nil || *k <= psis.MostK:
			return nil
		case math.IsNaN(*k):
			return []string{"their density is not defined around its mode"}
		default:
			return because(true, "their weights are not sound (k-hat %.2f, above %g)", *k, psis.MostK)
		}
	}},
	{"average", fmt.Sprintf("the noise is at most %g standard deviations of the target, and the average misses left-out rows by more than %g times the error of the optimum and %g", littleNoise, timesMore, shareMore), Optimum, func(f *Facts) []string {
		return because(f.Noise <= littleNoise && f.Averaged > timesMore*f.AtOptimum+shareMore, "the average would miss left-out rows by %.2g standard deviations of the target, and the optimum does by %.2g", f.Averaged, f.AtOptimum)
	}},
	{"end", "the search did not converge: it was interrupted, used up its evaluations, or stopped where rounding left no lower value and neither gradient nor error is small", OnlyFair, func(f *Facts) []string {
		if r := f.Report; r.Interrupted && strings.HasSuffix(r.Status, "converged") {
			return because(true, "the search converged, and a signal ended the work after it")
		}
		return because(unfinished(f.Report, f.Evidence), "the fit is not finished (%s)", StatusText(f.Report.Status))
	}},
	{"part of the rows", "a signal ended the fit before it had a value on all rows, so that the model has those of an earlier stage", OnlyFair, func(f *Facts) []string {
		return because(f.Report.OfRows > 0, "the model has %d of %d rows, because the fit was interrupted before it had a value on all of them", f.Report.N, f.Report.OfRows)
	}},
	{"no digit still", "less than one decimal digit is left even so", OnlyFair, func(f *Facts) []string {
		return because(f.Digits != nil && *f.Digits < oneDigit, "less than one digit of the gradient and of the weights is right: intervals can be far too narrow")
	}},
	{"approximation", "a method that is not exact, tree, computed the model, and the bound of the error of the NLML is above option tolerance or unknown, or the bound of its derivatives is above √(2·tolerance)", OnlyFair, func(f *Facts) []string {
		why := f.Report.Approximation.Advice()
		return because(why != "", "%s", why)
	}},
	{"bound", "a parameter is at a bound, and the objective is lower elsewhere", OnlyFair, func(f *Facts) []string {
		return because(f.Report.LowerElsewhere != nil, "the end is no optimum: the objective is lower with another value of %s", problem.Listed(f.Report.LowerElsewhere))
	}},
	{"kernel", "the kernel is no covariance function at the parameters found, and digits are left", OnlyFair, func(f *Facts) []string {
		return because(f.Report.Disproved, "at the parameters found, the kernel is no covariance function, so that standard deviations may be meaningless: give its parameters bounds, or fix them, or use another formula")
	}},
	{"interpolator", "the noise is tiny, and left-out rows are missed by more than a tenth of the standard deviation of the target", OnlyFair, func(f *Facts) []string {
		i := f.Report.Interpolation
		if i == nil || !i.Degenerate {
			return nil
		}
		return because(true, "the model is an interpolator: it passes through the training targets, and predictions of left-out rows miss by %.2g standard deviations", i.LeaveOneOut.RMSEStandardized)
	}},
	{"rows aside", "with option robust more new rows are too far off to count than the outlying training rows explain", OnlyFair, func(f *Facts) (why []string) {
		for _, e := range f.Evidence {
			why = append(why, manyAside(f.Report, &e)...)
		}
		return why
	}},
	{"rows aside, few in intervals", fmt.Sprintf("that is so, and the 95 %% intervals hold less than %g of the rows", farTooFew), OnlyPoor, func(f *Facts) []string {
		aside := func(e Evidence) bool { return e.Coverage95 < farTooFew && manyAside(f.Report, &e) != nil }
		return because(slices.ContainsFunc(f.Evidence, aside), "the model misses the rows that do not count")
	}},
	{"outlying", fmt.Sprintf("more than %g of the training rows are outlying", mostOutlying), OnlyFair, func(f *Facts) []string {
		if !manyOutlying(f.Report) {
			return nil
		}
		return because(true, "%d of %d training rows are outlying, more than %.0f %%: so many are no exceptions, and the scores leave out a part of the target", len(f.Report.Robust.Rows), f.Report.N, 100*mostOutlying)
	}},
	{"own scores", "the fit chose its parameters by the scores that the verdict has", OnlyFair, func(f *Facts) []string {
		return because(problem.Criterion(criterion(f.Report)).LeavesOut() && onlyLeftOut(f.Evidence), "the fit chose its parameters by these scores, so they are too good")
	}},
	{"draws", fmt.Sprintf("draws of option posterior are not from the posterior: chains of hmc disagree (R-hat above %g), or k-hat of laplace is above %g", mostRHat, psis.MostK), OnlyFair, func(f *Facts) []string {
		return roughDraws(f.Report)
	}},
	{"series", "a column, the only one or one with regular steps, never falls from row to row, and the only scores are of rows left out one by one or in folds, of which none is a forecast", OnlyFair, func(f *Facts) []string {
		but := ""
		if cv := f.Report.Scores.CrossValidation; cv != nil && cv.Blocks && len(f.Evidence) > 0 && f.Evidence[0].Rows == inFolds {
			but = ", but for the last block"
		}
		return because(f.Report.Series && between(f.Report, f.Evidence), "forecasts are untested: rows left out lie between others of the series%s", but)
	}},
	{"naive forecast", "the last of several blocks of a series is predicted no better than by the naive forecast", OnlyFair, func(f *Facts) []string {
		last := forecastFold(f.Report, f.Evidence)
		if last == nil || last.RMSE < last.Naive.RMSE {
			return nil
		}
		return because(true, "a forecast of the last block is no better than the naive one, %s; the error is %.4g times its error", last.Naive, last.RMSE/last.Naive.RMSE)
	}},
	{"chosen columns", "the kernel has columns that the fit chose among many by all rows, and no row that the choice has not seen is scored", OnlyUnknown, func(f *Facts) []string {
		c, seen := f.Report.Choice, len(f.Evidence) > 0 && (onlyLeftOut(f.Evidence) || f.Evidence[0].Rows == inFolds)
		return because(seen && c != nil && c.Screened != nil && strings.Contains(f.Report.Kernel, "dims="), "its columns were chosen among many by all rows, those that the scores leave out included: the scores say nothing about new rows, which have to be held out")
	}},
	{"few levels", "the rows are a grid of few levels, so that no score says anything between them", OnlyUnknown, func(f *Facts) []string {
		return because(f.Report.Levels > 0, "between the levels of the columns, %d at most, predictions are untested: the rows are a grid of few levels, and scores of its rows say nothing about values between them. Score rows that lie there (option split-mask)", f.Report.Levels)
	}},
}

// Found returns why some consequence follows from the facts; nil if it does not.
func (f *Facts) Found(then Consequence) (why []string) {
	for _, d := range Gate {
		if d.Then == then {
			why = append(why, d.fires(f)...)
		}
	}
	return why
}

// caps are the levels to which consequences bound a verdict.
var caps = map[Consequence]Level{OnlyPoor: Poor, OnlyFair: Fair, OnlyUnknown: Unknown}

// bound takes the consequences for a verdict.
func (f *Facts) bound(v *Verdict) {
	for _, d := range Gate {
		if _, bounds := caps[d.Then]; bounds {
			for _, why := range d.fires(f) {
				v.limit(d.Then, why)
			}
		}
	}
}

// limit adds a reason to the warnings of a verdict, and bounds its level. Unknown is said in the headline.
func (v *Verdict) limit(then Consequence, why string) {
	v.Warnings = append(v.Warnings, why)
	level, rest := worse(v.Level, caps[then]), strings.TrimPrefix(v.Headline, string(v.Level)+": ")
	switch {
	case v.Level == Unknown || v.Level == Poor:
		return
	case level == Unknown:
		short, _, _ := strings.Cut(why, ": ")
		rest = short + "; " + rest
	}
	v.Level, v.Headline = level, string(level)+": "+rest
}

// because returns a reason if it holds.
func because(holds bool, format string, args ...any) []string {
	if !holds {
		return nil
	}
	return []string{fmt.Sprintf(format, args...)}
}
