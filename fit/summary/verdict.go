package summary

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/internal/textform"
)

// Level grades a model by its scores.
type Level string

// The values of Level. Good explains most of the target's variance and has no fault in its scores; Poor predicts no
// better than the mean, or its intervals hold far too few rows; Unknown has no scores, or none that count.
const (
	Good    Level = "good"
	Fair    Level = "fair"
	Poor    Level = "poor"
	Unknown Level = "unknown"
)

// levels lists the levels from the best to the worst.
var levels = []Level{Good, Fair, Poor, Unknown}

// Verdict says in words how good a model is, and what to do next. [Report.Judge] makes it, and
// everything that shows a report repeats its sentences.
type Verdict struct {
	Level Level `json:"level"`
	// Headline begins with the level and has the scores that it rests on.
	Headline string `json:"headline"`
	// Calibration is about the target of the headline.
	Calibration Calibration `json:"calibration,omitempty"`
	// Rows names the rows that the headline rests on, such as "held-out rows"; empty without scores. The scores are
	// theirs, in units of the targets' standard deviation.
	Rows             string   `json:"rows,omitempty"`
	RMSEStandardized Number   `json:"rmse_standardized"`
	NLPDStandardized Number   `json:"nlpd_standardized"`
	Warnings         []string `json:"warnings"`
	// Next is the one thing to do next; nil if there is nothing to improve.
	Next *Advice `json:"next,omitempty"`
}

// Text returns the verdict as lines for people, at the beginning of a report.
func (v *Verdict) Text() string {
	text := "verdict                " + v.Headline
	for _, w := range v.Warnings {
		text += "\nwarning                " + w
	}
	if v.Next != nil {
		text += "\nnext                   " + v.Next.String()
	}
	return text
}

// Advice says what to do next.
type Advice struct {
	Text string `json:"text"`
	// Options are the options that a next fit needs besides the options of this one.
	Options map[string]string `json:"options,omitempty"`
	// Command is the command line, if the fit came from one.
	Command string `json:"command,omitempty"`
}

// String returns the advice with its command, or else its options, on one line.
func (a *Advice) String() string {
	how := a.Command
	for _, name := range slices.Sorted(maps.Keys(a.Options)) {
		if a.Command == "" {
			how += fmt.Sprintf(" option %s=%s", name, a.Options[name])
		}
	}
	if how == "" {
		return a.Text
	}
	return a.Text + ": " + strings.TrimSpace(how)
}

// Evidence holds the scores of predictions of one target, as in [TestScores].
type Evidence struct {
	// Rows says which rows these are, such as "held-out rows", and N is their number.
	Rows string
	N    int
	// Parameters counts the parameters that were fitted to these rows, which makes their scores better than others'.
	Parameters int
	// Outlying counts further rows, which do not fit and are not in the errors. WithOutlying is RMSEStandardized of all.
	Outlying     int
	WithOutlying float64
	// Far counts rows among them as in [TestScores]. Naive is the error of the naive forecast, nil if these rows are none.
	Far   int
	Naive *NaiveForecast
	// Target is the name of one of several targets.
	Target string
	// RMSE is 0 if the targets have different units. Coverage95 and NLPDStandardized are of all rows, and NaN if
	// they are not known.
	RMSE, RMSEStandardized, NLPDStandardized, Coverage95 float64
}

// The share of rows that should be in a 95 % interval, and the probability, on each
// side, of a number of rows that a correct interval makes too unlikely. Together the
// sides raise a false alarm for at most one correct model in a hundred.
const (
	nominalShare = 0.95
	alarmTail    = 0.005
)

// Calibration says whether the intervals of predictions have the width that they should.
type Calibration string

// The values of Calibration. An empty one means that the share of rows within their 95 %
// interval is compatible with 95 %.
const (
	// Overconfident means that the intervals cover too few rows.
	Overconfident Calibration = "overconfident"
	// Underconfident means that they cover too many.
	Underconfident Calibration = "underconfident"
)

// NewCalibration judges the share of n rows that are within their 95 % interval. The
// number of rows within is binomial if the errors of different rows are independent.
// Only a share in the outer half percent of the distribution is a verdict.
func NewCalibration(share float64, n int) Calibration {
	if n == 0 {
		return ""
	}
	within, b := math.Round(share*float64(n)), distuv.Binomial{N: float64(n), P: nominalShare}
	switch {
	case b.CDF(within) < alarmTail:
		return Overconfident
	case 1-b.CDF(within-1) < alarmTail:
		return Underconfident
	}
	return ""
}

const (
	// meanNLPD is the NLPD, in units of the targets' standard deviation, of a normal distribution
	// with their mean and standard deviation: ½ log 2πe.
	meanNLPD = 1.4189385332046727
	// mostError is the largest standardized RMSE of a good model, with the width of errorTail for few rows.
	mostError, errorTail = 0.8, 0.05
	// hardlyBetter is the standardized RMSE from which a model explains nearly nothing: it explains
	// a tenth of the variance.
	hardlyBetter = 0.95
	// farTooFew is a share of rows in 95 % intervals that makes them useless.
	farTooFew = 0.9
	// fewRows hardly show whether intervals have the right width.
	fewRows = 30
)

// LeastRows show whether a model is good; fewer do not.
const LeastRows = 8

// judge returns the verdict by only the scores.
func (e *Evidence) judge() *Verdict {
	if e.N < LeastRows {
		return &Verdict{Level: Unknown, Headline: string(Unknown) + ": " + e.named(e.text("")), Warnings: []string{}}
	}
	v := &Verdict{Level: Good, Calibration: e.calibration(), Rows: e.Rows, RMSEStandardized: Number(e.RMSEStandardized), NLPDStandardized: Number(e.NLPDStandardized), Warnings: []string{}}
	warn := func(level Level, format string, args ...any) {
		v.Level = worse(v.Level, level)
		v.Warnings = append(v.Warnings, e.named(fmt.Sprintf(format, args...)))
	}
	all := e.N + e.Outlying
	within := math.Round(e.Coverage95 * float64(all))
	width := fmt.Sprintf("they hold %.0f of %d %s, where about %.0f are expected", within, all, e.Rows, nominalShare*float64(all))
	switch {
	case v.Calibration == Overconfident && e.Coverage95 < farTooFew:
		warn(Poor, "the 95 %% intervals are far too narrow: %s", width)
	case v.Calibration == Overconfident:
		warn(Fair, "the 95 %% intervals are too narrow: %s", width)
	case v.Calibration == Underconfident && e.RMSEStandardized <= smallError: // the noise has a lower bound, and they are narrow
		warn(Good, "the 95 %% intervals are too wide: %s", width)
	case v.Calibration == Underconfident:
		warn(Fair, "the 95 %% intervals are too wide: %s", width)
	}
	switch {
	case e.Naive != nil && e.ofAll() >= e.Naive.RMSEStandardized && e.ofAll() > smallError:
		warn(Poor, "the predictions are no better than the naive forecast, %s", e.Naive)
	case e.RMSEStandardized >= 1:
		warn(Poor, "the predictions are no better than the mean of the training targets, whose error is about 1 standard deviation")
	case e.NLPDStandardized >= meanNLPD && !math.IsInf(e.NLPDStandardized, 1):
		warn(Poor, "some rows are so far outside their intervals that the density of the predictions is worse than the density of the training targets alone: the standardized NLPD is %.3g, and theirs is %.3g", e.NLPDStandardized, meanNLPD)
	case e.RMSEStandardized >= hardlyBetter:
		warn(Fair, "the predictions are hardly better than the mean of the training targets: to this model nearly everything is noise")
	}
	switch most := e.mostLikely(); {
	case v.Level != Good || most <= mostError:
	case e.RMSEStandardized > mostError:
		warn(Fair, "the model explains %.0f %% of the variance of the target, less than a good one", 100*(1-e.RMSEStandardized*e.RMSEStandardized))
	default:
		warn(Fair, "%s: scores of other rows can have an error of %.2g standard deviations", e.few(), most)
	}
	v.Headline = string(v.Level) + ": " + e.named(e.text(v.Calibration))
	return v
}

// mostLikely returns the upper limit of the standardized RMSE of normal errors, of which n·RMSE²/σ² is χ². It has n degrees
// of freedom, less two for each parameter fitted to these rows: of 400 tables of 20 to 600 rows three are then good and have an
// error of 0.9 at new rows, and seven if parameters do not count.
func (e *Evidence) mostLikely() float64 {
	n := float64(e.N)
	return e.RMSEStandardized * math.Sqrt(n/distuv.ChiSquared{K: max(n-2*float64(e.Parameters), 1)}.Quantile(errorTail))
}

// ofAll returns the error of all rows, outlying or not.
func (e *Evidence) ofAll() float64 {
	if e.Outlying > 0 {
		return e.WithOutlying
	}
	return e.RMSEStandardized
}

// few says that the rows are few.
func (e *Evidence) few() string {
	if e.Parameters > 0 {
		return fmt.Sprintf("%d rows are few for %s fitted to them", e.N, textform.Counted(e.Parameters, "parameter", "parameters"))
	}
	return fmt.Sprintf("%d rows are few", e.N)
}

// calibration judges the coverage, if it is known.
func (e *Evidence) calibration() Calibration {
	if math.IsNaN(e.Coverage95) {
		return ""
	}
	return NewCalibration(e.Coverage95, e.N+e.Outlying)
}

// text states the scores.
func (e *Evidence) text(c Calibration) string {
	text := fmt.Sprintf("on %d %s%s the error (RMSE) is ", e.N, e.Rows, aside(e.Outlying))
	if e.RMSE > 0 {
		text += fmt.Sprintf("%.4g, ", e.RMSE)
	}
	switch times := fmt.Sprintf("%.3g", e.RMSEStandardized); {
	case times == "1":
		text += "as large as the standard deviation of the target"
	case e.RMSEStandardized < 1:
		text += fmt.Sprintf("%.3g %% of the standard deviation of the target", 100*e.RMSEStandardized)
	default:
		text += times + " times the standard deviation of the target"
	}
	if e.Naive != nil && e.Outlying == 0 && e.RMSEStandardized < e.Naive.RMSEStandardized {
		text += fmt.Sprintf(" (the naive forecast has %.3g %%)", 100*e.Naive.RMSEStandardized)
	}
	if math.IsNaN(e.Coverage95) {
		return text
	}
	these := "these rows"
	if e.Outlying > 0 {
		text += fmt.Sprintf(", %.3g times that with all rows", e.WithOutlying/e.RMSEStandardized)
		these = fmt.Sprintf("all %d rows", e.N+e.Outlying)
	}
	text += fmt.Sprintf("; the 95 %% intervals hold %.1f %% of %s", 100*e.Coverage95, these)
	switch {
	case c != "":
		return text + ": " + string(c)
	case e.N+e.Outlying < fewRows:
		return text + ", which are too few to judge the intervals"
	}
	return text
}

// aside names rows that do not count.
func aside(outlying int) string {
	switch outlying {
	case 0:
		return ""
	case 1:
		return ", 1 outlying row aside,"
	}
	return fmt.Sprintf(", %d outlying rows aside,", outlying)
}

// named returns text with the name of the target in front if there are several.
func (e *Evidence) named(text string) string {
	if e.Target != "" {
		return e.Target + ": " + text
	}
	return text
}

// worse returns the worse of two levels.
func worse(a, b Level) Level { return levels[max(slices.Index(levels, a), slices.Index(levels, b))] }

// worstOf returns the scores of the lowest level, and of these the largest error.
func worstOf(all []Evidence) *Evidence {
	worst := &all[0]
	for i := range all[1:] {
		e := &all[i+1]
		if grade := e.judge().Level; worse(grade, worst.judge().Level) == grade && (grade != worst.judge().Level || e.RMSEStandardized > worst.RMSEStandardized) {
			worst = e
		}
	}
	return worst
}

// Judge returns the verdict on scores, of several targets with the headline of the worst.
func Judge(all []Evidence) *Verdict {
	if len(all) == 0 {
		return &Verdict{Level: Unknown, Headline: "unknown: there are no scores of rows that the fit has not seen", Warnings: []string{}}
	}
	worst, warnings := worstOf(all).judge(), []string{}
	for _, e := range all {
		warnings = append(warnings, e.judge().Warnings...)
	}
	worst.Warnings = warnings
	if len(all) > 1 {
		worst.Headline = strings.Replace(worst.Headline, ": ", fmt.Sprintf(": the worst of %d targets is ", len(all)), 1)
	}
	return worst
}
