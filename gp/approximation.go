package gp

import (
	"context"
	"fmt"
	"math"
	"slices"

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

// mostMissed is the error of a product with some rows of Σ, in units of [device.Verified], above which a block has missed a part of Σ,
// unless its tolerance is so small that it is an error of rounding. A comparison of all rows bounds what is missed.
const mostMissed = 4

// Of returns how far results of a workspace at its last Form are off, for the wanted tolerance of a, and nil if its method is exact. It compares with elements of Σ
// for residuals and their weights alpha of some targets. fits has what the comparison adds to the data fit of each, nil if it took a part of the rows.
func (a Approximation) Of(ctx context.Context, ws device.Workspace, residuals, alpha []float64, targets int) (of *Approximation, fits []float64, err error) {
	bounded, ok := ws.(device.Bounded)
	if !ok {
		return nil, nil, nil
	}
	err = ws.Solve(ctx, slices.Clone(residuals), targets) // the bound is of the last one
	bound := bounded.Bound()
	a = Approximation{Method: ws.Method(), Tolerance: a.Tolerance, Tightened: a.Tightened, Element: bound.Tolerance, Rank: bound.Rank}
	if device.IsNotPD(err) { // too few digits
		a.Missed = math.MaxFloat64
		return &a, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	found, err := bounded.Verify(ctx, residuals, alpha, targets)
	if err != nil {
		return nil, nil, err
	}
	a.RowsVerified = found.Rows
	total := float64(targets) * found.LogDet
	if found.Correction == nil {
		total += float64(targets) * bound.Fit
	}
	for _, rest := range found.Rest {
		total += rest
	}
	switch missed := found.Miss; {
	case missed-missed != 0 || total-total != 0:
		a.Missed = math.MaxFloat64
	case missed > mostMissed && a.Element > device.LeastTolerance && found.Correction == nil:
		a.Missed = missed
	default:
		if a.Bound = &total; found.Gradient <= math.MaxFloat64 {
			a.Gradient = &found.Gradient
		}
	}
	return &a, found.Correction, nil
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
	case *a.Bound <= a.Tolerance:
		why = fmt.Sprintf("the derivatives of the NLML may be off by %.2g, so that a search may end beside the optimum", *a.Gradient)
	default:
		why = fmt.Sprintf("the NLML may be off by %.2g nats, and %g were wanted", *a.Bound, a.Tolerance)
	}
	return why + ": option method dense is exact, where it has room; " + advice
}
