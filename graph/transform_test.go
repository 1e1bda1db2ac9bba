package graph_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/graph"
	"gpfit/internal/testcheck"
	"gpfit/internal/transform"
)

// withTransform makes the targets of a fixture functions of lambda.
func withTransform(kind transform.Name, more ...func(*graph.Spec)) func(*graph.Spec) {
	return func(s *graph.Spec) {
		s.Transform = &graph.TargetTransform{Kind: kind, Coordinates: slices.Clone(s.Y), Mean: 0.1, Scale: 1.3}
		for _, change := range more {
			change(s)
		}
	}
}

// TestTransform compares the objective with −log N(z; 0, Σ) − Σ log ∂z/∂u on a dense matrix, with the
// textbook's formula of each transform, and its gradient with differences, for each criterion.
func TestTransform(t *testing.T) {
	for _, kind := range []transform.Name{transform.BoxCox, transform.YeoJohnson} {
		f := newFixture(t, "rbf", 40, 1, withTransform(kind))
		lambda := 0.3
		z := []float64{math.Log(0.8), math.Log(1.4), math.Log(0.1), lambda}
		var r []float64
		volume := 0.0
		for _, l := range f.spec.Transform.Coordinates {
			u, v := math.Exp(l), 0.0
			switch {
			case kind == transform.BoxCox:
				v = (math.Pow(u, lambda) - 1) / lambda
			case l >= 0:
				v = (math.Pow(u, lambda) - 1) / lambda
			default:
				v = -(math.Pow(1/u, 2-lambda) - 1) / (2 - lambda)
			}
			r, volume = append(r, (v-0.1)/1.3), volume+(lambda-1)*l
		}
		var chol mat.Cholesky
		chol.Factorize(dense(f, 0.8, 1.4, func(int) float64 { return 0.1 }))
		var alpha mat.VecDense
		testcheck.Do(t, chol.SolveVecTo(&alpha, mat.NewVecDense(40, r)))
		want := mat.Dot(mat.NewVecDense(40, r), &alpha)/2 + chol.LogDet()/2 + 20*math.Log(2*math.Pi) - volume
		testcheck.Within(t, f.value(t, z), want, 1e-12*math.Abs(want), "%s: objective", kind)
		testcheck.Within(t, f.obj.Terms().NLML(), want, 1e-12*math.Abs(want), "%s: terms", kind)
		for _, mean := range []func(*graph.Spec){func(*graph.Spec) {}, freeMean("linear"), withMean("constant"),
			func(s *graph.Spec) { s.LeaveOneOut = true }, func(s *graph.Spec) { s.LeaveOneOut, s.SquaredError = true, true },
			func(s *graph.Spec) { s.LeaveOneOut, s.Folds = true, []int{11, 25, 40} }} {
			newFixture(t, "matern32(ard)", 40, 2, withTransform(kind, mean)).checkGradient(t)
		}
	}
	f := newFixture(t, "rbf", 20, 1, nil)
	f.spec.Transform = &graph.TargetTransform{Kind: transform.BoxCox, Coordinates: f.spec.Y[1:], Scale: 1}
	if _, err := graph.Build(f.ws, f.spec); err == nil {
		t.Error("a transform of fewer targets is built")
	}
}

// TestTransformLeftOut compares the density of left-out rows with the sum over rows.
func TestTransformLeftOut(t *testing.T) {
	f := newFixture(t, "rbf", 30, 1, withTransform(transform.BoxCox, func(s *graph.Spec) { s.LeaveOneOut, s.Folds = true, []int{11, 30} }))
	z := []float64{math.Log(0.8), math.Log(1.4), math.Log(0.1), 0.3}
	f.value(t, z)
	for _, out := range []graph.LeftOut{f.obj.FoldScores(), testcheck.Get(f.obj.LeaveOneOut(t.Context()))(t), testcheck.Get(f.obj.LeavePlacesOut(t.Context()))(t)} {
		testcheck.Within(t, density(out.Errors, out.Variances)+f.obj.Terms().Jacobian, out.Density, 1e-10, "density of left-out rows")
	}
}
