package gp

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/internal/testcheck"
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

// wantMixture compares row i of a prediction with the mixture of two normal distributions, with the given standard
// deviation of an observation that fits.
func wantMixture(t *testing.T, p *Prediction, i int, mean, fitting, scale float64) {
	t.Helper()
	const tol = 1e-9
	fits, off := distuv.Normal{Mu: mean, Sigma: fitting}, distuv.Normal{Mu: mean, Sigma: math.Sqrt(fitting*fitting + 12.5*scale*scale)}
	below := func(y float64) float64 { return 0.88*fits.CDF(y) + 0.12*off.CDF(y) }
	testcheck.Within(t, p.Std[i], math.Sqrt(0.88*fits.Variance()+0.12*off.Variance()), tol*scale, "row %d: std", i)
	for _, probability := range []float64{0.5, 0.95, 0.999} {
		lower, upper := p.Density(i).Interval(probability)
		testcheck.Within(t, below(lower), (1-probability)/2, tol, "row %d: below %v", i, lower)
		testcheck.Within(t, below(upper), (1+probability)/2, tol, "row %d: below %v", i, upper)
	}
	for _, y := range []float64{mean + fitting, mean - 8*scale} {
		testcheck.Within(t, p.Density(i).NegLog(y), -math.Log(0.88*fits.Prob(y)+0.12*off.Prob(y)), 1e-8, "row %d: density at %v", i, y)
		testcheck.Within(t, p.Fitting(i).Standardized(y), (y-mean)/fitting, 1e-8, "row %d: deviations of %v", i, y)
	}
}

// TestOutlying compares predictions of a robust model, of new rows and of training rows left out, with mixtures around
// predictions of a model without the share, which predicts as before, and a row left out with its own variance.
func TestOutlying(t *testing.T) {
	m, rows := outlyingModel(t, 30), newRows(9)
	plain, square := *m, m.Scaling.YScale*m.Scaling.YScale
	plain.Noise.OutlyingShare = 0
	got, before := predict(t, m, rows), predict(t, &plain, rows)
	for i, mean := range before.Mean {
		wantMixture(t, got, i, mean, math.Sqrt(before.StdLatent[i]*before.StdLatent[i]+0.05*square), m.Scaling.YScale)
		testcheck.Within(t, got.Lower95[i]+got.Upper95[i], 2*mean, 1e-7, "the middle of the interval")
		if got.Mean[i] != mean || got.StdLatent[i] != before.StdLatent[i] || before.Density(i).NegLog(1) != before.Fitting(i).NegLog(1) {
			t.Errorf("row %d: the share changes %v ± %v", i, mean, before.StdLatent[i])
		}
	}
	left, whole := testcheck.Get(condition(t, m).LeaveOneOut(t.Context()))(t), testcheck.Get(condition(t, &plain).LeaveOneOut(t.Context()))(t)
	for i, y := range m.Y {
		fitting := math.Sqrt(whole.Std[i]*whole.Std[i] - (m.TrainNoise[i]-0.05)*square)
		wantMixture(t, &left.Prediction, i, whole.Mean[i], fitting, m.Scaling.YScale)
		testcheck.Within(t, left.LogDensity[i], -left.Density(i).NegLog(y), 0, "log density of row %d", i)
		testcheck.Within(t, left.Deviations[i], whole.Residual[i]/fitting, 1e-7, "deviations of row %d", i)
	}
}

// TestOutlyingDraws compares a mixture over draws with the sum of the densities of the draws' models.
func TestOutlyingDraws(t *testing.T) {
	m, rows := withDraws(outlyingModel(t, 30), 2), newRows(3)
	got := testcheck.Get(Predict(t.Context(), condition(t, m), rows, 3, RowNoise{}))(t)[0]
	for i, mean := range got.Mean {
		one, other := predict(t, settled(t, m.Draws.of(m, 0)), rows).Density(i), predict(t, settled(t, m.Draws.of(m, 1)), rows).Density(i)
		want := -math.Log(math.Exp(-one.NegLog(mean+5))/2 + math.Exp(-other.NegLog(mean+5))/2)
		testcheck.Within(t, got.Density(i).NegLog(mean+5), want, 1e-9, "density of row %d", i)
	}
}

// TestOutlyingFile reads a file in the eighth schema version, and refuses impossible shares.
func TestOutlyingFile(t *testing.T) {
	m := loadsAs(t, "v8_outlying", outlyingModel(t, 12))
	for share, rows := range map[float64][]int{-0.1: {3, 7}, 1: {3, 7}, math.NaN(): {3, 7}, 0.1: nil} {
		m.Noise.OutlyingShare, m.Noise.Outlying, m.Noise.OutlyingVariances = share, rows, make([]float64, len(rows))
		if newHeader(m).Validate() == nil {
			t.Errorf("a share of %v is valid for the rows %v", share, rows)
		}
	}
}
