package summary

import (
	"encoding/json"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/fit/problem"
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

// Verdict returns the judgement as a sentence about rows, or "" if there is none.
func Verdict(c Calibration, share float64, rows string) string {
	if c == "" {
		return ""
	}
	return fmt.Sprintf("the 95 %% interval covers %.3g %% of the %s: %s", 100*share, rows, c)
}
