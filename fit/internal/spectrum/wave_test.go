package spectrum

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// table returns a scan over n rows of two targets with a saw of 7 turns, and its kernel.
func table(t *testing.T, n int) (*Scan, *kernel.Program) {
	rng := rand.New(rand.NewPCG(4, 4))
	x, y := make([]float64, n), make([]float64, 2*n)
	for i := range n {
		x[i] = rng.Float64()
		_, saw := math.Modf(7 * x[i])
		y[i], y[n+i] = saw+0.05*rng.NormFloat64(), 2*saw+0.05*rng.NormFloat64()
	}
	prog := testcheck.Get(kernel.Compile(testcheck.Get(kernel.Parse("periodic"))(t), []int{0}))(t)
	s := NewScan(prog, kernel.NewPoints(x, n, 1), y)
	s.Theta = func(turns, lengthscale float64) []float64 { return []float64{lengthscale, 1 / turns, 0.7} }
	return s, prog
}

// TestTry compares the objective of a trial with the likelihood of both targets at its best scale.
func TestTry(t *testing.T) {
	s, prog := table(t, 60)
	c := s.try(Wave{Turns: 5.3, Lengthscale: 0.4, Noise: 0.03})
	e, n := kernel.NewEvaluator(prog), s.rows.N
	e.Bind(s.Theta(5.3, 0.4))
	nlml := func(scale float64) float64 {
		k, row, sum := mat.NewSymDense(n, nil), make([]float64, n), 0.0
		for i := range n {
			e.Row(row, s.rows, i, s.rows, 0, n)
			row[i] += 0.03
			for j, v := range row {
				k.SetSym(i, j, scale*v)
			}
		}
		var chol mat.Cholesky
		if !chol.Factorize(k) {
			t.Fatal("not positive definite")
		}
		for _, target := range s.targets {
			var solved mat.VecDense
			y := mat.NewVecDense(n, target)
			if err := chol.SolveVecTo(&solved, y); err != nil {
				t.Fatal(err)
			}
			sum += (mat.Dot(y, &solved) + chol.LogDet()) / 2
		}
		return sum
	}
	best := nlml(c.Scale)
	testcheck.Within(t, c.F+float64(n), best, 1e-8*math.Abs(best), "objective") // two targets: their constant is n
	if nlml(1.01*c.Scale) < best || nlml(0.99*c.Scale) < best {
		t.Errorf("another scale than %v is better", c.Scale)
	}
}

// TestLowest checks that the lowest minimum is the saw, with a short lengthscale and little noise.
func TestLowest(t *testing.T) {
	s, _ := table(t, 150)
	low := s.Lowest(0.01)
	if len(low) != minima {
		t.Fatalf("%d minima", len(low))
	}
	testcheck.Within(t, low[0].Turns, 7, 0.05, "turns of the lowest minimum")
	if low[0].Lengthscale > 0.6 || low[0].Noise*low[0].Scale > 0.05 {
		t.Errorf("the saw has a lengthscale of %v and a noise of %v", low[0].Lengthscale, low[0].Noise*low[0].Scale)
	}
}
