package grid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"gpfit/device/devicetest/methodtest"
	"gpfit/internal/testcheck"
)

// matrices are symmetric positive semidefinite matrices of many spectra.
func matrices(rng *rand.Rand, g int) map[string]blas64.General {
	out := map[string]blas64.General{}
	add := func(name string, f func(i, j int) float64) {
		k := square(g)
		for i := range g {
			for j := range g {
				k.Data[i*g+j] = f(min(i, j), max(i, j))
			}
		}
		out[name] = k
	}
	x := methodtest.Normals(rng, g)
	distance := func(i, j int) float64 { return math.Abs(x[i] - x[j]) }
	add("rbf", func(i, j int) float64 { return math.Exp(-math.Pow(distance(i, j), 2) / 2) })
	add("matern32", func(i, j int) float64 { return (1 + distance(i, j)) * math.Exp(-distance(i, j)) })
	add("matern12", func(i, j int) float64 { return 1e6 * math.Exp(-100*distance(i, j)) })
	add("ones", func(i, j int) float64 { return 1 })
	add("zeros", func(i, j int) float64 { return 0 })
	add("identity", func(i, j int) float64 { return float64(1 - min(1, j-i)) })
	add("two sizes", func(i, j int) float64 { return 1e-12*x[i]*x[j] + 1e4*float64(i%2*(j%2)) })
	add("diagonal", func(i, j int) float64 {
		if i != j {
			return 0
		}
		return math.Pow(10, float64(i%20-10))
	})
	return out
}

// TestEigen checks that vectors are orthogonal and give the matrix back, and compares values with gonum's.
func TestEigen(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for _, g := range []int{1, 2, 3, 17, 64, 65, 150} {
		for name, k := range matrices(rng, g) {
			what := fmt.Sprintf("%s, g = %d", name, g)
			v, lambda := testcheck.Get2(eigen(k, 2))(t)
			var e mat.EigenSym
			if !e.Factorize(mat.NewSymDense(g, slices.Clone(k.Data)), false) {
				t.Fatal(what)
			}
			want, sorted := e.Values(nil), slices.Sorted(slices.Values(lambda))
			tolerance := 1e-14 * float64(g+10)
			largest := max(1e-300, want[g-1])
			for i := range want {
				testcheck.Within(t, sorted[i], max(0, want[i]), tolerance*largest, "%s: eigenvalue %d", what, i)
			}
			gram, back := square(g), square(g)
			addProducts(gram, 1, v, v, 1)
			weighted := transposed(v)
			for i := range g {
				for p := range g {
					weighted.Data[i*g+p] *= lambda[p]
				}
			}
			addProducts(back, 1, weighted, transposed(v), 1)
			for i := range g {
				for j := range g {
					one := 0.0
					if i == j {
						one = 1
					}
					testcheck.Within(t, gram.Data[i*g+j], one, tolerance, "%s: vectors %d and %d", what, i, j)
					testcheck.Within(t, back.Data[i*g+j], k.Data[i*g+j], tolerance*largest, "%s: element %d, %d", what, i, j)
				}
			}
			if t.Failed() {
				return
			}
		}
	}
}
