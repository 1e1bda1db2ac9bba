package blas

import (
	"bufio"
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

	"gonum.org/v1/gonum/blas"
)

// testdata/results.txt holds results of all routines on an amd64 processor, which
// every variant on every architecture must reproduce: some elements, to 1e-12 of the
// largest, and for the variants in assembly a hash of the bits of all elements.
//
//	go test ./cpu/blas -run TestResults -update
//
// writes the file on a processor with AVX-512.
var update = flag.Bool("update", false, "write testdata/results.txt")

const resultsFile = "testdata/results.txt"

// bitsOf names the variants that have the same bits: each element is the same chain
// of operations on tiles of the same shape.
func bitsOf(variant string) string {
	switch variant {
	case AVX512:
		return "8x24"
	case AVX2, NEON:
		return "4x12"
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

// results calls every routine with matrices of order n, whose elements are the same on
// all architectures.
func results(t *testing.T, impl *Implementation, n int, f func(name string, s []float64)) {
	rng := rand.New(rand.NewPCG(41, uint64(n)))
	random := func() []float64 {
		s := make([]float64, n*n)
		for i := range s {
			s[i] = (rng.Float64() - 0.25) / float64(n)
		}
		for i := range n {
			s[i*n+i] = 2 + s[i*n+i]
		}
		return s
	}
	a, b, c := random(), random(), random()
	run := func(name string, call func(c []float64)) {
		out := slices.Clone(c)
		call(out)
		f(fmt.Sprintf("%s/%d", name, n), out)
	}
	for _, tA := range transposes[:2] {
		for _, tB := range transposes[:2] {
			run(fmt.Sprintf("dgemm-%c%c", tA, tB), func(c []float64) { impl.Dgemm(tA, tB, n, n, n, 0.7, a, n, b, n, -1.1, c, n) })
		}
	}
	for _, ul := range uplos {
		run(fmt.Sprintf("dsyrk-%c", ul), func(c []float64) { impl.Dsyrk(ul, blas.NoTrans, n, n-1, -1, a, n, 1, c, n) })
		for _, side := range sides {
			which := fmt.Sprintf("%c%c", side, ul)
			run("dsymm-"+which, func(c []float64) { impl.Dsymm(side, ul, n, n, 0.7, a, n, b, n, 0, c, n) })
			run("dtrmm-"+which, func(c []float64) { impl.Dtrmm(side, ul, blas.Trans, blas.NonUnit, n, n, 0.7, a, n, c, n) })
			run("dtrsm-"+which, func(c []float64) { impl.Dtrsm(side, ul, blas.NoTrans, blas.NonUnit, n, n, 0.7, a, n, c, n) })
		}
		run(fmt.Sprintf("dpotrf-%c", ul), func(c []float64) {
			if !impl.Dpotrf(ul, n, c, n) {
				t.Fatal("not positive definite")
			}
		})
		run(fmt.Sprintf("dtrtri-%c", ul), func(c []float64) { impl.Dtrtri(ul, blas.NonUnit, n, c, n) })
		run(fmt.Sprintf("dlauum-%c", ul), func(c []float64) { impl.Dlauum(ul, n, c, n) })
	}
}

func TestResults(t *testing.T) {
	sizes := []int{3, 29, 150, 311}
	if *update {
		writeResults(t, sizes)
	}
	want := readResults(t)
	for _, variant := range Variants() {
		impl, err := New(Options{Variant: variant, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range sizes {
			results(t, impl, n, func(name string, s []float64) {
				if bits := bitsOf(variant); bits != "" && !slices.Equal(want[name+" "+bits], []string{hash(s)}) {
					t.Errorf("%s: %s has other bits", variant, name)
				}
				largest := 0.0
				for _, x := range s {
					largest = max(largest, math.Abs(x))
				}
				for i, x := range sampled(s) {
					w, err := strconv.ParseFloat(want[name+" values"][i], 64)
					if err != nil || !(math.Abs(x-w) <= 1e-12*largest) {
						t.Errorf("%s: %s, sample %d: %v, want %v (%v)", variant, name, i, x, w, err)
					}
				}
			})
		}
	}
}

// readResults returns the words of each line of the file, by its first two words.
func readResults(t *testing.T) map[string][]string {
	file, err := os.Open(resultsFile)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := map[string][]string{}
	for s := bufio.NewScanner(file); s.Scan(); {
		if words := strings.Fields(s.Text()); len(words) > 2 {
			lines[words[0]+" "+words[1]] = words[2:]
		}
	}
	return lines
}

func writeResults(t *testing.T, sizes []int) {
	var out strings.Builder
	for _, variant := range []string{AVX2, AVX512} {
		impl, err := New(Options{Variant: variant, Threads: 2})
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range sizes {
			results(t, impl, n, func(name string, s []float64) {
				fmt.Fprintf(&out, "%s %s %s\n", name, bitsOf(variant), hash(s))
				if variant != AVX2 {
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
	if err := os.WriteFile(resultsFile, []byte(out.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
