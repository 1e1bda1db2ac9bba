package fit

import (
	"fmt"
	"math"
)

// Squares of values beyond these limits come close to the limits of double precision.
// A fit squares distances, deviations and scales.
const (
	largestValue      = 1e150
	smallestDeviation = 1e-150
)

// checkColumn checks every stride-th value of v from first on. deviation is their
// standard deviation.
func checkColumn(what string, v []float64, first, stride int, deviation float64) error {
	for i := first; i < len(v); i += stride {
		if math.Abs(v[i]) > largestValue {
			return &DataError{fmt.Sprintf("%s has the value %g: squares of numbers above %g exceed double precision; divide the column by a power of ten", what, v[i], float64(largestValue))}
		}
	}
	if deviation < smallestDeviation {
		return &DataError{fmt.Sprintf("%s has a standard deviation of %g: squares of numbers below %g exceed double precision; multiply the column by a power of ten", what, deviation, smallestDeviation)}
	}
	return nil
}

func notFinite(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }
