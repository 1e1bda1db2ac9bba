package grid

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest/methodtest"
	"gpfit/device/textbook"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// bigGrid returns log|Σ| and yᵀΣ⁻¹y for matern32·matern52 with 60 digits. Lengthscale moved is larger by a factor e^step.
func bigGrid(p *methodtest.Instance, moved int, step float64) (logDet, fit *big.Float) {
	scales := []*big.Float{methodtest.Big(p.Theta[0]), methodtest.Big(p.Theta[1])}
	if moved >= 0 { // e^step for |step| of 1e-12, to 36 digits
		scales[moved] = methodtest.Times(scales[moved], new(big.Float).Add(methodtest.Big(1), new(big.Float).Add(methodtest.Big(step), methodtest.Big(step*step/2))))
	}
	return methodtest.Terms(func(i, j int) *big.Float {
		first := methodtest.Matern(1, p.X.Column(0)[i], p.X.Column(0)[j], scales[0])
		return methodtest.Times(first, methodtest.Matern(2, p.X.Column(1)[i], p.X.Column(1)[j], scales[1]))
	}, p.Y, p.Noise[0])
}

// bigDerivative returns the derivative of ½(log|Σ| + yᵀΣ⁻¹y) by the logarithm of a lengthscale.
func bigDerivative(p *methodtest.Instance, moved int) float64 {
	const step = 1e-12
	above, aboveFit := bigGrid(p, moved, step)
	below, belowFit := bigGrid(p, moved, -step)
	sum := above.Add(above, aboveFit)
	sum.Sub(sum, below.Add(below, belowFit))
	return methodtest.Float(sum) / (4 * step)
}

// TestDigits compares the terms of the likelihood and its derivatives for small noise with 60 digits, and with the errors
// of plain formulas on n×n matrices.
func TestDigits(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 29))
	const a, b = 5, 6
	p := &methodtest.Instance{Text: "matern32(dims=0)*matern52(dims=1)", X: kernel.NewPoints(make([]float64, 2*a*b), a*b, 2), Y: methodtest.Normals(rng, a*b)}
	first, second := methodtest.Normals(rng, a), methodtest.Normals(rng, b)
	for i := range a * b {
		p.X.Column(0)[i], p.X.Column(1)[i] = first[i/b], second[i%b]
	}
	p.Prog = testcheck.Get(kernel.CompileText(p.Text, 2))(t)
	p.Theta = slices.Repeat([]float64{1}, p.Prog.NumParams)
	p.Theta[0], p.Theta[1] = 2, 3 // smooth, so that Σ is nearly singular without noise
	for noise, tolerance := range map[float64]float64{1e-2: 1e-12, 1e-4: 1e-11, 1e-8: 1e-9} {
		p.Noise = []float64{noise}
		bigDet, bigFit := bigGrid(p, -1, 0)
		want := []float64{methodtest.Float(bigDet), methodtest.Float(bigFit), bigDerivative(p, 0), bigDerivative(p, 1)}
		errors := map[string][]float64{}
		for name, b := range map[string]device.Backend{"grid": open(t), "dense": textbook.New()} {
			logDet, fit, gradient, err := methodtest.Likelihood(t, b, p)
			testcheck.Do(t, err)
			for k, v := range []float64{logDet, fit, gradient[0], gradient[1]} {
				errors[name] = append(errors[name], math.Abs(v-want[k])/math.Abs(want[k]))
			}
		}
		for k, e := range errors["grid"] {
			if !(e <= tolerance) || e > errors["dense"][k]+1e-11 { // with more noise both lose some ε/noise
				t.Errorf("noise %g: number %d has an error of %.1g, by matrices %.1g", noise, k, e, errors["dense"][k])
			}
		}
		t.Logf("noise %g: %v: relative errors %.1g, by matrices %.1g", noise, want, errors["grid"], errors["dense"])
	}
}
