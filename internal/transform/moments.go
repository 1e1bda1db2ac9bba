package transform

import (
	"math"

	"gonum.org/v1/gonum/integrate/quad"
)

// Moments returns the mean and the standard deviation of the target whose transformed value has a
// normal distribution with the given ones. For the logarithm they are
// Unit·exp(m + s²/2) and √(exp(s²) − 1) times that (Johnson, Kotz & Balakrishnan 1994, Continuous
// univariate distributions 1, eq. 14.8); for the others, Gauss-Legendre quadrature finds them.
func (t *Map) Moments(mean, std float64) (m, s float64) {
	if std == 0 {
		return t.Inverse(mean), 0
	}
	if t.Lambda == 0 && t.Kind.Positive() {
		m = t.Unit * math.Exp(mean+std*std/2)
		return m, m * math.Sqrt(math.Expm1(std*std))
	}
	// Differences from the value at the mean keep the digits of a small deviation.
	at, first, second := t.Inverse(mean), 0.0, 0.0
	ends, kink := t.panels(mean, std)
	eachNode(ends, kink, func(z, weight float64) {
		d := t.Inverse(mean+std*z) - at
		first += weight * d
		second += weight * d * d
	})
	return at + first, math.Sqrt(max(second-first*first, 0))
}

// tails is the number of standard deviations beyond which a normal density does not count: its
// tail has a probability of 1e-19.
const tails = 9

// panels returns the ends of the panels of a quadrature over a standard normal variable. One end is
// at the kink of the inverse, where the coordinate is 0, or at the end of the range. At most the
// inverse grows as exp v does, which moves the largest part of a second moment by 2·std.
func (t *Map) panels(mean, std float64) (ends []float64, kink float64) {
	low, high, at := -float64(tails), tails+2*std, 0.0
	if t.Kind == YeoJohnson {
		low = -high
	} else {
		at = -1 / t.Lambda
	}
	kink = (at - mean) / std
	for z := low; z < high; {
		ends = append(ends, z)
		next := z + width
		if z == kink {
			next = z + width/3
		} else if kink > z && kink < next {
			next = kink
		}
		z = next
	}
	return append(ends, high), kink
}

// width is the largest width of a panel, and its number of nodes makes the quadrature of a
// polynomial times the normal density there exact to rounding.
const width, nodes = 6, 20

var legendreX, legendreW = func() (x, w []float64) {
	x, w = make([]float64, nodes), make([]float64, nodes)
	quad.Legendre{}.FixedLocations(x, w, 0, 1)
	return x, w
}()

// eachNode calls do with the nodes of a quadrature and their weights, which include the standard
// normal density. Right of the kink, where the inverse may be a root, z grows with the cube.
func eachNode(ends []float64, kink float64, do func(z, weight float64)) {
	for k, low := range ends[:len(ends)-1] {
		size := ends[k+1] - low
		for i, x := range legendreX {
			w := size * legendreW[i]
			if low == kink {
				w *= 3 * x * x
				x *= x * x
			}
			z := low + size*x
			do(z, w*math.Exp(-z*z/2)/math.Sqrt(2*math.Pi))
		}
	}
}
