package vec

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/internal/isa"
)

// maxPowerULP bounds the errors of powers, in units in the last place. The generic variant multiplies by [math.Exp], whose
// errors of up to 1.33 units count twice where the result is below the power of 2 that the factor is above.
const (
	maxPowerULP        = 1.5
	maxGenericPowerULP = 2.0
)

// maxFunctionULP bounds the errors of hyperbolic tangents and arcsines, in units in the last place.
const maxFunctionULP = 4.0

// function is a function of one element: run applies it to rows, want computes it
// for one number, and tol is the tolerance.
type function struct {
	name string
	run  func(dst, src []float64)
	want func(x float64) float64
	tol  func(x, want float64) float64
}

var testCoefficients = []float64{0.5, -1.5, 0.75, 2, -0.125, 0.0625, 1, -3}

// functionsWith lists the functions with the factor c.
func functionsWith(c float64) []function {
	exactly := func(x, want float64) float64 { return 0 }
	relative := func(x, want float64) float64 { return 4 * eps * math.Abs(want) }
	const o = -0.7
	list := []function{
		{"Sqrt", func(dst, src []float64) { Sqrt(dst, src, c) }, func(x float64) float64 { return math.Sqrt(c * x) }, exactly},
		{"Inverse", func(dst, src []float64) { Inverse(dst, src, c, o) }, func(x float64) float64 { return 1 / (c*x + o) },
			func(x, want float64) float64 { return 2 * eps * math.Abs(want) * (1 + math.Abs(o*want)) }},
		{"RootInverse", func(dst, src []float64) { RootInverse(dst, src, c) }, func(x float64) float64 {
			if c*x == 0 {
				return 0
			}
			return 1 / math.Sqrt(c*x)
		}, exactly},
		{"Log", func(dst, src []float64) { Log(dst, src, c) }, func(x float64) float64 {
			frac, e := math.Frexp(c * x) // math.Log is wrong for some subnormal numbers on some processors
			if l := math.Log(frac); e > -1000 || frac <= 0 {
				return math.Log(c * x)
			} else {
				return l + float64(e)*math.Ln2
			}
		}, relative},
		{"Sine", func(dst, src []float64) { Sine(dst, src, c, 3) }, func(x float64) float64 { return 3 * SinTurns(c*x) },
			func(x, want float64) float64 { return 3 * maxTurnAbs }},
		{"Abs", Abs, math.Abs, exactly},
		{"Positive", func(dst, src []float64) { Positive(dst, src, c, o) }, func(x float64) float64 { return math.Max(c*x+o, 0) },
			func(x, want float64) float64 { return eps * (math.Abs(o) + want) }},
		{"Step", Step, func(x float64) float64 {
			switch {
			case x > 0:
				return 1
			case x <= 0:
				return 0
			}
			return x
		}, exactly},
		{"ExpScaled", func(dst, src []float64) { ExpScaled(dst, src, c, 3) }, func(x float64) float64 { return 3 * math.Exp(c*x) },
			func(x, want float64) float64 {
				if x == 0 {
					return 0
				}
				return 4 * eps * want
			}},
		{"Affine", func(dst, src []float64) { Affine(dst, src, c, o) }, func(x float64) float64 { return c*x + o },
			func(x, want float64) float64 { return eps * (math.Abs(o) + math.Abs(want)) }},
		{"Tanh", func(dst, src []float64) { Tanh(dst, src, c) }, func(x float64) float64 { return math.Tanh(c * x) }, func(x, want float64) float64 { return maxFunctionULP * eps * math.Abs(want) }},
		{"Arcsine", func(dst, src []float64) { Arcsine(dst, src, c) }, func(x float64) float64 { return math.Asin(c * x) },
			func(x, want float64) float64 { return 1e-12 * math.Abs(want) }}, // for the error of math.Asin: see arcsineGo
	}
	for _, p := range []float64{2.5, -0.7, 3, -3, 0, 1, math.NaN(), -1e300} {
		list = append(list, function{fmt.Sprintf("Power %g", p), func(dst, src []float64) { Power(dst, src, c, p) },
			func(x float64) float64 { return powerOf(c*x, p) }, func(x, want float64) float64 { return max(4*eps*math.Abs(want), 5e-324) }})
	}
	for d := 1; d <= len(testCoefficients); d++ {
		coef := testCoefficients[:d]
		horner := func(x float64, of func(float64) float64) float64 {
			p := of(coef[d-1])
			for k := d - 2; k >= 0; k-- {
				p = p*x + of(coef[k])
			}
			return p
		}
		list = append(list, function{fmt.Sprintf("Polynomial, %d coefficients", d), func(dst, src []float64) { Polynomial(dst, src, coef) },
			func(x float64) float64 { return horner(x, func(c float64) float64 { return c }) },
			func(x, want float64) float64 { return 2 * float64(d-1) * eps * horner(math.Abs(x), math.Abs) }})
	}
	return list
}

// wrong reports whether got differs from want by more than tol; NaN and infinities must agree.
func wrong(got, want, tol float64) bool {
	if want != want || math.IsInf(want, 0) || got == want {
		return got != want && (got == got || want == want)
	}
	return !(math.Abs(got-want) <= tol)
}

// TestFunctionRows checks every length and surroundings, numbers of both signs
// and zeros, and the result in place of the argument.
func TestFunctionRows(t *testing.T) {
	list := functionsWith(0.3)
	lengths(t, func(d data, n int) {
		src := d.fill(n, func() float64 {
			if d.rng.IntN(9) == 0 {
				return 0
			}
			return 2 * d.rng.NormFloat64()
		})
		copied := append([]float64(nil), src...)
		dst, inPlace := d.output(n), d.output(n)
		for _, f := range list {
			f.run(dst, src)
			for j, x := range src {
				if want := f.want(x); x != copied[j] || wrong(dst[j], want, f.tol(x, want)) {
					t.Fatalf("%s, length %d: element %d is %v for %v, want %v", f.name, n, j, dst[j], x, want)
				}
			}
			copy(inPlace, src)
			f.run(inPlace, inPlace)
			for j, v := range inPlace {
				if wrong(v, dst[j], 0) {
					t.Fatalf("%s in place, length %d: element %d is %v, otherwise %v", f.name, n, j, v, dst[j])
				}
			}
		}
	})
}

// TestFunctionSpecial puts the special numbers of the functions into every lane in
// turn, next to ordinary ones.
func TestFunctionSpecial(t *testing.T) {
	inf := math.Inf(1)
	special := []float64{
		0, math.Copysign(0, -1), 1, -1, inf, -inf, math.NaN(), math.MaxFloat64, -math.MaxFloat64, 5e-324, -5e-324,
		1e-310, -1e-310, 0x1p-1022, math.Nextafter(0x1p-1022, 0), math.Nextafter(0x1p-1022, 1),
		math.Nextafter(1, 0), math.Nextafter(1, 2), 0.7, -0.7, 1e154, 1e-154,
	}
	const other = 0.5
	for _, c := range []float64{1, -1, 0} {
		list := functionsWith(c)
		forVariants(t, func(t *testing.T) {
			for _, f := range list {
				harmless := f.want(other)
				for _, x := range special {
					want := f.want(x)
					for n := 1; n <= 17; n++ {
						src, dst := make([]float64, n), make([]float64, n)
						for bad := range n {
							for j := range src {
								src[j] = other
							}
							src[bad] = x
							f.run(dst, src)
							for j, v := range dst {
								if j == bad && wrong(v, want, f.tol(x, want)) || j != bad && wrong(v, harmless, f.tol(other, harmless)) {
									t.Fatalf("%s of %v, factor %v, at %d of %d: element %d is %v, want %v there", f.name, x, c, bad, n, j, v, want)
								}
							}
						}
					}
				}
			}
		})
	}
}

// bigLog returns log x for x > 0.
func bigLog(x float64) *big.Float {
	frac, e := math.Frexp(x)
	sum := new(big.Float).SetPrec(bigPrec).Mul(bigLn2, bigFloat(float64(e)))
	return sum.Add(sum, bigLogNear(bigFloat(frac), math.Log(frac)))
}

// bigTanh returns tanh x = (e^2x − 1)/(e^2x + 1).
func bigTanh(x float64) *big.Float {
	if math.Abs(x) < 1e-20 { // x − x³/3
		cube := bigFloat(x)
		cube.Mul(cube, bigFloat(x)).Mul(cube, bigFloat(x)).Quo(cube, bigFloat(3))
		return cube.Sub(bigFloat(x), cube)
	}
	e := bigExp(2 * max(-300, min(300, x)))
	return e.Quo(new(big.Float).Sub(e, bigFloat(1)), new(big.Float).Add(e, bigFloat(1)))
}

// bigArcsine returns arcsin x: y + δ next to an approximation y, with s = (x − sin y)/cos y and δ =
// s + s²·tan(y)/2; above ½ it is π/2 − 2·arcsin √((1 − x)/2).
func bigArcsine(x *big.Float) *big.Float {
	approx, _ := x.Float64()
	if approx < 0 {
		r := bigArcsine(new(big.Float).Neg(x))
		return r.Neg(r)
	}
	if approx > 0.5 {
		r := new(big.Float).SetPrec(bigPrec).Sub(bigFloat(1), x)
		r.Quo(r, bigFloat(2))
		r = bigArcsine(r.Sqrt(r))
		half := new(big.Float).SetPrec(bigPrec).Quo(bigPi, bigFloat(2))
		return half.Sub(half, r.Mul(r, bigFloat(2)))
	}
	y := bigFloat(math.Asin(approx))
	sin, cos := bigSine(y, 1), bigSine(y, 0)
	s := new(big.Float).SetPrec(bigPrec).Sub(x, sin)
	s.Quo(s, cos)
	second := sin.Quo(sin, cos)
	second.Mul(second, s).Mul(second, s).Quo(second, bigFloat(2))
	return y.Add(y, s.Add(s, second))
}

func TestFunctionErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	count := long(300, 1000)
	random := func(points []float64, f func() []float64) []float64 {
		for range count {
			points = append(points, f()...)
		}
		return points
	}
	uniform := func(a, b float64) float64 { return a + (b-a)*rng.Float64() }
	for _, f := range []struct {
		name   string
		run    func(dst, src []float64, c float64)
		want   func(x float64) *big.Float
		max    float64
		points []float64
	}{
		{"Log", Log, bigLog, maxLogULP, random(
			[]float64{5e-324, 1e-323, 0x1p-1022, math.Nextafter(0x1p-1022, 0), math.MaxFloat64, 2, 0.5, math.Sqrt2, math.Sqrt2 / 2, math.Nextafter(1, 0), math.Nextafter(1, 2)},
			func() []float64 {
				return []float64{
					math.Exp(uniform(-708, 709)), uniform(0.5, 2), 1 + 1e-3*rng.NormFloat64(), 1 + 1e-9*rng.NormFloat64(),
					math.Ldexp(rng.Float64(), -1022-rng.IntN(50)) + 5e-324, math.Ldexp(math.Sqrt2+1e-9*rng.NormFloat64(), rng.IntN(2000)-1000),
				}
			})},
		{"Log1p", Log1p, bigLog1p, maxLogULP, random(
			[]float64{0, 5e-324, 1e-300, math.Sqrt2 - 1, 1, 0x1p52, 0x1p53, 0x1p54, 1e300, math.MaxFloat64},
			func() []float64 {
				return []float64{uniform(0, 1), math.Exp(uniform(-700, 700)), math.Exp(uniform(-40, 40)), math.Ldexp(math.Sqrt2, rng.IntN(60)) - 1 + uniform(0, 1e-9)}
			})},
		{"ExpScaled", func(dst, src []float64, c float64) { ExpScaled(dst, src, c, 1) }, bigExp, maxULP, expPoints()},
		{"Tanh", Tanh, bigTanh, maxFunctionULP, random([]float64{5e-324, 1e-300, 0.625, 1000, -1000, 44, 22, 19},
			func() []float64 {
				return []float64{uniform(-1, 1), uniform(-20, 20), math.Exp(uniform(-80, 5)), 0.625 + 1e-6*rng.NormFloat64(), -math.Exp(uniform(-700, 0))}
			})},
		{"Arcsine", Arcsine, func(x float64) *big.Float { return bigArcsine(bigFloat(x)) }, maxFunctionULP, random([]float64{5e-324, 1e-300, 1, -1, 0.7, 0.5, math.Nextafter(1, 0)},
			func() []float64 {
				return []float64{uniform(-1, 1), math.Exp(uniform(-80, 0)), 1 - math.Exp(uniform(-38, -1)), math.Exp(uniform(-36, -1)) - 1}
			})},
	} {
		want := make([]*big.Float, len(f.points))
		for j, x := range f.points {
			want[j] = f.want(x)
		}
		forVariants(t, func(t *testing.T) {
			got := make([]float64, len(want))
			f.run(got, f.points, 1)
			worst, at := 0.0, 0.0
			for j, x := range f.points {
				if u := ulps(got[j], want[j]); u > worst {
					worst, at = u, x
				}
			}
			t.Logf("%s: %d points, largest error %.3f units at %v", f.name, len(want), worst, at)
			if worst > f.max {
				t.Errorf("%s: error %.3f units at %v, want at most %v", f.name, worst, at, f.max)
			}
		})
	}
}

// TestPowerErrors compares powers with exp(p·log x) in 200 bits: common exponents, results next to
// 0 and infinity, bases next to 1 and subnormal ones.
func TestPowerErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 2))
	count := long(40, 1000)
	for _, p := range []float64{1, 2, 0.5, -0.5, 1.0 / 3, 1.9, -2.7, 17, -101, 1e-3, 1e5, -1e12} {
		var points []float64
		span := 744 / math.Abs(p)
		for range count {
			points = append(points, 1+0.3*rng.NormFloat64()*min(1, span/10), 1+1e-7*rng.NormFloat64()*min(1, span), math.Exp(min(709, span)*(2*rng.Float64()-1)),
				math.Exp(min(5, span)*(2*rng.Float64()-1)), math.Exp(-min(709, span)*(1-1e-3*rng.Float64())), math.Exp(min(709, span*0.95)*(1-1e-3*rng.Float64())))
			if math.Abs(p) < 0.99 {
				points = append(points, 0x1p-1074*float64(1+rng.IntN(1<<20)))
			}
		}
		points = slices.DeleteFunc(points, func(x float64) bool { y := math.Pow(x, p); return !(x > 0) || math.IsInf(y, 0) })
		want := make([]*big.Float, len(points))
		for j, x := range points {
			want[j] = bigPower(x, p)
		}
		forVariants(t, func(t *testing.T) {
			got := make([]float64, len(points))
			Power(got, points, 1, p)
			worst, at := 0.0, 0.0
			for j, x := range points {
				if u := ulps(got[j], want[j]); u > worst {
					worst, at = u, x
				}
			}
			t.Logf("power %g: %d points, largest error %.3f units at %v", p, len(points), worst, at)
			most := maxPowerULP
			if active == isa.Generic {
				most = maxGenericPowerULP
			}
			if worst > most {
				t.Errorf("power %g: error %.3f units at %v, want at most %v", p, worst, at, most)
			}
		})
	}
}

// powerOf returns math.Pow(x, p), from 200 bits where math.Pow is poor.
func powerOf(x, p float64) float64 {
	out := math.Pow(x+0, p)
	if exponent := p * math.Log(math.Abs(x)); out != out || math.Abs(exponent) < 40 && math.Abs(x) >= 0x1p-1022 || math.IsInf(x, 0) || !(math.Abs(exponent) < 745) {
		return out
	}
	exact, _ := bigPower(math.Abs(x), p).Float64()
	return math.Copysign(exact, out)
}

// bigPower returns x^p for x > 0, with the exponential of a sum of two numbers.
func bigPower(x, p float64) *big.Float {
	exponent := new(big.Float).SetPrec(bigPrec).Mul(bigLog(x), bigFloat(p))
	high, _ := exponent.Float64()
	rest, _ := exponent.Sub(exponent, bigFloat(high)).Float64()
	out := bigExp(high)
	correction := bigExp(rest)
	return out.Mul(out, correction)
}
