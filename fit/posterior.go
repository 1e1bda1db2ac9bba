package fit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/graph"
	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
	"gpfit/kernel"
)

// posterior is a run that draws the parameters of a job from their posterior. Its vector u
// has an element for each parameter that is not fixed.
type posterior struct {
	space
	job *tuning.Job
	log *journal.Journal
	// power is the power of the likelihood in the posterior.
	power float64
	// withoutNoise says that the targets are exact, so that draws keep the noise variance.
	withoutNoise bool
}

// space relates vectors u to the objective's vectors.
type space struct {
	free []coordinate
	// rest is the objective's vector, for the fixed parameters.
	rest []float64
}

// coordinate relates an element u to an element z of the objective's vector. Between
// bounds, z is a logistic function of u, so that u is unbounded.
type coordinate struct {
	index  int
	name   string
	group  string  // of the vector that it belongs to, or name
	log    bool    // z is a logarithm
	lo, hi float64 // bounds of z
	// jacobian says that the objective has a prior over exp z, whose density over z has
	// the factor exp z.
	jacobian bool
	// density is the prior of the parameter that natural returns for z; its family is empty without.
	density graph.Prior
	natural func(z float64) float64
	// centre and width describe the normal default prior of z; width is 0 without.
	centre, width float64
}

// The standard deviations of default priors: of logarithms around the default start values, and
// of coefficients of the mean around 0 in scaled units. Two standard deviations of a lengthscale
// are a factor of 400 up and down: a smooth function without noise has a large variance and long
// lengthscales. Where each column has a lengthscale, its logarithm is larger by columnShift, because
// some columns hardly matter.
const (
	defaultWidth     = 3
	defaultMeanWidth = 10
	columnShift      = 1
)

// autoPower returns the power of the likelihood of a number of rows. A posterior of a model that is only
// nearly right is too narrow (Grünwald & van Ommen, Bayesian Analysis 12 (2017), 1069; Miller & Dunson,
// JASA 114 (2019), 1113), the more so with more rows, because the model's error stays.
func autoPower(rows int) float64 { return max(0.3, min(0.7, math.Sqrt(10/float64(rows)))) }

// newPosterior returns the run for a job whose fit ended at z.
func newPosterior(j *tuning.Job, z []float64, log *journal.Journal) *posterior {
	defaults := problem.DefaultParameters(j.Sample, j.Model)
	p := &posterior{space: space{rest: slices.Clone(z)}, job: j, log: log, power: 1}
	if j.Options.Posterior == problem.AutoPosterior {
		p.power = autoPower(j.N())
	}
	for i, q := range j.Params.Free {
		if q.Fixed {
			continue
		}
		c := coordinate{index: i, name: q.Name, group: q.Group, log: q.Log, natural: q.Natural, lo: math.Inf(-1), hi: math.Inf(1)}
		density, given := j.Params.Priors[q.Name]
		bounded := q.Bounded
		if given {
			c.density = density
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
		default:
			c.centre, c.width = math.Log(defaults[k].Start), defaultWidth
			if slices.ContainsFunc(j.Program().Params, func(v kernel.Param) bool { return v.Name == q.Group && v.Vector && v.Kind == kernel.Lengthscale }) {
				c.centre += columnShift
			}
		}
		p.free = append(p.free, c)
	}
	return p
}

// keepNoise makes draws for averages keep the noise variance if targets are exact as far as a fit can tell: it is at its
// lower bound, and the interpolator predicts rows that are left out.
func (p *posterior) keepNoise(i *summary.Interpolation) {
	if p.job.Options.Posterior != problem.AutoPosterior || i == nil || !i.AtBound || i.LeaveOneOut == nil || i.Degenerate {
		return
	}
	p.withoutNoise = true
	p.free = slices.DeleteFunc(p.free, func(c coordinate) bool { return c.group == graph.NoiseVariance })
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
func (p *space) vector(u []float64) []float64 {
	z := slices.Clone(p.rest)
	for i := range p.free {
		z[p.free[i].index], _, _, _ = p.free[i].z(u[i])
	}
	return z
}

// coordinates is the inverse of vector.
func (p *space) coordinates(z []float64) []float64 {
	u := make([]float64, len(p.free))
	for i := range p.free {
		u[i] = p.free[i].u(z[p.free[i].index])
	}
	return u
}

// negative is the negative log density over u on a session. It implements [descent.Func].
type negative struct {
	*posterior
	s *tuning.Placement
}

// overflows reports whether a parameter at u is no positive finite number: long steps of
// the sampler get there. The density is zero there.
func (p *space) overflows(u []float64) bool {
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
	return defined(n.power*f+n.terms(u, nil, nil), err)
}

// defined returns a density of zero where the parameters' sizes make an element of the covariance
// overflow, although none of them does alone.
func defined(f float64, err error) (float64, error) {
	if _, overflow := errors.AsType[*device.NonFiniteError](err); overflow {
		return math.Inf(1), nil
	}
	return f, err
}

// ValueGradient implements [descent.Func].
func (n *negative) ValueGradient(ctx context.Context, u, grad []float64) (float64, error) {
	if n.overflows(u) {
		return math.Inf(1), nil
	}
	full := make([]float64, len(n.rest))
	f, err := n.s.ValueGradient(ctx, n.vector(u), full)
	floats.Scale(n.power, full)
	return defined(n.power*f+n.terms(u, full, grad), err)
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
		if c.density.Family != "" && p.power != 1 { // the power is only of the likelihood
			f, slope := c.logDensity(z)
			sum -= (1 - p.power) * f
			dz -= (1 - p.power) * slope
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

// logDensity returns the log density of the prior at z, without a Jacobian, and its derivative by z,
// which is 0 at the edge of its support.
func (c *coordinate) logDensity(z float64) (f, slope float64) {
	const h = 1e-5
	if slope = (c.density.LogDensity(c.natural(z+h)) - c.density.LogDensity(c.natural(z-h))) / (2 * h); slope-slope != 0 {
		slope = 0
	}
	return c.density.LogDensity(c.natural(z)), slope
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
