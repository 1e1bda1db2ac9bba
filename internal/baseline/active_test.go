package baseline

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestNearlyDependentColumns fits a path whose columns are nearly sums of others, where
// passes over the columns alone take more than the largest number of them.
func TestNearlyDependentColumns(t *testing.T) {
	const n, d = 80, 6
	r := rand.New(rand.NewPCG(5, 6))
	x, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		for c := range d - 2 {
			x.Set(i, c, r.NormFloat64())
		}
		x.Set(i, d-2, x.At(i, 0)+x.At(i, 1)+0.01*r.NormFloat64())
		x.Set(i, d-1, x.At(i, 2)-x.At(i, 0)+0.01*r.NormFloat64())
		y[i] = x.At(i, d-2) - 0.5*x.At(i, 1) + 2*x.At(i, d-1) + 100*(x.At(i, d-2)-x.At(i, 0)-x.At(i, 1)) + 0.1*r.NormFloat64()
	}
	path, err := Lasso{}.Path(x, y)
	if err != nil {
		t.Fatal(err)
	}
	if len(path.Lambdas) != pathPoints || path.Sweeps > 2*pathPoints*slowSweeps {
		t.Errorf("%d penalties in %d passes", len(path.Lambdas), path.Sweeps)
	}
	for k, v := range path.Violations {
		if v > 1e-8 {
			t.Errorf("λ = %v violates its conditions by %v", path.Lambdas[k], v)
		}
	}
}
