package graph

import (
	"math"
	"slices"
)

// Prior is a probability density of one parameter, not of its logarithm, in the
// natural units of the objective's problem. [ParsePrior] reads its text form, such
// as "lognormal(0, 1)".
//
// The objective adds −log p(θ), including the normalising constant, to the negative
// log likelihood. Its minimum is the mode of the posterior density over θ in
// natural units: it contains no Jacobian of θ = exp z, although the optimiser
// varies z. GPyTorch does the same, and so does GPflow by default (priors on the
// constrained value). The mode depends on this choice; a density over z has a
// different mode (for a lognormal prior, exp μ instead of exp(μ − σ²)).
type Prior struct {
	// Family is the name in the text form.
	Family string
	// Args are its arguments, in the order of the text form.
	Args []float64
}

// form is −log p(x), with z = log x, as a sum that covers all families:
//
//	constant + lz·z + ½qz(z − cz)² + lx·x + ½qx(x − cx)² + ½qb·d(x)²
//
// where d(x) = max(0, |x − centre| − radius) is the distance from a box. The same
// few nodes on vectors of coefficients then serve a vector of parameters with
// different priors.
type form struct {
	constant       float64
	lz, qz, cz     float64
	lx, qx, cx     float64
	qb             float64
	centre, radius float64
}

// argument is one argument of a family.
type argument struct {
	name string
	// positive means that it must be above 0. fallback is its default, NaN if it is
	// required.
	positive bool
	fallback float64
}

// priorFamily is one kind of density.
type priorFamily struct {
	name string
	args []argument
	// positive and real mark the kinds of parameters that accept it.
	positive, real bool
	form           func(a []float64) form
}

func needed(name string, positive bool) argument {
	return argument{name: name, positive: positive, fallback: math.NaN()}
}

// logRootTwoPi is ½ log 2π.
var logRootTwoPi = math.Log(2*math.Pi) / 2

// priorFamilies lists the densities:
//
//	lognormal(mu, sigma)            exp(−(log x − μ)²/2σ²) / (x σ √2π)
//	gamma(shape, rate)              rateᵃ xᵃ⁻¹ exp(−rate·x) / Γ(a), a = shape
//	halfnormal(scale)               √2 exp(−x²/2s²) / (s √π)
//	uniform(lo, hi)                 1/(hi − lo) between hard bounds
//	smoothedbox(lo, hi, sigma)      exp(−d²/2σ²) / (σ√2π + hi − lo), d the
//	                                distance from [lo, hi]: GPyTorch's
//	                                SmoothedBoxPrior, normalised over all reals
//	normal(mu, sigma)               exp(−(x − μ)²/2σ²) / (σ √2π)
var priorFamilies = []*priorFamily{
	{name: "lognormal", positive: true, args: []argument{needed("mu", false), needed("sigma", true)},
		form: func(a []float64) form {
			return form{constant: math.Log(a[1]) + logRootTwoPi, lz: 1, qz: 1 / (a[1] * a[1]), cz: a[0]}
		}},
	{name: "gamma", positive: true, args: []argument{needed("shape", true), needed("rate", true)},
		form: func(a []float64) form {
			lg, _ := math.Lgamma(a[0])
			return form{constant: lg - a[0]*math.Log(a[1]), lz: 1 - a[0], lx: a[1]}
		}},
	{name: "halfnormal", positive: true, args: []argument{needed("scale", true)},
		form: func(a []float64) form {
			return form{constant: math.Log(a[0]) + logRootTwoPi - math.Ln2, qx: 1 / (a[0] * a[0])}
		}},
	{name: "uniform", positive: true, real: true, args: []argument{needed("lo", false), needed("hi", false)},
		form: func(a []float64) form { return form{constant: math.Log(a[1] - a[0])} }},
	{name: "smoothedbox", positive: true, real: true,
		args: []argument{needed("lo", false), needed("hi", false), {name: "sigma", positive: true, fallback: 0.01}},
		form: func(a []float64) form {
			return form{
				constant: math.Log(a[2]*math.Sqrt(2*math.Pi) + a[1] - a[0]), qb: 1 / (a[2] * a[2]),
				centre: a[0]/2 + a[1]/2, radius: a[1]/2 - a[0]/2,
			}
		}},
	{name: "normal", real: true, args: []argument{needed("mu", false), needed("sigma", true)},
		form: func(a []float64) form {
			return form{constant: math.Log(a[1]) + logRootTwoPi, qx: 1 / (a[1] * a[1]), cx: a[0]}
		}},
}

// PriorFamilies returns the names of all prior families.
func PriorFamilies() []string {
	names := make([]string, len(priorFamilies))
	for i, f := range priorFamilies {
		names[i] = f.name
	}
	return names
}

func (p Prior) family() *priorFamily {
	i := slices.IndexFunc(priorFamilies, func(f *priorFamily) bool { return f.name == p.Family })
	if i < 0 {
		return nil
	}
	return priorFamilies[i]
}

// Suits reports whether the prior is for positive parameters or, if positive is
// false, for real ones such as the coefficients of a mean.
func (p Prior) Suits(positive bool) bool {
	f := p.family()
	return f != nil && (positive && f.positive || !positive && f.real)
}

// Support returns the hard bounds outside which the density is 0.
func (p Prior) Support() (lo, hi float64) {
	f := p.family()
	switch {
	case f.name == "uniform":
		return p.Args[0], p.Args[1]
	case f.real:
		return math.Inf(-1), math.Inf(1)
	}
	return 0, math.Inf(1)
}

// LogDensity returns log p(x), or −∞ outside the support.
func (p Prior) LogDensity(x float64) float64 {
	if lo, hi := p.Support(); x < lo || x > hi {
		return math.Inf(-1)
	}
	f := p.family().form(p.Args)
	sum := f.constant + f.lx*x + f.qx*(x-f.cx)*(x-f.cx)/2
	switch z := math.Log(x); { // −∞ at 0, where the z² term dominates
	case f.qz != 0 && x == 0:
		return z
	case f.qz != 0:
		sum += f.lz*z + f.qz*(z-f.cz)*(z-f.cz)/2
	case f.lz != 0:
		sum += f.lz * z
	}
	d := max(0, math.Abs(x-f.centre)-f.radius)
	return -(sum + f.qb*d*d/2)
}
