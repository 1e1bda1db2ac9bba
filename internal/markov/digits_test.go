package markov

import (
	"context"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/internal/methodtest"
	"gpfit/internal/must"
	"gpfit/internal/textbook"
	"gpfit/kernel"
)

// digits is the precision of the oracle: 60 decimal digits.
const digits = 200

func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(digits).SetFloat64(x) }

// bigExp returns e^x by its series, after halving.
func bigExp(x *big.Float) *big.Float {
	const halvings = 40
	y := new(big.Float).SetPrec(digits).SetMantExp(x, -halvings)
	sum, term := bigOf(1), bigOf(1)
	for k := 1; k < 30; k++ {
		term.Mul(term, y)
		term.Quo(term, bigOf(float64(k)))
		sum.Add(sum, term)
	}
	for range halvings {
		sum.Mul(sum, sum)
	}
	return sum
}

// bigLog returns log x by Newton's steps.
func bigLog(x *big.Float) *big.Float {
	f, _ := x.Float64()
	y := bigOf(math.Log(f))
	for range 4 {
		e := bigExp(new(big.Float).SetPrec(digits).Neg(y))
		e.Mul(e, x)
		y.Add(y, e.Sub(e, bigOf(1)))
	}
	return y
}

// bigMatern returns the covariance of order p + ½, for p up to 2. Distances are exact.
func bigMatern(p int, x, y, lengthscale, variance float64) *big.Float {
	distance := bigOf(x)
	distance.Sub(distance, bigOf(y)).Abs(distance)
	tau := new(big.Float).SetPrec(digits).Sqrt(bigOf(float64(2*p + 1)))
	tau.Mul(tau, distance)
	tau.Quo(tau, bigOf(lengthscale))
	poly := bigOf(1)
	if p > 0 {
		poly.Add(poly, tau)
	}
	if p > 1 {
		square := new(big.Float).SetPrec(digits).Mul(tau, tau)
		poly.Add(poly, square.Quo(square, bigOf(3)))
	}
	poly.Mul(poly, bigExp(tau.Neg(tau)))
	return poly.Mul(poly, bigOf(variance))
}

// bigTerms returns log|Σ| and yᵀΣ⁻¹y by a Cholesky factorisation.
func bigTerms(p int, x, y, theta []float64, noise float64) (logDet, fit float64) {
	n := len(x)
	l, z, det, sum := make([][]*big.Float, n), make([]*big.Float, n), bigOf(0), bigOf(0)
	mul := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(digits).Mul(a, b) }
	for i := range n {
		l[i] = make([]*big.Float, i+1)
		z[i] = bigOf(y[i])
		for j := range i + 1 {
			v := bigMatern(p, x[i], x[j], theta[0], theta[1])
			if i == j {
				v.Add(v, bigOf(noise))
			}
			for k := range j {
				v.Sub(v, mul(l[i][k], l[j][k]))
			}
			if i == j {
				det.Add(det, bigLog(v))
				v.Sqrt(v)
			} else {
				v.Quo(v, l[j][j])
			}
			l[i][j] = v
		}
		for k := range i {
			z[i].Sub(z[i], mul(l[i][k], z[k]))
		}
		z[i].Quo(z[i], l[i][i])
		sum.Add(sum, mul(z[i], z[i]))
	}
	logDet, _ = det.Float64()
	fit, _ = sum.Float64()
	return logDet, fit
}

// terms returns log|Σ| and yᵀΣ⁻¹y of a backend.
func terms(t *testing.T, b device.Backend, p *methodtest.Instance) (logDet, fit float64, err error) {
	t.Helper()
	ctx, w := context.Background(), must.Get(b.NewWorkspace(context.Background(), p.X))(t)
	defer w.Close()
	if err := w.Form(ctx, p.Prog, p.Theta, p.Noise); err != nil {
		return 0, 0, err
	}
	alpha := slices.Clone(p.Y)
	must.Do(t, w.Solve(ctx, alpha, 1))
	logDet, _ = must.Get2(w.LogDet())(t)
	return logDet, dot(alpha, p.Y), nil
}

// TestSmallNoise compares the terms of the likelihood for smooth series with small noise with 60
// digits. Targets of white noise make the data fit about 1/noise. The dense method loses more digits.
func TestSmallNoise(t *testing.T) {
	n := 24
	if methodtest.Long() {
		n = 100
	}
	for order, text := range []string{"matern12", "matern32", "matern52"} {
		for _, noise := range []float64{1e-2, 1e-4, 1e-8} {
			for _, uneven := range []bool{false, true} {
				rng := rand.New(rand.NewPCG(5, uint64(n)))
				p := &methodtest.Instance{Prog: must.Get(kernel.CompileText(text, 1))(t), Theta: []float64{1.3, 0.8}, Noise: []float64{noise}, Y: methodtest.Normals(rng, n), X: kernel.NewPoints(make([]float64, n), n, 1)}
				at := 0.0
				for i := range n {
					gap := 0.02
					if uneven {
						gap = math.Pow(10, -9+8*rng.Float64())
					}
					at += gap
					p.X.X[i] = at
				}
				what := fmt.Sprintf("%s, noise %v, uneven %v", text, noise, uneven)
				logDet, fit := bigTerms(order, p.X.X, p.Y, p.Theta, noise)
				gotDet, gotFit, err := terms(t, open(t), p)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				own := math.Abs(gotDet-logDet) + math.Abs(gotFit-fit)
				// Rounding of times is a relative error of gaps, and so of Q: some ε of each term.
				if !(math.Abs(gotDet-logDet) <= 1e-11*(1+math.Abs(logDet))) || !(math.Abs(gotFit-fit) <= 1e-11*fit) {
					t.Errorf("%s: log|Σ| %v, want %v; fit %v, want %v", what, gotDet, logDet, gotFit, fit)
				}
				denseDet, denseFit, err := terms(t, textbook.New(), p)
				if dense := math.Abs(denseDet-logDet) + math.Abs(denseFit-fit); err == nil && own > dense+1e-12*(math.Abs(logDet)+fit) {
					t.Errorf("%s: error %.2g, dense %.2g", what, own, dense)
				}
				if methodtest.Long() {
					t.Logf("%s: error %.2g of log|Σ|, %.2g of a fit of %.3g; dense %.2g and %.2g", what, gotDet-logDet, gotFit-fit, fit, denseDet-logDet, denseFit-fit)
				}
			}
		}
	}
}
