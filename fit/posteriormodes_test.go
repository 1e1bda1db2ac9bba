package fit

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/hyperopt/descent"
	"gpfit/internal/each"
	"gpfit/internal/testcheck"
)

// sampled draws the posterior of a fit that ended at the values of some parameters, at the start
// values of the others.
func sampled(t *testing.T, d problem.Data, o problem.Options, at map[string]float64) (*draws, *summary.PosteriorReport) {
	t.Helper()
	j := mustPrepare(t, d, o)
	z := j.Params.Start()
	for i, q := range j.Params.Free {
		if v, ok := at[q.Name]; ok {
			z[i] = q.Z(v)
		}
	}
	p := newPosterior(j, z, nil)
	var drawn *draws
	testcheck.Do(t, Measure(t.Context(), j, backend, func(parts *Parts) (err error) {
		drawn, err = p.sample(t.Context(), backend, parts.placement, nil)
		return err
	}))
	return drawn, p.report(drawn)
}

// wave is a series of n rows over twelve turns of two harmonics.
func wave(n int) problem.Data {
	rng := rand.New(rand.NewPCG(1, 1))
	d := problem.Data{N: n, D: 1, FeatureNames: []string{"t"}}
	for range n {
		x := 12 * rng.Float64()
		d.X = append(d.X, x)
		d.Y = append(d.Y, math.Sin(2*math.Pi*x)+0.6*math.Sin(4*math.Pi*x+1)+0.3*rng.NormFloat64())
	}
	return d
}

// TestPosteriorModes ends a fit at five times the true period, where chains of HMC would stay and agree:
// they begin at the mode with the evidence, and a warning says that the fit is not there.
func TestPosteriorModes(t *testing.T) {
	d := wave(60)
	_, r := sampled(t, d, problem.Options{Mean: "zero", Kernel: "periodic*rbf", Standardize: "y", Posterior: problem.HMC, PosteriorWarmup: 100, PosteriorDraws: 50},
		map[string]float64{"k1.period": 5, "k1.lengthscale": 0.2, "k2.lengthscale": 50})
	if s := r.Parameters["k1.period"]; math.Abs(s.Lower-1) > 0.02 || math.Abs(s.Upper-1) > 0.02 {
		t.Errorf("period %+v, want 1", s)
	}
	fitted := slices.IndexFunc(r.Modes, func(m summary.PosteriorMode) bool { return m.Fit })
	if r.Modes[0].Chains != 4 || r.Modes[fitted].LogEvidence > -20 || math.Abs(r.Modes[fitted].Parameters["k1.period"]-5) > 0.1 {
		t.Errorf("modes %+v", r.Modes)
	}
	testcheck.Words(t, strings.Join(r.Warnings, "\n"), "not at the main mode", "(the fit: 4.999)", "option restarts")
}

// TestPosteriorMirrors checks that the mirror image of a mode is no other mode where parts of the
// kernel are alike, and is one if a prior tells them apart.
func TestPosteriorMirrors(t *testing.T) {
	o := problem.Options{Mean: "zero", Kernel: "rbf + rbf", Posterior: problem.HMC}
	for _, alike := range []bool{true, false} {
		if !alike {
			o.Priors = []problem.ParameterPrior{{Name: "k1.lengthscale", Density: density(t, "gamma(2, 1)")}}
		}
		j := mustPrepare(t, wave(40), o)
		p := newPosterior(j, j.Params.Start(), nil)
		testcheck.Do(t, Measure(t.Context(), j, backend, func(parts *Parts) error {
			u := testcheck.Slice(len(p.free), func(i int) float64 { return -0.3 * float64(i) })
			m := &mode{u: u}
			h := make(descent.Metric, len(u)*len(u))
			for i := range u {
				h[i*len(u)+i] = 400
			}
			m.curve(h, p.free)
			mirror := p.vector(u)
			mirror[0], mirror[2], mirror[1], mirror[3] = mirror[2], mirror[0], mirror[3], mirror[1]
			known := testcheck.Get(p.known(t.Context(), parts.placement, []*mode{m}, mirror))(t)
			if known != alike || m.nats(mirror) < 10 {
				t.Errorf("alike %v: known %v at %v nats", alike, known, m.nats(mirror))
			}
			return nil
		}))
	}
}

// TestModeCurvature checks the normal distribution of a mode with a flat and an inverted direction,
// and the evidence of a normal density, which is exact.
func TestModeCurvature(t *testing.T) {
	free := []coordinate{{name: "a"}, {name: "b"}, {name: "c"}}
	m := &mode{u: []float64{1, 2, 3}, f: 5}
	m.curve(descent.Metric{4, 0, 0, 0, 1, -1, 0, -1, 1}, free) // eigenvalues 4, 2 and 0
	testcheck.Within(t, m.covariance.At(0, 0), 0.25, 1e-12, "variance of a")
	testcheck.Within(t, m.covariance.At(1, 1), 0.5*(0.5+16), 1e-12, "variance of b")
	testcheck.Within(t, m.evidence(), 1.5*math.Log(2*math.Pi)-0.5*math.Log(4*2/16.)-5, 1e-12, "evidence")
	testcheck.Within(t, m.nats([]float64{1.5, 2, 3}), 0.5, 1e-12, "nats")
	if len(m.flat) != 1 || !slices.Equal(m.flat[0], []string{"b", "c"}) {
		t.Errorf("flat %v", m.flat)
	}
	m.flat = nil
	m.curve(descent.Metric{1, 0, 0, 0, -3, 0, 0, 0, 1}, free)
	testcheck.Within(t, m.covariance.At(1, 1), 16, 1e-12, "variance of an inverted direction")
	if len(m.flat) != 1 || !slices.Equal(m.flat[0], []string{"b"}) {
		t.Errorf("flat %v", m.flat)
	}
}

// TestSeats divides chains in proportion to shares.
func TestSeats(t *testing.T) {
	for _, c := range []struct {
		shares []float64
		want   []int
	}{{[]float64{1}, []int{0, 0, 0, 0}}, {[]float64{0.5, 0.5}, []int{0, 0, 1, 1}}, {[]float64{0.7, 0.2, 0.1}, []int{0, 0, 0, 1}}, {[]float64{0.9, 0.1}, []int{0, 0, 0, 0}}, {[]float64{0.3, 0.25, 0.2, 0.15, 0.1}, []int{0, 1, 2, 3}}} {
		if got := seats(each.Of(c.shares, func(share float64) *mode { return &mode{share: share} }), 4); !slices.Equal(got, c.want) {
			t.Errorf("seats of %v: %v, want %v", c.shares, got, c.want)
		}
	}
}

// TestLaplaceKeepsFit fits a smooth function without noise, up to where its covariance is singular:
// there is no curvature and no draw, but a model.
func TestLaplaceKeepsFit(t *testing.T) {
	d := problem.Data{N: 40, D: 1, FeatureNames: []string{"t"}}
	for i := range d.N {
		x := float64(i) / 10
		d.X, d.Y = append(d.X, x), append(d.Y, math.Sin(x)+0.3*math.Cos(2*x))
	}
	out := mustFit(t, d, problem.Options{Kernel: "rbf", Mean: "zero", NoNoise: true, Set: []problem.Assignment{{Name: "lengthscale", Value: 0.2, Given: true}}, Posterior: problem.Laplace})
	if out.Model == nil || out.Model.Draws != nil || out.Report.Posterior != nil {
		t.Errorf("model %v, posterior %+v", out.Model, out.Report.Posterior)
	}
	testcheck.Words(t, strings.Join(out.Report.Warnings, "\n"), "no draws of the posterior", "option posterior hmc")
}

// TestSteepMode checks that a mode with a curvature of almost infinity has a finite volume.
func TestSteepMode(t *testing.T) {
	for k := range 30 { // the axes of the curvature in many directions
		sin, cos := math.Sincos(float64(k))
		h := descent.Metric{1e25*cos*cos + sin*sin, (1e25 - 1) * sin * cos, (1e25 - 1) * sin * cos, 1e25*sin*sin + cos*cos}
		m := &mode{u: []float64{0, 0}}
		m.curve(h, []coordinate{{name: "a"}, {name: "b"}})
		if !m.curved || math.IsNaN(m.logVolume) || math.IsInf(m.logVolume, 0) {
			t.Errorf("%+v", m)
		}
	}
}
