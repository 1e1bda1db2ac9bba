package summary

import (
	"math"
	"testing"

	"gpfit/internal/testcheck"
)

// TestDirections turns ellipses of known axes and finds them again.
func TestDirections(t *testing.T) {
	for _, degrees := range []float64{0, 10, 35, 80, 90, -20, -70} {
		sin, cos := math.Sincos(degrees * math.Pi / 180)
		const long, short = 30.0, 5.0
		aa, bb := cos*cos/long/long+sin*sin/short/short, sin*sin/long/long+cos*cos/short/short
		ab := sin * cos * (1/long/long - 1/short/short)
		second := 1 / math.Sqrt(bb)
		first := 1 / math.Sqrt(aa-ab*ab/bb)
		gotLong, gotShort, angle := ellipse(first, second, -ab*first*second)
		testcheck.Near(t, "axes and angle", []float64{gotLong, gotShort, math.Abs(angle)}, []float64{long, short, math.Abs(degrees)}, 0, 1e-9)
		if degrees != 90 && angle*degrees < 0 {
			t.Errorf("%v degrees are %v", degrees, angle)
		}
	}
	got := directions([]string{"k1.lengthscale[east]", "k1.lengthscale[north]", "k1.tilt", "k2.lengthscale"}, map[string]float64{"k1.lengthscale[east]": 2, "k1.lengthscale[north]": 1, "k1.tilt": 0, "k2.lengthscale": 7})
	if len(got) != 1 || got[0] != "k1.lengthscale 2 at 0° from east to north, 1 across, if both have one unit" {
		t.Errorf("%q", got)
	}
}
