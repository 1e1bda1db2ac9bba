package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/fit/columns"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// TestRobustPredictions compares bounds and scores of predictions of robust models, of a target and of one whose logarithm
// is modelled, with mixtures that follow from the printed mean and deviation and from what the report says of outlying rows.
func TestRobustPredictions(t *testing.T) {
	for name, of := range map[string]func(float64) float64{"none": func(v float64) float64 { return v }, "log": math.Exp} {
		rng, table, y := rand.New(rand.NewPCG(7, 9)), "x,y,held\n", make([]float64, 150)
		for i := range y {
			x, held := 6*rng.Float64(), i%3/2
			y[i] = math.Sin(x) + 0.1*rng.NormFloat64()
			if i%16 == 3 {
				y[i] += 4 * float64(1-i/16%2*2)
			}
			y[i] = of(y[i])
			table += fmt.Sprintf("%v,%v,%d\n", x, y[i], held)
		}
		dir := t.TempDir()
		data, model := write(t, dir, "t.csv", table), filepath.Join(dir, "m.gpfit")
		var report summary.Report
		decodeLine(t, &report, "fit", data, "--features", "x", "--target", "y", "--split-mask", data+":held", "--kernel", "rbf", "--robust", "--posterior", "none", "--target-transform", name, "--out", model, "--json", "--quiet")
		mustLine(t, "check", model)
		var got struct {
			Mean, Std, Lower80, Upper80 []float64
			Scores                      []columns.Score
		}
		decodeLine(t, &got, "predict", model, data, "--score", "--interval", "0.8", "--json", "--quiet")
		scale := testcheck.Get(gp.Load(model))(t).Scaling.YScale
		share, variance, nlpd, held := report.Robust.Share, report.Robust.NoiseVariance*scale*scale, 0.0, 0.0
		testcheck.Within(t, share, float64(len(report.Robust.Rows)+1)/102, 1e-15, "share")
		for i, mean := range got.Mean {
			fits, slope, forward := got.Std[i]*got.Std[i]-share*variance, 1.0, func(y float64) float64 { return y }
			if name == "log" {
				fits, slope, forward = math.Log1p(math.Pow(got.Std[i]/mean, 2)), y[i], math.Log
				mean = math.Log(mean) - fits/2
			}
			one, other := distuv.Normal{Mu: mean, Sigma: math.Sqrt(fits)}, distuv.Normal{Mu: mean, Sigma: math.Sqrt(fits + variance)}
			for bound, want := range map[float64]float64{got.Lower80[i]: 0.1, got.Upper80[i]: 0.9} {
				testcheck.Within(t, (1-share)*one.CDF(forward(bound))+share*other.CDF(forward(bound)), want, 1e-7, "%s, row %d: probability below %v", name, i, bound)
			}
			own := -math.Log(((1-share)*one.Prob(forward(y[i])) + share*other.Prob(forward(y[i]))) / slope)
			if nlpd += own / 150; i%3 == 2 {
				held += own / 50
			}
		}
		testcheck.Within(t, *got.Scores[0].NLPD, nlpd, 1e-6, "%s: NLPD of predict", name)
		testcheck.Within(t, float64(report.Test.NLPD), held, 1e-6, "%s: NLPD of held-out rows", name)
	}
}
