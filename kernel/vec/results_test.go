package vec

import (
	"bufio"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gpfit/internal/testcheck"
)

// testdata/results.txt holds results of all functions on an amd64 processor. Every
// variant on every architecture must reproduce them to 1e-12 of the largest element.
//
//	GPFIT_CPU=avx2 go test ./kernel/vec -run TestResults -update
//
// writes the file.
var update = flag.Bool("update", false, "write testdata/results.txt")

const resultsFile = "testdata/results.txt"

// results calls every function with rows that are the same on all architectures.
func results(f func(name string, s []float64)) {
	const n, dims = 19, 5
	rng := rand.New(rand.NewPCG(51, 1))
	random := func(n int) []float64 {
		row := make([]float64, n)
		for j := range row {
			row[j] = rng.Float64()
		}
		return row
	}
	p, q := random(n), random(n)
	signed := random(n)
	Affine(signed, signed, 4, -2)
	for name, call := range map[string]func(dst []float64){
		"expScaled":   func(dst []float64) { ExpScaled(dst, signed, 3, 0.7) },
		"log":         func(dst []float64) { Log(dst, p, 3) },
		"log1p":       func(dst []float64) { Log1p(dst, p, 3) },
		"sine":        func(dst []float64) { Sine(dst, signed, 1.7, 0.7) },
		"cosine":      func(dst []float64) { Cosine(dst, signed, 1.7, 0.7) },
		"rootDecay":   func(dst []float64) { RootDecay(dst, p, 3, [3]float64{1, 0.7, 0.3}) },
		"sqrt":        func(dst []float64) { Sqrt(dst, p, 3) },
		"inverse":     func(dst []float64) { Inverse(dst, p, 3, 0.5) },
		"rootInverse": func(dst []float64) { RootInverse(dst, p, 3) },
		"polynomial":  func(dst []float64) { Polynomial(dst, signed, []float64{1, -0.5, 0.25, 0.125}) },
		"abs":         func(dst []float64) { Abs(dst, signed) },
		"positive":    func(dst []float64) { Positive(dst, signed, 2, 0.5) },
		"step":        func(dst []float64) { Step(dst, signed) },
		"tanh":        func(dst []float64) { Tanh(dst, signed, 0.8) },
		"arcsine":     func(dst []float64) { Arcsine(dst, signed, 0.4) },
		"power":       func(dst []float64) { Power(dst, p, 3, 0.3) },
		"mul":         func(dst []float64) { Mul(dst, signed, q) },
		"scale":       func(dst []float64) { Scale(dst, signed, 1.1) },
		"combine":     func(dst []float64) { Combine(dst, signed, q, 0.3, -1.2) },
		"affine":      func(dst []float64) { Affine(dst, signed, 0.3, -1.2) },
		"sum":         func(dst []float64) { dst[0] = Sum(p) },
		"dot":         func(dst []float64) { dst[0] = Dot(p, q) },
		"tripleDot":   func(dst []float64) { dst[0] = TripleDot(p, q, p) },
	} {
		dst := make([]float64, n)
		call(dst)
		f(name, dst)
	}
	x, w, g, y, index := random(dims), random(dims), random(dims), random(dims*n), []int{0, 3, 1, 4, 2}
	for name, call := range map[string]func(dst, second []float64){
		"rootDecaySlope": func(dst, second []float64) {
			RootDecaySlope(dst, second, p, 3, [3]float64{1, 0.7, 0.3}, [3]float64{0.2, 1, 0.5})
		},
		"cosineSine":         func(dst, second []float64) { CosineSine(dst, second, signed, 1.7, 0.7) },
		"squaredDistances":   func(dst, second []float64) { SquaredDistances(dst, x, w, y, n, index) },
		"expDistances":       func(dst, second []float64) { ExpDistances(dst, x, w, y, n, index, -0.7, 1.3) },
		"expDistancesTimes":  func(dst, second []float64) { second[0] = ExpDistancesTimes(dst, p, x, w, y, n, index, -0.7) },
		"innerProducts":      func(dst, second []float64) { InnerProducts(dst, x, w, y, n, index) },
		"differences":        func(dst, second []float64) { Differences(dst, x, w, y, n, index) },
		"mismatches":         func(dst, second []float64) { Mismatches(dst, x, w, y, n, index) },
		"sinSquares":         func(dst, second []float64) { SinSquares(dst, x, w, g, y, n, index) },
		"sinSquaresSlope":    func(dst, second []float64) { SinSquaresSlope(dst, second, x, g, y, n, index) },
		"sinSums":            func(dst, second []float64) { SinSums(dst[:dims], second[:dims], x, g, p, y, n, index) },
		"weightedSquares":    func(dst, second []float64) { WeightedSquares(dst[:dims], x, p, y, n, index) },
		"weightedMismatches": func(dst, second []float64) { WeightedMismatches(dst[:dims], x, p, y, n, index) },
	} {
		both := make([]float64, 2*n)
		call(both[:n], both[n:])
		f(name, both)
	}
}

func TestResults(t *testing.T) {
	if *update {
		var out strings.Builder
		results(func(name string, s []float64) {
			out.WriteString(name)
			for _, v := range s {
				fmt.Fprintf(&out, " %x", v)
			}
			out.WriteByte('\n')
		})
		lines := strings.SplitAfter(out.String(), "\n")
		slices.Sort(lines)
		testcheck.Do(t, os.WriteFile(resultsFile, []byte(strings.Join(lines, "")), 0o644))
	}
	file := testcheck.Get(os.Open(resultsFile))(t)
	defer file.Close()
	want := map[string][]string{}
	for s := bufio.NewScanner(file); s.Scan(); {
		words := strings.Fields(s.Text())
		want[words[0]] = words[1:]
	}
	forVariants(t, func(t *testing.T) {
		results(func(name string, s []float64) {
			if len(want[name]) != len(s) {
				t.Fatalf("%s: %d results, %d in the file", name, len(s), len(want[name]))
			}
			largest := 0.0
			for _, v := range s {
				largest = max(largest, math.Abs(v))
			}
			for i, v := range s {
				w, err := strconv.ParseFloat(want[name][i], 64)
				if err != nil || !(math.Abs(v-w) <= 1e-12*largest) {
					t.Errorf("%s: element %d is %v, want %v (%v)", name, i, v, w, err)
				}
			}
		})
	})
}
