package devicetest

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/kernel"
)

// referenceSigma forms Σ element by element.
func referenceSigma(p *problem) *mat.SymDense {
	n := p.x.N
	sigma := mat.NewSymDense(n, nil)
	e := kernel.NewEvaluator(p.prog)
	e.Bind(p.theta)
	v := []float64{0}
	for i := range n {
		for j := range i + 1 {
			e.Row(v, p.x, i, p.x, j, j+1)
			if i == j {
				v[0] += p.noise[min(i, len(p.noise)-1)]
			}
			sigma.SetSym(i, j, v[0])
		}
	}
	return sigma
}

func referenceCholesky(t testing.TB, p *problem) *mat.Cholesky {
	t.Helper()
	var chol mat.Cholesky
	if !chol.Factorize(referenceSigma(p)) {
		t.Fatal("reference: not positive definite")
	}
	return &chol
}

// reference computes what evaluate does, with the inverse formed as a whole.
func reference(t testing.TB, p *problem) outcome {
	t.Helper()
	n := p.x.N
	chol := referenceCholesky(t, p)
	o := outcome{logDet: chol.LogDet()}
	var alpha mat.VecDense
	if err := chol.SolveVecTo(&alpha, mat.NewVecDense(n, p.r)); err != nil {
		t.Fatal(err)
	}
	o.alpha = alpha.RawVector().Data
	var inv mat.SymDense
	if err := chol.InverseTo(&inv); err != nil {
		t.Fatal(err)
	}
	adj := device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: o.alpha}
	o.grad, o.gradScale, o.diag = referenceContract(p, &inv, adj)
	return o
}

// referencePredict returns the mean and k*ᵀΣ⁻¹k* at every point of xs.
func referencePredict(t testing.TB, p *problem, xs *kernel.Points) (mean, reduction []float64) {
	t.Helper()
	n := p.x.N
	chol := referenceCholesky(t, p)
	var alpha, solved mat.VecDense
	if err := chol.SolveVecTo(&alpha, mat.NewVecDense(n, p.r)); err != nil {
		t.Fatal(err)
	}
	e := kernel.NewEvaluator(p.prog)
	e.Bind(p.theta)
	row := make([]float64, n)
	k := mat.NewVecDense(n, row)
	for j := range xs.N {
		e.Row(row, xs, j, p.x, 0, n)
		if err := chol.SolveVecTo(&solved, k); err != nil {
			t.Fatal(err)
		}
		mean = append(mean, mat.Dot(k, &alpha))
		reduction = append(reduction, mat.Dot(k, &solved))
	}
	return mean, reduction
}
