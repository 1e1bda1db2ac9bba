package graph

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gorgonia.org/gorgonia"

	"gpfit/internal/score"
	"gpfit/internal/suggest"
	"gpfit/internal/textform"
)

// Prior is a probability density of one parameter, not of its logarithm, in the natural units of
// the objective's problem. [ParsePrior] reads its text form, such as "lognormal(0, 1)".
//
// The objective adds −log p(θ), including the normalizing constant, to the negative log
// likelihood. Its minimum is the mode of the posterior density over θ in natural units: it
// contains no Jacobian of θ = exp z, although the optimizer varies z. GPyTorch does the same, and
// so does GPflow by default (priors on the constrained value). The mode depends on this choice; a
// density over z has a different mode (for a lognormal prior, exp μ instead of exp(μ − σ²)).
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
// where d(x) = max(0, |x − centre| − radius) is the distance from a box. The same few nodes on
// vectors of coefficients then serve a vector of parameters with different priors.
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
	// positive means that it must be above 0. fallback is its default, NaN if it is required.
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

// priorFamilies lists the densities:
//
//	lognormal(mu, sigma)            exp(−(log x − μ)²/2σ²) / (x σ √2π)
//	gamma(shape, rate)              rateᵃ xᵃ⁻¹ exp(−rate·x) / Γ(a), a = shape
//	halfnormal(scale)               √2 exp(−x²/2s²) / (s √π)
//	uniform(lo, hi)                 1/(hi − lo) between hard bounds
//	smoothedbox(lo, hi, sigma)      exp(−d²/2σ²) / (σ√2π + hi − lo), d the
//	                                distance from [lo, hi]: GPyTorch's
//	                                SmoothedBoxPrior, normalized over all reals
//	normal(mu, sigma)               exp(−(x − μ)²/2σ²) / (σ √2π)
var priorFamilies = []*priorFamily{
	{name: "lognormal", positive: true, args: []argument{needed("mu", false), needed("sigma", true)},
		form: func(a []float64) form {
			return form{constant: math.Log(a[1]) + score.LogRootTwoPi, lz: 1, qz: 1 / (a[1] * a[1]), cz: a[0]}
		}},
	{name: "gamma", positive: true, args: []argument{needed("shape", true), needed("rate", true)},
		form: func(a []float64) form {
			lg, _ := math.Lgamma(a[0])
			return form{constant: lg - a[0]*math.Log(a[1]), lz: 1 - a[0], lx: a[1]}
		}},
	{name: "halfnormal", positive: true, args: []argument{needed("scale", true)},
		form: func(a []float64) form {
			return form{constant: math.Log(a[0]) + score.LogRootTwoPi - math.Ln2, qx: 1 / (a[0] * a[0])}
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
			return form{constant: math.Log(a[1]) + score.LogRootTwoPi, qx: 1 / (a[1] * a[1]), cx: a[0]}
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

// NegLogPrior returns a function for [Spec].Prior that builds the sum of −log p from built-in
// nodes. The keys of priors are names of elements ("lengthscale[0]"). They must be free
// parameters, because a derived parameter has no separate density.
func NegLogPrior(priors map[string]Prior) func(Nodes) (*gorgonia.Node, error) {
	return func(nodes Nodes) (*gorgonia.Node, error) {
		sum := &priorSum{nodes: nodes}
		used := 0
		for _, v := range nodes.vars {
			forms := make([]form, len(v.elements))
			for i, element := range v.elements {
				p, ok := priors[element]
				if !ok {
					continue
				}
				if !p.Suits(v.isLog) {
					return nil, fmt.Errorf("%s is not a prior for %s", p, element)
				}
				used++
				forms[i] = p.family().form(p.Args)
				sum.constant += forms[i].constant
			}
			sum.variable(v, forms)
		}
		if used != len(priors) {
			return nil, fmt.Errorf("%d priors, but only %d are for free parameters", len(priors), used)
		}
		sum.add(nodes.input("prior constant", []float64{sum.constant}))
		return sum.total, sum.err
	}
}

// priorSum builds the sum of −log p and keeps the first error.
type priorSum struct {
	nodes    Nodes
	constant float64
	total    *gorgonia.Node
	err      error
}

// one applies an operation to a node, two to two nodes; nil after an error.
func (s *priorSum) one(f func(a *gorgonia.Node) (*gorgonia.Node, error), a *gorgonia.Node) (out *gorgonia.Node) {
	if s.err == nil {
		out, s.err = f(a)
	}
	return out
}

func (s *priorSum) two(f func(a, b *gorgonia.Node) (*gorgonia.Node, error), a, b *gorgonia.Node) (out *gorgonia.Node) {
	if s.err == nil {
		out, s.err = f(a, b)
	}
	return out
}

func (s *priorSum) add(term *gorgonia.Node) {
	if s.total != nil {
		term = s.two(gorgonia.Add, s.total, term)
	}
	s.total = term
}

// variable adds the terms of one variable, without terms that no element has.
// Coefficients are inputs, because Gorgonia merges constants that print alike.
func (s *priorSum) variable(v *variable, forms []form) {
	input := func(what string, of func(form) float64) *gorgonia.Node {
		values := make([]float64, len(forms))
		for i, f := range forms {
			values[i] = of(f)
		}
		return s.nodes.input("prior "+v.name+" "+what, values)
	}
	// weighted adds Σ cᵢ f(node)ᵢ for the coefficients c, as a product of scalars
	// or an inner product of vectors.
	weighted := func(what string, of func(form) float64, f func() *gorgonia.Node) {
		if s.err == nil && slices.ContainsFunc(forms, func(g form) bool { return of(g) != 0 }) {
			node := f()
			s.add(s.two(gorgonia.Mul, input(what, of), node))
		}
	}
	z, x := v.node, v.natural
	squareFrom := func(n *gorgonia.Node, what string, of func(form) float64) func() *gorgonia.Node {
		return func() *gorgonia.Node { return s.one(gorgonia.Square, s.two(gorgonia.Sub, n, input(what, of))) }
	}
	weighted("lz", func(f form) float64 { return f.lz }, func() *gorgonia.Node { return z })
	weighted("qz", func(f form) float64 { return f.qz / 2 }, squareFrom(z, "cz", func(f form) float64 { return f.cz }))
	weighted("lx", func(f form) float64 { return f.lx }, func() *gorgonia.Node { return x })
	weighted("qx", func(f form) float64 { return f.qx / 2 }, squareFrom(x, "cx", func(f form) float64 { return f.cx }))
	// d = ½(u + |u|) with u = |x − centre| − radius; the node is 4d².
	weighted("qb", func(f form) float64 { return f.qb / 8 }, func() *gorgonia.Node {
		u := s.one(gorgonia.Abs, s.two(gorgonia.Sub, x, input("centre", func(f form) float64 { return f.centre })))
		u = s.two(gorgonia.Sub, u, input("radius", func(f form) float64 { return f.radius }))
		return s.one(gorgonia.Square, s.two(gorgonia.Add, u, s.one(gorgonia.Abs, u)))
	})
}

// PriorError reports the text of a prior that cannot be read.
type PriorError = textform.Error

// String returns the text form, which [ParsePrior] reads back.
func (p Prior) String() string { return textform.Call(p.Family, textform.Words(p.Args)) }

// usage returns the family with the names of its arguments.
func (f *priorFamily) usage() string {
	words := make([]string, len(f.args))
	for i, a := range f.args {
		words[i] = a.name
		if !math.IsNaN(a.fallback) {
			words[i] += fmt.Sprint("=", a.fallback)
		}
	}
	return textform.Call(f.name, words)
}

// ParsePrior reads a prior, FAMILY(NUMBER, …) or FAMILY(NAME=NUMBER, …), for example "gamma(2,
// 0.5)" or "gamma(shape=2, rate=0.5)". Errors are [*PriorError].
func ParsePrior(text string) (Prior, error) {
	p := &priorParser{textform.Scanner{What: "prior", Text: text}}
	name, _, err := p.OneOf("density", PriorFamilies())
	if err != nil {
		return Prior{}, err
	}
	f := Prior{Family: name}.family()
	if !p.Accept('(') {
		return Prior{}, p.Fail(p.Pos, "expected '(': %s", f.usage())
	}
	out := Prior{Family: name, Args: make([]float64, len(f.args))}
	starts := make([]int, len(f.args))
	for i, a := range f.args {
		out.Args[i], starts[i] = a.fallback, -1
	}
	if !p.Accept(')') {
		given, named := 0, false
		err := p.List(')', func() error {
			given++
			return p.argument(f, given-1, &named, out.Args, starts)
		})
		if err != nil {
			return Prior{}, err
		}
	}
	closing := p.Pos - 1
	if !p.AtEnd() {
		return Prior{}, p.Expected("the end")
	}
	for i, a := range f.args {
		if math.IsNaN(out.Args[i]) {
			return Prior{}, p.Fail(closing, "%s is missing: %s", a.name, f.usage())
		}
	}
	if err := p.check(f, out.Args, starts); err != nil {
		return Prior{}, err
	}
	return out, nil
}

type priorParser struct{ textform.Scanner }

// argument reads the i-th NUMBER or NAME=NUMBER.
func (p *priorParser) argument(f *priorFamily, i int, named *bool, args []float64, starts []int) error {
	text, start := p.Value()
	switch {
	case p.Accept('='):
		*named = true
		names := make([]string, len(f.args))
		for k, a := range f.args {
			names[k] = a.name
		}
		if i = slices.Index(names, text); i < 0 {
			return p.Fail(start, "%s has no argument %q%s: %s", f.name, text, suggest.DidYouMean(text, names), f.usage())
		}
		text, start = p.Value()
	case *named:
		return p.Fail(start, "a number without a name follows one with a name: %s", f.usage())
	case i >= len(f.args):
		return p.Fail(start, "too many arguments: %s", f.usage())
	}
	a := f.args[i]
	if starts[i] >= 0 {
		return p.Fail(start, "%s is given twice", a.name)
	}
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case text == "":
		return p.Fail(start, "expected a number for %s: %s", a.name, f.usage())
	case err != nil || v-v != 0:
		return p.Fail(start, "%s needs a finite number, not %q", a.name, text)
	case a.positive && !(v > 0):
		return p.Fail(start, "%s must be positive", a.name)
	}
	args[i], starts[i] = v, start
	return nil
}

// check compares the arguments and rejects arguments whose density overflows or underflows.
func (p *priorParser) check(f *priorFamily, args []float64, starts []int) error {
	if f.args[0].name == "lo" && !(args[0] < args[1]) {
		return p.Fail(starts[1], "hi must be above lo")
	}
	g := f.form(args)
	for _, v := range []float64{g.constant, g.lz, g.qz, g.cz, g.lx, g.qx, g.cx, g.qb, g.centre, g.radius} {
		if v-v != 0 {
			return p.Fail(0, "these numbers are too large or too small to compute with")
		}
	}
	return nil
}
