package gp

import (
	"context"
	"math"
	"slices"
	"testing"

	"gpfit/internal/must"
)

// TestLeaveOneOut leaves every row out in turn and predicts it from an explicit
// inverse of the rest.
func TestLeaveOneOut(t *testing.T) {
	const n = 60
	m := newModel(t, n)
	got := must.Get(condition(t, m).LeaveOneOut(context.Background()))(t)
	var squares, nlpd, total, mean float64
	for _, y := range m.Y {
		mean += y / n
	}
	inside := map[float64]int{}
	for i := range n {
		ref := newReference(t, m)
		x, y := ref.x[i], m.Y[i]
		ref.x = slices.Delete(slices.Clone(ref.x), i, i+1)
		ref.inv.Reset()
		ref.condition(t, slices.Delete(slices.Clone(m.Y), i, i+1))
		mu, std := ref.posteriorMean(x), math.Sqrt(ref.posteriorCov(x, x)+ref.noise)
		density := math.Log(math.Exp(-(y-mu)*(y-mu)/(2*std*std)) / (std * math.Sqrt(2*math.Pi)))
		for what, pair := range map[string][2]float64{
			"mean": {got.Mean[i], mu}, "std": {got.Std[i], std}, "target": {got.Target[i], y}, "residual": {got.Residual[i], y - mu},
			"standardised residual": {got.Standardized[i], (y - mu) / std}, "log density": {got.LogDensity[i], density},
		} {
			// Residuals are differences of numbers near 100.
			if math.Abs(pair[0]-pair[1]) > 1e-10*max(1, math.Abs(pair[1])) {
				t.Errorf("row %d: %s %v, want %v", i, what, pair[0], pair[1])
			}
		}
		squares += (y - mu) * (y - mu)
		total += (y - mean) * (y - mean)
		nlpd -= density / n
		for p, z := range map[float64]float64{0.5: 0.6744897501960817, 0.9: 1.6448536269514722, 0.95: 1.959963984540054} {
			if math.Abs(y-mu) <= z*std {
				inside[p]++
			}
		}
	}
	s := got.Summary()
	for what, pair := range map[string][2]float64{
		"RMSE": {s.RMSE, math.Sqrt(squares / n)}, "NLPD": {s.NLPD, nlpd}, "Q²": {s.Q2, 1 - squares/total},
		"50 %": {s.Coverage50, float64(inside[0.5]) / n}, "90 %": {s.Coverage90, float64(inside[0.9]) / n}, "95 %": {s.Coverage95, float64(inside[0.95]) / n},
	} {
		if math.Abs(pair[0]-pair[1]) > 1e-10 {
			t.Errorf("%s %v, want %v", what, pair[0], pair[1])
		}
	}
	if s.N != n || s.Coverage50 == s.Coverage95 {
		t.Errorf("summary %+v", s)
	}
}

// TestLeaveOneOutJitter checks that jitter is part of Σ but not of an observation.
func TestLeaveOneOutJitter(t *testing.T) {
	m := newModel(t, 20)
	m.NoiseVariance = 0.03
	m.Jitter = 0.02
	got := must.Get(condition(t, m).LeaveOneOut(context.Background()))(t)
	m.NoiseVariance, m.Jitter = 0.05, 0
	whole := must.Get(condition(t, m).LeaveOneOut(context.Background()))(t)
	for i := range got.Std {
		want := math.Sqrt(whole.Std[i]*whole.Std[i] - 0.02*m.Scaling.YScale*m.Scaling.YScale)
		if math.Abs(got.Std[i]-want) > 1e-12*want || got.Mean[i] != whole.Mean[i] {
			t.Errorf("row %d: %v ± %v, want ± %v", i, got.Mean[i], got.Std[i], want)
		}
	}
}

// TestLeaveOneOutLeastSquares leaves rows out and refits the mean's coefficients
// without them.
func TestLeaveOneOutLeastSquares(t *testing.T) {
	const n = 40
	m := leastSquaresModel(t, n)
	got := must.Get(condition(t, m).LeaveOneOut(context.Background()))(t)
	for i := 0; i < n; i += 3 {
		rest := *m
		rest.X = slices.Delete(slices.Clone(m.X), 2*i, 2*i+2)
		rest.Y = slices.Delete(slices.Clone(m.Y), i, i+1)
		refitLeastSquares(t, &rest)
		p := condition(t, &rest)
		want := must.Get(p.Predict(context.Background(), []float64{m.X[2*i], 0, m.X[2*i+1]}, 1))(t)
		if math.Abs(got.Mean[i]-want.Mean[0]) > 1e-10*math.Abs(want.Mean[0]) || math.Abs(got.Std[i]-want.Std[0]) > 1e-9*want.Std[0] {
			t.Errorf("row %d: %v ± %v, want %v ± %v", i, got.Mean[i], got.Std[i], want.Mean[0], want.Std[0])
		}
	}
}

// refitLeastSquares finds coefficients and weights of m on its rows.
func refitLeastSquares(t *testing.T, m *Model) {
	t.Helper()
	m.Alpha = make([]float64, m.N())
	p := condition(t, m)
	must.Do(t, p.leastSquares(context.Background()))
	m.Mean.Coefficients = p.gls.Coefficients(m.Scaling.Targets(m.Y))
	weigh(t, m)
}
