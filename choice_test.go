package gpfit_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gpfit"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/fit/tuning"
	"gpfit/internal/testcheck"
)

// structuredTable is a table with a kernel, and the method that suits both.
type structuredTable struct {
	name, kernel, method string
	data                 problem.Data
	options              problem.Options
}

// structuredTables returns tables that have a structure, nearly have one, or have none.
func structuredTables() (all []structuredTable) {
	const n = 900
	random := rand.New(rand.NewPCG(4, 4))
	add := func(name, kernel, method string, d int, at func(i, j int) float64, change func(t *structuredTable)) {
		t := structuredTable{name: name, kernel: kernel, method: method, data: problem.Data{N: n, D: d}}
		for i := range n {
			sum := 0.0
			for j := range d {
				v := at(i, j)
				t.data.X, sum = append(t.data.X, v), sum+math.Sin(v*(1+0.3*float64(j)))
			}
			t.data.Y = append(t.data.Y, sum+0.3*random.NormFloat64())
		}
		if change != nil {
			change(&t)
		}
		all = append(all, t)
	}
	drawn := func(i, j int) float64 { return 10 * random.Float64() }
	regular := func(i, j int) float64 { return 0.1 * float64(i) }
	coarse := func(i, j int) float64 { return float64(random.IntN(12)) }
	lattice := func(i, j int) float64 { return float64([2]int{i / 30, i % 30}[j]) / 3 }
	noisy := func(t *structuredTable) {
		t.data.NoiseVariance = make([]float64, n)
		for i := range n {
			t.data.NoiseVariance[i] = 0.05 + 0.1*random.Float64()
		}
	}
	grouped := func(t *structuredTable) {
		for i := range n {
			t.data.NoiseGroup = append(t.data.NoiseGroup, fmt.Sprint(i%2))
		}
	}
	loo := func(t *structuredTable) { t.options.Objective = problem.LOO }

	for _, kernel := range []string{"matern12", "matern32", "matern52", "matern(3.5)", "matern12 + matern52", "cosine*matern12 + constant"} {
		add("even times", kernel, "markov", 1, regular, nil)
	}
	add("uneven times, unsorted", "matern32", "markov", 1, drawn, nil)
	add("uneven times, known noise", "matern32", "markov", 1, drawn, noisy)
	add("uneven times, groups", "matern52", "markov", 1, drawn, grouped)
	add("uneven times, leave-one-out", "matern32", "markov", 1, drawn, loo)
	add("some equal times", "matern32", "markov", 1, func(i, _ int) float64 { return float64(random.IntN(800)) }, nil)
	add("few times", "matern32", "merged", 1, coarse, nil)
	add("a series of a smooth kernel", "rbf", "", 1, drawn, nil)
	add("a periodic series", "periodic", "", 1, drawn, nil)
	add("two columns", "matern32", "", 2, drawn, nil)
	add("a sum over two columns", "matern32(dims=0) + matern12(dims=1)", "", 2, drawn, nil)
	add("one column of two", "matern32(dims=1)", "markov", 2, drawn, nil)

	for _, kernel := range []string{"rbf(dims=0)*matern32(dims=1)", "rbf(ard)", "matern12(dims=1)*rbf(dims=0)", "rbf"} {
		add("a grid", kernel, "grid", 2, lattice, nil)
	}
	add("a grid, leave-one-out", "rbf(ard)", "grid", 2, lattice, loo)
	add("a grid that the kernel does not divide", "matern32", "", 2, lattice, nil)
	add("a grid and a sum", "rbf(ard) + matern12", "", 2, lattice, nil)
	add("a grid with known noise", "rbf(ard)", "", 2, lattice, noisy)
	add("a grid with one row moved", "rbf(ard)", "", 2, func(i, j int) float64 { return lattice(i, j) + 1e-9*float64(max(0, i-n+2)) }, nil)
	add("a grid with one row doubled", "rbf(ard)", "", 2, func(i, j int) float64 { return lattice(max(i, 1), j) }, nil)

	add("rows that repeat", "rbf(ard)", "merged", 2, coarse, nil)
	add("rows that repeat, known noise", "matern52", "merged", 2, coarse, noisy)
	add("rows that repeat, groups", "rbf", "merged", 2, coarse, grouped)
	add("rows that repeat, leave-one-out", "rbf", "merged", 2, coarse, loo)
	add("a few rows that repeat", "rbf(ard)", "", 2, func(i, j int) float64 { return float64(max(i, n/50)) + 0.1*float64(j) }, nil)
	add("nearly equal rows", "rbf(ard)", "", 2, func(i, j int) float64 { return float64(i%100) + 1e-9*float64(i) + 3*float64(j) }, nil)
	add("two rows", "rbf", "merged", 1, func(i, _ int) float64 { return float64(i % 2) }, nil)

	for _, kernel := range []string{"linear", "linear(ard) + constant", "poly(2)", "formula(sin(x)*sin(y), dims=1) + constant"} {
		add("few features", kernel, "finite", 4, drawn, nil)
	}
	add("lines and categories", "linear(dims=0) + hamming(dims=1)", "finite", 2, func(i, j int) float64 {
		if j == 1 {
			return float64(i % 9)
		}
		return drawn(i, j)
	}, nil)
	add("few features, known noise", "linear(ard)", "finite", 4, drawn, noisy)
	add("few features, leave-one-out", "poly(2)", "finite", 3, drawn, loo)
	add("features and a smooth kernel", "linear + rbf", "", 4, drawn, nil)
	add("no structure", "rbf(ard)", "", 4, drawn, nil)
	return all
}

// TestChoice checks which method suits tables with a structure, nearly with one, and without, and compares value and
// gradient with the dense method.
func TestChoice(t *testing.T) {
	tables := structuredTables()
	if testing.Short() {
		tables = tables[:3]
	}
	for _, c := range tables {
		t.Run(c.name+", "+c.kernel, func(t *testing.T) {
			evaluate := func(method string) *summary.Report {
				o := c.options
				o.Kernel = c.kernel
				job := testcheck.Get(fit.Prepare(c.data, o, problem.Events{}))(t)
				opened := testcheck.Get(gpfit.Devices{Name: "cpu", Method: method}.Open(t.Context(), tuning.Workload(job)))(t)
				defer opened.Close()
				return testcheck.Get(fit.Evaluate(t.Context(), job, opened.Backends[0], nil))(t)
			}
			got, want := evaluate(""), evaluate("dense")
			if got.Method != c.method {
				t.Errorf("method %s, not %s", cmp.Or(got.Method, "dense"), cmp.Or(c.method, "dense"))
			}
			testcheck.Near(t, "objective", []float64{got.Objective, got.NLML}, []float64{want.Objective, want.NLML}, 1e-10, 1e-9)
			for name, v := range want.GradientLog {
				// The terms of a component are as large as n.
				testcheck.Within(t, got.GradientLog[name], v, 1e-10*float64(c.data.N), "derivative by %s", name)
			}
		})
	}
	t.Logf("%d tables", len(tables))
}
