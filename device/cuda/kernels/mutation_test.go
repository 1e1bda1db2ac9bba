package kernels_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gpfit/device/cuda/emulator"
	"gpfit/device/cuda/kernels"
	"gpfit/internal/testcheck"
	"gpfit/kernel/kerneltest"
)

// part returns the module of a launch with its kernel alone, which loads faster.
func part(t *testing.T, l kernels.Launch) string {
	t.Helper()
	if l.Of != nil {
		text := testcheck.Get(textOf(l))(t)
		return string(text)
	}
	name := l.Kernel
	header, _, _ := strings.Cut(module(t, 8, 0), "\n.visible .entry ")
	return header + "\n.visible .entry " + name + "(" + entries(t)[name]
}

// change returns text with the k-th match of a pattern replaced.
func change(text, pattern string, k int, with func(match string) string) (string, bool) {
	at := regexp.MustCompile(pattern).FindAllStringIndex(text, -1)
	if k >= len(at) {
		return "", false
	}
	from, to := at[k][0], at[k][1]
	return text[:from] + with(text[from:to]) + text[to:], true
}

func removed(string) string { return "" }

// nextElement increases an address by one number.
func nextElement(access string) string { return strings.Replace(access, "]", "+8]", 1) }

// thirdDigit changes the third significant digit of a coefficient.
func thirdDigit(number string) string {
	var bits uint64
	fmt.Sscanf(number, "0d%X", &bits)
	return fmt.Sprintf("0d%016X", math.Float64bits(1.004*math.Float64frombits(bits)))
}

// filling fills a matrix in several tiles, from points in several batches of columns.
func filling(t *testing.T) *machine {
	rng := seeded(21)
	prog := kerneltest.Program(t, "rbf(ard)", 19)
	m := newMachine(t)
	const n = 130
	on, x := m.value(prog, someTheta(rng, prog)), m.points(somePoints(rng, n, 19))
	m.launch(kernels.Fill(on, x, kernels.Matrix{A: m.blank(n * n), LD: n}, kernels.Vector{A: m.put([]float64{0.25}), N: 1}, 0, n))
	return m
}

// contracting runs a contraction, or only its last part, the sum over blocks.
func contracting(t *testing.T, last bool) *machine {
	const n = 100
	m, rng, on, x := gradientOf(t, 22, "rbf(ard) + matern32", n)
	work := kernels.ContractWork{Blocks: 2}
	scratch, partial := kernels.ContractSpace(on.Kernel, work.Blocks)
	sums := make([]float64, partial/8)
	if last {
		sums = normals(rng, len(sums))
	}
	work.Scratch, work.Partial = m.blank(scratch/8), m.put(sums)
	adj := kernels.Adjoint{Inv: 0.5, Inverse: kernels.Matrix{A: m.put(normals(rng, n*n)), LD: n}}
	l := kernels.Contract(on, x, adj, 0, n, m.blank(n), m.put(make([]float64, on.Rows())), work)
	if last {
		l = l[1:]
		l[0].Args[3] = 1 // as after the first panel
	}
	m.launch(l[:1]...)
	return m
}

// multiplying multiplies derivatives by a vector.
func multiplying(t *testing.T) *machine {
	m, rng, prog := newMachine(t), seeded(23), kerneltest.Program(t, "matern32(ard)", 2)
	m.multiply(prog, someTheta(rng, prog), somePoints(rng, 70, 2), 0, 70, 1, 70)
	return m
}

// differ reports whether two results differ by more than rounding.
func differ(a, b [][]byte) bool {
	for i := range a {
		for k := 0; k+8 <= len(a[i]) && !bytes.Equal(a[i], b[i]); k += 8 {
			v, w := math.Float64frombits(binary.LittleEndian.Uint64(a[i][k:])), math.Float64frombits(binary.LittleEndian.Uint64(b[i][k:]))
			if math.Float64bits(v) != math.Float64bits(w) && !near(v, w, max(abs(v), abs(w))) {
				return true
			}
		}
	}
	return false
}

// TestMistakes introduces mistakes into the text of kernels. Each must cause a refused
// launch or a wrong result.
func TestMistakes(t *testing.T) {
	const barrier = `bar\.sync\s+0;`
	contraction := func(t *testing.T) *machine { return contracting(t, false) }
	sum := func(t *testing.T) *machine { return contracting(t, true) }
	for _, c := range []struct {
		what, pattern string
		mistake       func(string) string
		make          func(t *testing.T) *machine
		harmless      []int // matches that are not mistakes, or that are not reached
		most          int   // how many matches to try; the rest is not reached
	}{
		{"no barrier in the fill", barrier, removed, filling, nil, 100},
		{"no barrier in the contraction", barrier, removed, contraction, nil, 100},
		// A sum begins and ends with a barrier, because of other sums before and after it.
		{"no barrier in the sum", barrier, removed, sum, []int{0, 9}, 100},
		{"an index of the fill", `st\.(shared|global)\.f64[^;]*\]`, nextElement, filling, nil, 100},
		// The third saves registers; without the last, threads race in global memory, which no run in step shows.
		{"no barrier in the products", barrier, removed, multiplying, []int{2, 3}, 100},
		{"an index of the products", `(ld|st)\.global\.f64[^;]*\]`, nextElement, multiplying, nil, 100},
		{"an index of the sum", `(ld|st)\.(shared|global)\.f64[^;]*\]`, nextElement, sum, nil, 100},
	} {
		t.Run(c.what, func(t *testing.T) {
			m := c.make(t)
			text := part(t, m.queue[0])
			right := testcheck.Get(m.runOn([]byte(text)))(t)
			for k := range c.most {
				mistaken, ok := change(text, c.pattern, k, c.mistake)
				if !ok {
					break
				}
				if shown := shows(m, mistaken, right); shown == slices.Contains(c.harmless, k) {
					t.Errorf("mistake %d: shown %v", k, shown)
				}
			}
		})
	}
}

// TestWrongCoefficients changes the third digit of each coefficient of the exponential
// function, from the ninth power down.
func TestWrongCoefficients(t *testing.T) {
	m := filling(t)
	text := part(t, m.queue[0])
	right := testcheck.Get(m.runOn([]byte(text)))(t)
	for _, k := range []int{2, 3, 4, 5, 6, 7, 8, 9} {
		factorial := 1.0
		for i := range k {
			factorial *= float64(i + 1)
		}
		// The fitted coefficient is near 1/k!.
		number := regexp.MustCompile(fmt.Sprintf("0d%s[0-9A-F]{13}", fmt.Sprintf("%016X", math.Float64bits(1/factorial))[:3]))
		mistaken := number.ReplaceAllStringFunc(text, thirdDigit)
		if mistaken == text || !shows(m, mistaken, right) {
			t.Errorf("the coefficient of power %d may be wrong", k)
		}
	}
}

// shows reports whether a module fails or yields a different result.
func shows(m *machine, text string, right [][]byte) bool {
	wrong, err := m.runOn([]byte(text))
	emulator.Reset()
	return err != nil || differ(right, wrong)
}
