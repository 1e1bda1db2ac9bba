package grid

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest/methodtest"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// ofOne and ofTwo are factors for one column and for two, which are not products.
var (
	ofOne = []string{"rbf(dims=%d)", "matern32(dims=%d)", "periodic(dims=%d)", "(matern12(dims=%[1]d) + linear(dims=%[1]d))", "rq(dims=%d)",
		"hamming(dims=%d)", "matern52(dims=%[1]d)*cosine(dims=%[1]d)", "poly(2, dims=%d)", "linear(dims=%d)", "(rbf(dims=%[1]d) + constant)"}
	ofTwo = []string{"matern52(dims=[%d,%d])", "matern12(ard, dims=[%d,%d])", "(rbf(dims=%d) + matern32(dims=%d))", "rbf(dims=%[1]d)*matern32(dims=[%[1]d,%[2]d])"}
)

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
			values[c] = methodtest.Normals(rng, sizes[a])
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

func newTask(t testing.TB, seed uint64) *methodtest.Instance {
	rng := rand.New(rand.NewPCG(seed, 290))
	text, groups, d := randomKernel(rng)
	m := 1 + rng.IntN(20)
	p := &methodtest.Instance{Text: text, X: randomGrid(rng, groups, d), XS: kernel.NewPoints(methodtest.Normals(rng, m*d), m, d), Targets: 1 + rng.IntN(3)}
	for c := range d { // some points have values of the grid
		p.XS.Column(c)[0] = p.X.Column(c)[rng.IntN(p.X.N)]
	}
	p.Prog = testcheck.Get(kernel.CompileText(text, d))(t)
	for range p.Prog.NumParams {
		p.Theta = append(p.Theta, math.Exp(0.4*rng.NormFloat64()))
	}
	p.Noise = []float64{math.Exp(rng.NormFloat64())}
	if rng.IntN(4) == 0 {
		p.Noise = slices.Repeat(p.Noise, p.X.N)
	}
	p.Y = methodtest.Normals(rng, p.X.N*p.Targets)
	return p
}

// TestRandomProblems compares all results for random problems with the results of plain formulas.
func TestRandomProblems(t *testing.T) { methodtest.Compare(t, Method(), newTask, true) }

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
		groups := testcheck.Get(columnGroups(testcheck.Get(kernel.CompileText(text, 4))(t)))(t)
		if got := fmt.Sprint(groups); got != want {
			t.Errorf("%s: groups %s, want %s", text, got, want)
		}
	}
	for _, text := range []string{"rbf + matern32", "constant", "rbf(dims=0)*matern32(dims=1) + constant"} {
		if groups, err := columnGroups(testcheck.Get(kernel.CompileText(text, 4))(t)); err == nil {
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
			_ = testcheck.Get(fmt.Sscan(row, &a, &b))(t)
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
			testcheck.Fail[*device.UnsupportedError](t, err, "grid")
		}
	}
}
