package devicetest

import (
	"fmt"
	"math"
	"math/cmplx"
	"strings"
	"testing"

	"gpfit/internal/each"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// This file implements the covariance functions independently, from the literature, for one pair of
// points at a time. It shares nothing with the code that evaluates them for devices. All formulas
// are analytic in the parameters and are evaluated in complex numbers, so that a derivative is the
// imaginary part after a tiny imaginary step. This is exact to rounding and needs no separate
// formula (Squire & Trapp, SIAM Review 40 (1998), 110).

// pair is the input of a formula: the columns of two points that a leaf acts on,
// and the leaf's parameters.
type pair struct {
	*leaf
	theta []complex128
	x, y  []float64
}

// leaf is a covariance function of one family, with the columns that it acts on, its number, from
// 1, and the positions of its parameters in θ, one for all columns or one for each.
type leaf struct {
	columns []int
	degree  int
	places  map[string][]int
	start   map[string][]float64 // of the text
}

// parameter returns a parameter of the q-th column. It is 0 if the text says so, and 1 if
// the leaf has no parameter of that name.
func (p pair) parameter(name string, q int) complex128 {
	if places := p.places[name]; len(places) > 0 {
		return p.theta[places[min(q, len(places)-1)]]
	}
	if v := p.start[name]; len(v) == 1 && v[0] == 0 {
		return 0
	}
	return 1
}

// difference returns x_c − y_c for the q-th column c.
func (p pair) difference(q int) complex128 {
	c := p.columns[q]
	return complex(p.x[c]-p.y[c], 0)
}

// distance returns r = (Σ (x_c − y_c)²/ρ_c²)^½.
func (p pair) distance() complex128 {
	sum := complex128(0)
	for q := range p.columns {
		d := p.difference(q) / p.parameter("lengthscale", q)
		sum += d * d
	}
	return cmplx.Sqrt(sum)
}

// inner returns Σ x_c y_c/ρ_c².
func (p pair) inner() complex128 {
	sum := complex128(0)
	for q, c := range p.columns {
		rho := p.parameter("lengthscale", q)
		sum += complex(p.x[c]*p.y[c], 0) / (rho * rho)
	}
	return sum
}

// inSpace returns the pair with the coordinates in space of its places on a sphere, whose columns are latitudes and longitudes in
// degrees.
func (p pair) inSpace() pair {
	const radius = 180 / math.Pi
	at := func(x []float64) []float64 {
		sinLat, cosLat := math.Sincos(x[p.columns[0]] / radius)
		sinLon, cosLon := math.Sincos(x[p.columns[1]] / radius)
		return []float64{radius * cosLat * cosLon, radius * cosLat * sinLon, radius * sinLat}
	}
	space := *p.leaf
	space.columns = []int{0, 1, 2}
	return pair{&space, p.theta, at(p.x), at(p.y)}
}

// additive returns Σ s_c k(x_c, y_c) with a covariance function k of one column (Duvenaud, Nickisch & Rasmussen, NIPS 2011).
func (p pair) additive(k func(p pair) complex128) complex128 {
	sum := complex128(0)
	for q := range p.columns {
		one := *p.leaf
		one.columns, one.places = p.columns[q:q+1], map[string][]int{}
		for name, at := range p.places {
			one.places[name] = at[min(q, len(at)-1):][:1]
		}
		column := pair{&one, p.theta, p.x, p.y}
		sum += column.parameter("variance", 0) * k(column)
	}
	return sum
}

// formulaText is a formula with operations that no family uses.
const formulaText = "formula((1 + a*r2)^-b, a=1, b=1.5)"

// formulas maps names to families. R&W is Rasmussen & Williams, Gaussian Processes
// for Machine Learning (2006).
var formulas = map[string]func(p pair) complex128{
	// R&W eq. 4.9.
	"rbf": func(p pair) complex128 { r := p.distance(); return cmplx.Exp(-r * r / 2) },
	// R&W eq. 4.14 to 4.17, ν = 1/2, 3/2 and 5/2.
	"matern12": func(p pair) complex128 { return cmplx.Exp(-p.distance()) },
	"matern32": func(p pair) complex128 {
		t := complex(math.Sqrt(3), 0) * p.distance()
		return (1 + t) * cmplx.Exp(-t)
	},
	"matern52": func(p pair) complex128 {
		t := complex(math.Sqrt(5), 0) * p.distance()
		return (1 + t + t*t/3) * cmplx.Exp(-t)
	},
	// R&W eq. 4.19.
	"rq": func(p pair) complex128 {
		r, alpha := p.distance(), p.parameter("alpha", 0)
		return cmplx.Pow(1+r*r/(2*alpha), -alpha)
	},
	// MacKay, Introduction to Gaussian Processes (1998), and R&W eq. 4.31: the
	// product over the columns of exp(−2 sin²(πΔ/p)/ρ²).
	"periodic": func(p pair) complex128 {
		product := complex128(1)
		for q := range p.columns {
			s := cmplx.Sin(math.Pi*p.difference(q)/p.parameter("period", q)) / p.parameter("lengthscale", q)
			product *= cmplx.Exp(-2 * s * s)
		}
		return product
	},
	// Bochner's theorem, R&W eq. 4.5: the real part of a character of the columns.
	"cosine": func(p pair) complex128 {
		turns := complex128(0)
		for q := range p.columns {
			turns += p.difference(q) / p.parameter("period", q)
		}
		return cmplx.Cos(2 * math.Pi * turns)
	},
	// R&W table 4.1 and Duvenaud, Automatic Model Construction with Gaussian
	// Processes (2014), §2.2.
	"linear": func(p pair) complex128 { return p.inner() },
	"poly": func(p pair) complex128 {
		power, base := complex128(1), p.parameter("offset", 0)+p.inner()
		for range p.degree {
			power *= base
		}
		return power
	},
	// R&W eq. 4.14 by the recursion of the reverse Bessel polynomials.
	"matern": func(p pair) complex128 {
		t, before, now, atZero := complex(math.Sqrt(float64(2*p.degree-1)), 0)*p.distance(), complex128(1), complex128(1), 1.0
		for n := 1; n < p.degree; n++ {
			next := 1 + t
			if n > 1 {
				next = complex(float64(2*n-1), 0)*now + t*t*before
				atZero *= float64(2*n - 1)
			}
			before, now = now, next
		}
		return now / complex(atZero, 0) * cmplx.Exp(-t)
	},
	// R&W eq. 4.21, with j = ⌊d/2⌋ + q + 1.
	"wendland": func(p pair) complex128 {
		r, q := p.distance(), p.degree-1
		if real(r) >= 1 {
			return 0
		}
		j := complex(float64(len(p.columns)/2+q+1), 0)
		return cmplx.Pow(1-r, j+complex(float64(q), 0)) * []complex128{1, (j+1)*r + 1, ((j*j+4*j+3)*r*r + (3*j+6)*r + 3) / 3}[q]
	},
	// Williams, Neural Computation 10 (1998), 1203, eq. 11.
	"arcsine": func(p pair) complex128 {
		inner := func(x, y []float64) complex128 {
			both := p
			both.x, both.y = x, y
			return 2 * (p.parameter("offset", 0) + both.inner())
		}
		return 2 / math.Pi * arcsine(inner(p.x, p.y)/cmplx.Sqrt((1+inner(p.x, p.x))*(1+inner(p.y, p.y))))
	},
	// Gibbs, Bayesian Gaussian Processes for Regression and Classification (1997),
	// eq. 3.20, with the same lengthscale in all directions.
	"gibbs": func(p pair) complex128 {
		d := complex(float64(len(p.columns)), 0)
		squared := func(x []float64) complex128 {
			mean := complex128(0)
			for _, c := range p.columns {
				mean += complex(x[c], 0) / d
			}
			return cmplx.Pow(p.parameter("lengthscale_low", 0), 1-mean) * cmplx.Pow(p.parameter("lengthscale_high", 0), 1+mean)
		}
		a, b, sum := squared(p.x), squared(p.y), complex128(0)
		for q := range p.columns {
			sum += p.difference(q) * p.difference(q)
		}
		return cmplx.Pow(2*cmplx.Sqrt(a*b)/(a+b), d/2) * cmplx.Exp(-sum/(a+b))
	},
	// Hutter, Hoos & Leyton-Brown, LION 5 (2011), eq. 1, with weights 1/ρ².
	"hamming": func(p pair) complex128 {
		sum := complex128(0)
		for q := range p.columns {
			if p.difference(q) != 0 {
				rho := p.parameter("lengthscale", q)
				sum += 1 / (rho * rho)
			}
		}
		return cmplx.Exp(-sum)
	},
	// The only formula tested, formulaText.
	"formula": func(p pair) complex128 {
		r := p.distance()
		return cmplx.Pow(1+p.parameter("a", 0)*r*r, -p.parameter("b", 0))
	},
	"constant": func(pair) complex128 { return 1 },
}

// arcsine returns arcsin z for z with a tiny imaginary part, which cmplx.Asin
// loses. It takes one Newton step from the arcsine of the real part.
func arcsine(z complex128) complex128 {
	w := complex(math.Asin(real(z)), 0)
	return w - (cmplx.Sin(w)-z)/cmplx.Cos(w)
}

// covariance computes k(x, y) as a function of θ, in complex numbers.
type covariance func(theta []complex128, x, y []float64) complex128

// newCovariance parses the text of a kernel for points of d columns. names are the
// names of the elements of θ; they determine the positions of the parameters and
// which terms have a signal variance.
func newCovariance(t testing.TB, text string, d int, names []string) covariance {
	t.Helper()
	expr := testcheck.Get(kernel.Parse(text))(t)
	b := builder{t: t, places: map[string]int{}, d: d}
	for i, name := range names {
		b.places[name] = i
	}
	k := b.build(expr, "")
	if len(b.places) > 0 {
		t.Fatalf("%s: parameters %v are of no part of it", text, b.places)
	}
	return k
}

// value returns k(x, y) at theta.
func (k covariance) value(theta, x, y []float64) float64 { return real(k(complexes(theta), x, y)) }

// slopes writes the derivatives of k(x, y) by log θ to dst.
func (k covariance) slopes(dst, theta, x, y []float64) {
	const step = 1e-20
	z := complexes(theta)
	for i, v := range z {
		z[i] = v * complex(1, step)
		dst[i] = imag(k(z, x, y)) / step
		z[i] = v
	}
}

func complexes(v []float64) []complex128 {
	return each.Of(v, func(r float64) complex128 { return complex(r, 0) })
}

// builder builds covariances. It removes the names in places as it finds their parameters.
type builder struct {
	t      testing.TB
	places map[string]int
	d      int
}

// take returns the position of a parameter, if one has that name.
func (b builder) take(name string) (place int, ok bool) {
	place, ok = b.places[name]
	delete(b.places, name)
	return place, ok
}

// build returns the covariance of a part of an expression. The names of its
// parameters begin with prefix, to which the i-th part of a sum or product, from 1,
// adds "ki.". A part with a signal variance is multiplied by it.
func (b builder) build(e kernel.Expr, prefix string) covariance {
	k := b.unscaled(e, prefix)
	place, ok := b.take(prefix + "signal_variance")
	if !ok {
		return k
	}
	return func(theta []complex128, x, y []float64) complex128 { return theta[place] * k(theta, x, y) }
}

func (b builder) unscaled(e kernel.Expr, prefix string) covariance {
	fold := func(parts []kernel.Expr, start complex128, combine func(a, b complex128) complex128) covariance {
		var all []covariance
		for i, part := range parts {
			all = append(all, b.build(part, fmt.Sprintf("%sk%d.", prefix, i+1)))
		}
		return func(theta []complex128, x, y []float64) complex128 {
			v := start
			for _, k := range all {
				v = combine(v, k(theta, x, y))
			}
			return v
		}
	}
	switch e := e.(type) {
	case kernel.Sum:
		return fold(e, 0, func(a, b complex128) complex128 { return a + b })
	case kernel.Product:
		return fold(e, 1, func(a, b complex128) complex128 { return a * b })
	}
	l := e.(*kernel.Leaf)
	bound, formula := b.leaf(l, prefix), formulas[l.Family.Name]
	if l.Family.Name == "additive" {
		of, _, _ := strings.Cut(strings.Trim(strings.TrimPrefix(l.String(), "additive"), "()"), ",")
		formula = func(p pair) complex128 { return p.additive(formulas[of]) }
	}
	if l.Family.Name == "sphere" {
		of, _, _ := strings.Cut(l.String(), "(")
		formula = func(p pair) complex128 { return formulas[of](p.inSpace()) }
	}
	if formula == nil {
		b.t.Fatalf("devicetest has no formula from the literature for the kernel %s: add it to formulas in device/devicetest/covariance.go", l.Family.Name)
	}
	return func(theta []complex128, x, y []float64) complex128 { return formula(pair{bound, theta, x, y}) }
}

// leaf finds the parameters of a leaf; a parameter for each column is found by the column's number.
func (b builder) leaf(l *kernel.Leaf, prefix string) *leaf {
	out := &leaf{columns: l.Dims, degree: l.Degree, places: map[string][]int{}, start: l.Start}
	if out.columns == nil {
		out.columns = kernel.Columns(b.d)
	}
	for _, name := range []string{"lengthscale", "period", "alpha", "variance", "offset", "lengthscale_low", "lengthscale_high", "a", "b"} {
		if place, ok := b.take(prefix + name); ok {
			out.places[name] = []int{place}
		}
		for _, c := range out.columns {
			if place, ok := b.take(fmt.Sprintf("%s%s[%d]", prefix, name, c)); ok {
				out.places[name] = append(out.places[name], place)
			}
		}
	}
	return out
}
