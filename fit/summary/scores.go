package summary

import (
	"encoding/json"
	"fmt"
	"math"

	"gpfit/fit/fields"
	"gpfit/fit/problem"
	"gpfit/table/feature"
)

// Number is a score that may not be finite. If a prediction has no variance, as without noise, the
// density at the target is infinite if the mean equals the target and zero otherwise. JSON has no
// such number: MarshalJSON writes null, and UnmarshalJSON reads null as NaN.
type Number float64

// Format implements [fmt.Formatter]. It writes "undefined" for a number that is not finite.
func (n Number) Format(f fmt.State, verb rune) {
	if !problem.NotFinite(float64(n)) {
		fmt.Fprintf(f, fmt.FormatString(f, verb), float64(n))
		return
	}
	width, _ := f.Width()
	fmt.Fprintf(f, "%*s", width, "undefined")
}

// MarshalJSON implements [json.Marshaler].
func (n Number) MarshalJSON() ([]byte, error) { return json.Marshal(Finite(float64(n))) }

// UnmarshalJSON implements [json.Unmarshaler].
func (n *Number) UnmarshalJSON(text []byte) error {
	v := math.NaN()
	err := json.Unmarshal(text, &v)
	*n = Number(v)
	return err
}

// UndefinedWarning returns a warning if an NLPD is not finite.
func UndefinedWarning(nlpd Number, of string) []string {
	if !problem.NotFinite(float64(nlpd)) {
		return nil
	}
	return []string{fmt.Sprintf("the NLPD of the %s is undefined, because some predictions have no variance; it is null in JSON", of)}
}

// Finite returns a pointer to v, or nil if JSON has no number for it.
func Finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}

// Scores holds predictive scores of a model; a score that was not requested is nil.
type Scores struct {
	LeaveOneOut     *LeaveOneOutScore      `json:"loo,omitempty"`
	CrossValidation *CrossValidationScores `json:"cv,omitempty"`
	Objective       *ObjectiveFolds        `json:"objective_folds,omitempty"`
}

// ObjectiveFolds holds the scores behind the objectives CV and CVRMSE: each row is predicted
// from the other folds at the parameters of the fit, which all rows have chosen.
type ObjectiveFolds struct {
	// Folds is the number of folds; the others are as in CrossValidationScores.
	Folds  int    `json:"folds"`
	Seed   uint64 `json:"seed"`
	Blocks bool   `json:"blocks,omitempty"`
	Group  string `json:"group,omitempty"`
	LeaveOneOutScore
}

// TestScores holds the scores of held-out rows, in original units and in units of the
// training targets' standard deviation.
type TestScores struct {
	N int `json:"n"`
	// RMSE is the root mean squared error of the mean.
	RMSE             float64 `json:"rmse"`
	RMSEStandardized float64 `json:"rmse_standardized"`
	// Coverage95 is the share of rows within their 95 % interval. Calibration is set if that is not
	// compatible with 95 %.
	Coverage95  float64     `json:"coverage95"`
	Calibration Calibration `json:"calibration,omitempty"`
	// NLPD is the mean negative log predictive density of an observation.
	NLPD             Number `json:"nlpd"`
	NLPDStandardized Number `json:"nlpd_standardized"`
	// Far counts rows so far from their predictions that option robust would give them a noise variance
	// of their own, in a fit without it.
	Far int `json:"far,omitempty"`
	// Fitting has the scores of the rows that fit, if option robust found that others do not: training
	// rows with a noise variance of their own, or new rows to which it would give one. Intervals expect such rows, and
	// hold more than 95 % of the others.
	Fitting *TestScores `json:"fitting,omitempty"`
	// Naive has the scores of a forecast without a model, if the rows follow the training rows of a series.
	Naive *NaiveForecast `json:"naive,omitempty"`
	// Horizons has the scores of the first rows of such a forecast: of a tenth, of half and of all.
	Horizons []HorizonScores `json:"horizons,omitempty"`
}

// HorizonScores holds the scores of the first N rows of a forecast, in original units. Ahead is how far the last of them is from the
// last training row, in units of the column, and NaiveRMSE the error of the naive forecast.
type HorizonScores struct {
	N          int     `json:"n"`
	Ahead      float64 `json:"ahead"`
	RMSE       float64 `json:"rmse"`
	NaiveRMSE  float64 `json:"naive_rmse"`
	NLPD       Number  `json:"nlpd"`
	Coverage95 float64 `json:"coverage95"`
}

// HorizonTable lists the scores of a forecast by horizon; Naive is known then.
func (t *TestScores) HorizonTable() fields.Table {
	out := fields.Of(t.Horizons, "n", "ahead", "rmse", "naive_rmse", "nlpd", "coverage95")
	out.Rename("n", "first rows")
	out.Rename("ahead", "up to")
	for i, h := range t.Horizons {
		out.Rows[i].Cells[1].Text = t.Naive.Unit.Span(h.Ahead)
	}
	return out
}

// NaiveForecast scores the forecast of a series that takes no model: the last training value, or the value of a season
// before (Hyndman & Athanasopoulos, Forecasting: Principles and Practice, 3rd ed., section 5.2), whichever misses the rows less.
type NaiveForecast struct {
	RMSE             float64 `json:"rmse"`
	RMSEStandardized float64 `json:"rmse_standardized"`
	// Season is the period of the season in units of the column, 0 for the last value.
	Season float64 `json:"season,omitempty"`
	// Column orders the rows. Unit is its unit if it has dates.
	Column string       `json:"column,omitempty"`
	Unit   feature.Unit `json:"unit,omitempty"`
}

// String says what the forecast is, and its error.
func (f *NaiveForecast) String() string {
	what := "the last training value"
	if f.Season > 0 {
		what = fmt.Sprintf("the value one season (%s along %s) before it", f.Unit.Span(f.Season), f.Column)
	}
	return fmt.Sprintf("%s, whose error is %.3g standard deviations", what, f.RMSEStandardized)
}

// LeaveOneOutScore is the leave-one-out log predictive density at the parameters of all rows,
// but with coefficients of a mean by least squares that are computed again without each row.
// All rows with equal inputs are left out together.
type LeaveOneOutScore struct {
	// Places is the number of different inputs if some repeat, and 0 otherwise.
	Places int `json:"places,omitempty"`
	// Sum is −Σ log p(y_i | the other rows) of the scaled problem, comparable with the NLML,
	// SumOriginalUnits for the original targets, both over all targets.
	Sum              float64 `json:"sum"`
	SumOriginalUnits float64 `json:"sum_original_units"`
	// NLPD is the mean over rows in original units, NLPDStandardized as in TestScores.
	NLPD             float64 `json:"nlpd"`
	NLPDStandardized float64 `json:"nlpd_standardized"`
	// RMSE is absent with several targets, because the units differ. RMSEStandardized is in
	// the units of NLPDStandardized, pooled over the targets.
	RMSE             float64 `json:"rmse,omitempty"`
	RMSEStandardized float64 `json:"rmse_standardized"`
	// Coverage95 is the share of rows, of all targets, within their 95 % interval; nil if it was not counted.
	Coverage95 *float64 `json:"coverage95,omitempty"`
	// Targets has the scores of each target, if there are several or some rows do not fit.
	Targets []*TestScores `json:"targets,omitempty"`
}

// CrossValidationScores holds scores of rows predicted from the other folds, in original units
// and in units of the standard deviation of all training targets.
type CrossValidationScores struct {
	Folds []FoldScores `json:"folds"`
	// Seed drew the folds. Blocks means that they are blocks of consecutive rows; Group
	// is the column whose groups of rows they keep together.
	Seed   uint64 `json:"seed"`
	Blocks bool   `json:"blocks,omitempty"`
	Group  string `json:"group,omitempty"`
	Refit  bool   `json:"refit"`
	// The scores mean the same as in TestScores, over all rows. With several targets they
	// are means, without RMSE, because the units differ, and Targets has the scores of each.
	RMSE             float64        `json:"rmse,omitempty"`
	RMSEStandardized float64        `json:"rmse_standardized"`
	Coverage95       float64        `json:"coverage95"`
	Calibration      Calibration    `json:"calibration,omitempty"`
	Targets          []TargetScores `json:"targets,omitempty"`
	// NLPDStdError is the standard error of NLPD, from its spread over folds.
	NLPD             Number `json:"nlpd"`
	NLPDStandardized Number `json:"nlpd_standardized"`
	NLPDStdError     Number `json:"nlpd_std_error"`
	// Warnings describes folds that departed from the options, such as an added jitter or a
	// replaced device, for callers of CrossValidate to pass on.
	Warnings []string    `json:"-"`
	Fitting  *TestScores `json:"fitting,omitempty"`
}

// TargetScores holds the scores of one of several targets; see CrossValidationScores.
type TargetScores struct {
	Name             string      `json:"name"`
	RMSE             float64     `json:"rmse"`
	RMSEStandardized float64     `json:"rmse_standardized"`
	Coverage95       float64     `json:"coverage95"`
	NLPD             Number      `json:"nlpd"`
	NLPDStandardized Number      `json:"nlpd_standardized"`
	NLPDStdError     Number      `json:"nlpd_std_error"`
	Fitting          *TestScores `json:"fitting,omitempty"`
}

// FoldScores holds the scores of one fold, in original units, as in CrossValidationScores.
type FoldScores struct {
	N          int     `json:"n"` // held-out rows
	RMSE       float64 `json:"rmse,omitempty"`
	Coverage95 float64 `json:"coverage95"`
	// Parameters holds the refitted parameters, natural values of the scaled problem.
	Parameters map[string]float64 `json:"parameters,omitempty"`
	NLPD       Number             `json:"nlpd"`
	// Naive is as in TestScores, of the only target.
	Naive    *NaiveForecast `json:"naive,omitempty"`
	Tests    []*TestScores  `json:"-"` // of each target
	Warnings []string       `json:"-"`
}
