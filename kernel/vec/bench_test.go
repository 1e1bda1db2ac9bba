package vec

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// Package cpu passes rows of 512 numbers to a kernel's evaluator.
const benchLen = 512

// Columns at a distance of a multiple of a page would compete for the same sets of
// the first-level cache.
const benchStride = benchLen + 24

// forBench runs f with every variant and reports the time for one element.
func forBench(b *testing.B, f func(b *testing.B)) {
	eachVariant(func(name string) {
		b.Run(name, func(b *testing.B) {
			f(b)
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/benchLen*1e9, "ns/elem")
		})
	})
}

func benchRow() []float64 {
	rng := rand.New(rand.NewPCG(3, 3))
	row := make([]float64, benchLen)
	for j := range row {
		row[j] = 3 * rng.Float64()
	}
	return row
}

// BenchmarkRows measures the functions of rows.
func BenchmarkRows(b *testing.B) {
	x, y, dst, second := benchRow(), benchRow(), make([]float64, benchLen), make([]float64, benchLen)
	p := [3]float64{1, 1, 0}
	list := append(functionsWith(0.3), []function{
		{name: "RootDecay", run: func(dst, src []float64) { RootDecay(dst, src, 3, p) }},
		{name: "RootDecaySlope", run: func(dst, src []float64) { RootDecaySlope(dst, second, src, 3, p, [3]float64{0, 1, 2}) }},
		{name: "RootDecaySlope, pole", run: func(dst, src []float64) { RootDecaySlope(dst, second, src, 3, p, [3]float64{1, 0, 0}) }},
		{name: "Log1p", run: func(dst, src []float64) { Log1p(dst, src, 0.5) }},
		{name: "CosineSine", run: func(dst, src []float64) { CosineSine(dst, second, src, 0.5, 2) }},
		{name: "Mul", run: func(dst, src []float64) { Mul(dst, src, y) }},
		{name: "Sum", run: func(_, src []float64) { Sum(src) }},
		{name: "Dot", run: func(_, src []float64) { Dot(src, y) }},
		{name: "TripleDot", run: func(_, src []float64) { TripleDot(src, y, y) }},
	}...)
	for _, f := range list {
		b.Run(f.name, func(b *testing.B) {
			forBench(b, func(b *testing.B) {
				for b.Loop() {
					f.run(dst, x)
				}
			})
		})
	}
}

// BenchmarkColumns measures the functions of columns.
func BenchmarkColumns(b *testing.B) {
	dst, weights := make([]float64, benchLen), benchRow()
	for name, f := range map[string]func(x, w, y []float64, index []int){
		"SquaredDistances":   func(x, w, y []float64, index []int) { SquaredDistances(dst, x, w, y, benchStride, index) },
		"WeightedSquares":    func(x, w, y []float64, index []int) { WeightedSquares(w, x, weights, y, benchStride, index) },
		"SinSquares":         func(x, w, y []float64, index []int) { SinSquares(dst, x, nil, w, y, benchStride, index) },
		"SinSums":            func(x, w, y []float64, index []int) { SinSums(w, dst[:len(w)], x, w, weights, y, benchStride, index) },
		"Mismatches":         func(x, w, y []float64, index []int) { Mismatches(dst, x, w, y, benchStride, index) },
		"WeightedMismatches": func(x, w, y []float64, index []int) { WeightedMismatches(w, x, weights, y, benchStride, index) },
	} {
		for _, d := range []int{1, 8, 26} {
			b.Run(fmt.Sprintf("%s/d=%d", name, d), func(b *testing.B) {
				y, w, index := make([]float64, d*benchStride), make([]float64, d), make([]int, d)
				for q := range index {
					index[q], w[q] = q, 1.5
				}
				forBench(b, func(b *testing.B) {
					for b.Loop() {
						f(y, w, y, index)
					}
				})
			})
		}
	}
}
