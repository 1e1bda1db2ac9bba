package baseline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/testcheck"
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

// TestNearlyDependentColumns fits a path for which passes over the columns alone are too slow.
func TestNearlyDependentColumns(t *testing.T) {
	path := testcheck.Get(Lasso{}.Path(nearlyDependent()))(t)
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

// TestKernelRidge solves for coefficients, means and the leave-one-out error by the formulas,
// each row left out once, and tries a fine grid for the search.
func TestKernelRidge(t *testing.T) {
	const n, d = 60, 2
	random := rand.New(rand.NewPCG(7, 8))
	x, y := mat.NewDense(n, d, nil), make([]float64, n)
	for i := range n {
		x.SetRow(i, []float64{random.NormFloat64(), 3 * random.NormFloat64()})
		y[i] = 4 + math.Sin(2*x.At(i, 0)) + 0.1*x.At(i, 1) + 0.3*random.NormFloat64()
	}
	m := testcheck.Get(KernelRidge{}.Fit(x, y))(t).(*KernelModel)
	z := newScaling(x, Design{}).apply(x)
	k := func(i, j int) float64 {
		r := 0.0
		for c := range d {
			r = math.Hypot(r, z.At(i, c)-z.At(j, c))
		}
		return math.Exp(-r * r / (2 * m.Theta[0] * m.Theta[0]))
	}
	solve := func(rows []int) *mat.VecDense {
		a, b := mat.NewDense(len(rows), len(rows), nil), mat.NewVecDense(len(rows), nil)
		for i, row := range rows {
			for j, other := range rows {
				a.Set(i, j, k(row, other))
			}
			a.Set(i, i, a.At(i, i)+m.Lambda)
			b.SetVec(i, y[row]-m.Intercept)
		}
		var alpha mat.VecDense
		testcheck.Do(t, alpha.SolveVec(a, b))
		return &alpha
	}
	means, loo := testcheck.Get(m.Predict(x))(t).Mean, 0.0
	for out := range n {
		var rest []int
		for i := range n {
			if i != out {
				rest = append(rest, i)
			}
		}
		e, alpha := y[out]-m.Intercept, solve(rest)
		for i, row := range rest {
			e -= alpha.AtVec(i) * k(out, row)
		}
		loo += e * e / float64(n)
		// The mean of a row follows from its coefficient: y − f = λα.
		if want := y[out] - m.Lambda*m.Alpha[out]; m.Theta[1] != 1 || math.Abs(means[out]-want) > 1e-9*math.Abs(want)+1e-9 {
			t.Errorf("row %d: mean %v, want %v", out, means[out], want)
		}
	}
	if math.Abs(loo-*m.Error) > 1e-7*loo {
		t.Errorf("leave-one-out error %v, want %v", *m.Error, loo)
	}
	grid := testcheck.Get(newKernelProblem(x, y))(t)
	for i := range 19 {
		for j := range 19 {
			testcheck.Get(grid.try(math.Pow(10, -6+float64(i)/3), math.Exp2(-3+float64(j)/3)))(t)
		}
	}
	const room = 1e-2 // of n/2 times the log of an error
	if n/2*math.Log(*m.Error / *grid.best.Error) > room {
		t.Errorf("error %v, of a grid %v", *m.Error, *grid.best.Error)
	}
}
