package spd

import (
	"bufio"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gpfit/internal/isa"
	"gpfit/internal/testcheck"
)

// testdata/results.txt holds results of all operations on an amd64 processor, which every
// variant on every architecture must reproduce: some elements, to 1e-12 of the largest, and
// for the variants in assembly a hash of the bits of all elements.
//
//	go test ./cpu/spd -run TestResults -update
//
// writes the file on a processor with AVX-512.
var update = flag.Bool("update", false, "write testdata/results.txt")

const resultsFile = "testdata/results.txt"

// bitsOf names the variants that have the same bits: each element is the same chain of
// operations on panels of as many rows.
func bitsOf(v isa.Variant) string {
	switch v {
	case isa.AVX512:
		return "8"
	case isa.AVX2, isa.NEON:
		return "4"
	}
	return ""
}

// sampled returns the elements that the file holds.
func sampled(s []float64) (out []float64) {
	const count = 12
	for i := range count {
		out = append(out, s[i*(len(s)-1)/(count-1)])
	}
	return out
}

func hash(s []float64) string {
	h := fnv.New64a()
	for _, x := range s {
		_ = binary.Write(h, binary.LittleEndian, math.Float64bits(x))
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// A reproducible makes matrices and vectors whose elements are the same on all architectures.
type reproducible struct{ *rand.Rand }

func newReproducible(n int) reproducible { return reproducible{rand.New(rand.NewPCG(43, uint64(n)))} }

// numbers returns count numbers, small enough for a dominant diagonal of a matrix of order n.
func (r reproducible) numbers(count, n int) []float64 {
	s := make([]float64, count)
	for i := range s {
		s[i] = (r.Float64() - 0.25) / float64(n)
	}
	return s
}

// definite returns the lower triangle of a positive definite matrix, by rows.
func (r reproducible) definite(n int) [][]float64 {
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = r.numbers(i+1, n)
		rows[i][i] += 2
	}
	return rows
}

// setTriangle writes Σ from row from on.
func setTriangle(m *Symmetric, rows [][]float64, from int) {
	l := m.Lanes()
	block := make([]float64, l*m.order)
	for i0 := from - from%l; i0 < m.order; i0 += l {
		for r := range l {
			if i0+r < m.n {
				copy(block[r*m.order:], rows[i0+r])
			}
		}
		m.SetRows(i0, 0, i0+l, block, m.order)
	}
}

// lowerFactor returns L by rows.
func lowerFactor(m *Symmetric) (out []float64) {
	row := make([]float64, m.n)
	for i := range m.n {
		m.FactorRow(i, row[:i+1])
		out = append(out, row[:i+1]...)
	}
	return out
}

// upperInverse returns the upper triangle of Σ⁻¹ by rows.
func upperInverse(m *Symmetric) (out []float64) {
	l := m.lanes
	rows := make([]float64, l*m.order)
	for i := 0; i < m.n; i += l {
		m.InverseRows(i, i, m.n, rows, m.order)
		for r := range min(l, m.n-i) {
			out = append(out, rows[r*m.order+r:][:m.n-i-r]...)
		}
	}
	return out
}

// results calls every operation on a matrix of order n.
func results(t testing.TB, e *Engine, n int, f func(name string, s []float64)) {
	ctx := context.Background()
	rng := newReproducible(n)
	m := e.New(n)
	factor(t, m, rng.definite(n), 0)
	give := func(name string, s []float64) { f(fmt.Sprintf("%s/%d", name, n), s) }
	give("factor", lowerFactor(m))
	testcheck.Do(t, m.Invert(ctx, nil))
	give("inverse", upperInverse(m))
	for _, count := range []int{1, 5, 29} {
		b := rng.numbers(count*n, 1)
		testcheck.Do(t, m.SolveEquations(ctx, b, count))
		give(fmt.Sprintf("equations-%d", count), b)
	}
	vectorResults(m, rng, give)
	rowResults(t, m, rng, give)
}

// vectorResults solves for vectors; w has fewer than v.
func vectorResults(m *Symmetric, rng reproducible, give func(name string, s []float64)) {
	n := m.n
	v, w := m.NewVectors(), m.NewVectors()
	scratch := make([]float64, m.lanes*n)
	numbers := rng.numbers(12*n, 1)
	vector := func(i int, dst []float64) { copy(dst, numbers[i*n:(i+1)*n]) }
	v.Load(11, scratch, vector)
	w.Load(3, scratch, func(i int, dst []float64) { vector(i+9, dst) })
	m.Solve([]*Vectors{v, w})
	norms := make([]float64, 14)
	v.SquaredNorms(norms)
	w.SquaredNorms(norms[11:])
	give("norms", norms)
	products := make([]float64, 3*11)
	v.Products(w, products, 11)
	give("products", products)
}

// rowResults multiplies the last rows of Σ⁻¹ by blocks and by Σ⁻¹.
func rowResults(t testing.TB, m *Symmetric, rng reproducible, give func(name string, s []float64)) {
	n, ctx := m.n, context.Background()
	i0 := n / 2 / 8 * 8
	scale := rng.numbers(n, 1)
	q, r := m.NewRowBlock(n-i0), m.NewRowBlock(n-i0)
	// copied returns columns [j0, n) of the rows, with j0 a multiple of 8.
	copied := func(r *RowBlock, j0 int) (out []float64) {
		rows := make([]float64, m.lanes*m.order)
		for i := i0; i < n; i += m.lanes {
			r.Copy(i, j0, n, rows, m.order)
			for k := range min(m.lanes, n-i) {
				out = append(out, rows[k*m.order:][:n-j0]...)
			}
		}
		return out
	}
	testcheck.Do(t, q.ScaledInverse(ctx, i0, n, scale))
	give("scaled", copied(q, 0))
	testcheck.Do(t, r.MultiplyInverse(ctx, q, nil))
	give("multiplied", copied(r, i0))
	testcheck.Do(t, q.ScaledInverse(ctx, i0, n, nil))
	for first := 0; first < n; { // blocks of 1, 2, 4 … columns
		size := min(n-first, 1+first)
		block := rng.numbers(size*size, 1)
		for i := range size {
			for j := range i {
				block[i*size+j] = block[j*size+i]
			}
		}
		testcheck.Do(t, r.MultiplyBlock(ctx, q, first, size, block))
		first += size
	}
	give("blocks", copied(r, 0))
}

var resultSizes = []int{3, 29, 150, 311}

func TestResults(t *testing.T) {
	if *update {
		writeResults(t)
	}
	want := readResults(t)
	for _, v := range isa.Supported() {
		for _, n := range resultSizes {
			first := map[string][]float64{}
			for _, threads := range []int{1, 2, 3} {
				e := newEngine(t, v, threads)
				results(t, e, n, func(name string, s []float64) {
					if threads > 1 {
						if !slices.Equal(s, first[name]) {
							t.Errorf("%s: %s has other bits with %d threads", v, name, threads)
						}
						return
					}
					first[name] = s
					compareResult(t, want, v, name, s)
				})
			}
		}
	}
}

// newEngine returns an engine with threads of its own.
func newEngine(t testing.TB, v isa.Variant, threads int) *Engine {
	e := NewEngine(v, threads)
	t.Cleanup(e.team.Close)
	return e
}

// compareResult compares a result with the file.
func compareResult(t *testing.T, want map[string][]string, v isa.Variant, name string, s []float64) {
	t.Helper()
	if bits := bitsOf(v); bits != "" && !slices.Equal(want[name+" "+bits], []string{hash(s)}) {
		t.Errorf("%s: %s has other bits", v, name)
	}
	largest := 0.0
	for _, x := range s {
		largest = max(largest, math.Abs(x))
	}
	words := want[name+" values"]
	for i, x := range sampled(s) {
		if i >= len(words) {
			t.Fatalf("%s has no sample %d", name, i)
		}
		w, err := strconv.ParseFloat(words[i], 64)
		if err != nil || !(math.Abs(x-w) <= 1e-12*largest) {
			t.Errorf("%s: %s, sample %d: %v, want %v (%v)", v, name, i, x, w, err)
		}
	}
}

// readResults returns the words of each line of the file, by its first two words.
func readResults(t *testing.T) map[string][]string {
	file := testcheck.Get(os.Open(resultsFile))(t)
	defer file.Close()
	lines := map[string][]string{}
	for s := bufio.NewScanner(file); s.Scan(); {
		if words := strings.Fields(s.Text()); len(words) > 2 {
			lines[words[0]+" "+words[1]] = words[2:]
		}
	}
	return lines
}

func writeResults(t *testing.T) {
	var out strings.Builder
	for _, v := range []isa.Variant{isa.AVX2, isa.AVX512} {
		for _, n := range resultSizes {
			results(t, newEngine(t, v, 1), n, func(name string, s []float64) {
				fmt.Fprintf(&out, "%s %s %s\n", name, bitsOf(v), hash(s))
				if v != isa.AVX2 {
					return
				}
				fmt.Fprintf(&out, "%s values", name)
				for _, x := range sampled(s) {
					fmt.Fprintf(&out, " %x", x)
				}
				out.WriteByte('\n')
			})
		}
	}
	testcheck.Do(t, os.WriteFile(resultsFile, []byte(out.String()), 0o644))
}
