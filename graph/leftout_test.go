package graph_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/graph"
	"gpfit/internal/matrixrows"
	"gpfit/internal/testcheck"
)

// placeEnds are the ends of places of one to five rows.
var placeEnds = []int{1, 3, 8, 9, 12, 16, 21, 22, 24, 25, 26, 30}

// atPlaces puts the rows of each fold at one place.
func atPlaces(s *graph.Spec) {
	first := 0
	for _, end := range placeEnds {
		for i := first; i < end; i++ {
			for c := range s.X.D {
				s.X.Column(c)[i] = s.X.Column(c)[first]
			}
		}
		first = end
	}
}

// TestLeavePlacesOut compares the score with predictions of each place from a dense covariance of
// the other rows, in the order of the places, as the objective of folds has them, and mixed.
func TestLeavePlacesOut(t *testing.T) {
	const n = 30
	for name, changes := range map[string][]func(*graph.Spec){
		"no mean":                    nil,
		"constant, free":             {freeMean("constant")},
		"linear, least squares":      {withMean("linear")},
		"two targets, a mean":        {withSecondTarget, withMean("constant")},
		"noise by groups and a mean": {withGroups, withMean("linear")},
	} {
		folds := newFixture(t, "rbf", n, 2, func(s *graph.Spec) {
			for _, change := range slices.Concat([]func(*graph.Spec){atPlaces}, changes) {
				change(s)
			}
			s.LeaveOneOut, s.Folds = true, placeEnds
		})
		checkPredictive(t, folds)
		z := folds.z(2)
		folds.value(t, z)
		scored := folds.obj.FoldScores()
		density, squares := scored.Density, scored.Squares
		order := rand.New(rand.NewPCG(3, 3)).Perm(n)
		mixed := newFixture(t, "rbf", n, 2, func(s *graph.Spec) {
			*s = folds.spec
			s.LeaveOneOut, s.Folds = false, nil
			s.X, s.Y = s.X.Pick(order), matrixrows.Rows(s.Y, order, n, 1)
			s.Noise.Known, s.Noise.Group = matrixrows.Rows(s.Noise.Known, order, n, 1), matrixrows.Rows(s.Noise.Group, order, n, 1)
		})
		mixed.value(t, z)
		for what, f := range map[string]*fixture{"in order": folds, "mixed": mixed} {
			got := testcheck.Get(f.obj.LeavePlacesOut(t.Context()))(t)
			// Both invert matrices of condition 1e3.
			testcheck.Within(t, got.Density, density, 1e-10*math.Abs(density), name+", "+what)
			for k, want := range squares {
				testcheck.Within(t, got.Squares[k], want, 1e-10*want, name+", "+what+", squares")
			}
			if got.Places != len(placeEnds) {
				t.Errorf("%d places", got.Places)
			}
		}
	}
}

// TestLeavePlacesOutAlone checks that without repeated inputs the score has the bits of leave-one-out,
// and that with pairs it costs at most two evaluations with their gradients, 2n³ operations.
func TestLeavePlacesOutAlone(t *testing.T) {
	f := newFixture(t, "matern32", 40, 2, nil)
	f.value(t, f.z(1))
	rows, places := testcheck.Get(f.obj.LeaveOneOut(t.Context()))(t), testcheck.Get(f.obj.LeavePlacesOut(t.Context()))(t)
	if places.Density != rows.Density || places.Squares[0] != rows.Squares[0] || places.Places != 0 {
		t.Errorf("%+v, by rows %+v", places, rows)
	}
	const n = 200
	f = newFixture(t, "matern32", n, 2, func(s *graph.Spec) {
		for c := range s.X.D {
			for i := 0; i < n; i += 2 {
				s.X.Column(c)[i+1] = s.X.Column(c)[i]
			}
		}
	})
	f.value(t, f.z(1))
	if cost := f.work(func() { testcheck.Get(f.obj.LeavePlacesOut(t.Context()))(t) }); !(cost > 0.5 && cost < 2) {
		t.Errorf("%.2f n³ operations", cost)
	}
}

// TestLeavePlacesOutInterpolating checks the score where Σ has a condition number of 1e9, as it has at
// the least noise: the rows of a place differ by less than their predictions without it.
func TestLeavePlacesOutInterpolating(t *testing.T) {
	f := newFixture(t, "rbf", 30, 2, func(s *graph.Spec) {
		atPlaces(s)
		for i := range s.Y {
			s.Y[i] = math.Sin(2*s.X.Column(0)[i]) + s.X.Column(1)[i] // the same for all rows of a place
		}
	})
	z := []float64{-0.5, 0.1, math.Log(1e-9)}
	f.value(t, z)
	got := testcheck.Get(f.obj.LeavePlacesOut(t.Context()))(t)
	// One row stands for the rows of a place, with their noise divided by their number, so that
	// the reference inverts matrices of condition 1e3 or so.
	sigma := dense(f, math.Exp(z[0]), math.Exp(z[1]), func(int) float64 { return 0 })
	one, y := mat.NewSymDense(len(placeEnds), nil), make([]float64, len(placeEnds))
	for p, end := range placeEnds {
		y[p] = f.spec.Y[end-1]
		for q, other := range placeEnds {
			one.SetSym(p, q, sigma.At(end-1, other-1))
		}
	}
	want := 0.0
	first := 0
	for p, end := range placeEnds {
		for q, other := range placeEnds { // at the start of each place its number of rows
			rows := other
			if q > 0 {
				rows -= placeEnds[q-1]
			}
			one.SetSym(q, q, sigma.At(other-1, other-1)+1e-9/float64(rows))
		}
		d, v := predictFold(t, one, mat.NewDense(len(y), 1, nil), y, nil, 0, p, p+1)
		rows := float64(end - first)
		want += rows * density(d, []float64{v[0] - 1e-9/rows + 1e-9})
		first = end
	}
	testcheck.Within(t, got.Density, want, 1e-6*math.Abs(want), "density")
}
