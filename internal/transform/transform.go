// Package transform maps targets to values that a normal distribution describes better: by the
// logarithm, and by the power transforms of Box & Cox and of Yeo & Johnson.
package transform

import (
	"fmt"
	"math"
	"slices"
)

// Name is a family of transforms.
type Name string

// The families. Box & Cox (An analysis of transformations, JRSS B 26 (1964), 211) and the logarithm
// need positive targets; Yeo & Johnson (A new family of power transformations, Biometrika 87
// (2000), 954) take all.
const (
	None       Name = "none"
	Log        Name = "log"
	BoxCox     Name = "boxcox"
	YeoJohnson Name = "yeojohnson"
	// Auto stands for the choice of one of the others.
	Auto Name = "auto"
	// Skewed stands for [OfColumn] of each column of inputs.
	Skewed Name = "skewed"
)

// Names lists the families, None first.
func Names() []Name { return []Name{None, Log, BoxCox, YeoJohnson} }

// Parameter is the name of λ among the parameters of a fit.
const Parameter = "lambda"

// Tuned reports whether the family has a parameter λ.
func (k Name) Tuned() bool { return k == BoxCox || k == YeoJohnson }

// Positive reports whether the family needs positive targets.
func (k Name) Positive() bool { return k == Log || k == BoxCox }

// Bounds of λ. Within them Yeo & Johnson's transform maps all numbers to all numbers, and a
// prediction has a finite mean: with λ < 0, a normal variable has no original value at one end.
const LowestLambda, HighestLambda = 0, 2

// Map is a transform of targets y. With u = (y − Shift)/Unit, which makes the slope 1 at u = 1
// (Log, BoxCox) or u = 0 (YeoJohnson) for any λ, and
//
//	ℓ = log u                       P(λ, ℓ) = (exp(λℓ) − 1)/λ, or ℓ for λ = 0      Log, BoxCox
//	ℓ = sgn(u)·log(1 + |u|)         P(λ, ℓ), or −P(2 − λ, −ℓ) for ℓ < 0            YeoJohnson
//
// its value is P(λ, ℓ), and its slope exp((λ − 1)ℓ)/Unit. Box & Cox divide their transform by the
// power λ − 1 of the geometric mean g of the targets, for the same reason; with Unit = g that is
// g·P, and the product of the slopes of all targets is g^−n for any λ.
type Map struct {
	Kind   Name    `json:"kind"`
	Lambda float64 `json:"lambda"`
	Shift  float64 `json:"shift"`
	Unit   float64 `json:"unit"`
}

// Check returns an error for a transform that cannot be.
func (t *Map) Check() error {
	switch {
	case !slices.Contains([]Name{Log, BoxCox, YeoJohnson}, t.Kind):
		return fmt.Errorf("unknown target transform %q", t.Kind)
	case !(t.Lambda >= LowestLambda && t.Lambda <= HighestLambda) || t.Kind == Log && t.Lambda != 0:
		return fmt.Errorf("target transform %s with lambda %v", t.Kind, t.Lambda)
	case !(t.Unit > 0) || math.IsInf(t.Unit, 1) || t.Shift-t.Shift != 0 || t.Kind.Positive() && t.Shift != 0:
		return fmt.Errorf("target transform %s with shift %v and unit %v", t.Kind, t.Shift, t.Unit)
	}
	return nil
}

// With returns the transform with another λ.
func (t *Map) With(lambda float64) *Map {
	out := *t
	out.Lambda = lambda
	return &out
}

// Contains reports whether y has a transformed value.
func (t *Map) Contains(y float64) bool { return !t.Kind.Positive() || y > 0 }

// Coordinate returns ℓ, which does not depend on λ. It is −∞ for y = 0 and NaN below it if the
// family needs positive targets.
func (t *Map) Coordinate(y float64) float64 {
	u := (y - t.Shift) / t.Unit
	switch {
	case t.Kind.Positive():
		return math.Log(u)
	case u < 0:
		return -math.Log1p(-u)
	}
	return math.Log1p(u)
}

// Forward returns the transformed value of y.
func (t *Map) Forward(y float64) float64 { return Value(t.Kind, t.Lambda, t.Coordinate(y)) }

// LogSlope returns the logarithm of the derivative of Forward at y.
func (t *Map) LogSlope(y float64) float64 {
	return (t.Lambda-1)*t.Coordinate(y) - math.Log(t.Unit)
}

// Value returns the transformed value at the coordinate ℓ.
func Value(k Name, lambda, l float64) float64 {
	if l < 0 && k == YeoJohnson {
		return -power(2-lambda, -l)
	}
	return power(lambda, l)
}

// ByLambda returns the derivative of Value by λ.
func ByLambda(k Name, lambda, l float64) float64 {
	if l < 0 && k == YeoJohnson {
		return l * l * rise(-(2-lambda)*l)
	}
	return l * l * rise(lambda*l)
}

// power returns (exp(λℓ) − 1)/λ.
func power(lambda, l float64) float64 {
	if lambda == 0 {
		return l
	}
	return math.Expm1(lambda*l) / lambda
}

// rise returns (x·exp(x) − exp(x) + 1)/x² = Σ_k xᵏ/(k!(k + 2)).
func rise(x float64) float64 {
	if math.Abs(x) > 0.5 {
		return (x*math.Exp(x) - math.Expm1(x)) / (x * x)
	}
	sum, power := 0.0, 1.0
	for k := 1.0; k < 20; k++ { // 0.5^18/18! is below the unit roundoff
		sum += power / (k + 1)
		power *= x / k
	}
	return sum
}

// Inverse returns the target with the transformed value v. Values below the range of Box & Cox's
// transform, −1/λ, stand for 0, and values whose targets no number holds for the largest number.
func (t *Map) Inverse(v float64) float64 {
	return max(-math.MaxFloat64, min(t.inverse(v), math.MaxFloat64))
}

func (t *Map) inverse(v float64) float64 {
	if t.Kind == YeoJohnson && v < 0 {
		return t.Shift - t.Unit*math.Expm1(root(2-t.Lambda, -v))
	}
	l := root(t.Lambda, v)
	if t.Kind.Positive() {
		return t.Unit * math.Exp(l)
	}
	return t.Shift + t.Unit*math.Expm1(l)
}

// root returns ℓ with (exp(λℓ) − 1)/λ = v, −∞ below the range.
func root(lambda, v float64) float64 {
	if lambda == 0 {
		return v
	}
	return math.Log1p(max(lambda*v, -1)) / lambda
}
