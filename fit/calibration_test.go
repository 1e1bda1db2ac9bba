package fit

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/graph"
)

// calibrationPriors are the means and standard deviations of the normal priors of the
// logarithms.
var calibrationPriors = []struct {
	name      string
	mu, sigma float64
}{{"lengthscale", -0.5, 0.6}, {"signal_variance", 0, 0.5}, {"noise_variance", -2, 0.6}}

// drawProblem draws parameters from the priors and n rows from the process with them. The
// rows are made by the formula of the kernel, not by gpfit's.
func drawProblem(rng *rand.Rand, n int) (truth []float64, d problem.Data) {
	for _, p := range calibrationPriors {
		truth = append(truth, math.Exp(p.mu+p.sigma*rng.NormFloat64()))
	}
	x := make([]float64, n)
	for i := range x {
		x[i] = 4 * rng.Float64()
	}
	sigma := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			r := (x[i] - x[j]) / truth[0]
			v := truth[1] * math.Exp(-0.5*r*r)
			if i == j {
				v += truth[2]
			}
			sigma.SetSym(i, j, v)
		}
	}
	var chol mat.Cholesky
	if !chol.Factorize(sigma) {
		panic("not positive definite")
	}
	var l mat.TriDense
	chol.LTo(&l)
	xi, y := mat.NewVecDense(n, nil), mat.NewVecDense(n, nil)
	for i := range n {
		xi.SetVec(i, rng.NormFloat64())
	}
	y.MulVec(&l, xi)
	return truth, problem.Data{X: x, Y: y.RawVector().Data, N: n, D: 1, FeatureNames: []string{"t"}}
}

// TestPosteriorCalibration is simulation-based calibration (Talts et al. 2018): for
// parameters drawn from the prior and data drawn with them, the rank of the truth among
// draws of the posterior is uniform. The χ² test of the histogram is at 1 %. With
// GPFIT_CALIBRATION=1 there are 200 data sets of 50 rows and ten bins, otherwise 20 of 20
// and four.
func TestPosteriorCalibration(t *testing.T) {
	sets, n, bins := 20, 20, 4
	if os.Getenv("GPFIT_CALIBRATION") != "" { // a minute of processor time
		sets, n, bins = 200, 50, 10
	}
	const ranks, thin = 99, 5
	o := problem.Options{Standardize: gp.StandardizeNone, Posterior: problem.HMC, PosteriorChains: 1, PosteriorWarmup: 300, PosteriorDraws: ranks * thin}
	for _, p := range calibrationPriors {
		o.Priors = append(o.Priors, problem.ParameterPrior{Name: p.name, Density: graph.Prior{Family: "lognormal", Args: []float64{p.mu, p.sigma}}})
	}
	counts := make([][]float64, len(calibrationPriors))
	for i := range counts {
		counts[i] = make([]float64, bins)
	}
	divergences, worst := 0, 0.0
	for set := range sets {
		rng := rand.New(rand.NewPCG(77, uint64(set)))
		truth, d := drawProblem(rng, n)
		o.Settings.Seed = uint64(set)
		out, err := Run(context.Background(), mustPrepare(t, d, o), backend)
		if err != nil {
			t.Fatalf("data set %d: %v", set, err)
		}
		r := out.Report.Posterior
		divergences += r.Divergences
		for i, p := range calibrationPriors {
			below := 0
			for k := range ranks {
				if r.Values[0][k*thin][p.name] < truth[i] {
					below++
				}
			}
			counts[i][below*bins/(ranks+1)]++
			worst = math.Max(worst, *r.Parameters[p.name].RHat)
		}
		out.Close()
	}
	limit, expected := distuv.ChiSquared{K: float64(bins - 1)}.Quantile(0.99), float64(sets)/float64(bins)
	for i, c := range counts {
		chi := 0.0
		for _, v := range c {
			chi += (v - expected) * (v - expected) / expected
		}
		t.Logf("%s: ranks %v, χ² %.2f, limit %.2f", calibrationPriors[i].name, c, chi, limit)
		if chi > limit {
			t.Errorf("the ranks of %s are not uniform: %v, χ² %v above %v", calibrationPriors[i].name, c, chi, limit)
		}
	}
	t.Logf("%d data sets of %d rows: %d divergences in %d draws, largest R-hat %.4f", sets, n, divergences, sets*ranks*thin, worst)
}
