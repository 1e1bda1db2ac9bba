package summary

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

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
