package residual

import (
	"math"
	"slices"
	"testing"

	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// TestOf compares residuals and densities with the formulas of a normal distribution. A row without an observation has none,
// and a prediction without a standard deviation misses nothing where it equals the observation.
func TestOf(t *testing.T) {
	p := &gp.Prediction{Mean: []float64{1, 2, 3}, Std: []float64{0.5, 4, 2}}
	got, at := Of(p, []float64{2, math.NaN(), -1})
	if !slices.Equal(at, []int{0, 2}) || !slices.Equal(got.Residual, []float64{1, -4}) {
		t.Fatalf("rows %v, residuals %v", at, got.Residual)
	}
	testcheck.Near(t, "standardized", got.Standardized, []float64{2, -2}, 1e-15, 0)
	for i, std := range []float64{0.5, 2} {
		testcheck.Within(t, got.LogDensity[i], -2-math.Log(std*math.Sqrt(2*math.Pi)), 1e-14, "log density of row %d", at[i])
	}
	sure := &gp.Prediction{Mean: []float64{3}, Std: []float64{1e-300}}
	if got, _ = Of(sure, []float64{3 * (1 + 1e-15)}); got.Standardized[0] != 0 {
		t.Errorf("a rounding error is %v standard deviations", got.Standardized[0])
	}
}
