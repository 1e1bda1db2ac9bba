package gp

import (
	"fmt"

	"gpfit/device"
)

// Approximation says by which method, one that is not exact but bounds its error, the numbers of a model were computed, and
// how far they may be off.
type Approximation struct {
	Method string `json:"method"`
	// Bound is the bound of the error of the NLML, nil if it is not known, and Tolerance the bound that was wanted, in nats.
	Bound     *float64 `json:"bound"`
	Tolerance float64  `json:"tolerance"`
	// Gradient is the bound of the errors of the derivatives of the NLML by the logarithms of the parameters, nil if it is not known.
	Gradient *float64 `json:"gradient_bound"`
	// Tightened counts how often the method began again with a tenth of the tolerance to reach it.
	Tightened int `json:"tightened,omitempty"`
	// Element is the largest error of an element of Σ, as a share of the largest variance, and Rank the largest rank of a block.
	Element float64 `json:"element"`
	Rank    int     `json:"rank"`
	// RowsVerified is how many rows of Σ were compared with exact ones; 0 if nothing was checked.
	RowsVerified int `json:"rows_verified"`
	// Missed is the check's largest error, in units of the error expected, if blocks have missed a part of Σ.
	Missed float64 `json:"missed,omitempty"`
}

// valid reports whether the numbers are possible.
func (a *Approximation) valid() bool {
	return a.Method != "" && (a.Unknown() || *a.Bound >= 0 && a.RowsVerified > 0 && a.Missed == 0) && a.Tolerance > 0 && a.Element >= 0 && a.Tightened >= 0 && a.Tightened <= 20
}

// Unknown reports whether the error has no bound, because nothing was checked or the check failed.
func (a *Approximation) Unknown() bool { return a.Bound == nil }

// Loose reports whether the error may be larger than wanted.
func (a *Approximation) Loose() bool {
	return a != nil && (a.Unknown() || !(*a.Bound <= a.Tolerance) || a.steep())
}

// steep reports whether an error of the gradient may move the optimum too far: with a second derivative of 1, an error g of the first one loses g²/2.
func (a *Approximation) steep() bool {
	return a.Gradient != nil && !(*a.Gradient**a.Gradient/2 <= a.Tolerance)
}

// Wanted returns the bound that the method was asked for last, of one of some targets: a half, since the data fit has an error, too.
func (a *Approximation) Wanted(targets int) float64 {
	wanted := a.Tolerance / float64(2*targets)
	for range a.Tightened {
		wanted /= 10
	}
	return wanted
}

// Text describes the method and its error in a line.
func (a *Approximation) Text() string {
	if a.Unknown() {
		return a.Method + ": blocks of low rank, and the error of the NLML is unknown"
	}
	text := fmt.Sprintf("%s: blocks of low rank, NLML within %.2g nats of exact", a.Method, *a.Bound)
	if a.Gradient != nil {
		text += fmt.Sprintf(", derivatives within %.2g", *a.Gradient)
	}
	return text
}

// Advice says what to do about an error that may be larger than wanted, "" if it is not.
func (a *Approximation) Advice() string {
	if !a.Loose() {
		return ""
	}
	advice, why := "a smaller option tolerance makes the blocks better", fmt.Sprintf("nobody knows how far the method %s is off", a.Method)
	if a.Element <= device.LeastTolerance {
		advice = "a smaller option tolerance changes nothing, because the blocks have all digits of float64; more noise leaves more of these"
	}
	switch {
	case a.Unknown():
	case a.steep():
		why = fmt.Sprintf("the derivatives of the NLML may be off by %.2g, so that a search may end beside the optimum", *a.Gradient)
	default:
		why = fmt.Sprintf("the NLML may be off by %.2g nats, and %g were wanted", *a.Bound, a.Tolerance)
	}
	return why + ": option method dense is exact, where it has room; " + advice
}
