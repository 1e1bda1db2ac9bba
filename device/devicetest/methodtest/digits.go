package methodtest

import (
	"math"
	"math/big"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/internal/testcheck"
)

// digits is the precision of the oracle: 60 decimal digits.
const digits = 200

// Big returns x with 60 digits.
func Big(x float64) *big.Float { return new(big.Float).SetPrec(digits).SetFloat64(x) }

// Times returns a·b.
func Times(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(digits).Mul(a, b) }

// bigExp returns e^x by its series, after halving.
func bigExp(x *big.Float) *big.Float {
	const halvings = 40
	y := new(big.Float).SetPrec(digits).SetMantExp(x, -halvings)
	sum, term := Big(1), Big(1)
	for k := 1; k < 30; k++ {
		term.Mul(term, y)
		term.Quo(term, Big(float64(k)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog returns log x by Newton's steps.
func bigLog(x *big.Float) *big.Float {
	mantissa := new(big.Float)
	exponent := x.MantExp(mantissa)
	m, _ := mantissa.Float64()
	y := Big(math.Log(m) + float64(exponent)*math.Ln2)
	for range 4 {
		e := bigExp(new(big.Float).SetPrec(digits).Neg(y))
		e.Mul(e, x)
		y.Add(y, e.Sub(e, Big(1)))
	}
	return y
}

// Matern returns the covariance of order p + ½ and variance 1, for p up to 2, with 60 digits. Distances are exact.
func Matern(p int, x, y float64, lengthscale *big.Float) *big.Float {
	distance := Big(x)
	distance.Sub(distance, Big(y)).Abs(distance)
	tau := new(big.Float).SetPrec(digits).Sqrt(Big(float64(2*p + 1)))
	tau.Mul(tau, distance)
	tau.Quo(tau, lengthscale)
	poly := Big(1)
	if p > 0 {
		poly.Add(poly, tau)
	}
	if p > 1 {
		square := Times(tau, tau)
		poly.Add(poly, square.Quo(square, Big(3)))
	}
	return poly.Mul(poly, bigExp(tau.Neg(tau)))
}

// Terms returns log|Σ| and yᵀΣ⁻¹y with 60 digits, by a Cholesky factorization of Σ = K + noise·I.
func Terms(covariance func(i, j int) *big.Float, y []float64, noise float64) (logDet, fit *big.Float) {
	n := len(y)
	l, z, logDet, fit := make([][]*big.Float, n), make([]*big.Float, n), Big(0), Big(0)
	for i := range n {
		l[i], z[i] = make([]*big.Float, i+1), Big(y[i])
		for j := range i + 1 {
			v := covariance(i, j)
			if i == j {
				v.Add(v, Big(noise))
			}
			for k := range j {
				v.Sub(v, Times(l[i][k], l[j][k]))
			}
			if i == j {
				logDet.Add(logDet, bigLog(v))
				v.Sqrt(v)
			} else {
				v.Quo(v, l[j][j])
			}
			l[i][j] = v
		}
		for k := range i {
			z[i].Sub(z[i], Times(l[i][k], z[k]))
		}
		z[i].Quo(z[i], l[i][i])
		fit.Add(fit, Times(z[i], z[i]))
	}
	return logDet, fit
}

// Float returns x as a float64.
func Float(x *big.Float) float64 {
	f, _ := x.Float64()
	return f
}

// Likelihood returns log|Σ|, yᵀΣ⁻¹y for the first target, and the derivatives of ½(log|Σ| + yᵀΣ⁻¹y) by log θ, as a
// backend computes them.
func Likelihood(t *testing.T, b device.Backend, p *Instance) (logDet, fit float64, gradient []float64, err error) {
	t.Helper()
	w := testcheck.Get(b.NewWorkspace(t.Context(), p.X))(t)
	defer w.Close()
	if err := w.Form(t.Context(), p.Prog, p.Theta, p.Noise); err != nil {
		return 0, 0, nil, err
	}
	alpha := slices.Clone(p.Y[:p.X.N])
	testcheck.Do(t, w.Solve(t.Context(), alpha, 1))
	logDet, _ = testcheck.Get2(w.LogDet())(t)
	gradient = make([]float64, p.Prog.NumParams)
	adj := device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}
	testcheck.Do(t, w.Contract(t.Context(), adj, p.Prog, p.Theta, gradient, make([]float64, p.X.N)))
	return logDet, floats.Dot(alpha, p.Y[:p.X.N]), gradient, nil
}
