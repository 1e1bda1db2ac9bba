package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"pgregory.net/rapid"

	"gpfit/internal/testcheck"
)

// algebraTol bounds the differences of expressions that differ only in the order of
// their operations, relative to the sum of absolute values.
const algebraTol = 1e-12

// pairValues evaluates a program on some pairs of points.
func pairValues(p *Program, theta []float64, x, y *Points) []float64 {
	e := bound(p, theta)
	out := make([]float64, x.N*y.N)
	for i := range x.N {
		e.Row(out[i*y.N:], x, i, y, 0, y.N)
	}
	return out
}

func compile(t testcheck.Test, e Expr, labels []int) *Program {
	return testcheck.Get(Compile(e, labels))(t)
}

// reorder maps the θ of one program to another's by the names that rename returns.
func reorder(t interface{ Fatalf(string, ...any) }, from, to *Program, theta []float64, rename func(string) string) []float64 {
	value := map[string]float64{}
	for i, name := range from.Names() {
		value[rename(name)] = theta[i]
	}
	out := make([]float64, to.NumParams)
	for i, name := range to.Names() {
		v, ok := value[name]
		if !ok || len(value) != to.NumParams {
			t.Fatalf("parameters %v of %s against %v of %s", from.Names(), from.Text, to.Names(), to.Text)
		}
		out[i] = v
	}
	return out
}

func swapOperands(name string) string {
	switch {
	case strings.HasPrefix(name, "k1."):
		return "k2." + name[3:]
	case strings.HasPrefix(name, "k2."):
		return "k1." + name[3:]
	}
	return name
}

func sameValues(t testcheck.Reporter, what string, a, b []float64) {
	testcheck.Near(t, what, b, a, 0, algebraTol*floats.Norm(a, math.Inf(1)))
}

// TestAlgebra checks identities that hold for every kernel: sums and products commute, products
// distribute over sums, a signal variance scales its term, and dims= restricts to columns.
func TestAlgebra(t *testing.T) {
	const d = 3
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		x, y := randomPoints(rng, 2, d), randomPoints(rng, 5, d)
		a, b := expressions(d, 1).Draw(t, "a"), expressions(d, 1).Draw(t, "b")

		sum, swapped := compile(t, Sum{a, b}, Columns(d)), compile(t, Sum{b, a}, Columns(d))
		theta := randomTheta(rng, sum)
		sameValues(t, "a + b, b + a", pairValues(sum, theta, x, y),
			pairValues(swapped, reorder(t, sum, swapped, theta, swapOperands), x, y))

		// A sum is the sum of its terms.
		terms := testcheck.Get(Terms(Sum{a, b}, Columns(d)))(t)
		total := make([]float64, x.N*y.N)
		seen := map[int]bool{}
		for _, term := range terms {
			floats.Add(total, pairValues(term.Program, term.Theta(theta), x, y))
			for _, p := range term.Params {
				seen[p] = true
			}
			if term.Program.Text != term.Expr.String() || strings.Join(term.Program.Names(), " ") != strings.Join(namesOf(sum, term.Params), " ") {
				t.Fatalf("term %s has parameters %v, in the whole %v", term.Program.Text, term.Program.Names(), namesOf(sum, term.Params))
			}
		}
		sameValues(t, "terms", pairValues(sum, theta, x, y), total)
		if len(seen) != sum.NumParams {
			t.Fatalf("%s: %d parameters in terms, %d in the whole", sum.Text, len(seen), sum.NumParams)
		}

		// Leaves without sums: the product has at most one variance, its last
		// parameter, and commutes and distributes.
		f, g, h := leafOf(d).Draw(t, "f"), leafOf(d).Draw(t, "g"), leafOf(d).Draw(t, "h")
		fg, gf := compile(t, Product{f, g}, Columns(d)), compile(t, Product{g, f}, Columns(d))
		theta = randomTheta(rng, fg)
		want := pairValues(fg, theta, x, y)
		sameValues(t, "f·g, g·f", want, pairValues(gf, reorder(t, fg, gf, theta, swapOperands), x, y))
		if last := fg.Params[len(fg.Params)-1]; last.Kind == Variance {
			floats.Scale(3, theta[last.Offset:])
			floats.Scale(3, want)
			testcheck.Near(t, "three times the variance of "+fg.Text, pairValues(fg, theta, x, y), want, algebraTol, 0)
		}
		if setsScale(f) || setsScale(g) || setsScale(h) {
			return
		}
		left := compile(t, Product{Sum{f, g}, h}, Columns(d))
		right := compile(t, Sum{Product{f, h}, Product{g, h}}, Columns(d))
		theta = randomTheta(rng, left)
		value := map[string]float64{}
		for i, name := range left.Names() { // k1.k1.q, k1.k2.q and k2.q
			if q, ok := strings.CutPrefix(name, "k2."); ok {
				value["k1.k2."+q], value["k2.k2."+q] = theta[i], theta[i]
				continue
			}
			q, first := strings.CutPrefix(name, "k1.k1.")
			path := "k1."
			if !first {
				q, path = strings.TrimPrefix(name, "k1.k2."), "k2."
			}
			if q != signalVariance {
				path += "k1."
			}
			value[path+q] = theta[i]
		}
		spread := testcheck.Slice(right.NumParams, func(i int) float64 { return value[right.Names()[i]] })
		sameValues(t, left.Text+" distributes", pairValues(left, theta, x, y), pairValues(right, spread, x, y))
	})
}

func namesOf(p *Program, index []int) (names []string) {
	all := p.Names()
	for _, i := range index {
		names = append(names, all[i])
	}
	return names
}

// TestRestriction checks that dims= is equivalent to a table of those columns.
func TestRestriction(t *testing.T) {
	const d = 4
	rng := rand.New(rand.NewPCG(12, 1))
	x, y := randomPoints(rng, 2, d), randomPoints(rng, 7, d)
	sub := func(p *Points, dims []int) *Points {
		q := &Points{N: p.N, D: len(dims)}
		for _, c := range dims {
			q.X = append(q.X, p.Column(c)...)
		}
		return q
	}
	for _, family := range families {
		for _, ard := range []bool{false, true} {
			for _, dims := range [][]int{{2}, {3, 1}, {0, 1, 3}} {
				whole := compile(t, &Leaf{Family: family, ARD: ard, Dims: dims}, Columns(d))
				part := compile(t, &Leaf{Family: family, ARD: ard}, dims)
				theta := randomTheta(rng, whole)
				if strings.Join(whole.Names(), " ") != strings.Join(part.Names(), " ") {
					t.Fatalf("%s: parameters %v, of the columns alone %v", whole.Text, whole.Names(), part.Names())
				}
				sameValues(t, whole.Text, pairValues(whole, theta, x, y), pairValues(part, theta, sub(x, dims), sub(y, dims)))
			}
		}
	}
}

// checkInputGradient compares RowInputGradient with central differences of Row by
// the coordinates of the row's first point.
func checkInputGradient(t testcheck.Reporter, p *Program, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 4))
	const m = 9
	x, y := randomPoints(rng, 2, p.D), randomPoints(rng, m, p.D)
	theta, adj := randomTheta(rng, p), randomPoints(rng, m, 1).X
	e := bound(p, theta)
	grad, row := make([]float64, p.D), make([]float64, m)
	e.RowInputGradient(grad, adj[2:], x, 1, y, 2, m)
	scale := 0.0
	for c := range grad {
		want, doubt := centralDifference(func(h float64) float64 {
			moved := &Points{N: 1, D: p.D}
			for q := range p.D {
				moved.X = append(moved.X, x.Column(q)[1])
			}
			moved.X[c] += h
			e.Row(row, moved, 0, y, 2, m)
			sum, size := 0.0, 0.0
			for j, v := range row[:m-2] {
				sum += adj[2+j] * v
				size += math.Abs(adj[2+j] * v)
			}
			scale = max(scale, size)
			return sum
		})
		if math.Abs(grad[c]-want) > diffTol*(scale+math.Abs(want))+doubt {
			t.Errorf("%s: ∂/∂x%d = %v, central difference %v", p.Text, c, grad[c], want)
		}
	}
}

func TestInputGradients(t *testing.T) {
	for _, name := range Families() {
		for _, args := range []string{"", "(ard)", "(dims=1)", "(ard, dims=[3, 1])"} {
			checkInputGradient(t, mustCompile(t, name+args, 4), 7)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		checkInputGradient(t, compile(t, expressions(3, 3).Draw(t, "expr"), Columns(3)), 8)
	})
}

// TestInputGradientAtTheSamePoint checks that the gradient vanishes for stationary
// kernels and equals the other argument for an inner product.
func TestInputGradientAtTheSamePoint(t *testing.T) {
	x := NewPoints([]float64{0.3, -1.7}, 1, 2)
	for text, want := range map[string][]float64{
		"rbf": {0, 0}, "matern12": {0, 0}, "matern32(ard)": {0, 0}, "rq": {0, 0}, "periodic(ard)": {0, 0}, "cosine": {0, 0}, "constant": {0, 0},
		"linear": {0.3, -1.7}, "poly(1)": {0.3, -1.7},
	} {
		p := mustCompile(t, text, 2)
		e, grad := bound(p, ones(p)), make([]float64, 2)
		e.RowInputGradient(grad, []float64{1}, x, 0, x, 0, 1)
		if grad[0] != want[0] || grad[1] != want[1] {
			t.Errorf("%s: %v, want %v", text, grad, want)
		}
	}
}

// TestWhoSetsTheScale checks the signal variances and the units of all parameters.
func TestWhoSetsTheScale(t *testing.T) {
	for text, want := range map[string]string{
		"linear":                                 "signal_variance{2 -2}",
		"linear(ard)":                            "lengthscale[0]{-1 1} lengthscale[1]{-1 1}",
		"poly(2, ard)":                           "lengthscale[0]{-0.5 1} lengthscale[1]{-0.5 1} offset{1 0}",
		"poly(3)":                                "offset{0 0} signal_variance{2 0}",
		"additive(rbf, ard)":                     "lengthscale[0]{0 1} lengthscale[1]{0 1} variance[0]{2 0} variance[1]{2 0}",
		"linear(ard)*additive(rbf, ard, dims=1)": "k1.lengthscale[0]{-1 1} k1.lengthscale[1]{-1 1} k2.lengthscale[1]{0 1} k2.variance[1]{0 0}",
		"rbf*linear":                             "k1.lengthscale{0 1} signal_variance{2 -2}",
		"linear*linear":                          "signal_variance{2 0}",
		"rbf*linear(ard)":                        "k1.lengthscale{0 1} k2.lengthscale[0]{-1 1} k2.lengthscale[1]{-1 1}",
		"constant*constant":                      "signal_variance{2 0}",
		"rbf*constant":                           "k1.lengthscale{0 1} signal_variance{2 0}",
		"linear(ard)*(cosine + constant)":        "k1.lengthscale[0]{-1 1} k1.lengthscale[1]{-1 1} k2.k1.period{0 1} k2.k2.signal_variance{0 0}",
		"(cosine + constant)*linear(ard)":        "k1.k1.period{0 1} k1.k2.signal_variance{0 0} k2.lengthscale[0]{-1 1} k2.lengthscale[1]{-1 1}",
		"(linear + constant)*(rbf + rq)":         "k1.k1.signal_variance{2 -2} k1.k2.signal_variance{2 0} k2.k1.lengthscale{0 1} k2.k2.lengthscale{0 1} k2.k2.alpha{0 0} k2.k2.signal_variance{0 0}",
		"constant*(linear(ard) + periodic)":      "k2.k1.lengthscale[0]{-1 1} k2.k1.lengthscale[1]{-1 1} k2.k2.lengthscale{0 0} k2.k2.period{0 1} k2.k2.signal_variance{2 0}",
		"(rbf + rbf)*(linear(ard) + constant)": "k1.k1.lengthscale{0 1} k1.k1.signal_variance{2 0} k1.k2.lengthscale{0 1} k1.k2.signal_variance{2 0} " +
			"k2.k1.lengthscale[0]{0 1} k2.k1.lengthscale[1]{0 1}",
	} {
		var got []string
		for _, p := range mustCompile(t, text, 2).Params {
			for _, name := range p.ElementNames() {
				got = append(got, name+fmt.Sprint(p.Units))
			}
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%s: parameters\n%s, want\n%s", text, s, want)
		}
	}
}
