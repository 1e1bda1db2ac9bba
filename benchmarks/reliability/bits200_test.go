package reliability

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/gp"
	"gpfit/internal/testcheck"
)

// precision is the precision of the reference in bits.
const precision = 200

func number(v float64) *big.Float    { return new(big.Float).SetPrec(precision).SetFloat64(v) }
func zero() *big.Float               { return number(0) }
func add(a, b *big.Float) *big.Float { return zero().Add(a, b) }
func mul(a, b *big.Float) *big.Float { return zero().Mul(a, b) }
func quo(a, b *big.Float) *big.Float { return zero().Quo(a, b) }

// expBig returns e^x from the series of x/2^k, squared k times.
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

// logBig returns log x from Newton's method on exp, starting at math.Log.
func logBig(x *big.Float) *big.Float {
	f, _ := x.Float64()
	y := number(math.Log(f))
	for range 3 {
		y = add(y, add(mul(x, expBig(zero().Neg(y))), number(-1)))
	}
	return y
}

// covarianceBig returns the value of a family for a squared distance r2 in units of the
// lengthscale, or for the inner product dot, and its derivative by the logarithm of the
// lengthscale.
func covarianceBig(family string, r2, dot *big.Float) (value, slope *big.Float) {
	root := func(k float64) *big.Float { return zero().Sqrt(mul(number(k), r2)) }
	decay := func(s *big.Float) *big.Float { return expBig(zero().Neg(s)) }
	switch family {
	case "rbf":
		value = expBig(mul(number(-0.5), r2))
		return value, mul(r2, value)
	case "matern12":
		s := root(1)
		return decay(s), mul(s, decay(s))
	case "matern32":
		s := root(3)
		return mul(add(number(1), s), decay(s)), mul(mul(number(3), r2), decay(s))
	case "matern52":
		s := root(5)
		value = mul(add(add(number(1), s), quo(mul(s, s), number(3))), decay(s))
		return value, mul(quo(mul(mul(number(5), r2), add(number(1), s)), number(3)), decay(s))
	}
	return dot, zero()
}

// exact holds the terms of an NLML and its gradient, computed in 200 bits and rounded at
// the end, and Σ.
type exact struct {
	dataFit, complexity float64
	sigma               *mat.SymDense
	// gradient has a derivative by the logarithm of each parameter.
	gradient map[string]derivative
}

// derivative is ½ tr(Σ⁻¹∂Σ) − ½ αᵀ∂Σα, with α = Σ⁻¹y.
type derivative struct {
	value float64
	// size is the sum of the magnitudes of both terms.
	size float64
}

// evaluateBig factors Σ at the parameters of a report.
func evaluateBig(family string, x, y []float64, d int, parameters map[string]float64) (exact, error) {
	n := len(y)
	e := exact{sigma: mat.NewSymDense(n, nil), gradient: map[string]derivative{}}
	l := make([][]*big.Float, n)
	slopes := map[string][][]*big.Float{} // ∂Σ by the logarithm of each parameter
	for name := range parameters {
		slopes[name] = make([][]*big.Float, n)
	}
	for i := range n {
		l[i] = make([]*big.Float, i+1)
		for name := range slopes {
			slopes[name][i] = make([]*big.Float, i+1)
		}
		for j := range i + 1 {
			value, byLengthscale := elementBig(family, x[i*d:(i+1)*d], x[j*d:(j+1)*d], parameters)
			noise := zero()
			if i == j {
				noise = number(parameters["noise_variance"])
			}
			for name, slope := range map[string]*big.Float{"signal_variance": value, "lengthscale": byLengthscale, "noise_variance": noise} {
				if slopes[name] != nil {
					slopes[name][i][j] = slope
				}
			}
			l[i][j] = add(value, noise)
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
	inverse := invertBig(l)
	alpha := make([]*big.Float, n)
	for i := range n {
		alpha[i] = zero()
		for j := range n {
			alpha[i] = add(alpha[i], mul(inverse[max(i, j)][min(i, j)], number(y[j])))
		}
	}
	for name, slope := range slopes {
		e.gradient[name] = contractBig(inverse, alpha, slope)
	}
	return e, nil
}

// invertBig returns the lower triangle of Σ⁻¹ = L⁻ᵀL⁻¹ for the factor L.
func invertBig(l [][]*big.Float) [][]*big.Float {
	n := len(l)
	m := make([][]*big.Float, n) // L⁻¹
	for i := range n {
		m[i] = make([]*big.Float, i+1)
		for j := range i + 1 {
			sum := zero()
			if i == j {
				sum = number(1)
			}
			for k := j; k < i; k++ {
				sum = zero().Sub(sum, mul(l[i][k], m[k][j]))
			}
			m[i][j] = quo(sum, l[i][i])
		}
	}
	inverse := make([][]*big.Float, n)
	for i := range n {
		inverse[i] = make([]*big.Float, i+1)
		for j := range i + 1 {
			sum := zero()
			for k := i; k < n; k++ {
				sum = add(sum, mul(m[k][i], m[k][j]))
			}
			inverse[i][j] = sum
		}
	}
	return inverse
}

// contractBig contracts lower triangles of Σ⁻¹ and ∂Σ.
func contractBig(inverse [][]*big.Float, alpha []*big.Float, slope [][]*big.Float) derivative {
	trace, quadratic := zero(), zero()
	for i := range alpha {
		for j := range i + 1 {
			half := number(1) // an element off the diagonal counts twice, and the result is half of the sum
			if i == j {
				half = number(0.5)
			}
			t := mul(half, mul(inverse[i][j], slope[i][j]))
			q := mul(half, mul(mul(alpha[i], alpha[j]), slope[i][j]))
			trace, quadratic = add(trace, t), add(quadratic, q)
		}
	}
	value, _ := zero().Sub(trace, quadratic).Float64()
	t, _ := trace.Float64()
	q, _ := quadratic.Float64()
	return derivative{value: value, size: math.Abs(t) + math.Abs(q)}
}

// elementBig returns a covariance without noise, and its derivative by the logarithm of
// the lengthscale.
func elementBig(family string, a, b []float64, parameters map[string]float64) (value, byLengthscale *big.Float) {
	r2, dot := zero(), zero()
	for c := range a {
		diff := zero().Sub(number(a[c]), number(b[c]))
		r2 = add(r2, mul(diff, diff))
		dot = add(dot, mul(number(a[c]), number(b[c])))
	}
	if rho, ok := parameters["lengthscale"]; ok {
		r2 = quo(r2, mul(number(rho), number(rho)))
	}
	variance := number(parameters["signal_variance"])
	value, byLengthscale = covarianceBig(family, r2, dot)
	return mul(variance, value), mul(variance, byLengthscale)
}

// largest keeps the largest error of a quantity.
type largest struct{ relative, multiple float64 }

func (l *largest) take(relative, unit float64) {
	l.relative, l.multiple = max(l.relative, relative), max(l.multiple, relative/unit)
}

// Test200Bits compares data fit, complexity and the gradient by the logarithms of all
// parameters with 200-bit arithmetic. With ε = 2⁻⁵³ and c = 1,
//
//	|error| ≤ c·n·ε·κ(Σ)·(1 + size),
//
// where size is the magnitude of a value, or |½ tr(Σ⁻¹∂Σ)| + |½ αᵀ∂Σα| for a derivative.
//
// Each derivative has four digits, of itself or of 1 nat, or the report warns of it. The
// report does not warn below a condition number of 1e6.
func Test200Bits(t *testing.T) {
	const c = 1.0
	b := backend(t, 1)
	var values, gradients, linear largest
	worstCondition := 0.0
	seeds := seeds200(t)
	for _, seed := range seeds {
		family, data, o := problem200(seed)
		job := testcheck.Get(fit.Prepare(data, o, problem.Events{}))(t)
		r, err := fit.Evaluate(context.Background(), job, b, nil)
		if err != nil {
			t.Fatalf("seed %d, n %d, %s: %v", seed, data.N, family, err)
		}
		e := testcheck.Get(evaluateBig(family, data.X, data.Y, data.D, r.Parameters))(t)
		condition := conditionOf(e.sigma, r.Parameters["noise_variance"])
		unit := float64(data.N) * math.Ldexp(1, -53) * condition
		worstCondition = max(worstCondition, condition)
		check := func(kept *largest, name string, got, want, size float64) {
			relative := math.Abs(got-want) / (1 + size)
			if kept.take(relative, unit); !(relative <= c*unit) {
				t.Errorf("seed %d, n %d, %s, condition %.2g: %s %v, in 200 bits %v: off by %.3g, %.3g·n·ε·κ", seed, data.N, family, condition, name, got, want, relative, relative/unit)
			}
		}
		check(&values, "data fit", r.DataFit, e.dataFit, math.Abs(e.dataFit))
		check(&values, "complexity", r.Complexity, e.complexity, math.Abs(e.complexity))
		if len(r.GradientLog) != len(r.Parameters) {
			t.Fatalf("seed %d: derivatives %v by the parameters %v", seed, r.GradientLog, r.Parameters)
		}
		for name, d := range e.gradient {
			kept := &gradients
			if family == "linear" {
				kept = &linear
			}
			check(kept, "derivative by "+name, r.GradientLog[name], d.value, d.size)
			off, warned := math.Abs(r.GradientLog[name]-d.value), warnsOf(r, name)
			if wrong := !(off <= 1e-4*max(1, math.Abs(d.value))); wrong && !warned || warned && condition < 1e6 {
				t.Errorf("seed %d, n %d, %s, condition %.2g: derivative by %s %v, in 200 bits %v, warnings %q", seed, data.N, family, condition, name, r.GradientLog[name], d.value, r.Warnings)
			}
		}
	}
	t.Logf("%d problems, condition up to %.2g", len(seeds), worstCondition)
	t.Logf("values: largest relative error %.3g, largest multiple of n·ε·κ %.3g", values.relative, values.multiple)
	t.Logf("gradients: largest relative error %.3g, largest multiple of n·ε·κ %.3g", gradients.relative, gradients.multiple)
	t.Logf("gradients of linear kernels: largest relative error %.3g, largest multiple of n·ε·κ %.3g", linear.relative, linear.multiple)
}

// seeds200 returns the seeds of the problems: some in sequence, and problems of linear
// kernels that lost all digits of a derivative without a warning.
func seeds200(t *testing.T) []uint64 {
	first := firstSeed(t)
	seeds := []uint64{13, 35, 37}
	for i := range uint64(size(t, 6, 50)) {
		if seed := first + i; !slices.Contains(seeds, seed) {
			seeds = append(seeds, seed)
		}
	}
	return seeds
}

// warnsOf reports whether a report warns of rounding errors of the derivative by a parameter.
func warnsOf(r *summary.Report, name string) bool {
	return slices.ContainsFunc(r.Warnings, func(w string) bool {
		return strings.Contains(w, "rounding leaves few digits of the gradient") && strings.Contains(w, name)
	})
}

// problem200 returns a problem with one lengthscale and noise from 1e-13 to 1.
func problem200(seed uint64) (family string, data problem.Data, o problem.Options) {
	rng := rand.New(rand.NewPCG(seed, 200))
	n, d := 5+rng.IntN(90), 1+rng.IntN(6)
	family = pick(rng, "rbf", "matern12", "matern32", "matern52", "linear")
	data = problem.Data{N: n, D: d, TargetName: "y", FeatureNames: []string{"a", "b", "c", "d", "e", "f"}[:d]}
	for range n * d {
		data.X = append(data.X, rng.NormFloat64())
	}
	for i := range n {
		data.Y = append(data.Y, math.Sin(data.X[i*d])+0.1*rng.NormFloat64())
	}
	o = problem.Options{Mean: "zero", Kernel: family, Standardize: gp.StandardizeNone}
	o.Set = []problem.Assignment{{Name: "noise_variance", Value: math.Pow(10, -13*rng.Float64()), Given: true}}
	if family != "linear" {
		o.Set = append(o.Set, problem.Assignment{Name: "lengthscale", Value: math.Pow(10, 1.5*rng.Float64()-0.5), Given: true})
	}
	return family, data, o
}

// conditionOf returns λmax/λmin, with the noise as λmin if rounding hides it.
func conditionOf(sigma *mat.SymDense, noise float64) float64 {
	var eigen mat.EigenSym
	eigen.Factorize(sigma, false)
	values := eigen.Values(nil)
	return values[len(values)-1] / max(values[0], noise)
}
