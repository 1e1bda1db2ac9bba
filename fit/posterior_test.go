package fit

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/fit/internal/psis"
	"gpfit/fit/problem"
	"gpfit/gp"
	"gpfit/graph"
	"gpfit/hyperopt"
	"gpfit/internal/testcheck"
)

// TestPosteriorDensity compares the gradient of the log density over u with central
// differences, with priors, bounds on both sides and on one, fixed and tied parameters and
// free coefficients of the mean; and the density over z with the transform's.
func TestPosteriorDensity(t *testing.T) {
	j := mustPrepare(t, synthetic(40), problem.Options{
		Kernel: "rbf(ard) + matern32", Mean: "linear", MeanFit: problem.MeanFree, Posterior: problem.HMC,
		Priors: []problem.ParameterPrior{{Name: "k1.lengthscale[mm]", Density: density(t, "gamma(2, 1)")}, {Name: "k1.signal_variance", Density: density(t, "uniform(0.01, 5)")}},
		Bounds: []problem.Interval{{Name: "k2.lengthscale", Lo: 0.1, Hi: 10}, {Name: "mean_constant", Lo: -1, Hi: 2}, {Name: "mean_linear[mm]", Lo: 0, Hi: math.Inf(1)}},
		Fix:    []problem.Assignment{{Name: "k1.lengthscale[kelvin]"}}, Ties: []problem.Tie{{Name: "k2.signal_variance", Source: "k1.signal_variance"}},
	})
	z := j.Params.Start()
	z[slices.IndexFunc(j.Params.Free, func(q *problem.Parameter) bool { return q.Name == "mean_linear[mm]" })] = 0.3
	p := newPosterior(j, z, nil)
	if len(p.free) != len(j.Params.Free)-1 {
		t.Fatalf("%d coordinates of %d parameters", len(p.free), len(j.Params.Free))
	}
	p.power = 0.6
	testcheck.Do(t, Measure(t.Context(), j, backend, func(parts *Parts) error {
		f := &negative{p, parts.placement}
		u, grad := make([]float64, len(p.free)), make([]float64, len(p.free))
		for i := range u {
			u[i] = p.free[i].u(z[p.free[i].index]) + 0.1
		}
		value := func(i int, h float64) float64 {
			at := slices.Clone(u)
			at[i] += h
			return testcheck.Get(f.Value(t.Context(), at))(t)
		}
		testcheck.Get(f.Value(t.Context(), u))(t)
		testcheck.Get(f.ValueGradient(t.Context(), u, grad))(t)
		for i := range u {
			const h = 1e-4
			want := (value(i, h) - value(i, -h)) / (2 * h)
			testcheck.Within(t, grad[i], want, 1e-5*(1+math.Abs(want)), "∂/∂u of %s", p.free[i].name)
		}
		return nil
	}))
	for i := range p.free {
		c := &p.free[i]
		const h = 1e-5
		up, _, _, _ := c.z(0.7 + h)
		down, _, _, _ := c.z(0.7 - h)
		zAt, slope, logSlope, _ := c.z(0.7)
		if math.Abs((up-down)/(2*h)-slope) > 1e-6 || math.Abs(math.Log(math.Abs(slope))-logSlope) > 1e-9 || math.Abs(c.u(zAt)-0.7) > 1e-9 {
			t.Errorf("%s: z(0.7) = %v with slope %v, log %v", c.name, zAt, slope, logSlope)
		}
	}
}

// TestPosteriorAnalytic compares with a posterior in closed form. With a lengthscale far
// below the distances Σ = sI, s = τ² + σ²; with σ² fixed at almost 0, a flat log τ² within
// wide bounds has an inverse gamma posterior: n·v/τ² is χ² with n degrees of freedom, for
// the mean square v of the targets.
func TestPosteriorAnalytic(t *testing.T) {
	const n = 40
	d := synthetic(n)
	o := problem.Options{Kernel: "rbf", Mean: "zero", Fix: []problem.Assignment{{Name: "lengthscale", Value: 1e-9, Given: true}, {Name: "noise_variance", Value: 1e-9, Given: true}}, Bounds: []problem.Interval{{Name: "signal_variance", Lo: 1e-4, Hi: 1e4}}, Posterior: problem.HMC, PosteriorDraws: 1000}
	report := mustFit(t, d, o).Report
	r := report.Posterior
	s := r.Parameters["signal_variance"]
	// v = 1 for standardized targets: E τ² = n/(n−2), and its variance is known.
	mean := float64(n) / (n - 2)
	sd := mean * math.Sqrt(2.0/(n-4))
	if math.Abs(s.Mean-mean) > 4*sd/math.Sqrt(*s.ESSBulk) || math.Abs(s.SD/sd-1) > 0.1 || *s.RHat > 1.01 || r.Divergences > 0 {
		t.Errorf("%+v, R-hat %v, ESS %v; want %v ± %v", s, *s.RHat, *s.ESSBulk, mean, sd)
	}
	if len(r.Parameters) != 1 || len(r.DefaultPriors) != 1 || !strings.HasPrefix(r.DefaultPriors["signal_variance"], "log-uniform(") {
		t.Errorf("parameters %v, priors %v", r.Parameters, r.DefaultPriors)
	}
	// χ² quantiles with 40 degrees of freedom are 24.4330 and 59.3417.
	if math.Abs(s.Lower/(n/59.3417)-1) > 0.06 || math.Abs(s.Upper/(n/24.4330)-1) > 0.06 {
		t.Errorf("quantiles %v and %v, want %v and %v", s.Lower, s.Upper, n/59.3417, n/24.4330)
	}
	units := report.ParametersOriginalUnits["signal_variance"] / report.Parameters["signal_variance"]
	testcheck.Within(t, r.OriginalUnits["signal_variance"].Mean/s.Mean, units, 1e-9*units, "ratio of units")
	o.Posterior, o.PosteriorWarmup = problem.Laplace, 0
	laplace := mustFit(t, d, o).Report.Posterior
	l := laplace.Parameters["signal_variance"]
	// Over the logarithm the mode is at 1 with the variance 2/n.
	if math.Abs(math.Log(l.Median)) > 0.02 || math.Abs(math.Log(l.Upper)/(1.96*math.Sqrt(2.0/n))-1) > 0.1 || l.RHat != nil {
		t.Errorf("Laplace: %+v", l)
	}
	// The importance ratios by formula: u is a logit of the place z between the bounds, and with
	// the slope R/4 of z at u = 0, for the distance R of the bounds, the curvature is R²n/32 + ½.
	var logs []float64
	reach := math.Log(1e8)
	for _, values := range laplace.Values[0][:ratioDraws(n)] {
		z := math.Log(values["signal_variance"])
		s := z/reach + 0.5
		u := math.Log(s / (1 - s))
		logs = append(logs, -0.5*n*(z+math.Exp(-z))+math.Log(s*(1-s))+0.5*u*u*(reach*reach*n/32+0.5))
	}
	const fromDifferences = 1e-3 // the curvature is of differences
	testcheck.Within(t, *laplace.ParetoK, psis.K(logs), fromDifferences, "k-hat")
	if *laplace.ParetoK > psis.MostK {
		t.Errorf("k-hat %v of an almost normal posterior", *laplace.ParetoK)
	}
}

// TestPosteriorSame checks that a run that is interrupted continues with the same bits,
// and that laplace and hmc agree where the data determine the parameters.
func TestPosteriorSame(t *testing.T) {
	d := synthetic(80)
	o := problem.Options{Mean: "zero", Kernel: "rbf(ard)", Settings: hyperopt.Settings{Coarse: hyperopt.CoarseOff}, Posterior: problem.HMC, PosteriorChains: 2, PosteriorWarmup: 60, PosteriorDraws: 40}
	want := mustFit(t, d, o)
	o.Checkpoint = filepath.Join(t.TempDir(), "c")
	ctx, cancel := context.WithCancel(t.Context())
	count := 0
	out, err := Run(ctx, watched(t, d, o, problem.Events{OnDraw: func(int, int) {
		if count++; count == 70 {
			cancel()
		}
	}}), backend)
	if !errors.Is(err, context.Canceled) || out == nil || out.Model.Draws != nil {
		t.Fatalf("interrupted: %v", err)
	}
	out.Close()
	if testcheck.Get(os.Stat(o.Checkpoint))(t).Size() == 0 {
		t.Fatal("no checkpoint")
	}
	again := mustFit(t, d, o)
	for k, theta := range again.Model.Draws.Theta {
		if !slices.Equal(theta, want.Model.Draws.Theta[k]) {
			t.Fatalf("draw %d: %v after an interruption, %v without", k, theta, want.Model.Draws.Theta[k])
		}
	}
	if n := len(want.Model.Draws.Theta); n != 80 || len(want.Model.Draws.Noise) != 80 {
		t.Errorf("%d draws", n)
	}
	o.Checkpoint, o.Posterior = "", problem.Laplace
	l, h := mustFit(t, d, o).Report.Posterior, want.Report.Posterior
	for name, s := range h.Parameters {
		testcheck.Within(t, l.Parameters[name].Median, s.Median, 1.5*s.SD, "%s: medians by laplace and hmc", name)
	}
	testcheck.Words(t, want.Report.Text(), "hmc (NUTS), 2 chains of 40 draws after 60", "default prior of noise_variance: lognormal(")
	testcheck.Words(t, strings.Join(want.Report.Warnings, "\n"), "few effective draws")
}

// TestOneChain checks what the report says of one chain: only a long one has an R-hat, of its halves.
func TestOneChain(t *testing.T) {
	for draws, want := range map[int]string{3: "few effective draws", 12: "the halves of the chain of the posterior disagree about "} {
		o := problem.Options{Kernel: "rbf", Mean: "zero", Posterior: problem.HMC, PosteriorChains: 1, PosteriorWarmup: 1, PosteriorDraws: draws}
		r := mustFit(t, synthetic(40), o).Report
		text := strings.Join(r.Warnings, "\n")
		testcheck.Words(t, text+r.Text(), want, "hmc (NUTS), 1 chain of ")
		if strings.Contains(text, "the chains") || draws == 3 && strings.Contains(text, "R-hat") {
			t.Error(text)
		}
	}
}

// TestPosteriorOptions checks which options a posterior does not suit.
func TestPosteriorOptions(t *testing.T) {
	d := synthetic(30)
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Posterior: "mcmc"}, "none, laplace or hmc")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Posterior: problem.HMC, Objective: problem.LOO}, "leave-one-out")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", PosteriorDraws: 10}, "option posterior-draws 10: needs option posterior")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Posterior: problem.HMC, PosteriorChains: -1}, "posterior-chains")
	wantOption(t, d, problem.Options{Kernel: "rbf", Mean: "zero", Posterior: problem.HMC, Fix: []problem.Assignment{{Name: "lengthscale"}, {Name: "signal_variance"}, {Name: "noise_variance"}}}, "every parameter is fixed")
}

// TestPosteriorOverflow checks that the density is zero, and no error, where a trajectory of
// the sampler leaves the range of floating-point numbers.
func TestPosteriorOverflow(t *testing.T) {
	j := mustPrepare(t, synthetic(20), problem.Options{Kernel: "rbf", Mean: "zero", Posterior: problem.HMC})
	p := newPosterior(j, j.Params.Start(), nil)
	testcheck.Do(t, Measure(t.Context(), j, backend, func(parts *Parts) error {
		n, grad := &negative{p, parts.placement}, make([]float64, len(p.free))
		for i := range p.free {
			for _, u := range []float64{1e3, -1e3, math.Inf(1), math.NaN()} {
				at := make([]float64, len(p.free))
				at[i] = u
				f, err := n.Value(t.Context(), at)
				g, gerr := n.ValueGradient(t.Context(), at, grad)
				if !math.IsInf(f, 1) || !math.IsInf(g, 1) || err != nil || gerr != nil {
					t.Errorf("%s at %v: %v, %v, %v, %v", p.free[i].name, u, f, err, g, gerr)
				}
			}
		}
		return nil
	}))
}

// calibrationPriors are the means and standard deviations of the normal priors of the logarithms.
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
	x := testcheck.Slice(n, func(int) float64 { return 4 * rng.Float64() })
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
	y := mat.NewVecDense(n, nil)
	y.MulVec(&l, mat.NewVecDense(n, testcheck.Slice(n, func(int) float64 { return rng.NormFloat64() })))
	return truth, problem.Data{X: x, Y: y.RawVector().Data, N: n, D: 1, FeatureNames: []string{"t"}}
}

// TestPosteriorCalibration is simulation-based calibration (Talts et al. 2018): for parameters
// drawn from the prior and data drawn with them, the rank of the truth among draws of the posterior
// is uniform. The χ² test of the histogram is at 1 %. With GPFIT_CALIBRATION=1 there are 200 data
// sets of 50 rows and ten bins, otherwise 20 of 20 and four.
func TestPosteriorCalibration(t *testing.T) {
	sets, n, bins := 20, 20, 4
	if os.Getenv("GPFIT_CALIBRATION") != "" { // a minute of processor time
		sets, n, bins = 200, 50, 10
	}
	const ranks, thin = 99, 3
	o := problem.Options{Kernel: "rbf", Mean: "zero", Standardize: gp.StandardizeNone, Posterior: problem.HMC, PosteriorChains: 1, PosteriorWarmup: 200, PosteriorDraws: ranks * thin}
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
		out := testcheck.Get(Run(t.Context(), mustPrepare(t, d, o), backend))(t)
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
