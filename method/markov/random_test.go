package markov

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest/methodtest"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// open returns the method on a host.
func open(t testing.TB) device.Backend {
	t.Helper()
	return methodtest.Open(t, Method())
}

// expressions are kernels with states, for points of three columns.
var expressions = []string{
	"matern12(dims=1)", "matern32(dims=1)", "matern52(dims=1)", "matern(3.5, dims=1)", "matern(5.5, dims=1)", "matern(10.5, dims=1)",
	"cosine(dims=1) + matern12(dims=1)", "linear(dims=1) + matern32(dims=1)", "linear(dims=1, ard) + constant + matern12(dims=1)",
	"matern52(dims=1) + matern12(dims=1)*cosine(dims=1)", "matern32(dims=1)*matern32(dims=1)", "constant*matern12(dims=1) + constant",
	"(matern12(dims=1) + constant)*(cosine(dims=1) + matern32(dims=1))", "matern32(dims=1)*linear(dims=1)",
	"matern32(dims=1) + matern32(dims=1) + matern12(dims=1)", "matern52(dims=1)*cosine(dims=1)*linear(dims=1) + linear(dims=1)*linear(dims=1)",
	"matern12(dims=1) + constant*linear(dims=1)", "cosine(dims=1)*cosine(dims=1)*matern52(dims=1) + matern12(dims=1)",
	"matern32(dims=1)" + strings.Repeat(" + matern12(dims=1)*cosine(dims=1)", 12), "matern(3.5, dims=1)*matern(3.5, dims=1)*matern(3.5, dims=1)",
}

// randomTimes returns times of one of several kinds.
func randomTimes(rng *rand.Rand, n int) []float64 {
	v := methodtest.Normals(rng, n)
	switch rng.IntN(4) {
	case 0: // repeated
		for i := range v {
			v[i] = math.Round(2 * v[i])
		}
	case 1: // in order, regular
		for i := range v {
			v[i] = 0.1 * float64(i)
		}
	case 2: // gaps of all sizes
		at := 0.0
		for i := range v {
			at += math.Pow(10, -4+6*rng.Float64())
			v[i] = math.Mod(at, 5) // K of linear grows with its square
		}
	}
	return v
}

func newTask(t testing.TB, seed uint64) *methodtest.Instance {
	rng := rand.New(rand.NewPCG(seed, 29))
	n, m := 1+rng.IntN(70), 1+rng.IntN(40)
	p := &methodtest.Instance{Text: expressions[int(seed)%len(expressions)], Targets: 1 + rng.IntN(3)}
	p.X, p.XS = kernel.NewPoints(methodtest.Normals(rng, 3*n), n, 3), kernel.NewPoints(methodtest.Normals(rng, 3*m), m, 3)
	copy(p.X.Column(1), randomTimes(rng, n))
	copy(p.XS.Column(1), randomTimes(rng, m))
	for j := range min(n, m, 3) { // some points are rows
		p.XS.Column(1)[j] = p.X.Column(1)[rng.IntN(n)]
	}
	p.Prog = testcheck.Get(kernel.CompileText(p.Text, 3))(t)
	for range p.Prog.NumParams {
		p.Theta = append(p.Theta, math.Exp(0.5*rng.NormFloat64()))
	}
	p.Noise = []float64{math.Exp(rng.NormFloat64())}
	if rng.IntN(2) == 0 {
		for range n - 1 {
			p.Noise = append(p.Noise, math.Exp(rng.NormFloat64()))
		}
	}
	p.Y = methodtest.Normals(rng, n*p.Targets)
	return p
}

// TestRandomProblems compares all results for random problems with the results of plain formulas.
func TestRandomProblems(t *testing.T) { methodtest.Compare(t, Method(), newTask, false) }
