package summary

import (
	"fmt"
	"math"
	"strings"
)

// directions returns for each part of the kernel with rotated distances its lengthscales along the axes of its ellipses, in original
// units. The angle counts from the first column to the second.
func directions(names []string, values map[string]float64) (out []string) {
	for _, name := range names {
		prefix, rotated := strings.CutSuffix(name, "tilt")
		if !rotated {
			continue
		}
		var columns []string
		var scales []float64
		for _, other := range names {
			if column, ok := strings.CutPrefix(other, prefix+"lengthscale["); ok {
				columns, scales = append(columns, strings.TrimSuffix(column, "]")), append(scales, values[other])
			}
		}
		if len(columns) == 2 {
			long, short, angle := ellipse(scales[0], scales[1], values[name])
			out = append(out, fmt.Sprintf("%slengthscale %.4g at %.3g° from %s to %s, %.4g across, if both have one unit", prefix, long, angle, columns[0], columns[1], short))
		}
	}
	return out
}

// ellipse returns the half axes of the ellipse (a/ρ_a)² + (b/ρ_b − t·a/ρ_a)² = 1, and the angle of the long one in (−90, 90] degrees.
func ellipse(first, second, tilt float64) (long, short, angle float64) {
	aa, bb, ab := (1+tilt*tilt)/first/first, 1/second/second, -tilt/first/second
	middle, half := (aa+bb)/2, math.Hypot((aa-bb)/2, ab)
	// The determinant is 1/(ρ_a ρ_b)², without cancellation.
	largest := middle + half
	smallest := 1 / (first * first * second * second) / largest
	return 1 / math.Sqrt(smallest), 1 / math.Sqrt(largest), 90 / math.Pi * math.Atan2(-2*ab, bb-aa)
}
