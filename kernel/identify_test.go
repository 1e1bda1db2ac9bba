package kernel

import (
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestIdentifiable checks that no parameter is redundant: the Jacobian of the
// covariances of random points by the log-parameters has full rank, except that
// several linear(ard) in one product have one lengthscale too many.
func TestIdentifiable(t *testing.T) {
	for text, spare := range map[string]int{
		"rbf*linear": 0, "rbf*linear(ard)": 0, "poly(2, ard)": 0, "poly(3)": 0, "poly(2)*linear": 0, "poly(2, ard)*rq": 0,
		"(rbf + rq)*(cosine + constant)": 0, "linear(ard)*(rbf + constant)": 0, "(periodic + constant)*linear(ard)": 0,
		"rbf*constant*constant": 0, "constant*(linear(ard) + periodic)": 0, "(rbf + constant)*(linear(ard) + constant)": 0,
		"linear(ard)*(linear(ard) + rbf)": 0, "rbf*(linear + matern12*(cosine + constant))": 0, "(rbf + constant)*(rq*(cosine + constant) + constant)": 0,
		"linear(ard)*linear(ard)": 1,
	} {
		p := mustCompile(t, text, 2)
		rng := rand.New(rand.NewPCG(71, 1))
		const n = 14
		x, theta := randomPoints(rng, n, 2), randomTheta(rng, p)
		e := NewEvaluator(p)
		e.Bind(theta)
		jacobian := mat.NewDense(n*n, p.NumParams, nil)
		for i := range n {
			for j := range n {
				e.RowGradient(jacobian.RawRowView(i*n+j), []float64{1}, x, i, x, j, j+1)
			}
		}
		var svd mat.SVD
		if !svd.Factorize(jacobian, mat.SVDNone) {
			t.Fatal("no singular values")
		}
		rank, values := 0, svd.Values(nil)
		for _, v := range values {
			if v > 1e-9*values[0] {
				rank++
			}
		}
		if rank != p.NumParams-spare {
			t.Errorf("%s: %d parameters %v, rank %d, singular values %v", text, p.NumParams, p.Names(), rank, values)
		}
	}
}
