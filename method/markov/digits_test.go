package markov

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gpfit/device/devicetest/methodtest"
	"gpfit/device/textbook"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// TestSmallNoise compares the terms of the likelihood for smooth series with small noise with 60
// digits. Targets of white noise make the data fit about 1/noise. The dense method loses more digits.
func TestSmallNoise(t *testing.T) {
	n := 24
	if testcheck.Long() {
		n = 100
	}
	for order, text := range []string{"matern12", "matern32", "matern52"} {
		for _, noise := range []float64{1e-2, 1e-4, 1e-8} {
			for _, uneven := range []bool{false, true} {
				rng := rand.New(rand.NewPCG(5, uint64(n)))
				p := &methodtest.Instance{Prog: testcheck.Get(kernel.CompileText(text, 1))(t), Theta: []float64{1.3, 0.8}, Noise: []float64{noise}, Y: methodtest.Normals(rng, n), X: kernel.NewPoints(make([]float64, n), n, 1)}
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
				bigDet, bigFit := methodtest.Terms(func(i, j int) *big.Float {
					return methodtest.Times(methodtest.Matern(order, p.X.X[i], p.X.X[j], methodtest.Big(p.Theta[0])), methodtest.Big(p.Theta[1]))
				}, p.Y, noise)
				logDet, fit := methodtest.Float(bigDet), methodtest.Float(bigFit)
				gotDet, gotFit, _, err := methodtest.Likelihood(t, open(t), p)
				if err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				own := math.Abs(gotDet-logDet) + math.Abs(gotFit-fit)
				// Rounding of times is a relative error of gaps, and so of Q: some ε of each term.
				if !(math.Abs(gotDet-logDet) <= 1e-11*(1+math.Abs(logDet))) || !(math.Abs(gotFit-fit) <= 1e-11*fit) {
					t.Errorf("%s: log|Σ| %v, want %v; fit %v, want %v", what, gotDet, logDet, gotFit, fit)
				}
				denseDet, denseFit, _, err := methodtest.Likelihood(t, textbook.New(), p)
				if dense := math.Abs(denseDet-logDet) + math.Abs(denseFit-fit); err == nil && own > dense+1e-12*(math.Abs(logDet)+fit) {
					t.Errorf("%s: error %.2g, dense %.2g", what, own, dense)
				}
				if testcheck.Long() {
					t.Logf("%s: error %.2g of log|Σ|, %.2g of a fit of %.3g; dense %.2g and %.2g", what, gotDet-logDet, gotFit-fit, fit, denseDet-logDet, denseFit-fit)
				}
			}
		}
	}
}
