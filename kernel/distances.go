package kernel

import (
	"fmt"
	"math"
	"slices"
)

// A leaf may take other distances between points of two columns: along axes of any direction, or through a sphere, between places
// with a latitude and a longitude.
const rotatedName, sphereName = "rotated", "sphere"

// tilt turns the axes of distances; it has no units and is of either sign.
var tilt = Parameter{Name: "tilt", Kind: Location}

// takesDistances reports whether a family has functions of distances alone, which may be other distances.
func (f *Family) takesDistances() bool {
	return f.of == nil && f.formula == nil && f.Name != "arcsine" && slices.Contains(families, f) && slices.Contains(f.Parameters, lengthscale)
}

// otherDistance returns the word for the distances of the family, "" for the usual ones.
func (f *Family) otherDistance() string {
	if f.of != nil && (f.Name == rotatedName || f.Name == sphereName) {
		return f.Name
	}
	return ""
}

// withDistance makes the family of a family's functions of other distances, whose square a function computes.
func (f *Family) withDistance(name string, more []Parameter, squared func(p *Pair) *Node) *Family {
	out := *f
	out.Name, out.of, out.Parameters = name, f, append(slices.Clone(f.Parameters), more...)
	out.Function = func(p *Pair) *Node {
		if len(p.dims) != 2 {
			p.Fail("%s distances are between points of two columns, not %d: choose two with dims=[a, b]", name, len(p.dims))
			return p.Number(0)
		}
		own := *p
		own.squared = squared(p)
		return f.Function(&own)
	}
	return &out
}

// distance gives a leaf other distances, or calls fail if it has some already. With rotated ones each column has a lengthscale anyway.
func (l *Leaf) distance(name string, fail func() error) error {
	switch has := l.Family.otherDistance(); {
	case name == "ard" && has == rotatedName:
	case has != "" || name == sphereName && l.ARD:
		return fail()
	case name == rotatedName:
		l.Family, l.ARD = l.Family.withDistance(name, []Parameter{tilt}, (*Pair).rotatedDistance), true
	default:
		l.Family = l.Family.withDistance(name, nil, (*Pair).chord)
	}
	return nil
}

// rotatedDistance is the geometric anisotropy of kriging (Chilès & Delfiner, Geostatistics, 2012, section 2.5.2): with
// u = Δ_a/ρ_a and v = Δ_b/ρ_b
//
//	r² = u² + (v − t·u)².
//
// Every positive definite form of the two differences has this form for one ρ_a, ρ_b and t, the number tilt. It keeps t where
// a column has other units.
func (p *Pair) rotatedDistance() *Node {
	scaled := func(q int) *Node {
		c := p.column(q)
		return p.Div(c.Differences()[0], c.Parameter(lengthscale.Name))
	}
	u := scaled(0)
	v := p.Sub(scaled(1), p.Mul(p.Parameter(tilt.Name), u))
	return p.Add(p.Square(u), p.Square(v))
}

// chord is the squared length of the line through the sphere between two places, in degrees of arc of a short line, and
// divided by ρ²: with latitudes φ and longitudes λ
//
//	r² = (2R/ρ)²·(sin²(Δφ/2) + cos φ cos φ′ sin²(Δλ/2)),  R = 180/π.
//
// It is a distance in three dimensions, so that every family that is a covariance function there is one on the sphere; with
// distances along the surface few are (Gneiting, Bernoulli 19 (2013), 1327).
func (p *Pair) chord() *Node {
	const turn = 360 // degrees
	latitude, longitude := p.column(0), p.column(1)
	half := func(c *Pair) *Node { return p.Square(p.SineOfTurns(p.Scale(0.5/turn, c.Differences()[0]))) }
	first, second := latitude.Coordinates()
	cosine := func(x *Node) *Node { return p.CosineOfTurns(p.Scale(1.0/turn, x)) }
	sum := p.Add(half(latitude), p.Mul(cosine(first), cosine(second), half(longitude)))
	r := p.Parameter(lengthscale.Name)
	return p.Div(p.Scale(turn*turn/math.Pi/math.Pi, sum), p.Square(r))
}

// OnSphere returns the columns of latitudes and longitudes of leaves with distances through a sphere, which are in degrees; of the
// given ones for a leaf without dims.
func OnSphere(e Expr, all []int) (latitudes, longitudes []int) {
	mapLeaves(e, "", func(l *Leaf, _ string) *Leaf {
		dims := l.Dims
		if dims == nil {
			dims = all
		}
		if l.Family.otherDistance() == sphereName && len(dims) == 2 {
			latitudes, longitudes = append(latitudes, dims[0]), append(longitudes, dims[1])
		}
		return l
	})
	return latitudes, longitudes
}

// BeyondPole returns the place in x, rows of all of some features, of the first latitude of a kernel of the columns used that is beyond a pole, and
// what is wrong with it; −1 if there is none.
func BeyondPole(e Expr, used []int, x []float64, features int) (at int, why string) {
	latitudes, _ := OnSphere(e, used)
	for _, c := range latitudes {
		for i := c; i < len(x); i += features {
			if math.Abs(x[i]) > 90 {
				return i, fmt.Sprintf("is a latitude in the kernel, between -90 and 90 degrees, but has the value %v: sphere takes dims=[latitude, longitude]", x[i])
			}
		}
	}
	return -1, ""
}
