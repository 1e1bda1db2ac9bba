package baseline

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/must"
)

// nearlyDependent returns columns of which some are nearly sums of others, and targets.
func nearlyDependent() (*mat.Dense, []float64) {
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
	return x, y
}

// TestNearlyDependentColumns fits a path where passes over the columns alone take more than
// the largest number of them.
func TestNearlyDependentColumns(t *testing.T) {
	path := must.Get(Lasso{}.Path(nearlyDependent()))(t)
	if len(path.Lambdas) != pathPoints || path.Sweeps > 2*pathPoints*slowSweeps {
		t.Errorf("%d penalties in %d passes", len(path.Lambdas), path.Sweeps)
	}
	for k, v := range path.Violations {
		if v > 1e-8 {
			t.Errorf("λ = %v violates its conditions by %v", path.Lambdas[k], v)
		}
	}
}

// TestLassoConvergence checks the error of a path that needs more passes than it may take.
func TestLassoConvergence(t *testing.T) {
	path, err := Lasso{sweeps: 2}.Path(nearlyDependent())
	if err == nil || !strings.Contains(err.Error(), "after 2 passes") {
		t.Fatalf("error %v", err)
	}
	n := len(path.Lambdas)
	if want := fmt.Sprintf("λ = %.4g violates its conditions by %.2g ", path.Lambdas[n-1], path.Violations[n-1]); n == 100 || !(path.Violations[n-1] > 0) || !strings.Contains(err.Error(), want) {
		t.Errorf("the path has %d penalties: %v", n, err)
	}
}
