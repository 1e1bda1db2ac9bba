package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"gpfit/internal/must"
)

// eigenvalueTolerance bounds the error of an eigenvalue, relative to the largest: a small
// multiple of n times the precision.
const eigenvalueTolerance = 1e-13

// TestCheckMatrix compares extreme eigenvalues with those of matrices in closed form.
func TestCheckMatrix(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 60, 129} {
		theta := math.Pi / float64(2*n+1)
		for name, c := range map[string]struct {
			k                 func(i, j int) float64
			smallest, largest float64
			ok                bool
		}{
			// Brownian motion at 1, 2, …, n: the inverse of a second difference (Fortiana &
			// Cuadras 1997).
			"min": {func(i, j int) float64 { return float64(min(i, j) + 1) }, 1 / (2 + 2*math.Cos(theta*2)), 1 / (2 - 2*math.Cos(theta)), true},
			// Second differences, with eigenvalues 2 − 2 cos(πk/(n+1)).
			"second difference": {func(i, j int) float64 { return float64(2*b2i(i == j) - b2i(i-j == 1 || j-i == 1)) }, 2 - 2*math.Cos(math.Pi/float64(n+1)), 2 - 2*math.Cos(math.Pi*float64(n)/float64(n+1)), true},
			"constant":          {func(int, int) float64 { return 3 }, 0, 3 * float64(n), true},
			"one minus unit":    {func(i, j int) float64 { return float64(b2i(i != j)) }, -1, float64(n - 1), false},
		} {
			if n == 1 && name != "min" {
				continue
			}
			k := make([]float64, n*n)
			for i := range n {
				for j := range n {
					k[i*n+j] = c.k(i, j)
				}
			}
			h := must.Get(CheckMatrix(n, k))(t)
			if tol := eigenvalueTolerance * float64(n) * c.largest; math.Abs(h.Largest-c.largest) > tol || math.Abs(h.Smallest-c.smallest) > tol {
				t.Errorf("%s, n = %d: eigenvalues from %v to %v, want %v to %v", name, n, h.Smallest, h.Largest, c.smallest, c.largest)
			}
			if h.OK() != c.ok {
				t.Errorf("%s, n = %d: %v", name, n, h)
			}
		}
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestNoKernels checks that functions that look like kernels and are none are found.
func TestNoKernels(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, 40)
	for i := range x {
		x[i] = rng.Float64()
	}
	for name, f := range map[string]func(a, b float64) float64{
		"max - min": func(a, b float64) float64 { return math.Max(a, b) - math.Min(a, b) },
		"|x - x'|":  func(a, b float64) float64 { return math.Abs(a - b) },
		"max":       math.Max,
		"box":       func(a, b float64) float64 { return float64(b2i(math.Abs(a-b) < 0.3)) },
		"x":         func(a, _ float64) float64 { return a },
		"NaN":       func(a, b float64) float64 { return math.Log(a - b) },
	} {
		k := make([]float64, 0, len(x)*len(x))
		for _, a := range x {
			for _, b := range x {
				k = append(k, f(a, b))
			}
		}
		if h, err := CheckMatrix(len(x), k); err != nil || h.OK() {
			t.Errorf("%s: %v, error %v", name, h, err)
		}
	}
}
