package merged_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/device/textbook"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
	"gpfit/method/merged"
)

// open returns the method on the CPU.
func open(t testing.TB) device.Backend {
	return testcheck.Get(merged.Method{}.Backends([]device.Device{testcheck.Get(cpu.Open(device.Options{}))(t)}))(t)[0]
}

// TestConformance runs the suite of methods, mostly on points that do not repeat.
func TestConformance(t *testing.T) {
	if !testcheck.Long() {
		t.Skip("SKIPPED: the suite of methods takes seconds; GPFIT_LONG=1 runs it")
	}
	devicetest.Run(t, func(t *testing.T) device.Backend { return open(t) })
}

// table is a problem on points that repeat.
type table struct {
	x, xs        *kernel.Points
	u            int
	prog         *kernel.Program
	theta, noise []float64
	y            []float64 // n×T
}

// kernels have two columns.
var kernels = []string{"rbf", "matern32(ard)", "matern12 + linear", "rq*periodic(dims=1)", "matern52(ard) + constant", "hamming + rbf"}

// sizes returns how many rows are at each of the points.
func sizes(rng *rand.Rand, seed int) (out []int) {
	switch {
	case seed%20 == 0: // one place
		return []int{1 + rng.IntN(100)}
	case seed%20 == 1: // one large group
		return []int{1, 100, 2}
	}
	for range 1 + rng.IntN(15) {
		out = append(out, 1+rng.IntN(1+rng.IntN(12)))
	}
	return out
}

// newTable returns a random problem. Of each eight, one has one noise variance, one has groups with
// a row without noise, and one noise of very different sizes.
func newTable(t testing.TB, seed int) *table {
	t.Helper()
	const d, m, targets = 2, 7, 2
	rng := rand.New(rand.NewPCG(uint64(seed), 29))
	var rows [][]float64
	counts := sizes(rng, seed)
	for range counts {
		rows = append(rows, []float64{float64(rng.IntN(40)) / 8, 3 * rng.NormFloat64()})
	}
	var of []int
	for k, count := range counts {
		of = append(of, slices.Repeat([]int{k}, count)...)
	}
	rng.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
	n := len(of)
	var flat []float64
	for _, k := range of {
		flat = append(flat, rows[k]...)
		if flat[len(flat)-2] == 0 && rng.IntN(2) == 0 {
			flat[len(flat)-2] = math.Copysign(0, -1)
		}
	}
	tab := &table{x: kernel.NewPoints(flat, n, d), u: len(counts), prog: kerneltest.Program(t, kernels[seed%len(kernels)], d)}
	tab.xs = kernel.NewPoints(testcheck.Slice(m*d, func(int) float64 { return 2 * rng.NormFloat64() }), m, d)
	tab.theta = testcheck.Slice(tab.prog.NumParams, func(int) float64 { return math.Exp(0.4 * rng.NormFloat64()) })
	tab.y = testcheck.Slice(n*targets, func(int) float64 { return rng.NormFloat64() })
	tab.noise = testcheck.Slice(n, func(int) float64 { return math.Exp(rng.NormFloat64() - 1) })
	switch seed % 8 {
	case 0:
		tab.noise = tab.noise[:1]
	case 1:
		for k := range counts {
			tab.noise[slices.Index(of, k)] *= 1e-2
		}
	case 2:
		for i := range tab.noise {
			tab.noise[i] *= math.Pow(10, float64(rng.IntN(5)-1))
		}
	}
	return tab
}

func (tab *table) n() int { return tab.x.N }

// workspaces returns the problem's workspace and one of the textbook, both formed.
func (tab *table) workspaces(t testing.TB, b device.Backend) (got, want device.Workspace) {
	t.Helper()
	got, want = testcheck.Get(b.NewWorkspace(t.Context(), tab.x))(t), testcheck.Get(textbook.New().NewWorkspace(t.Context(), tab.x))(t)
	for _, w := range []device.Workspace{got, want} {
		t.Cleanup(func() { w.Close() })
		testcheck.Do(t, w.Form(t.Context(), tab.prog, tab.theta, tab.noise))
	}
	return got, want
}

// compare reports numbers that differ by more than tolerance times the largest.
func compare(t testing.TB, what string, got, want []float64, tolerance float64) {
	t.Helper()
	scale := 1.0
	for _, v := range want {
		scale = max(scale, math.Abs(v))
	}
	for i, v := range want {
		testcheck.Within(t, got[i], v, tolerance*scale, "%s[%d]", what, i)
	}
}

// close1e10 is for results that are relative to the largest number or the sum of absolute terms.
const close1e10 = 1e-10

// TestDense compares all results with the dense method.
func TestDense(t *testing.T) {
	problems := 60
	if testcheck.Long() {
		problems = 500
	}
	b := open(t)
	for seed := range problems {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			tab := newTable(t, seed)
			got, want := tab.workspaces(t, b)
			checkValues(t, tab, got, want)
			checkContractions(t, tab, got, want)
			checkPredictions(t, tab, got, want)
			checkProducts(t, tab, got, want)
			checkFolds(t, tab, b)
		})
	}
}

// checkValues compares log|Σ|, solutions and the diagonal of the inverse.
func checkValues(t *testing.T, tab *table, got, want device.Workspace) {
	t.Helper()
	value, stdErr := testcheck.Get2(logDet(got))(t)
	reference, _ := testcheck.Get2(logDet(want))(t)
	compare(t, "log|Σ|", []float64{value, stdErr}, []float64{reference, 0}, close1e10)
	compare(t, "Σ⁻¹y", solved(t, tab, got), solved(t, tab, want), close1e10)
	compare(t, "diagonal of Σ⁻¹", inverse(t, tab, got), inverse(t, tab, want), close1e10)
}

func logDet(w device.Workspace) (value, stdErr float64, err error) { return w.LogDet() }

func solved(t testing.TB, tab *table, w device.Workspace) []float64 {
	t.Helper()
	b := slices.Clone(tab.y)
	testcheck.Do(t, w.Solve(t.Context(), b, len(b)/tab.n()))
	return b
}

func inverse(t testing.TB, tab *table, w device.Workspace) []float64 {
	t.Helper()
	out := make([]float64, tab.n())
	testcheck.Do(t, testcheck.Get(device.Capability[device.InverseDiagonal](w, "the diagonal"))(t).InverseDiagonal(t.Context(), out))
	return out
}

// checkContractions compares gradients and diagonals of adjoints of every kind. Errors of a gradient
// are relative to its absolute terms.
func checkContractions(t *testing.T, tab *table, got, want device.Workspace) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(tab.n())))
	alpha := solved(t, tab, want)
	middle := testcheck.Slice(tab.n(), func(int) float64 { return rng.NormFloat64() })
	for what, adj := range map[string]device.Adjoint{
		"inverse":    {Inv: 0.7},
		"vectors":    {Outer: []float64{1.5, -0.5}, Vectors: tab.y},
		"likelihood": {Inv: 1, Outer: []float64{-0.5, -0.5}, Vectors: alpha},
		"nothing":    {},
	} {
		for _, m := range [][]float64{nil, middle} {
			name := fmt.Sprintf("%s, middle %t", what, m != nil)
			grad, diag := contract(t, tab, got, adj, m)
			reference, diagonal := contract(t, tab, want, adj, m)
			compare(t, name+": diagonal", diag, diagonal, close1e10)
			for p, scale := range scales(tab, want, adj, m, t) {
				testcheck.Within(t, grad[p], reference[p], close1e10*(1+scale), "%s: derivative %d", name, p)
			}
		}
	}
}

// scales returns the sizes of the terms of a gradient: each part of the adjoint on its own.
func scales(tab *table, w device.Workspace, adj device.Adjoint, middle []float64, t testing.TB) []float64 {
	t.Helper()
	n, sum := tab.n(), make([]float64, tab.prog.NumParams)
	add := func(a device.Adjoint, m []float64) {
		grad, _ := contract(t, tab, w, a, m)
		for p, v := range grad {
			sum[p] += math.Abs(v)
		}
	}
	add(device.Adjoint{Inv: adj.Inv}, nil)
	for c, f := range adj.Outer {
		v := adj.Vectors[c*n : (c+1)*n]
		absolute := testcheck.Slice(n, func(i int) float64 { return math.Abs(v[i]) })
		add(device.Adjoint{Outer: []float64{f}, Vectors: absolute}, nil)
	}
	if middle != nil {
		add(device.Adjoint{}, testcheck.Slice(n, func(i int) float64 { return math.Abs(middle[i]) }))
	}
	return sum
}

func contract(t testing.TB, tab *table, w device.Workspace, adj device.Adjoint, middle []float64) (grad, diag []float64) {
	t.Helper()
	grad, diag = make([]float64, tab.prog.NumParams), make([]float64, tab.n())
	adj.Diagonal = middle
	testcheck.Do(t, w.Contract(t.Context(), adj, tab.prog, tab.theta, grad, diag))
	return grad, diag
}

// checkPredictions compares means, variances and covariances at other points.
func checkPredictions(t *testing.T, tab *table, got, want device.Workspace) {
	t.Helper()
	alpha, m := solved(t, tab, want), tab.xs.N
	predict := func(w device.Workspace) (mean, reduction, covariance []float64) {
		mean, reduction, covariance = make([]float64, m*len(alpha)/tab.n()), make([]float64, m), make([]float64, m*m)
		testcheck.Do(t, w.Predict(t.Context(), tab.prog, tab.theta, alpha, tab.xs, mean, reduction))
		testcheck.Do(t, w.(device.JointCovariance).PredictCovariance(t.Context(), tab.prog, tab.theta, tab.xs, covariance))
		return mean, reduction, covariance
	}
	mean, reduction, covariance := predict(got)
	wantMean, wantReduction, wantCovariance := predict(want)
	compare(t, "mean", mean, wantMean, close1e10)
	compare(t, "reduction", reduction, wantReduction, close1e10)
	compare(t, "covariance", covariance, wantCovariance, close1e10)
}

// checkProducts compares the products of the derivatives, and checks ‖L⁻¹y‖² = yᵀΣ⁻¹y, (L⁻¹y)ᵀz =
// yᵀL⁻ᵀz and L⁻ᵀL⁻¹y = Σ⁻¹y.
func checkProducts(t *testing.T, tab *table, got, want device.Workspace) {
	t.Helper()
	n, columns := tab.n(), len(tab.y)/tab.n()
	products := func(w device.Workspace) []float64 {
		out := make([]float64, len(tab.y)*tab.prog.NumParams)
		testcheck.Do(t, w.(device.DerivativeProducts).MultiplyDerivatives(t.Context(), tab.prog, tab.theta, tab.y, columns, out))
		return out
	}
	compare(t, "products", products(got), products(want), close1e10)
	whiten := func(b []float64, transposed bool) []float64 {
		out := slices.Clone(b)
		testcheck.Do(t, got.(device.DerivativeProducts).Whiten(t.Context(), out, columns, transposed))
		return out
	}
	alpha, white, back := solved(t, tab, want), whiten(tab.y, false), whiten(tab.y, true)
	compare(t, "L⁻ᵀL⁻¹y", whiten(white, true), alpha, close1e10)
	for c := range columns {
		y, a, z := tab.y[c*n:(c+1)*n], alpha[c*n:(c+1)*n], white[c*n:(c+1)*n]
		compare(t, "‖L⁻¹y‖²", []float64{floats.Dot(z, z)}, []float64{floats.Dot(y, a)}, close1e10)
		other := tab.y[:n]
		size := floats.Norm(z, 2) * floats.Norm(other, 2)
		testcheck.Within(t, floats.Dot(back[c*n:(c+1)*n], other), floats.Dot(y, white[:n]), close1e10*(1+size), "transposed")
	}
}

// checkFolds compares blocks of the inverse and contractions with blocks, for the rows in the order of
// folds of some places each.
func checkFolds(t *testing.T, tab *table, b device.Backend) {
	t.Helper()
	rng := rand.New(rand.NewPCG(2, uint64(tab.n())))
	var order, ends []int
	for k, rows := range tab.x.Places() {
		order = append(order, rows...)
		if k == tab.u-1 || rng.IntN(3) == 0 {
			rest := order[append([]int{0}, ends...)[len(ends)]:]
			rng.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
			ends = append(ends, len(order))
		}
	}
	own := *tab
	own.x, own.y = tab.x.Pick(order), tab.y
	if len(tab.noise) > 1 {
		own.noise = testcheck.Slice(tab.n(), func(i int) float64 { return tab.noise[order[i]] })
	}
	got, want := own.workspaces(t, b)
	middle := device.NewBlocks(ends)
	_ = middle.Each(func(_, m int, elements []float64) error {
		for i := range m {
			for j := range i + 1 {
				elements[i*m+j] = rng.NormFloat64()
				elements[j*m+i] = elements[i*m+j]
			}
		}
		return nil
	})
	for k, adj := range []device.Adjoint{{}, {Inv: 0.7, Outer: []float64{-0.5, 1}, Vectors: own.y}} {
		results := func(w device.Workspace) (grad, diag, inverse []float64) {
			grad, diag = make([]float64, own.prog.NumParams), make([]float64, own.n())
			if c := testcheck.Get(device.Capability[device.BlockInverse](w, "blocks"))(t); k == 0 {
				blocks := device.NewBlocks(ends)
				testcheck.Do(t, c.InverseBlocks(t.Context(), blocks))
				inverse = blocks.Elements
			}
			adj.Blocks = middle
			testcheck.Do(t, w.Contract(t.Context(), adj, own.prog, own.theta, grad, diag))
			return grad, diag, inverse
		}
		grad, diag, inverse := results(got)
		wantGrad, wantDiag, wantInverse := results(want)
		compare(t, "blocks of Σ⁻¹", inverse, wantInverse, close1e10)
		compare(t, "blocks: diagonal", diag, wantDiag, close1e10)
		scale := scales(&own, want, adj, nil, t)
		for p, v := range wantGrad {
			testcheck.Within(t, grad[p], v, close1e10*(1+scale[p]+floats.Norm(wantDiag, 1)), "blocks: derivative %d", p)
		}
	}
	if tab.n() == tab.u || len(tab.x.Places()[0]) < 2 {
		return
	}
	divided := device.NewBlocks(testcheck.Slice(tab.n(), func(i int) int { return i + 1 }))
	testcheck.Fail[*device.UnsupportedError](t, got.(device.BlockInverse).InverseBlocks(t.Context(), divided), "merged", "divide")
}

// TestSingle checks that the results have the bits of the dense method if no row repeats.
func TestSingle(t *testing.T) {
	const n = 70
	rng, b := rand.New(rand.NewPCG(5, 5)), open(t)
	tab := &table{x: kernel.NewPoints(testcheck.Slice(2*n, func(int) float64 { return rng.NormFloat64() }), n, 2), u: n, prog: kerneltest.Program(t, "rbf(ard) + matern32", 2)}
	tab.theta = slices.Repeat([]float64{0.9}, tab.prog.NumParams)
	tab.y = testcheck.Slice(2*n, func(int) float64 { return rng.NormFloat64() })
	tab.xs = tab.x
	dense := device.Dense{}.On(testcheck.Get(cpu.Open(device.Options{}))(t))
	for _, noise := range [][]float64{{0.1}, testcheck.Slice(n, func(i int) float64 { return 0.1 + float64(i)/7 })} {
		tab.noise = noise
		var results [2][]float64
		for k, on := range []device.Backend{b, dense} {
			w := testcheck.Get(on.NewWorkspace(t.Context(), tab.x))(t)
			testcheck.Do(t, w.Form(t.Context(), tab.prog, tab.theta, noise))
			value, _ := testcheck.Get2(logDet(w))(t)
			alpha := solved(t, tab, w)
			adj := device.Adjoint{Inv: 0.5, Outer: []float64{-0.5, -0.5}, Vectors: alpha}
			grad, diag := contract(t, tab, w, adj, nil)
			second, diagonal := contract(t, tab, w, adj, tab.y[:n])
			results[k] = slices.Concat([]float64{value}, alpha, grad, diag, second, diagonal, inverse(t, tab, w))
			testcheck.Do(t, w.Close())
		}
		if !slices.Equal(results[0], results[1]) {
			t.Errorf("%d noise variances: other bits than dense", len(noise))
		}
	}
}

// TestManyRows puts 10,000 rows at one place: K + σ²I has closed forms.
func TestManyRows(t *testing.T) {
	const n, s2, v = 10_000, 2.0, 0.3
	rng := rand.New(rand.NewPCG(8, 8))
	y := testcheck.Slice(n, func(int) float64 { return 5 + rng.NormFloat64() })
	w := testcheck.Get(open(t).NewWorkspace(t.Context(), kernel.NewPoints(make([]float64, n), n, 1)))(t)
	defer w.Close()
	prog := kerneltest.Program(t, "rbf", 1)
	theta := make([]float64, 2)
	for _, p := range prog.Params {
		theta[p.Offset] = map[bool]float64{true: s2, false: 1}[p.Kind == kernel.Variance]
	}
	testcheck.Do(t, w.Form(t.Context(), prog, theta, []float64{v}))
	value, _ := testcheck.Get2(logDet(w))(t)
	want := (n-1)*math.Log(v) + math.Log(v+n*s2)
	testcheck.Within(t, value, want, 1e-12*math.Abs(want), "log|Σ|")
	alpha, mean := slices.Clone(y), floats.Sum(y)/n
	testcheck.Do(t, w.Solve(t.Context(), alpha, 1))
	for i, a := range alpha {
		testcheck.Within(t, a, (y[i]-mean)/v+mean/(v+n*s2), 1e-11, "Σ⁻¹y[%d]", i)
	}
}

// TestWithoutNoise has a row without noise beside others with noise, and beside another without.
func TestWithoutNoise(t *testing.T) {
	x := kernel.NewPoints([]float64{0, 1, 0, 5, 0}, 5, 1)
	tab := &table{x: x, u: 3, xs: kernel.NewPoints([]float64{0.5, 2}, 2, 1), prog: kerneltest.Program(t, "matern12", 1), theta: []float64{1, 1}, y: []float64{1, 2, 3, 4, 5, 5, 1, -4, 2, 3}}
	for _, noise := range [][]float64{{0.5, 0, 0, 1, 0.25}, {0, 0, 0.5, 0, 0.1}, {1, 0.1, 1e-300, 2, 1}} {
		tab.noise = noise
		got, want := tab.workspaces(t, open(t))
		checkValues(t, tab, got, want)
		checkContractions(t, tab, got, want)
		checkPredictions(t, tab, got, want)
		checkProducts(t, tab, got, want)
		checkFolds(t, tab, open(t))
	}
	w := testcheck.Get(open(t).NewWorkspace(t.Context(), x))(t)
	defer w.Close()
	err := w.Form(t.Context(), tab.prog, tab.theta, []float64{0, 1, 0, 1, 1})
	if npd, ok := errors.AsType[*device.NotPDError](err); !ok || npd.Minor != 3 || npd.N != 5 {
		t.Errorf("two equal rows without noise: %v", err)
	}
	if _, _, err := w.LogDet(); !errors.Is(err, device.ErrStage) {
		t.Errorf("LogDet after a failed Form: %v", err)
	}
	err = w.Form(t.Context(), tab.prog, tab.theta, []float64{1, 1, math.NaN(), 1, 1})
	if bad, ok := errors.AsType[*device.NonFiniteError](err); !ok || bad.Row != 2 {
		t.Errorf("a noise of NaN: %v", err)
	}
	testcheck.Do(t, w.Form(t.Context(), tab.prog, tab.theta, []float64{1}))
}
