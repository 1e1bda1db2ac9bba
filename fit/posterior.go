package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/graph"
	"gpfit/hyperopt/descent"
	"gpfit/internal/journal"
	"gpfit/internal/sampler"
	"gpfit/internal/tuning"
)

// posterior is a run that draws the parameters of a job from their posterior. Its vector u
// has an element for each parameter that is not fixed.
type posterior struct {
	job  *tuning.Job
	log  *journal.Journal
	free []coordinate
	// rest is the objective's vector, for the fixed parameters.
	rest []float64
}

// coordinate relates an element u to an element z of the objective's vector. Between
// bounds, z is a logistic function of u, so that u is unbounded.
type coordinate struct {
	index  int
	name   string
	log    bool    // z is a logarithm
	lo, hi float64 // bounds of z
	// jacobian says that the objective has a prior over exp z, whose density over z has
	// the factor exp z.
	jacobian bool
	// centre and width describe the normal default prior of z; width is 0 without.
	centre, width float64
}

// The standard deviations of default priors: of logarithms around the default start values, and
// of coefficients of the mean around 0 in scaled units. Two standard deviations of a lengthscale
// are a factor of 55 up and down. A noise may be far smaller than its start value.
const (
	defaultWidth      = 2
	defaultNoiseWidth = 3
	defaultMeanWidth  = 10
)

// newPosterior returns the run for a job whose fit ended at z.
func newPosterior(j *tuning.Job, z []float64, log *journal.Journal) (*posterior, error) {
	defaults, err := problem.DefaultParameters(j.Sample, j.Model)
	if err != nil {
		return nil, err
	}
	p := &posterior{job: j, log: log, rest: slices.Clone(z)}
	for i, q := range j.Params.Free {
		if q.Fixed {
			continue
		}
		c := coordinate{index: i, name: q.Name, log: q.Log, lo: math.Inf(-1), hi: math.Inf(1)}
		density, given := j.Params.Priors[q.Name]
		bounded := q.Bounded
		if given {
			lo, hi := density.Support()
			bounded = bounded || lo > math.Inf(-1) && hi < math.Inf(1)
		}
		if bounded {
			c.lo, c.hi = q.Z(q.Lower), q.Z(q.Upper)
		}
		switch k := slices.IndexFunc(defaults, func(d *problem.Parameter) bool { return d.Indexed == q.Indexed }); {
		case given:
			c.jacobian = q.Log
		case c.lo > math.Inf(-1) && c.hi < math.Inf(1):
			// A density that is constant between bounds is proper.
		case !q.Log:
			c.width = defaultMeanWidth
		case q.Group == graph.NoiseVariance:
			c.centre, c.width = math.Log(defaults[k].Start), defaultNoiseWidth
		default:
			c.centre, c.width = math.Log(defaults[k].Start), defaultWidth
		}
		p.free = append(p.free, c)
	}
	if len(p.free) == 0 {
		return nil, problem.OptionErrorf("posterior", string(j.Options.Posterior), "every parameter is fixed: there is nothing to draw")
	}
	return p, nil
}

// z returns the value for u, its derivative, the logarithm of the derivative, and the
// derivative of that.
func (c *coordinate) z(u float64) (z, slope, logSlope, curve float64) {
	low, high := c.lo > math.Inf(-1), c.hi < math.Inf(1)
	switch {
	case low && high:
		s := 1 / (1 + math.Exp(-u))
		slope = (c.hi - c.lo) * s * (1 - s)
		return c.lo + (c.hi-c.lo)*s, slope, math.Log(c.hi-c.lo) - softplus(u) - softplus(-u), 1 - 2*s
	case low:
		return c.lo + math.Exp(u), math.Exp(u), u, 1
	case high:
		return c.hi - math.Exp(u), -math.Exp(u), u, 1
	}
	return u, 1, 0, 0
}

// softplus returns log(1 + exp x).
func softplus(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// edge is the distance, as a share of the range, that u keeps from a bound.
const edge = 1e-3

// u returns the element for z, a little inside the bounds.
func (c *coordinate) u(z float64) float64 {
	low, high := c.lo > math.Inf(-1), c.hi < math.Inf(1)
	switch {
	case low && high:
		s := math.Min(math.Max((z-c.lo)/(c.hi-c.lo), edge), 1-edge)
		return math.Log(s / (1 - s))
	case low:
		return math.Log(math.Max(z-c.lo, edge))
	case high:
		return math.Log(math.Max(c.hi-z, edge))
	}
	return z
}

// prior describes the default prior of a coordinate; "" without.
func (c *coordinate) prior(log bool) string {
	switch {
	case c.width > 0 && log:
		return graph.Prior{Family: "lognormal", Args: []float64{c.centre, c.width}}.String()
	case c.width > 0:
		return graph.Prior{Family: "normal", Args: []float64{c.centre, c.width}}.String()
	case !c.jacobian && c.lo > math.Inf(-1) && c.hi < math.Inf(1) && log:
		return fmt.Sprintf("log-uniform(%.4g, %.4g)", math.Exp(c.lo), math.Exp(c.hi))
	}
	return ""
}

// vector returns the objective's vector at u.
func (p *posterior) vector(u []float64) []float64 {
	z := slices.Clone(p.rest)
	for i := range p.free {
		z[p.free[i].index], _, _, _ = p.free[i].z(u[i])
	}
	return z
}

// negative is the negative log density over u on a session. It implements [descent.Func].
type negative struct {
	*posterior
	s *tuning.Placement
}

// overflows reports whether a parameter at u is no positive finite number: long steps of
// the sampler get there. The density is zero there.
func (p *posterior) overflows(u []float64) bool {
	for i := range p.free {
		z, _, _, _ := p.free[i].z(u[i])
		if math.IsNaN(z) || math.IsInf(z, 0) || p.free[i].log && (math.Exp(z) == 0 || math.IsInf(math.Exp(z), 1)) {
			return true
		}
	}
	return false
}

// Value implements [descent.Func].
func (n *negative) Value(ctx context.Context, u []float64) (float64, error) {
	if n.overflows(u) {
		return math.Inf(1), nil
	}
	f, err := n.s.Value(ctx, n.vector(u))
	return f + n.terms(u, nil, nil), err
}

// ValueGradient implements [descent.Func].
func (n *negative) ValueGradient(ctx context.Context, u, grad []float64) (float64, error) {
	if n.overflows(u) {
		return math.Inf(1), nil
	}
	full := make([]float64, len(n.rest))
	f, err := n.s.ValueGradient(ctx, n.vector(u), full)
	return f + n.terms(u, full, grad), err
}

// terms returns what the negative log density has besides the objective, and writes its
// gradient to grad for the gradient full of the objective.
func (p *posterior) terms(u, full, grad []float64) float64 {
	sum := 0.0
	for i := range p.free {
		c := &p.free[i]
		z, slope, logSlope, curve := c.z(u[i])
		sum -= logSlope
		dz := 0.0
		if c.jacobian {
			sum -= z
			dz--
		}
		if c.width > 0 {
			d := (z - c.centre) / c.width
			sum += 0.5 * d * d
			dz += d / c.width
		}
		if grad != nil {
			grad[i] = (full[c.index]+dz)*slope - curve
		}
	}
	return sum
}

// chain is the log density of one chain. It implements [sampler.Density] by an oracle,
// which records the evaluations in the checkpoint.
type chain struct{ *descent.Oracle }

// LogDensity implements [sampler.Density].
func (c chain) LogDensity(ctx context.Context, u, grad []float64) (float64, error) {
	f, err := c.Value(ctx, u)
	if err != nil || math.IsInf(f, 1) {
		return math.Inf(-1), err
	}
	ok, err := c.Gradient(ctx, u, grad)
	if !ok {
		return math.Inf(-1), err
	}
	for i := range grad {
		grad[i] = -grad[i]
	}
	return -f, err
}

// oracle returns the oracle of the negative log density on a session.
func (p *posterior) oracle(s *tuning.Placement, stream string) *descent.Oracle {
	return descent.NewOracle(&negative{p, s}, p.log.Sequence("posterior-"+stream))
}

// mode finds the mode over u from a start, and the Hessian of the negative log density.
func (p *posterior) mode(ctx context.Context, s *tuning.Placement, settings descent.Options, start []float64) ([]float64, *mat.SymDense, error) {
	search := descent.Search{Objectives: []descent.Func{&negative{p, s}}, Starts: []descent.Start{{Z: start}},
		Log: func(int) *journal.Sequence { return p.log.Sequence("posterior-mode") }}
	for _, c := range p.free {
		search.Parameters = append(search.Parameters, descent.Parameter{Name: c.name, Group: c.name, Lower: math.Inf(-1), Upper: math.Inf(1)})
	}
	result, err := descent.Minimize(ctx, search, settings)
	if err != nil {
		return nil, nil, err
	}
	h, err := descent.Hessian(ctx, p.oracle(s, "hessian"), result.X, descent.HessianOptions{Step: func(int) float64 { return 1e-3 }})
	if err != nil || h == nil {
		return result.X, nil, err
	}
	return result.X, mat.NewSymDense(len(p.free), h), nil
}

// covariance returns the inverse of a Hessian, with small and negative eigenvalues raised
// to the curvature of a prior of width 4, and whether none had to be.
func covariance(h *mat.SymDense, p int) (*mat.SymDense, bool) {
	const least = 1.0 / 16
	out, ok := mat.NewSymDense(p, nil), true
	var eigen mat.EigenSym
	if h == nil || !eigen.Factorize(h, true) {
		for i := range p {
			out.SetSym(i, i, 1)
		}
		return out, false
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for k, v := range eigen.Values(nil) {
		if !(v > 0) {
			ok = false
		}
		x := vectors.ColView(k)
		out.SymRankOne(out, 1/math.Max(v, least), x)
	}
	return out, ok
}

// draws are the draws of u by chain.
type draws struct {
	mode       []float64
	chains     [][][]float64
	diagnosed  []sampler.Chain // nil for Laplace
	covariance *mat.SymDense
	lower      mat.TriDense // its Cholesky factor L
}

// sample draws from the posterior. s is a session over all rows.
func (p *posterior) sample(ctx context.Context, b device.Backend, s *tuning.Placement) (*draws, error) {
	o := p.job.Options
	start := make([]float64, len(p.free))
	for i := range p.free {
		start[i] = p.free[i].u(p.rest[p.free[i].index])
	}
	settings := descent.Options{Precision: b.Capabilities().Precision}
	mode, hessian, err := p.mode(ctx, s, settings, start)
	if err != nil {
		return nil, fmt.Errorf("mode of the posterior: %w", err)
	}
	cov, definite := covariance(hessian, len(p.free))
	if o.Posterior == problem.Laplace && !definite {
		return nil, problem.OptionErrorf("posterior", string(problem.Laplace), "the posterior is not normal around its mode: the Hessian is not positive definite; use hmc, or give a prior or bounds")
	}
	var chol mat.Cholesky
	if !chol.Factorize(cov) {
		return nil, errors.New("fit: the covariance at the mode cannot be factored")
	}
	d := &draws{mode: mode, covariance: cov}
	chol.LTo(&d.lower)
	if o.Posterior == problem.HMC {
		return d, p.hmc(ctx, b, s, d)
	}
	rng := rand.New(rand.NewPCG(o.Settings.Seed, 0x6c61706c616365))
	var all [][]float64
	for range o.Chains() * o.Draws() {
		all = append(all, d.around(1, rng))
	}
	d.chains = [][][]float64{all}
	return d, nil
}

// around returns mode + size·L·ξ for standard normal ξ.
func (d *draws) around(size float64, rng *rand.Rand) []float64 {
	xi := mat.NewVecDense(len(d.mode), nil)
	for i := range d.mode {
		xi.SetVec(i, size*rng.NormFloat64())
	}
	out := mat.NewVecDense(len(d.mode), nil)
	out.MulVec(&d.lower, xi)
	out.AddVec(out, mat.NewVecDense(len(d.mode), slices.Clone(d.mode)))
	return out.RawVector().Data
}

// hmc runs the chains, each on a session of its own.
func (p *posterior) hmc(ctx context.Context, b device.Backend, s *tuning.Placement, d *draws) error {
	o := p.job.Options
	so := sampler.Options{Chains: o.Chains(), Warmup: o.Warmup(), Draws: o.Draws(), Seed: o.Settings.Seed,
		OnIteration: p.job.Events.OnDraw}
	if so.Workers = 1; b.Info().Host {
		so.Workers = min(so.Chains, tuning.CrewSize(p.job.N(), b.Info().Threads))
	}
	so.Covariance = mat.DenseCopyOf(d.covariance).RawMatrix().Data
	starts, err := p.starts(ctx, s, d, so.Chains)
	if err != nil {
		return err
	}
	var sharing tuning.Crew
	var opening sync.Mutex // graphs are built one at a time
	d.diagnosed, err = sampler.Run(ctx, starts, so, func(c int) (sampler.Density, func(), error) {
		opening.Lock()
		defer opening.Unlock()
		s, err := p.job.Open(ctx, b)
		if err != nil {
			return nil, nil, err
		}
		s.Workspace.OnProgress(nil)
		s.Crew = &sharing
		return chain{p.oracle(s, fmt.Sprintf("chain-%d", c))}, s.Close, nil
	})
	if err != nil {
		return err
	}
	for _, c := range d.diagnosed {
		d.chains = append(d.chains, c.Draws)
	}
	return nil
}

// starts returns starts of chains around the mode, twice as far out as draws, but where
// the density is defined.
func (p *posterior) starts(ctx context.Context, s *tuning.Placement, d *draws, chains int) ([][]float64, error) {
	ev := p.oracle(s, "starts")
	var out [][]float64
	for c := range chains {
		u := d.mode
		for try := range 10 {
			rng := rand.New(rand.NewPCG(p.job.Options.Settings.Seed, 0x7374617274<<8|uint64(c)))
			trial := d.around(2/float64(int(1)<<try), rng)
			f, err := ev.Value(ctx, trial)
			if err != nil {
				return nil, err
			}
			if !math.IsInf(f, 1) {
				u = trial
				break
			}
		}
		out = append(out, u)
	}
	return out, nil
}
