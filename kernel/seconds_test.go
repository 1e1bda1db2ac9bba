package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/internal/testcheck"
)

// onePoint are kernels with values that depend only on one point of a pair.
var onePoint = []string{
	"arcsine(ard)",
	"gibbs(dims=0)",
	"formula(sigmoid(5*(x-c))*sigmoid(5*(y-c)), c=0.3, dims=0)*matern32 + formula(sigmoid(x)*sigmoid(y)*exp(-xx-yy), dims=1)*rbf",
	"formula(exp(a*(x+y)), a=0.1, dims=0)*rbf",
	"formula(tanh(x)*tanh(y), dims=0)",
	"formula(x^2 + x*y + y^2 + 1, dims=1)",
}

// TestRowsInAnyOrder evaluates rows of changing lengths, begins and coordinates with one evaluator,
// which keeps values, and each with a new one. Coordinates also change at the same address.
func TestRowsInAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 1))
	for _, text := range onePoint {
		prog := mustCompile(t, text, 2)
		theta := testcheck.Slice(prog.NumParams, func(i int) float64 { return 1.5 + 0.1*float64(i) })
		kept := bound(prog, theta)
		points := []*Points{randomPoints(rng, 200, 2), randomPoints(rng, 200, 2), randomPoints(rng, 31, 2)}
		for range 60 {
			x, y := points[rng.IntN(3)], points[rng.IntN(3)]
			switch rng.IntN(5) {
			case 0:
				y.X[rng.IntN(len(y.X))] = rng.NormFloat64()
			case 1:
				theta[rng.IntN(len(theta))] *= 1.1
				kept.Bind(theta)
			}
			i, j0 := rng.IntN(x.N), rng.IntN(y.N)
			m := 1 + rng.IntN(y.N-j0)
			adj := testcheck.Slice(m, func(int) float64 { return rng.NormFloat64() })
			all := func(e *Evaluator) []float64 {
				row, grad, inputs := make([]float64, m), make([]float64, prog.NumParams), make([]float64, 2)
				e.Row(row, x, i, y, j0, j0+m)
				e.RowGradient(grad, adj, x, i, y, j0, j0+m)
				e.RowInputGradient(inputs, adj, x, i, y, j0, j0+m)
				return slices.Concat(row, grad, inputs)
			}
			got, want := all(kept), all(bound(prog, theta))
			for k := range want {
				if math.Float64bits(got[k]) != math.Float64bits(want[k]) {
					t.Fatalf("%s: row %d, columns %d to %d of %d: number %d is %v, with a new evaluator %v", text, i, j0, j0+m, y.N, k, got[k], want[k])
				}
			}
		}
	}
}

// TestManyPoints passes more points than an evaluator keeps values for.
func TestManyPoints(t *testing.T) {
	prog := mustCompile(t, "formula(tanh(x)*tanh(y))", 1)
	y := &Points{N: mostKept + 5, D: 1, X: make([]float64, mostKept+5)}
	for j := range y.X {
		y.X[j] = float64(j) / mostKept
	}
	e := bound(prog, []float64{2})
	for _, j0 := range []int{0, 1000, mostKept - 100} {
		row := make([]float64, 100)
		e.Row(row, y, mostKept, y, j0, j0+100)
		for j, got := range row {
			want := 2 * math.Tanh(y.X[mostKept]) * math.Tanh(y.X[j0+j])
			if math.Abs(got-want) > 1e-15 {
				t.Fatalf("element %d is %v, want %v", j0+j, got, want)
			}
		}
	}
}

// TestFormulasOfFamilies compares formulas with the families that they write out.
func TestFormulasOfFamilies(t *testing.T) {
	for _, c := range []struct {
		family, formula string
		d               int
	}{
		{"rq", "formula((1 + r2/(2*a*l^2))^-a, l=1, a=1)", 3},
		{"rq(ard)", "formula((1 + r2/(2*a))^-a, a=1, ard)", 3},
		{"matern32", "formula((1 + sqrt(3)*r/l)*exp(-sqrt(3)*r/l), l=1)", 3},
		{"cosine", "formula(cos(2*pi*(x - y)/p), p=1)", 1},
		{"periodic", "formula(exp(-2*sin(pi*(y - x)/p)^2/l^2), l=1, p=1)", 1},
		{"rbf", "formula(exp(-(r/l)^g/2), l=1, g=2)", 3},
		{"matern12", "formula(exp(-(r/l)^g), l=1, g=1)", 3},
	} {
		family, form := mustCompile(t, c.family, c.d), mustCompile(t, c.formula, c.d)
		set := func(p *Program) *Evaluator {
			theta := make([]float64, p.NumParams)
			for _, q := range p.Params {
				for i, name := range q.ElementNames() {
					theta[q.Offset+i] = 1 + map[byte]float64{'l': 0.2 + 0.1*float64(i), 'p': 0.7, 'a': 0.4, 's': 0.5}[name[0]]
					if q.Start != nil && name == "g" {
						theta[q.Offset] = q.Start[0]
					}
				}
			}
			return bound(p, theta)
		}
		x := randomPoints(rand.New(rand.NewPCG(82, 1)), 40, c.d)
		a, b := make([]float64, 40), make([]float64, 40)
		ea, eb := set(family), set(form)
		for i := range 40 {
			ea.Row(a, x, i, x, 0, 40)
			eb.Row(b, x, i, x, 0, 40)
			for j := range a {
				if math.Abs(a[j]-b[j]) > 1e-14 {
					t.Fatalf("%s of %d, %d is %v, %s is %v", c.family, i, j, a[j], c.formula, b[j])
				}
			}
		}
	}
}
