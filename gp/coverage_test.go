package gp

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gpfit/internal/kerneltest"
	"gpfit/internal/must"
	"gpfit/kernel"
)

// TestCoverage draws many small problems from known processes, predicts one row of
// each from the others, and counts how often intervals hold it. The problems are
// independent, so the counts are binomial. The limit is four standard errors, which
// a new seed exceeds by chance once in 16,000.
func TestCoverage(t *testing.T) {
	const problems, n = 3000, 12
	rng := rand.New(rand.NewPCG(2006, 19))
	levels := []float64{0.5, 0.9, 0.95}
	counts := make([]int, len(levels))
	kernels := []struct {
		text  string
		theta []float64
	}{{"rbf", []float64{0.8, 1.5}}, {"matern32(ard)", []float64{1, 3, 0.7}}, {"matern52 + matern12", []float64{2, 1, 0.5, 0.3}}}
	for range problems {
		k := kernels[rng.IntN(len(kernels))]
		noise := math.Exp(-4 * rng.Float64())
		x := make([]float64, 2*(n+1))
		for i := range x {
			x[i] = 2 * rng.NormFloat64()
		}
		prog := kerneltest.Program(t, k.text, 2)
		variances := make([]float64, n+1)
		for i := range variances {
			variances[i] = noise
		}
		prior := must.Get(NewPrior(context.Background(), prog, k.theta, kernel.NewPoints(x, n+1, 2), variances))(t)
		sampler := must.Get(prior.Sampler())(t)
		y := mustDraw(t, sampler, 1, rng.Uint64())
		// Use other units, to check the scaling.
		m := &Model{
			Kernel: k.text, Columns: []int{0, 1}, FeatureNames: []string{"a", "b"}, Theta: k.theta, NoiseVariance: noise,
			Scaling: Scaling{XMean: []float64{0, 0}, XScale: []float64{1, 1}, YMean: 7, YScale: 3}, X: x[:2*n],
		}
		for _, v := range y {
			m.Y = append(m.Y, 7+3*v)
		}
		last := m.Y[n]
		m.Y = m.Y[:n]
		m.Alpha = m.Scaling.Targets(m.Y)
		p, err := m.Condition(context.Background(), backend)
		if err == nil {
			err = p.Workspace().Solve(context.Background(), m.Alpha, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		got := must.Get(p.Predict(context.Background(), x[2*n:], 1))(t)
		p.Close()
		for i, level := range levels {
			if lower, upper := got.Interval(level); lower[0] <= last && last <= upper[0] {
				counts[i]++
			}
		}
	}
	for i, level := range levels {
		share, limit := float64(counts[i])/problems, 4*math.Sqrt(level*(1-level)/problems)
		t.Logf("%2.0f %% intervals hold %.2f %% of targets", 100*level, 100*share)
		if math.Abs(share-level) > limit {
			t.Errorf("%.0f %% intervals hold %.2f %% of targets, limit ±%.2f %%", 100*level, 100*share, 100*limit)
		}
	}
}
