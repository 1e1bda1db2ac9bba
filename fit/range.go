package fit

import (
	"fmt"
	"math"
)

// Squares of what is outside of these are not far from where double precision
// ends, and there are squares everywhere: of distances, deviations and scales.
const (
	largestValue      = 1e150
	smallestDeviation = 1e-150
)

// checkColumn looks at every stride-th value from first on, whose deviation is
// given.
func checkColumn(what string, v []float64, first, stride int, deviation float64) error {
	for i := first; i < len(v); i += stride {
		if math.Abs(v[i]) > largestValue {
			return &DataError{fmt.Sprintf("%s has the value %g: squares of numbers beyond %g are beyond double precision; divide the column by a power of ten", what, v[i], float64(largestValue))}
		}
	}
	if deviation < smallestDeviation {
		return &DataError{fmt.Sprintf("%s has a deviation of %g: squares of numbers below %g are beyond double precision; multiply the column by a power of ten", what, deviation, smallestDeviation)}
	}
	return nil
}

func notFinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
