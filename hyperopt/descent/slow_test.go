package descent

import (
	"math"
	"slices"
	"testing"
)

// valley is the extended Rosenbrock function with a steep wall: L-BFGS needs
// hundreds of iterations.
func valley(z, grad []float64) float64 {
	const steep = 1e5
	sum := 0.0
	if grad != nil {
		clear(grad)
	}
	for i := range len(z) - 1 {
		a, b := z[i+1]-z[i]*z[i], 1-z[i]
		sum += steep*a*a + b*b
		if grad != nil {
			grad[i] += -4*steep*a*z[i] - 2*b
			grad[i+1] += 2 * steep * a
		}
	}
	return sum
}

// TestSlowDescentLooks checks that a descent of more than hessianAfter iterations
// computes the differences for the Hessian once, within the bounds, and reaches the
// minimum.
func TestSlowDescentLooks(t *testing.T) {
	obj := total(valley)
	p := arrays{Objective: obj, Start: []float64{-1, 0.5, -0.5, 0.3, 0.8, -0.2}, Lower: slices.Repeat([]float64{-3}, 6), Upper: slices.Repeat([]float64{3}, 6)}
	looks, at := 0, []float64(nil)
	r := mustMinimize(t, p, how{Callback: func(it Iteration) {
		if it.Iteration == hessianAfter {
			at = it.Z
		}
	}})
	if at == nil {
		t.Fatalf("only %d iterations: the function is not slow enough for this test", r.Iterations)
	}
	for _, c := range obj.calls {
		for i := range at {
			z := slices.Clone(at)
			if z[i] += hessianStep; slices.Equal(c.z, z) {
				looks++
			}
			if math.Abs(c.z[i]) > 3 {
				t.Fatalf("evaluated out of bounds: %v", c.z)
			}
		}
	}
	if looks != 2*len(at) { // a value and a gradient each
		t.Errorf("%d evaluations of the differences upwards, want %d", looks, 2*len(at))
	}
	for i, x := range r.X {
		if math.Abs(x-1) > 1e-4 || !r.Status.Converged() {
			t.Errorf("parameter %d ends at %v (%v)", i, x, r.Status)
		}
	}
}
