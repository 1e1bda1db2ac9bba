package grid

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/internal/must"
	"gpfit/internal/textbook"
	"gpfit/kernel"
)

// ofOne and ofTwo are factors for one column and for two, which are not products.
var (
	ofOne = []string{"rbf(dims=%d)", "matern32(dims=%d)", "periodic(dims=%d)", "(matern12(dims=%[1]d) + linear(dims=%[1]d))", "rq(dims=%d)",
		"hamming(dims=%d)", "matern52(dims=%[1]d)*cosine(dims=%[1]d)", "poly(2, dims=%d)", "linear(dims=%d)", "(rbf(dims=%[1]d) + constant)"}
	ofTwo = []string{"matern52(dims=[%d,%d])", "matern12(ard, dims=[%d,%d])", "(rbf(dims=%d) + matern32(dims=%d))", "rbf(dims=%[1]d)*matern32(dims=[%[1]d,%[2]d])"}
)

// task is a random problem.
type task struct {
	text    string
	x, xs   *kernel.Points
	prog    *kernel.Program
	theta   []float64
	noise   []float64
	targets int
	y       []float64
}

func normals(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = rng.NormFloat64()
	}
	return v
}

// randomKernel returns a product over groups of one or two columns, and the groups.
func randomKernel(rng *rand.Rand) (text string, groups [][]int, d int) {
	var factors []string
	for range 2 + rng.IntN(3) {
		switch rng.IntN(4) {
		case 0:
			groups = append(groups, []int{d, d + 1})
			factors = append(factors, fmt.Sprintf(ofTwo[rng.IntN(len(ofTwo))], d, d+1))
			d += 2
		default:
			groups = append(groups, []int{d})
			factors = append(factors, fmt.Sprintf(ofOne[rng.IntN(len(ofOne))], d))
			d++
		}
	}
	if rng.IntN(4) == 0 { // a leaf over columns of several factors that splits
		factors = append(factors, []string{"rbf", "rbf(ard)", "periodic", "hamming(ard)"}[rng.IntN(4)])
	}
	if rng.IntN(4) == 0 {
		factors = append(factors, "constant")
	}
	rng.Shuffle(len(factors), func(i, j int) { factors[i], factors[j] = factors[j], factors[i] })
	return strings.Join(factors, "*"), groups, d
}

// randomGrid returns all combinations of values of the groups, in random order.
func randomGrid(rng *rand.Rand, groups [][]int, d int) *kernel.Points {
	n := 1
	sizes := make([]int, len(groups))
	for a := range sizes {
		sizes[a] = 1 + rng.IntN(min(8, 90/n))
		n *= sizes[a]
	}
	x := &kernel.Points{N: n, D: d, X: make([]float64, n*d)}
	order, step := rng.Perm(n), 1
	if rng.IntN(3) == 0 {
		slices.Sort(order)
	}
	for a, columns := range groups {
		values := make([][]float64, len(columns))
		for c := range columns {
			values[c] = normals(rng, sizes[a])
		}
		for k, i := range order {
			for c, column := range columns {
				x.Column(column)[i] = values[c][k/step%sizes[a]]
			}
		}
		step *= sizes[a]
	}
	return x
}

func newTask(t testing.TB, seed uint64) *task {
	rng := rand.New(rand.NewPCG(seed, 290))
	text, groups, d := randomKernel(rng)
	m := 1 + rng.IntN(20)
	p := &task{text: text, x: randomGrid(rng, groups, d), xs: kernel.NewPoints(normals(rng, m*d), m, d), targets: 1 + rng.IntN(3)}
	for c := range d { // some points have values of the grid
		p.xs.Column(c)[0] = p.x.Column(c)[rng.IntN(p.x.N)]
	}
	p.prog = must.Get(kernel.CompileText(text, d))(t)
	for range p.prog.NumParams {
		p.theta = append(p.theta, math.Exp(0.4*rng.NormFloat64()))
	}
	p.noise = []float64{math.Exp(rng.NormFloat64())}
	if rng.IntN(4) == 0 {
		p.noise = slices.Repeat(p.noise, p.x.N)
	}
	p.y = normals(rng, p.x.N*p.targets)
	return p
}

// results are all results for a task, by name.
type results struct {
	names  []string
	values [][]float64
}

func (r *results) add(name string, values ...float64) {
	r.names, r.values = append(r.names, name), append(r.values, slices.Clone(values))
}

// evaluate calls everything.
func evaluate(t testing.TB, w device.Workspace, p *task, rng *rand.Rand) *results {
	t.Helper()
	ctx, r, n := context.Background(), &results{}, p.x.N
	must.Do(t, w.Form(ctx, p.prog, p.theta, p.noise))
	alpha := slices.Clone(p.y)
	must.Do(t, w.Solve(ctx, alpha, p.targets))
	logDet, _ := must.Get2(w.LogDet())(t)
	r.add("log|Σ|", logDet)
	r.add("α", alpha...)
	grad, diag := make([]float64, p.prog.NumParams), make([]float64, n)
	adj := device.Adjoint{Inv: float64(p.targets) / 2, Outer: slices.Repeat([]float64{-0.5}, p.targets), Vectors: alpha}
	must.Do(t, w.Contract(ctx, adj, p.prog, p.theta, grad, diag))
	r.add("gradient", grad...)
	r.add("diagonal of the adjoint", diag...)
	must.Do(t, w.(device.InverseDiagonal).InverseDiagonal(ctx, diag))
	r.add("diagonal of the inverse", diag...)
	clear(grad)
	adj = device.Adjoint{Inv: 0.3, Outer: normals(rng, 2), Vectors: normals(rng, 2*n)}
	must.Do(t, w.(device.InverseDiagonal).ContractDiagonal(ctx, adj, normals(rng, n), p.prog, p.theta, grad, diag))
	r.add("gradient with a middle term", grad...)
	r.add("sum of the diagonal with a middle term", floats.Sum(diag))
	m := p.xs.N
	mean, reduction, joint := make([]float64, m*p.targets), make([]float64, m), make([]float64, m*m)
	must.Do(t, w.Predict(ctx, p.prog, p.theta, alpha, p.xs, mean, reduction))
	r.add("means", mean...)
	r.add("reductions", reduction...)
	must.Do(t, w.(device.JointCovariance).PredictCovariance(ctx, p.prog, p.theta, p.xs, joint))
	r.add("joint covariance", joint...)
	vectors, products := normals(rng, 2*n), make([]float64, 2*n*p.prog.NumParams)
	c := w.(device.DerivativeProducts)
	must.Do(t, c.MultiplyDerivatives(ctx, p.prog, p.theta, vectors, 2, products))
	r.add("products", products...)
	must.Do(t, c.Whiten(ctx, vectors, 2, false))
	r.add("‖L⁻¹b‖²", floats.Dot(vectors, vectors))
	must.Do(t, c.Whiten(ctx, vectors, 2, true))
	r.add("L⁻ᵀL⁻¹b", vectors...)
	return r
}

// long reports whether the long form of tests runs.
func long() bool { return os.Getenv("GPFIT_LONG") == "1" }

// TestRandomProblems compares all results for random problems with the results of plain formulas.
func TestRandomProblems(t *testing.T) {
	count, tolerance := 60, 1e-10
	if long() {
		count = 500
	}
	plain, own := textbook.New(), open(t)
	for seed := range uint64(count) {
		p := newTask(t, seed)
		var all [2]*results
		for i, b := range []device.Backend{plain, own} {
			w := must.Get(b.NewWorkspace(context.Background(), p.x))(t)
			all[i] = evaluate(t, w, p, rand.New(rand.NewPCG(seed, 1)))
			must.Do(t, w.Close())
		}
		for k, name := range all[0].names {
			want, got := all[0].values[k], all[1].values[k]
			scale := 1.0
			for _, v := range want {
				scale = max(scale, math.Abs(v))
			}
			for i, v := range want {
				if !(math.Abs(got[i]-v) <= tolerance*scale) {
					t.Errorf("problem %d, %s, n = %d: %s[%d] = %v, want %v", seed, p.text, p.x.N, name, i, got[i], v)
					break
				}
			}
		}
	}
}

// TestGroups checks which columns a kernel multiplies.
func TestGroups(t *testing.T) {
	for text, want := range map[string]string{
		"rbf":                                                    "[[0] [1] [2] [3]]",
		"rbf(ard)*matern32(dims=[1,3])":                          "[[0] [1 3] [2]]",
		"matern32(dims=3)*matern32(dims=0)":                      "[[0] [3]]",
		"matern32(dims=[0,1])*matern52(dims=[1,2])":              "[[0 1 2]]",
		"matern32(dims=[2,3])*rq(dims=[0,1])*rq(dims=3)":         "[[0 1] [2 3]]",
		"(rbf(dims=0) + rbf(dims=2))*hamming(dims=1)":            "[[0 2] [1]]",
		"(rbf(dims=0) + constant)*constant*periodic(dims=[0,3])": "[[0] [3]]",
		"cosine*rbf": "[[0 1 2 3]]",
	} {
		groups := must.Get(columnGroups(must.Get(kernel.CompileText(text, 4))(t)))(t)
		if got := fmt.Sprint(groups); got != want {
			t.Errorf("%s: groups %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"rbf + matern32", "constant", "rbf(dims=0)*matern32(dims=1) + constant"} {
		if groups, err := columnGroups(must.Get(kernel.CompileText(text, 4))(t)); err == nil {
			t.Errorf("%s: groups %v", text, groups)
		}
	}
}

// TestLattice checks which rows are a grid.
func TestLattice(t *testing.T) {
	for _, c := range []struct {
		rows string
		grid bool
	}{
		{"0 0, 0 1, 1 0, 1 1", true},
		{"1 1, 0 1, 1 0, 0 0", true},
		{"0 0, 0 1, 1 0, 1 2", false},
		{"0 0, 0 1, 1 0", false},
		{"0 0, 0 1, 1 0, 0 1", false},
		{"0 0, 0 1, 1 0, 1 1, 0 0, 0 1, 1 0, 1 1", false},
		{"0 0, -0 1, 1 -0, 1 1", true},
		{"0 0, 0 1, 0 2", true},
		{"0 0, 1 1, 2 2", false},
	} {
		var rows []float64
		for _, row := range strings.Split(c.rows, ",") {
			var a, b float64
			_ = must.Get(fmt.Sscan(row, &a, &b))(t)
			if strings.HasPrefix(strings.TrimSpace(row), "-") {
				a = math.Copysign(0, -1)
			}
			rows = append(rows, a, b)
		}
		l, err := newLattice(kernel.NewPoints(rows, len(rows)/2, 2), [][]int{{0}, {1}})
		if (err == nil) != c.grid || err == nil && l.axes[0].size()*l.axes[1].size() != len(rows)/2 {
			t.Errorf("rows %s: error %v, want a grid: %v", c.rows, err, c.grid)
		}
		if err != nil {
			must.Fail[*device.UnsupportedError](t, err, "grid")
		}
	}
}
