package reliability

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/fit"
	"gpfit/gp"
)

// precision is the precision of the reference in bits.
const precision = 200

func number(v float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(v) }
func zero() *big.Float            { return number(0) }
func add(a, b *big.Float) *big.Float {
	return zero().Add(a, b)
}
func mul(a, b *big.Float) *big.Float { return zero().Mul(a, b) }
func quo(a, b *big.Float) *big.Float { return zero().Quo(a, b) }

// expBig returns e^x by the series of x/2^k, squared k times.
func expBig(x *big.Float) *big.Float {
	const halvings = 24
	small := mul(x, number(math.Ldexp(1, -halvings)))
	sum, term := number(1), number(1)
	for i := 1; i < 60; i++ {
		term = quo(mul(term, small), number(float64(i)))
		sum = add(sum, term)
	}
	for range halvings {
		sum = mul(sum, sum)
	}
	return sum
}

// logBig returns log x by Newton's method on exp, starting from math.Log.
func logBig(x *big.Float) *big.Float {
	f, _ := x.Float64()
	y := number(math.Log(f))
	for range 3 {
		y = add(y, add(mul(x, expBig(zero().Neg(y))), number(-1)))
	}
	return y
}

// covarianceBig returns the value of a family for a squared distance r2 in units of
// the lengthscale, or for the inner product dot.
func covarianceBig(family string, r2, dot *big.Float) *big.Float {
	root := func(k float64) *big.Float { return zero().Sqrt(mul(number(k), r2)) }
	switch family {
	case "rbf":
		return expBig(mul(number(-0.5), r2))
	case "matern12":
		return expBig(zero().Neg(root(1)))
	case "matern32":
		s := root(3)
		return mul(add(number(1), s), expBig(zero().Neg(s)))
	case "matern52":
		s := root(5)
		return mul(add(add(number(1), s), quo(mul(s, s), number(3))), expBig(zero().Neg(s)))
	}
	return dot
}

// exact holds the terms of an NLML, computed in 200 bits and rounded at the end,
// and Σ.
type exact struct {
	dataFit, complexity float64
	sigma               *mat.SymDense
}

// evaluateBig factors Σ at the parameters of a report.
func evaluateBig(family string, x, y []float64, d int, parameters map[string]float64) (exact, error) {
	n := len(y)
	e := exact{sigma: mat.NewSymDense(n, nil)}
	l := make([][]*big.Float, n)
	for i := range n {
		l[i] = make([]*big.Float, i+1)
		for j := range i + 1 {
			l[i][j] = elementBig(family, x[i*d:(i+1)*d], x[j*d:(j+1)*d], parameters)
			if i == j {
				l[i][j] = add(l[i][j], number(parameters["noise_variance"]))
			}
			v, _ := l[i][j].Float64()
			e.sigma.SetSym(i, j, v)
		}
	}
	logDet, fit := zero(), zero()
	w := make([]*big.Float, n) // L⁻¹y
	for i := range n {
		w[i] = number(y[i])
		for j := range i + 1 {
			for k := range j {
				l[i][j] = zero().Sub(l[i][j], mul(l[i][k], l[j][k]))
			}
			if i > j {
				l[i][j] = quo(l[i][j], l[j][j])
				w[i] = zero().Sub(w[i], mul(l[i][j], w[j]))
			}
		}
		if l[i][i].Sign() <= 0 {
			return e, fmt.Errorf("minor %d is not positive", i)
		}
		logDet = add(logDet, logBig(l[i][i]))
		l[i][i] = zero().Sqrt(l[i][i])
		w[i] = quo(w[i], l[i][i])
		fit = add(fit, mul(w[i], w[i]))
	}
	e.dataFit, _ = mul(number(0.5), fit).Float64()
	e.complexity, _ = mul(number(0.5), logDet).Float64()
	return e, nil
}

func elementBig(family string, a, b []float64, parameters map[string]float64) *big.Float {
	r2, dot := zero(), zero()
	for c := range a {
		diff := zero().Sub(number(a[c]), number(b[c]))
		r2 = add(r2, mul(diff, diff))
		dot = add(dot, mul(number(a[c]), number(b[c])))
	}
	if rho, ok := parameters["lengthscale"]; ok {
		r2 = quo(r2, mul(number(rho), number(rho)))
	}
	return mul(number(parameters["signal_variance"]), covarianceBig(family, r2, dot))
}

// TestNLML200Bits compares data fit and complexity with 200-bit arithmetic:
//
//	|error| ≤ c·n·ε·κ(Σ)·(1 + |value|),  ε = 2⁻⁵³, c = 1.
func TestNLML200Bits(t *testing.T) {
	const c = 1.0
	b := backend(t, 1)
	var worst, worstError, worstCondition float64
	count, first := size(t, 6, 50), firstSeed(t)
	for seed := first; seed < first+uint64(count); seed++ {
		rng := rand.New(rand.NewPCG(seed, 200))
		n, d := 5+rng.IntN(90), 1+rng.IntN(6)
		family := pick(rng, "rbf", "matern12", "matern32", "matern52", "linear")
		data := fit.Data{N: n, D: d, TargetName: "y", FeatureNames: []string{"a", "b", "c", "d", "e", "f"}[:d]}
		for range n * d {
			data.X = append(data.X, rng.NormFloat64())
		}
		for i := range n {
			data.Y = append(data.Y, math.Sin(data.X[i*d])+0.1*rng.NormFloat64())
		}
		o := fit.Options{Kernel: family, Standardize: gp.StandardizeNone}
		o.Fix = []fit.Assignment{{Name: "noise_variance", Value: math.Pow(10, -13*rng.Float64()), Given: true}}
		if family != "linear" {
			o.Fix = append(o.Fix, fit.Assignment{Name: "lengthscale", Value: math.Pow(10, 1.5*rng.Float64()-0.5), Given: true})
		}
		job, err := fit.Prepare(data, o)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		r, err := job.Evaluate(context.Background(), b, nil)
		if err != nil {
			t.Fatalf("seed %d, n %d, %s: %v", seed, n, family, err)
		}
		e, err := evaluateBig(family, data.X, data.Y, d, r.Parameters)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		condition := conditionOf(e.sigma, r.Parameters["noise_variance"])
		unit := float64(n) * math.Ldexp(1, -53) * condition
		for name, v := range map[string][2]float64{"data fit": {r.DataFit, e.dataFit}, "complexity": {r.Complexity, e.complexity}} {
			relative := math.Abs(v[0]-v[1]) / (1 + math.Abs(v[1]))
			if worst, worstError, worstCondition = max(worst, relative/unit), max(worstError, relative), max(worstCondition, condition); relative > c*unit {
				t.Errorf("seed %d, n %d, %s, condition %.2g: %s %v, in 200 bits %v: off by %.3g, %.3g·n·ε·κ", seed, n, family, condition, name, v[0], v[1], relative, relative/unit)
			}
		}
	}
	t.Logf("%d problems, condition up to %.2g: largest relative error %.3g, largest multiple of n·ε·κ %.3g", count, worstCondition, worstError, worst)
}

// conditionOf returns λmax/λmin, with the noise as λmin if rounding hides it.
func conditionOf(sigma *mat.SymDense, noise float64) float64 {
	var eigen mat.EigenSym
	eigen.Factorize(sigma, false)
	values := eigen.Values(nil)
	return values[len(values)-1] / max(values[0], noise)
}
