package sampler

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"gpfit/internal/testcheck"
)

// density is a log density as a function.
type density func(q, grad []float64) float64

func (d density) LogDensity(_ context.Context, q, grad []float64) (float64, error) {
	return d(q, grad), nil
}

func run(t *testing.T, d density, starts [][]float64, o Options) []Chain {
	t.Helper()
	return testcheck.Get(Run(t.Context(), starts, o, open(d)))(t)
}

// open returns a density for every worker.
func open(d Density) func(int) (Density, func(), error) {
	return func(int) (Density, func(), error) { return d, func() {}, nil }
}

// columns returns the draws of coordinate i by chain.
func columns(chains []Chain, i int) [][]float64 {
	out := make([][]float64, len(chains))
	for c := range chains {
		for _, q := range chains[c].Draws {
			out[c] = append(out[c], q[i])
		}
	}
	return out
}

// gaussian returns the density N(mean, covariance).
func gaussian(mean []float64, covariance *mat.SymDense) density {
	var chol mat.Cholesky
	if !chol.Factorize(covariance) {
		panic("not positive definite")
	}
	return func(q, grad []float64) float64 {
		d := mat.NewVecDense(len(q), nil)
		for i := range q {
			d.SetVec(i, mean[i]-q[i])
		}
		g := mat.NewVecDense(len(q), grad)
		if err := chol.SolveVecTo(g, d); err != nil {
			panic(err)
		}
		return -0.5 * mat.Dot(d, g)
	}
}

// standardErrors is how many Monte Carlo standard errors an estimate may be off. Each
// test draws fixed seeds, and compares few numbers.
const standardErrors = 4

// TestGaussian compares moments with the moments of a correlated normal distribution
// whose scales differ by 10,000, from starts far out and without a metric.
func TestGaussian(t *testing.T) {
	mean := []float64{3, -100, 0.5}
	covariance := mat.NewSymDense(3, []float64{1, 50, 0.005, 50, 10000, 0, 0.005, 0, 1e-4})
	starts := [][]float64{{0, 0, 0}, {5, 100, 1}, {-5, -300, 0}, {3, 0, 0.5}}
	chains := run(t, gaussian(mean, covariance), starts, Options{Warmup: 1000, Draws: 1000, Seed: 3})
	for i := range mean {
		x := columns(chains, i)
		s, sd := Summarize(x), math.Sqrt(covariance.At(i, i))
		if math.Abs(s.Mean-mean[i]) > standardErrors*sd/math.Sqrt(*s.ESSBulk) || math.Abs(s.SD/sd-1) > 0.1 {
			t.Errorf("coordinate %d: %+v, want %v ± %v", i, s, mean[i], sd)
		}
		if !(*s.RHat < 1.01) || *s.ESSBulk < 1000 || *s.ESSTail < 800 {
			t.Errorf("coordinate %d: R-hat %v, ESS %v and %v", i, *s.RHat, *s.ESSBulk, *s.ESSTail)
		}
		for c := range chains {
			for k := range i {
				got := stat.Correlation(columns(chains, i)[c], columns(chains, k)[c], nil)
				want := covariance.At(i, k) / math.Sqrt(covariance.At(i, i)*covariance.At(k, k))
				testcheck.Within(t, got, want, 0.15, "correlation of %d and %d in chain %d", i, k, c)
			}
		}
	}
	for c, chain := range chains {
		if slices.Contains(chain.Divergent, true) || stat.Mean(chain.Accept, nil) < 0.6 || chain.StepSize <= 0 {
			t.Errorf("chain %d: step %v, acceptance %v", c, chain.StepSize, stat.Mean(chain.Accept, nil))
		}
	}
}

// TestSame checks that the draws depend on the seed and not on the workers, and that the
// number of chains does not change the first ones.
func TestSame(t *testing.T) {
	d := gaussian([]float64{0, 0}, mat.NewSymDense(2, []float64{1, 0.5, 0.5, 1}))
	starts := [][]float64{{0, 0}, {1, 1}, {2, -1}}
	o := Options{Chains: 3, Warmup: 60, Draws: 40, Seed: 9}
	want := run(t, d, starts, o)
	o.Workers = 3
	for c, chain := range run(t, d, starts, o) {
		for k, q := range chain.Draws {
			if !slices.Equal(q, want[c].Draws[k]) {
				t.Fatalf("chain %d, draw %d: %v with three workers, %v with one", c, k, q, want[c].Draws[k])
			}
		}
	}
	o.Chains = 1
	if one := run(t, d, starts[:1], o); !slices.Equal(one[0].Draws[39], want[0].Draws[39]) {
		t.Error("one chain alone draws other points")
	}
	o.Seed = 10
	if other := run(t, d, starts[:1], o); slices.Equal(other[0].Draws[39], want[0].Draws[39]) {
		t.Error("another seed draws the same points")
	}
}

// TestFunnel checks that Neal's funnel, whose neck no step size resolves, gives
// divergences, and none in coordinates in which it is normal.
func TestFunnel(t *testing.T) {
	const p = 9
	centred := density(func(q, grad []float64) float64 {
		v := q[0]
		logp := -v * v / 18
		grad[0] = -v / 9
		for i := 1; i < p; i++ {
			logp -= 0.5*q[i]*q[i]*math.Exp(-v) + v/2
			grad[0] += 0.5*q[i]*q[i]*math.Exp(-v) - 0.5
			grad[i] = -q[i] * math.Exp(-v)
		}
		return logp
	})
	starts := make([][]float64, 4)
	for c := range starts {
		starts[c] = make([]float64, p)
		starts[c][0] = float64(c) - 1
	}
	chains := run(t, centred, starts, Options{Seed: 2})
	if !slices.ContainsFunc(chains, func(c Chain) bool { return slices.Contains(c.Divergent, true) }) {
		t.Error("no divergence in the neck of the funnel")
	}
	normal := density(func(q, grad []float64) float64 {
		logp := -q[0] * q[0] / 18
		grad[0] = -q[0] / 9
		for i := 1; i < p; i++ {
			logp -= 0.5 * q[i] * q[i]
			grad[i] = -q[i]
		}
		return logp
	})
	chains = run(t, normal, starts, Options{Seed: 2})
	if s := Summarize(columns(chains, 0)); math.Abs(s.Mean) > standardErrors*3/math.Sqrt(*s.ESSBulk) || math.Abs(s.SD/3-1) > 0.1 || !(*s.RHat < 1.02) {
		t.Errorf("%+v, want 0 ± 3", s)
	}
}

// TestBounded checks a density that is zero on one side: an exponential distribution.
func TestBounded(t *testing.T) {
	d := density(func(q, grad []float64) float64 {
		if q[0] < 0 {
			return math.Inf(-1)
		}
		grad[0] = -1
		return -q[0]
	})
	starts := [][]float64{{1}, {2}, {0.1}, {3}}
	if s := Summarize(columns(run(t, d, starts, Options{Seed: 1, Draws: 4000}), 0)); math.Abs(s.Mean-1) > 0.1 || math.Abs(s.Median-math.Ln2) > 0.1 {
		t.Errorf("%+v, want mean 1 and median 0.69", s)
	}
}

// TestCalibration draws a normal mean and log variance from their prior, data from them,
// and the posterior from the data. The rank of the true value among the draws is uniform
// (Talts et al. 2018), by a χ² test at 1 %.
func TestCalibration(t *testing.T) {
	const sets, n, bins = 200, 8, 10
	rng := rand.New(rand.NewPCG(5, 6))
	counts := [2][bins]float64{}
	for set := range sets {
		truth := []float64{rng.NormFloat64(), 0.5 * rng.NormFloat64()}
		y := testcheck.Slice(n, func(int) float64 { return truth[0] + math.Exp(truth[1]/2)*rng.NormFloat64() })
		posterior := density(func(q, grad []float64) float64 {
			logp := -0.5*q[0]*q[0] - 2*q[1]*q[1]
			grad[0], grad[1] = -q[0], -4*q[1]
			for _, v := range y {
				e := (v - q[0]) * math.Exp(-q[1]/2)
				logp -= 0.5*e*e + q[1]/2
				grad[0] += e * math.Exp(-q[1]/2)
				grad[1] += 0.5*e*e - 0.5
			}
			return logp
		})
		chain := run(t, posterior, [][]float64{{0, 0}}, Options{Chains: 1, Warmup: 200, Draws: 99 * 5, Seed: uint64(set)})
		for i := range counts {
			below := 0
			for k := 0; k < 99; k++ {
				if chain[0].Draws[5*k][i] < truth[i] {
					below++
				}
			}
			counts[i][below*bins/100]++
		}
	}
	limit := distuv.ChiSquared{K: bins - 1}.Quantile(0.99)
	for i, c := range counts {
		chi := 0.0
		for _, v := range c {
			chi += (v - sets/bins) * (v - sets/bins) / (sets / bins)
		}
		if chi > limit {
			t.Errorf("ranks of parameter %d: %v, χ² %v above %v", i, c, chi, limit)
		}
	}
}

// TestErrors checks that an error of the density ends the run, and which starts and
// options none can have.
func TestErrors(t *testing.T) {
	boom, calls := errors.New("boom"), 0
	failing := failAfter{gaussian([]float64{0}, mat.NewSymDense(1, []float64{1})), boom, &calls}
	nowhere := density(func(q, grad []float64) float64 { return math.Inf(-1) })
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		d    Density
		want error
	}{{t.Context(), failing, boom}, {t.Context(), nowhere, ErrStart}, {cancelled, nowhere, context.Canceled}} {
		if _, err := Run(c.ctx, [][]float64{{0}}, Options{Chains: 1}, open(c.d)); !errors.Is(err, c.want) {
			t.Errorf("error %v, want %v", err, c.want)
		}
	}
	for name, o := range map[string]Options{
		"starts": {Chains: 2}, "draws": {Chains: 1, Draws: -1}, "covariance": {Chains: 1, Covariances: [][]float64{{1, 2}}}, "definite": {Chains: 1, Covariances: [][]float64{{-1}}},
	} {
		if _, err := Run(t.Context(), [][]float64{{0}}, o, open(failing.density)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

type failAfter struct {
	density
	err   error
	calls *int
}

func (f failAfter) LogDensity(ctx context.Context, q, grad []float64) (float64, error) {
	if *f.calls++; *f.calls > 100 {
		return 0, f.err
	}
	return f.density.LogDensity(ctx, q, grad)
}
