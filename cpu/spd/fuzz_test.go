package spd

import (
	"math"
	"slices"
	"testing"

	"gpfit/internal/isa"
	"gpfit/internal/testcheck"
)

// FuzzSymmetric factors, inverts and solves with a matrix of any size on any number of threads.
// It compares the bits with one thread's bits, and checks residuals and minors.
func FuzzSymmetric(f *testing.F) {
	for _, n := range []uint16{1, 7, 8, 24, 25, 129, 288, 289, 300, 301, 577} {
		f.Add(n, uint8(2), uint16(n/2), uint8(3), uint64(n), false)
		f.Add(n, uint8(3), uint16(n-1), uint8(30), uint64(n), true)
	}
	f.Fuzz(func(t *testing.T, n uint16, threads uint8, row uint16, count uint8, seed uint64, bad bool) {
		order := 1 + int(n)%700
		if brief() {
			order = 1 + int(n)%200
		}
		sides := 1 + int(count)%40
		for _, v := range isa.Supported() {
			c := fuzzCase{n: order, row: int(row) % order, sides: sides, seed: seed, bad: bad}
			one := c.results(t, newEngine(t, v, 1))
			if got := c.results(t, newEngine(t, v, 1+int(threads)%4)); !slices.Equal(got, one) {
				t.Fatalf("%s, n=%d: other bits with %d threads", v, order, 1+threads%4)
			}
		}
	})
}

type fuzzCase struct {
	n, row, sides int
	seed          uint64
	bad           bool
}

// results returns all results, after checks.
func (c fuzzCase) results(t *testing.T, e *Engine) []float64 {
	rng := newReproducible(int(c.seed % (1 << 62)))
	rows := rng.definite(c.n)
	m := e.New(c.n)
	pollute(m)
	setTriangle(m, rows, 0)
	if c.bad {
		bad := rng.definite(c.n)
		negative(bad, c.row)
		setTriangle(m, bad, 0)
		if minor, err := m.Factor(t.Context(), 0, nil); minor != c.row+1 || err != nil {
			t.Fatalf("minor %d, %v, want %d", minor, err, c.row+1)
		}
		setTriangle(m, rows, 0)
	}
	for _, from := range []int{0, c.row} {
		factor(t, m, rows, from)
	}
	b := rng.numbers(c.n*c.sides, 1)
	x := slices.Clone(b)
	testcheck.Do(t, m.SolveEquations(t.Context(), x, c.sides))
	out := everything(t, m)
	c.check(t, m, rows, b[:c.n], x[:c.n])
	return append(out, x...)
}

// check checks Σ·x = b, and Σ⁻¹·b = x.
func (c fuzzCase) check(t *testing.T, m *Symmetric, rows [][]float64, b, x []float64) {
	product := make([]float64, c.n)
	for i, row := range rows {
		product[i] += dot(row, x)
		for j, v := range row[:i] {
			product[j] += v * x[i]
		}
	}
	for i := range c.n {
		solved := 0.0
		for j, v := range b {
			solved += m.InverseElement(i, j) * v
		}
		if !near(product[i], b[i], 8*c.n) || !near(solved, x[i], 8*c.n) || math.IsNaN(x[i]) {
			t.Fatalf("equation %d gives %v, want %v; the inverse gives %v, the solution is %v", i, product[i], b[i], solved, x[i])
		}
	}
}
