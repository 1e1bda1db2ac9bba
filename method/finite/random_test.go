package finite

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

// expressions are kernels with few features, for points of three columns.
var expressions = []string{
	"linear", "linear(ard)", "poly(2)", "poly(2, ard)", "poly(3, dims=[0, 1])", "poly(3, offset=0)", "constant",
	"linear(dims=0)*cosine(dims=1)", "linear(ard) + constant", "cosine", "cosine(ard)*linear(dims=2) + constant",
	"cosine(dims=0) + cosine(dims=0) + linear", "poly(2, dims=1)*cosine(dims=0) + linear(ard)",
	"formula(sin(c*x)*sin(c*y), c=0.7, dims=0) + linear", "formula(exp(-c*xx)*exp(-c*yy), c=0.3, ard)*linear(dims=1) + constant",
	"(constant + linear(dims=0))*(constant + cosine(dims=1))",
	"linear(dims=0) + hamming(dims=1)", "hamming(ard, dims=[1, 2])*linear(dims=0) + linear", "hamming(dims=1)*hamming(dims=2) + constant",
	"formula(exp(-c*mismatches), c=0.5, dims=2)*cosine(dims=0) + linear(dims=0)",
}

func newTask(t testing.TB, seed uint64) *methodtest.Instance {
	rng := rand.New(rand.NewPCG(seed, 29))
	n, m := 1+rng.IntN(70), 1+rng.IntN(40) // also fewer rows than features
	p := &methodtest.Instance{Text: expressions[int(seed)%len(expressions)], Targets: 1 + rng.IntN(3)}
	p.X, p.XS = kernel.NewPoints(methodtest.Normals(rng, 3*n), n, 3), kernel.NewPoints(methodtest.Normals(rng, 3*m), m, 3)
	if strings.Contains(p.Text, "hamming") || strings.Contains(p.Text, "mismatches") {
		for _, x := range []*kernel.Points{p.X, p.XS} { // some new points have values that are new
			for i := range x.Column(1) {
				x.Column(1)[i], x.Column(2)[i] = math.Round(2*x.Column(1)[i]), math.Round(x.Column(2)[i])
			}
		}
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
