package transform

import (
	"fmt"
	"math"
	"testing"

	"gpfit/internal/testcheck"
)

// TestValues compares with scipy 1.17.1: stats.boxcox, stats.yeojohnson, and their *_normmax.
func TestValues(t *testing.T) {
	const tol = 1e-14 // two roundings
	box, yeo := &Map{BoxCox, 0.3, 0, 1}, &Map{YeoJohnson, 0.3, 0, 1}
	for y, want := range map[float64]float64{0.2: -1.2765537909333011, 0.9: -0.10371279600912209, 1: 0, 5: 2.0688553223092083} {
		testcheck.Within(t, box.Forward(y), want, tol*max(1, math.Abs(want)), "boxcox of %v", y)
	}
	for y, want := range map[float64]float64{-3: -5.621213697754795, -0.5: -0.583706976420589, 0: 0, 0.7: 0.5751964142418066, 4: 2.068855322309208} {
		testcheck.Within(t, yeo.Forward(y), want, tol*max(1, math.Abs(want)), "yeojohnson of %v", y)
	}
	const search = 1e-6 // scipy's tolerance
	signed := []float64{-3.1, -2, -0.4, -0.1, 0.2, 0.3, 0.9, 1.4, 2.1, 5.5}
	for _, c := range []struct {
		kind Name
		y    []float64
		raw  bool
		want float64
	}{
		{BoxCox, []float64{1.2, 3, 4.1, 5.5, 6, 7.7, 8.1, 8.4, 9, 9.2}, false, 1.3133241040951016},
		{BoxCox, []float64{0.6, 1.1, 1.3, 2.2, 2.9, 3.1, 4.8, 7.7, 9.4, 20.5}, false, 0}, // -0.068 without bounds
		{YeoJohnson, signed, false, 0.6802059103744935}, {YeoJohnson, signed, true, 0.8299677092484138},
	} {
		testcheck.Within(t, New(c.kind, c.y, c.raw).Lambda, c.want, search, "lambda of %s", c.kind)
	}
}

// every calls do with transforms of each family, also near λ where formulas divide by 0.
func every(do func(name string, of *Map)) {
	do("log", &Map{Kind: Log, Unit: 3})
	for _, lambda := range []float64{0, 1e-9, 0.02, 0.5, 1, 1.7, 2 - 1e-9, 2} {
		do(fmt.Sprintf("boxcox %g", lambda), &Map{BoxCox, lambda, 0, 3})
		do(fmt.Sprintf("yeojohnson %g", lambda), &Map{YeoJohnson, lambda, 1.5, 3})
	}
}

// TestDerivatives compares slopes with central differences, and inverts.
func TestDerivatives(t *testing.T) {
	const step, tol = 1e-5, 5e-9 // rounding of differences
	every(func(name string, of *Map) {
		for _, y := range []float64{-7, -0.2, 0.3, 1.5, 2.9, 40} {
			if !of.Contains(y) {
				continue
			}
			slope := (of.Forward(y+step) - of.Forward(y-step)) / (2 * step)
			testcheck.Within(t, math.Exp(of.LogSlope(y)), slope, tol*max(1, slope), "%s: slope at %v", name, y)
			testcheck.Within(t, of.Inverse(of.Forward(y)), y, 1e-12*max(1, math.Abs(y)), "%s: inverse at %v", name, y)
			l := of.Coordinate(y)
			central := (Value(of.Kind, of.Lambda+step, l) - Value(of.Kind, of.Lambda-step, l)) / (2 * step)
			testcheck.Within(t, ByLambda(of.Kind, of.Lambda, l), central, tol*max(1, math.Abs(central)), "%s: derivative by lambda at %v", name, y)
		}
	})
}

// TestMoments compares with sums over a fine grid, and where the inverse is a polynomial, with its
// moments.
func TestMoments(t *testing.T) {
	const points, tol = 100_000, 1e-6 // the grid's error at a root is its step to the power 1.5
	every(func(name string, of *Map) {
		for _, c := range [][2]float64{{0.4, 0.05}, {-0.6, 0.7}, {1, 1.5}} {
			mean, std := of.Moments(c[0], c[1])
			first, second, step := 0.0, 0.0, 30.0/points
			for i := range points {
				z := -14 + step*(float64(i)+0.5)
				y, w := of.Inverse(c[0]+c[1]*z), step*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi)
				first, second = first+w*y, second+w*y*y
			}
			testcheck.Within(t, mean, first, tol*max(1, math.Abs(first)), "%s: mean at %v", name, c)
			want := math.Sqrt(second - first*first)
			testcheck.Within(t, std, want, tol*max(1, want), "%s: deviation at %v", name, c)
		}
	})
	for _, std := range []float64{1e-6, 0.05, 0.2} { // (1 + v/2)², far from v = −2
		mean, got := (&Map{BoxCox, 0.5, 0, 1}).Moments(0.4, std)
		testcheck.Within(t, mean, 1.44+std*std/4, 1e-13, "mean of a square")
		testcheck.Within(t, got, math.Sqrt(1.44*std*std+std*std*std*std/8), 1e-9*std, "deviation of a square")
	}
	mean, std := (&Map{YeoJohnson, 1, 2, 3}).Moments(0.4, 1.5)
	testcheck.Within(t, mean, 3.2, 1e-11, "mean of a line")
	testcheck.Within(t, std, 4.5, 1e-11, "deviation of a line")
}

// TestCheck refuses transforms of damaged files.
func TestCheck(t *testing.T) {
	every(func(name string, of *Map) { testcheck.Do(t, of.Check()) })
	for _, bad := range []Map{{Kind: "cube", Unit: 1}, {Kind: BoxCox, Lambda: -1, Unit: 1}, {Kind: Log, Lambda: 1, Unit: 1}, {Kind: Log, Unit: 0}, {Kind: BoxCox, Unit: 1, Shift: 1}, {Kind: YeoJohnson, Lambda: math.NaN(), Unit: 1}} {
		if bad.Check() == nil {
			t.Errorf("%+v passes", bad)
		}
	}
}

// TestOfColumn compares the transforms of columns with long tails with their formula; their slopes are positive everywhere.
func TestOfColumn(t *testing.T) {
	var right, left, flat []float64
	for i := range 41 {
		v := math.Exp(float64(i-20) / 10)
		right, left, flat = append(right, v), append(left, 3-v), append(flat, float64(i))
	}
	if OfColumn(flat) != nil || OfColumn([]float64{0, 0, 0, 0, 0, 0, 1, 1, 9}) != nil {
		t.Error("a transform of a column without a tail, or of few values")
	}
	of, mirror := OfColumn(right), OfColumn(left)
	unit := math.Exp(-1.8) / 4 // of the value after the first twentieth
	last := 3 - math.Exp(-2)   // the largest of left
	for _, x := range []float64{0, 0.2, 1, 7, 50} {
		testcheck.Within(t, of.Forward(x), math.Log1p(x/unit), 1e-12, "right tail at %v", x)
		testcheck.Within(t, mirror.Forward(last-x), -math.Log1p(x/mirror.Unit), 1e-12, "left tail at %v", last-x)
	}
	// Without its largest value, left has 40 distances from it; the third is at the first twentieth.
	testcheck.Within(t, mirror.Unit, (math.Exp(-1.7)-math.Exp(-2))/4, 1e-12, "unit of the left tail")
	for x := -30.0; x < 30; x++ {
		for _, m := range []*Map{of, mirror} {
			testcheck.Within(t, math.Exp(m.LogSlope(x)), (m.Forward(x+1e-4)-m.Forward(x-1e-4))/2e-4, 1e-4*math.Exp(m.LogSlope(x)), "slope at %v", x)
		}
	}
	if zeros := OfColumn(append(make([]float64, 20), right...)); zeros == nil || zeros.Shift != 0 {
		t.Errorf("with zeros: %+v", zeros)
	}
}
