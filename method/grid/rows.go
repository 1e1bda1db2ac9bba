package grid

import (
	"sync"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/cpu/spd"
)

// square returns an m×m matrix.
func square(m int) blas64.General { return rectangle(m, m) }

// rectangle returns an m×k matrix.
func rectangle(m, k int) blas64.General { return rows(make([]float64, m*k), k) }

// rows returns numbers as a matrix of k columns.
func rows(data []float64, k int) blas64.General {
	return blas64.General{Rows: len(data) / max(1, k), Cols: k, Stride: max(1, k), Data: data}
}

// vector returns numbers as a vector.
func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// row returns a row of a matrix.
func row(m blas64.General, i int) []float64 { return m.Data[i*m.Stride:][:m.Cols] }

// shareFlops is the least work of a thread.
const shareFlops = 1 << 20

// engine has the micro-kernels of this processor.
var engine = sync.OnceValues(func() (*spd.Engine, error) { return spd.Open(1) })

// addProducts adds factor·XYᵀ to c. Each element is a sum in one order, so that results do not depend on threads.
func addProducts(c blas64.General, factor float64, x, y blas64.General, threads int) {
	e, err := engine()
	if err != nil {
		panic(err) // the device cpu did not open
	}
	shares(y.Rows, 2*float64(x.Rows)*float64(x.Cols), threads, func(first, end int) {
		part := y
		part.Rows, part.Data = end-first, y.Data[first*y.Stride:]
		e.AddProduct(c.Data[first:], c.Stride, factor, x, part)
	})
}

// shares calls f for parts of n pieces of work, in parallel.
func shares(n int, flops float64, threads int, f func(first, end int)) {
	threads = max(1, min(threads, n, int(flops*float64(n)/shareFlops)))
	var wg sync.WaitGroup
	for k := range threads {
		wg.Go(func() { f(n*k/threads, n*(k+1)/threads) })
	}
	wg.Wait()
}

// transposed returns the transpose of a matrix.
func transposed(m blas64.General) blas64.General {
	out := rectangle(m.Cols, m.Rows)
	transpose(out.Data, m)
	return out
}

// transpose writes the transpose of a matrix, in blocks that stay in the cache.
func transpose(dst []float64, m blas64.General) {
	const side = 16
	for i0 := 0; i0 < m.Rows; i0 += side {
		for j0 := 0; j0 < m.Cols; j0 += side {
			for i := i0; i < min(i0+side, m.Rows); i++ {
				for j := j0; j < min(j0+side, m.Cols); j++ {
					dst[j*m.Rows+i] = m.Data[i*m.Stride+j]
				}
			}
		}
	}
}
