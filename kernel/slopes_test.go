package kernel

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gpfit/internal/must"
)

// distanceFamilies are matern12 and matern32 written in terms of the distance.
var distanceFamilies = []*Family{
	{
		Name: "kinked", Parameters: []Parameter{lengthscale},
		Function: func(p *Pair) *Node { return p.Exp(p.Neg(p.Distance("lengthscale"))) },
	},
	{
		Name: "smooth", Parameters: []Parameter{lengthscale},
		Function: func(p *Pair) *Node {
			t := p.Scale(math.Sqrt(3), p.Distance("lengthscale"))
			return p.Mul(p.Add(p.Number(1), t), p.Exp(p.Neg(t)))
		},
	},
}

// TestSlopes compares prior variances of derivatives with second differences of
// the covariance.
func TestSlopes(t *testing.T) {
	const d, h = 3, 3e-4
	rng := rand.New(rand.NewPCG(31, 1))
	for _, text := range []string{
		"rbf", "rbf(ard)", "matern52(ard)", "rq", "periodic", "periodic(ard)", "linear(ard)", "poly(3)", "cosine(ard)", "constant",
		"matern52*linear", "rbf*cosine + poly(2, ard)*periodic", "linear*linear*rq(ard)",
	} {
		p := mustCompile(t, text, d)
		theta, x := randomTheta(rng, p), randomPoints(rng, 1, d).X
		got := slopeVariance(t, p, theta, x)
		for c := range d {
			at := func(u, v float64) float64 {
				a, b := append([]float64(nil), x...), append([]float64(nil), x...)
				a[c] += u
				b[c] += v
				return eval(p, theta, a, b)
			}
			mixed := func(h float64) float64 { return (at(h, h) - at(h, -h) - at(-h, h) + at(-h, -h)) / (4 * h * h) }
			// Four terms of size k have errors of 1e-16 over h²; the truncation
			// error is h⁴.
			want := (4*mixed(h) - mixed(2*h)) / 3
			if math.Abs(got[c]-want) > 1e-6*(math.Abs(want)+math.Abs(at(0, 0))*10) {
				t.Errorf("%s, column %d: variance of the derivative %v, second difference %v", text, c, got[c], want)
			}
		}
	}
}

func slopeVariance(t *testing.T, p *Program, theta, x []float64) []float64 {
	t.Helper()
	s := must.Get(NewSlopes(p, theta))(t)
	out := make([]float64, p.D)
	if err := s.Variance(out, x); err != nil {
		t.Fatalf("%s: %v", p.Text, err)
	}
	return out
}

// TestSlopesOfDistances checks that a function written in terms of the distance has
// the limit of its derivative, and that a function with a kink there is rejected.
func TestSlopesOfDistances(t *testing.T) {
	rng := rand.New(rand.NewPCG(32, 1))
	for _, other := range []string{"", "*rbf", " + periodic"} {
		want := mustCompile(t, "matern32(ard)"+other, 2)
		expr := must.Get(Parser{Families: distanceFamilies}.Parse("smooth(ard)" + other))(t)
		p := must.Get(Compile(expr, Columns(2)))(t)
		theta, x := randomTheta(rng, p), randomPoints(rng, 1, 2).X
		got, exact := slopeVariance(t, p, theta, x), slopeVariance(t, want, theta, x)
		for c := range got {
			if math.Abs(got[c]-exact[c]) > 1e-8*math.Abs(exact[c]) {
				t.Errorf("%s: variance %v, for matern32 %v", p.Text, got[c], exact[c])
			}
		}
	}
	for _, text := range []string{"matern12", "matern12*linear", "kinked", "rbf + kinked"} {
		expr := must.Get(Parser{Families: distanceFamilies}.Parse(text))(t)
		p := must.Get(Compile(expr, Columns(2)))(t)
		s, err := NewSlopes(p, randomTheta(rng, p))
		if err == nil {
			err = s.Variance(make([]float64, 2), []float64{0.3, 0.4})
		}
		if !errors.As(err, new(*CompileError)) {
			t.Errorf("%s: error %v", text, err)
		}
	}
}

// TestRowSlopes checks that the weighted sum of the slopes is the gradient of a
// row.
func TestRowSlopes(t *testing.T) {
	const n, d = 40, 3
	rng := rand.New(rand.NewPCG(33, 1))
	x := randomPoints(rng, n, d)
	for _, text := range evaluatorCases {
		p := mustCompile(t, text, d)
		e := NewEvaluator(p)
		e.Bind(randomTheta(rng, p))
		adj, want, slopes := randomPoints(rng, n, 1).X, make([]float64, d), make([]float64, n*d)
		e.RowInputGradient(want, adj, x, 3, x, 0, n)
		e.RowSlopes(slopes, x, 3, x, 0, n)
		for c := range want {
			got, size := 0.0, 0.0
			for j, a := range adj {
				got += a * slopes[c*n+j]
				size += math.Abs(a * slopes[c*n+j])
			}
			if math.Abs(got-want[c]) > relTol*size {
				t.Errorf("%s, column %d: slopes add up to %v, gradient %v", text, c, got, want[c])
			}
		}
	}
}
