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

func BenchmarkExp(b *testing.B) {
	src, dst := benchRow(), make([]float64, benchLen)
	forBench(b, func(b *testing.B) {
		for b.Loop() {
			ExpScaled(dst, src, -0.5, 2)
		}
	})
}

func BenchmarkRootDecay(b *testing.B) {
	s, k, slope := benchRow(), make([]float64, benchLen), make([]float64, benchLen)
	for _, q := range [][3]float64{{}, {0, 1, 2}, {1, 0, 0}} {
		b.Run(fmt.Sprintf("slope=%v", q), func(b *testing.B) {
			forBench(b, func(b *testing.B) {
				for b.Loop() {
					if q == [3]float64{} {
						RootDecay(k, s, 3, [3]float64{1, 1, 0})
					} else {
						RootDecaySlope(k, slope, s, 3, [3]float64{1, 1, 0}, q)
					}
				}
			})
		})
	}
}

func benchColumns(b *testing.B, f func(x, w, y []float64, index []int)) {
	for _, d := range []int{1, 8, 26} {
		b.Run(fmt.Sprintf("d=%d", d), func(b *testing.B) {
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

func BenchmarkSquaredDistances(b *testing.B) {
	dst := make([]float64, benchLen)
	benchColumns(b, func(x, w, y []float64, index []int) { SquaredDistances(dst, x, w, y, benchStride, index) })
}

func BenchmarkWeightedSquares(b *testing.B) {
	weights := benchRow()
	benchColumns(b, func(x, w, y []float64, index []int) { WeightedSquares(w, x, weights, y, benchStride, index) })
}

func BenchmarkDot(b *testing.B) {
	x, y := benchRow(), benchRow()
	forBench(b, func(b *testing.B) {
		for b.Loop() {
			Dot(x, y)
		}
	})
}

func BenchmarkTripleDot(b *testing.B) {
	x, y, z := benchRow(), benchRow(), benchRow()
	forBench(b, func(b *testing.B) {
		for b.Loop() {
			TripleDot(x, y, z)
		}
	})
}

func BenchmarkMul(b *testing.B) {
	x, y, z := benchRow(), benchRow(), benchRow()
	forBench(b, func(b *testing.B) {
		for b.Loop() {
			Mul(z, x, y)
		}
	})
}

func BenchmarkSinSquares(b *testing.B) {
	dst := make([]float64, benchLen)
	benchColumns(b, func(x, w, y []float64, index []int) { SinSquares(dst, x, nil, w, y, benchStride, index) })
}

func BenchmarkSinSums(b *testing.B) {
	weights := benchRow()
	benchColumns(b, func(x, w, y []float64, index []int) {
		SinSums(w, make([]float64, len(w)), x, w, weights, y, benchStride, index)
	})
}

func BenchmarkLog1p(b *testing.B) {
	src, dst := benchRow(), make([]float64, benchLen)
	forBench(b, func(b *testing.B) {
		for b.Loop() {
			Log1p(dst, src, 0.5)
		}
	})
}

func BenchmarkCosineSine(b *testing.B) {
	src, dst, sine := benchRow(), make([]float64, benchLen), make([]float64, benchLen)
	forBench(b, func(b *testing.B) {
		for b.Loop() {
			CosineSine(dst, sine, src, 0.5, 2)
		}
	})
}

// BenchmarkFunctions measures every function of one element.
func BenchmarkFunctions(b *testing.B) {
	src, dst := benchRow(), make([]float64, benchLen)
	for _, f := range functionsWith(0.3) {
		b.Run(f.name, func(b *testing.B) {
			forBench(b, func(b *testing.B) {
				for b.Loop() {
					f.run(dst, src)
				}
			})
		})
	}
}

func BenchmarkSum(b *testing.B) {
	x := benchRow()
	forBench(b, func(b *testing.B) {
		for b.Loop() {
			Sum(x)
		}
	})
}

func BenchmarkMismatches(b *testing.B) {
	dst := make([]float64, benchLen)
	benchColumns(b, func(x, w, y []float64, index []int) { Mismatches(dst, x, w, y, benchStride, index) })
}

func BenchmarkWeightedMismatches(b *testing.B) {
	weights := benchRow()
	benchColumns(b, func(x, w, y []float64, index []int) { WeightedMismatches(w, x, weights, y, benchStride, index) })
}
