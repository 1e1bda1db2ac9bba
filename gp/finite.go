package gp

import (
	"fmt"
	"math"
)

// RangeError reports a result that is not a finite number because the requested
// rows or the model exceed the range of double precision.
type RangeError struct {
	// What names the result. Row is its row, counted from 0, or −1 if it belongs to
	// the model as a whole.
	What string
	Row  int
}

func (e *RangeError) Error() string {
	if e.Row < 0 {
		return fmt.Sprintf("gp: the %s is not a finite number: the scales of the columns are too far apart for double precision; multiply or divide some by a power of ten and fit again", e.What)
	}
	return fmt.Sprintf("gp: the %s of row %d (from 1) is not a finite number: its values are too far from the training data for double precision, or the model's covariance is nearly singular", e.What, e.Row+1)
}

// checkResult returns a [*RangeError] for the first number of columns of m rows
// that is not finite.
func checkResult(what string, m int, columns ...[]float64) error {
	for _, column := range columns {
		if i := firstNonFinite(column); i >= 0 {
			return &RangeError{What: what, Row: i % m}
		}
	}
	return nil
}

// firstNonFinite returns the index of the first NaN or infinity, or −1.
func firstNonFinite(v []float64) int {
	for i, x := range v {
		if x-x != 0 {
			return i
		}
	}
	return -1
}

// validateNumbers returns an error about numbers that no model can have.
func (m *Model) validateNumbers() error {
	s := m.Scaling
	for name, v := range map[string][]float64{
		"X": m.X, "y": m.Y, "alpha": m.Alpha, "noise": m.TrainNoise, "rows": m.Rows, "theta": m.Theta, "coefficients": m.Mean.Coefficients,
		"x_mean": s.XMean, "x_scale": s.XScale, "y_mean and y_scale": {s.YMean, s.YScale}, "noise_variance and jitter": {m.NoiseVariance, m.Jitter},
	} {
		if i := firstNonFinite(v); i >= 0 {
			return fmt.Errorf("element %d of %s is %v, not a finite number", i, name, v[i])
		}
	}
	for _, scale := range append([]float64{s.YScale}, s.XScale...) {
		if !(scale > 0) {
			return fmt.Errorf("invalid scale %v", scale)
		}
	}
	for i, row := range m.Rows {
		if row < 0 || row != math.Trunc(row) {
			return fmt.Errorf("training row %d has the invalid row number %v", i, row)
		}
	}
	return nil
}
