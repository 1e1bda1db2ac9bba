package gp

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/internal/testcheck"
	"gpfit/internal/transform"
)

// outlyingModel returns a model of a robust fit, of which two rows do not fit.
func outlyingModel(t testing.TB, n int) *Model {
	m := newModel(t, n)
	m.TrainNoise = slices.Repeat([]float64{m.NoiseVariance}, n)
	m.Noise.Outlying, m.Noise.OutlyingVariances, m.Noise.OutlyingShare = []int{3, 7}, []float64{9, 16}, 0.12
	for k, i := range m.Noise.Outlying {
		m.TrainNoise[i] += m.Noise.OutlyingVariances[k]
		m.Y[i] += 20
	}
	weigh(t, m)
	return m
}

// wantMixture compares row i of a prediction with the mixture of two normal distributions with the given standard
// deviation of an observation that fits.
func wantMixture(t *testing.T, p *Prediction, i int, mean, fitting, scale float64) {
	t.Helper()
	const tol = 1e-9
	off := math.Sqrt(fitting*fitting + 12.5*scale*scale)
	below := func(y float64) float64 {
		return 0.88*distuv.Normal{Mu: mean, Sigma: fitting}.CDF(y) + 0.12*distuv.Normal{Mu: mean, Sigma: off}.CDF(y)
	}
	testcheck.Within(t, p.Mean[i], mean, tol*math.Abs(mean), "row %d: mean", i)
	testcheck.Within(t, p.Std[i], math.Sqrt(0.88*fitting*fitting+0.12*off*off), tol*off, "row %d: std", i)
	for _, probability := range []float64{0.5, 0.9, 0.95, 0.999} {
		lower, upper := p.Density(i).Interval(probability)
		testcheck.Within(t, below(lower), (1-probability)/2, tol, "row %d: below %v", i, lower)
		testcheck.Within(t, below(upper), (1+probability)/2, tol, "row %d: below %v", i, upper)
	}
	for _, y := range []float64{mean + fitting, mean - 8*scale} {
		density := 0.88*distuv.Normal{Mu: mean, Sigma: fitting}.Prob(y) + 0.12*distuv.Normal{Mu: mean, Sigma: off}.Prob(y)
		testcheck.Within(t, p.Density(i).NegLog(y), -math.Log(density), 1e-8, "row %d: density at %v", i, y)
		testcheck.Within(t, p.Density(i).Standardized(y), distuv.UnitNormal.Quantile(below(y)), 1e-6, "row %d: quantile of %v", i, y)
		testcheck.Within(t, p.Fitting(i).Standardized(y), (y-mean)/fitting, 1e-8, "row %d: deviations of %v", i, y)
	}
}

// TestOutlying compares predictions of a robust model, of new rows and of training rows left out, with mixtures around
// predictions by an explicit inverse. A model without the share predicts as before.
func TestOutlying(t *testing.T) {
	m, rows := outlyingModel(t, 30), newRows(9)
	scale := m.Scaling.YScale
	reference := func() *reference {
		ref := newReference(t, m)
		smooth := ref.k
		ref.k = func(a, b []float64) float64 {
			for k, i := range m.Noise.Outlying {
				if &a[0] == &b[0] && &a[0] == &m.X[2*i] {
					return smooth(a, b) + m.Noise.OutlyingVariances[k]*scale*scale
				}
			}
			return smooth(a, b)
		}
		return ref
	}
	ref, got := reference(), predict(t, m, rows)
	ref.condition(t, m.Y)
	plain := *m
	plain.Noise.OutlyingShare = 0
	before := predict(t, &plain, rows)
	for i := range 9 {
		x := []float64{rows[3*i], rows[3*i+2]}
		latent := ref.posteriorCov(x, x)
		wantMixture(t, got, i, ref.posteriorMean(x), math.Sqrt(latent+ref.noise), scale)
		testcheck.Within(t, got.StdLatent[i], math.Sqrt(latent), 1e-8, "latent deviation")
		testcheck.Within(t, before.Std[i], math.Sqrt(latent+ref.noise), 1e-8, "deviation without the share")
		testcheck.Within(t, got.Lower95[i]+got.Upper95[i], 2*got.Mean[i], 1e-7*scale, "the middle of the interval")
		if got.Mean[i] != before.Mean[i] || got.StdLatent[i] != before.StdLatent[i] || before.Density(i).NegLog(1) != before.Fitting(i).NegLog(1) {
			t.Errorf("row %d: the share changes %v ± %v", i, before.Mean[i], before.StdLatent[i])
		}
	}
	left := testcheck.Get(condition(t, m).LeaveOneOut(t.Context()))(t)
	for i, y := range m.Y {
		ref, x := reference(), slices.Clone(m.X[2*i:2*i+2])
		ref.x = slices.Delete(slices.Clone(ref.x), i, i+1)
		ref.inv.Reset()
		ref.condition(t, slices.Delete(slices.Clone(m.Y), i, i+1))
		mean := ref.posteriorMean(x)
		fitting := math.Sqrt(ref.posteriorCov(x, x) + ref.noise)
		wantMixture(t, &left.Prediction, i, mean, fitting, scale)
		testcheck.Within(t, left.LogDensity[i], -left.Density(i).NegLog(y), 0, "log density of row %d", i)
		testcheck.Within(t, left.Deviations[i], (y-mean)/fitting, 1e-7, "deviations of row %d", i)
	}
}

// TestOutlyingFile reads a file in the eighth schema version, and refuses impossible shares.
func TestOutlyingFile(t *testing.T) {
	m := loadsAs(t, "v8_outlying", outlyingModel(t, 12))
	if newHeader(m).SchemaVersion != 8 {
		t.Error("another version")
	}
	for _, share := range []float64{-0.1, 1, math.NaN()} {
		m.Noise.OutlyingShare = share
		if m.Validate() == nil {
			t.Errorf("a share of %v is valid", share)
		}
	}
	m.Noise.OutlyingShare = 0.1
	if m.Noise.Outlying, m.Noise.OutlyingVariances = nil, nil; m.Validate() == nil {
		t.Error("a share without rows is valid")
	}
}

// TestOutlyingDraws compares a mixture over draws with the sum of the densities of the draws' models, and predictions
// of a transformed target with those of its logarithm.
func TestOutlyingDraws(t *testing.T) {
	m, rows := withDraws(outlyingModel(t, 30), 4), newRows(3)
	x := testcheck.Get(NewMixture(t.Context(), m, backend, 0))(t)
	defer x.Close()
	got := testcheck.Get(x.Predict(t.Context(), rows, 3, RowNoise{}))(t)[0]
	for i := range 3 {
		y, density := got.Mean[i]+5, 0.0
		for k := range 4 {
			part := predict(t, settled(t, m.Draws.of(m, k)), rows)
			density += math.Exp(-part.Density(i).NegLog(y)) / 4
		}
		testcheck.Within(t, got.Density(i).NegLog(y), -math.Log(density), 1e-9, "density of row %d", i)
	}
	logs := outlyingModel(t, 30)
	logs.Scaling = logs.Scaling.WithTransform(StandardizeXY, transform.Log, logs.Y)
	logs = settled(t, logs)
	of := *logs
	of.Scaling.Transform = nil
	of.Y = testcheck.Slice(30, func(i int) float64 { return math.Log(logs.Y[i] / logs.Scaling.Transform.Unit) })
	want, p := predict(t, &of, rows), predict(t, logs, rows)
	for i := range 3 {
		y := p.Mean[i] * 1.1
		u := logs.Scaling.Transform.Unit
		testcheck.Within(t, p.Density(i).NegLog(y), want.Density(i).NegLog(math.Log(y/u))+math.Log(y), 1e-9, "density of the logarithm")
		testcheck.Within(t, math.Log(p.Upper95[i]/u), want.Upper95[i], 1e-8, "bound of the logarithm")
		s := want.Outlying.Fitting[i]
		testcheck.Within(t, p.Mean[i], u*math.Exp(want.Mean[i]+s*s/2), 1e-9*p.Mean[i], "mean of an observation that fits")
	}
}
