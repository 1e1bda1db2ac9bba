package gpfit_test

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/gp"
	"gpfit/internal/testcheck"
	"gpfit/mean"
)

// TestDeviances draws tables from a model whose mean is found by least squares, and checks that the p-values of new rows
// are uniform. The new rows are far out, where the coefficients count most. The distance of their distribution from the
// uniform one is above 0.163 in one of a hundred tests (Kolmogorov).
func TestDeviances(t *testing.T) {
	const tables, known, count = 100, 40, 15
	on := testcheck.Get(cpu.New(device.Options{}))(t)
	basis := mean.Basis{{Group: mean.Linear, Index: 1}, {Group: mean.Constant}}
	for _, of := range []mean.Basis{basis[1:], basis} {
		m := &gp.Model{
			Kernel: "matern32", Columns: []int{0}, FeatureNames: []string{"x"}, TargetName: "y", ParameterNames: []string{"lengthscale", "signal_variance"},
			Theta: []float64{0.3, 0.5}, NoiseVariance: 0.05, Alpha: make([]float64, known-1), Scaling: gp.Scaling{XMean: []float64{0}, XScale: []float64{1}, YScale: 1},
			Mean: gp.Mean{Text: "linear", Basis: of, Coefficients: []float64{1.5, -2}[:len(of)], LeastSquares: true},
		}
		x := testcheck.Slice(known+count, func(i int) float64 { return float64(i)/known + 2*float64(max(0, i-known)) })
		prior := testcheck.Get(gp.Prior(t.Context(), m, x, len(x), gp.JointOptions{Observed: true}))(t)
		draws := testcheck.Get(testcheck.Get(prior.Sampler())(t).Draw(tables, 5))(t)
		m.X = x[:known-1]
		var p []float64
		for y := range slices.Chunk(draws, len(x)) {
			m.Y = y[:known-1]
			before, _ := testcheck.Get2(m.Extend(t.Context(), on, gp.Addition{X: x[known-1 : known], Y: y[known-1 : known], N: 1}))(t) // finds the coefficients
			after, e := testcheck.Get2(before.Extend(t.Context(), on, gp.Addition{X: x[known:], Y: y[known:], N: count}))(t)
			testcheck.Do(t, errors.Join(before.Close(), after.Close()))
			p = append(p, e.Targets[0].PValue)
		}
		slices.Sort(p)
		far := 0.0
		for i, v := range p {
			far = max(far, math.Abs(v-(float64(i)+0.5)/tables))
		}
		if p[1] < 1e-3 || far > 0.163 {
			t.Errorf("%d coefficients: distance %.3f from the uniform distribution, p-values %.3g", len(of), far, p)
		}
	}
}

// TestBeyondPole checks that predictions and updates refuse a latitude beyond a pole.
func TestBeyondPole(t *testing.T) {
	m := &gp.Model{
		Kernel: "rbf(sphere, dims=[0, 2])", Columns: []int{0, 2}, FeatureNames: []string{"lat", "z", "lon"}, TargetName: "y", ParameterNames: []string{"lengthscale", "signal_variance"},
		Theta: []float64{9, 1}, NoiseVariance: 0.05, X: []float64{10, 20, 40, -30}, Y: []float64{1, 2}, Alpha: make([]float64, 2), Scaling: gp.Scaling{XMean: make([]float64, 2), XScale: []float64{1, 1}, YScale: 1},
	}
	on, rows := testcheck.Get(cpu.New(device.Options{}))(t), []float64{10, 99, 120, -97, 0, 3}
	p := testcheck.Get(m.Condition(t.Context(), on))(t)
	defer p.Close()
	_, predicted := p.Predict(t.Context(), rows, 2)
	_, _, updated := m.Extend(t.Context(), on, gp.Addition{X: rows, Y: []float64{1, 2}, N: 2})
	for _, err := range []error{predicted, updated} {
		testcheck.Fail[*gp.RangeError](t, err, `column "lat" of row 2 (from 1)`, "-97")
	}
}
