package baseline_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/compare/baseline"
	"gpfit/internal/testcheck"
)

// curve returns n points of a bent curve with noise.
func curve(n int, seed uint64) (*mat.Dense, []float64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	x, y := mat.NewDense(n, 1, nil), make([]float64, n)
	for i := range n {
		x.Set(i, 0, 10+4*rng.Float64())
		y[i] = 3 + math.Abs(x.At(i, 0)-12) + 0.1*rng.NormFloat64()
	}
	return x, y
}

// TestSplineNormalEquations compares predictions with the solution of the normal equations, for one column and for
// two, with and without an intercept and a penalty, for lines without a penalty, with one, and without lines.
func TestSplineNormalEquations(t *testing.T) {
	for _, kind := range []baseline.SplineKind{baseline.LinearSpline, baseline.RidgeSpline, baseline.HingeSpline} {
		t.Run(string(kind), func(t *testing.T) { splineNormalEquations(t, kind) })
	}
}

func splineNormalEquations(t *testing.T, kind baseline.SplineKind) {
	one, y1 := curve(50, 1)
	two, y2 := example(50, 2, 9)
	for _, intercept := range []bool{true, false} {
		for _, lambda := range []float64{0.3, 20, 0} {
			for x, knots := range map[*mat.Dense][][]float64{one: {{10.7, 11.5, 12, 13.1}}, two: {{-1, 0, 0.5}, {2, 4}}} {
				y := y1
				if x == two {
					y = y2
				}
				m := learn(t, baseline.Spline{Design: baseline.Design{NoIntercept: !intercept, Unscaled: true}, Kind: kind, Knots: knots, Lambdas: []float64{lambda}}, x, y).(*baseline.SplineModel)
				n, d := x.Dims()
				var columns [][]float64
				var penalty []float64
				if intercept {
					columns, penalty = append(columns, slices.Repeat([]float64{1}, n)), append(penalty, 0)
				}
				for c := range d {
					switch kind {
					case baseline.LinearSpline:
						columns, penalty = append(columns, mat.Col(nil, c, x)), append(penalty, 0)
					case baseline.RidgeSpline:
						columns, penalty = append(columns, mat.Col(nil, c, x)), append(penalty, lambda)
					}
				}
				for c, list := range knots {
					for _, knot := range list {
						hinge := mat.Col(nil, c, x)
						for i, v := range hinge {
							hinge[i] = max(0, v-knot)
						}
						columns, penalty = append(columns, hinge), append(penalty, lambda)
					}
				}
				want := normalEquations(t, columns, penalty, y)
				means := make([]float64, n)
				for j, column := range columns {
					floats.AddScaled(means, want[j], column)
				}
				near(t, "means", predict(t, m, x).Mean, means, 1e-10)
				if lambda == 0 {
					rest := math.Pow(floats.Distance(y, means, 2), 2)
					near(t, "noise", []float64{*m.Noise}, []float64{rest / float64(n-len(columns))}, 1e-9)
				}
			}
		}
	}
}

func normalEquations(t *testing.T, columns [][]float64, penalty, y []float64) []float64 {
	t.Helper()
	k := len(columns)
	a, b := mat.NewDense(k, k, nil), mat.NewVecDense(k, nil)
	for i, u := range columns {
		for j, v := range columns {
			a.Set(i, j, floats.Dot(u, v))
		}
		a.Set(i, i, a.At(i, i)+penalty[i])
		b.SetVec(i, floats.Dot(u, y))
	}
	var out mat.VecDense
	testcheck.Do(t, out.SolveVec(a, b))
	return out.RawVector().Data
}

// TestSplineChoice checks that the default follows a bend, and that its intervals hold their share.
func TestSplineChoice(t *testing.T) {
	x, y := curve(120, 3)
	m := learn(t, baseline.Spline{}, x, y).(*baseline.SplineModel)
	if len(m.Knots[0]) != 30 || *m.Noise < 0.07*0.07 || *m.Noise > 0.14*0.14 {
		t.Errorf("%d knots, noise %v; want 30 and about 0.01", len(m.Knots[0]), *m.Noise)
	}
	at, truth := curve(1000, 4)
	p, inside := predict(t, m, at), 0
	for i, v := range truth {
		if math.Abs(v-p.Mean[i]) < 1.96*math.Sqrt(p.Variance[i]) {
			inside++
		}
	}
	if inside < 910 || inside > 985 {
		t.Errorf("%d of 1000 targets in the 95 %% interval", inside)
	}
}

// byLeavingOut returns the mean squared error of predictions of each row by a fit of the others.
func byLeavingOut(t *testing.T, m baseline.Method, x *mat.Dense, y []float64) float64 {
	t.Helper()
	n, d := x.Dims()
	sum := 0.0
	for out := range n {
		rest, targets := mat.NewDense(n-1, d, nil), []float64{}
		for r := range n {
			if r != out {
				rest.SetRow(len(targets), x.RawRowView(r))
				targets = append(targets, y[r])
			}
		}
		e := predict(t, learn(t, m, rest, targets), x.Slice(out, out+1, 0, d)).Mean[0] - y[out]
		sum += e * e / float64(n)
	}
	return sum
}

// TestSplineLine checks columns in which no knot fits: the spline is the line of least squares.
func TestSplineLine(t *testing.T) {
	x := mat.NewDense(6, 2, []float64{0, 7, 1, 7, 0, 7, 1, 7, 0, 7, 1, 7}) // two values, and a constant
	y := []float64{1, 4, 2, 5, 3, 3}
	m := learn(t, baseline.Spline{}, x, y).(*baseline.SplineModel)
	ends := predict(t, m, mat.NewDense(3, 2, []float64{0, 7, 1, 7, 0, 9}))
	near(t, "line", append(ends.Mean, *m.Noise), []float64{2, 4, 2, 1}, 1e-12)
	for _, knots := range m.Knots {
		if len(knots) != 0 {
			t.Errorf("knots %v", knots)
		}
	}
}
