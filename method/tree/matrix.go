package tree

import (
	"math"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"gpfit/cpu/spd"
)

// newMatrix returns a matrix of zeros, stored by rows.
func newMatrix(rows, columns int) blas64.General {
	return blas64.General{Rows: rows, Cols: columns, Stride: columns, Data: make([]float64, rows*columns)}
}

// row returns a row of m.
func row(m blas64.General, i int) []float64 { return m.Data[i*m.Stride:][:m.Cols] }

// rowsOf returns rows of m.
func rowsOf(m blas64.General, first, end int) blas64.General {
	if m.Cols == 0 {
		return blas64.General{Rows: end - first}
	}
	return blas64.General{Rows: end - first, Cols: m.Cols, Stride: m.Stride, Data: m.Data[first*m.Stride:]}
}

// columnsAt returns columns of m.
func columnsAt(m blas64.General, first, count int) blas64.General {
	return blas64.General{Rows: m.Rows, Cols: count, Stride: m.Stride, Data: m.Data[first:]}
}

// clone returns a copy of m.
func clone(m blas64.General) blas64.General {
	out := newMatrix(m.Rows, m.Cols)
	replace(out, m)
	return out
}

// replace copies the rows of src.
func replace(dst, src blas64.General) {
	for i := range src.Rows {
		copy(row(dst, i), row(src, i))
	}
}

// byColumns returns the columns of m one after the other.
func byColumns(m blas64.General) []float64 {
	out := make([]float64, m.Rows*m.Cols)
	for i := range m.Rows {
		for q, v := range row(m, i) {
			out[q*m.Rows+i] = v
		}
	}
	return out
}

// beside returns the matrices side by side.
func beside(all ...blas64.General) blas64.General {
	columns := 0
	for _, m := range all {
		columns += m.Cols
	}
	out, at := newMatrix(all[0].Rows, columns), 0
	for _, m := range all {
		for i := range m.Rows {
			copy(row(out, i)[at:], row(m, i))
		}
		at += m.Cols
	}
	return out
}

// both calls two functions with a share of the threads, at the same time if there are two or more.
func both(threads int, f, g func(threads int)) {
	if threads < 2 {
		f(1)
		g(1)
		return
	}
	var group sync.WaitGroup
	group.Go(func() { f(threads - threads/2) })
	g(threads / 2)
	group.Wait()
}

// spread calls f for all tasks.
func spread(threads, tasks int, f func(task int)) {
	if threads < 2 || tasks < 2 {
		for k := range tasks {
			f(k)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(threads, tasks) {
		group.Go(func() {
			for k := int(next.Add(1)) - 1; k < tasks; k = int(next.Add(1)) - 1 {
				f(k)
			}
		})
	}
	group.Wait()
}

// strip is the number of rows of a task.
const strip = 1024

// strips calls f for strips of rows.
func strips(threads, rows int, f func(first, end int)) {
	spread(threads, (rows+strip-1)/strip, func(k int) { f(k*strip, min((k+1)*strip, rows)) })
}

// algebra has the products of matrices.
type algebra struct {
	*spd.Engine
	flops atomic.Int64
}

// add adds factor·A·B to c, or factor·A·Bᵀ.
func (g *algebra) add(threads int, c blas64.General, factor float64, a, b blas64.General, transposed bool) {
	g.flops.Add(2 * int64(c.Rows) * int64(c.Cols) * int64(a.Cols))
	strips(threads, a.Rows, func(first, end int) {
		g.Multiply(rowsOf(c, first, end), factor, spd.Operand{General: rowsOf(a, first, end)}, spd.Operand{General: b, Transposed: !transposed})
	})
}

// product returns A·B.
func (g *algebra) product(threads int, a, b blas64.General) blas64.General {
	c := newMatrix(a.Rows, b.Cols)
	g.add(threads, c, 1, a, b, false)
	return c
}

// productT returns A·Bᵀ.
func (g *algebra) productT(threads int, a, b blas64.General) blas64.General {
	c := newMatrix(a.Rows, b.Rows)
	g.add(threads, c, 1, a, b, true)
	return c
}

// inner returns Aᵀ·B, the sum over at most 16 parts of the rows.
func (g *algebra) inner(threads int, a, b blas64.General) blas64.General {
	g.flops.Add(2 * int64(a.Rows) * int64(a.Cols) * int64(b.Cols))
	const most = 16
	part := max(4*strip, (a.Rows+most-1)/most)
	sums := make([]blas64.General, max(1, (a.Rows+part-1)/part))
	spread(threads, len(sums), func(k int) {
		first, end := k*part, min((k+1)*part, a.Rows)
		sums[k] = newMatrix(a.Cols, b.Cols)
		g.Multiply(sums[k], 1, spd.Operand{General: rowsOf(a, first, end), Transposed: true}, spd.Operand{General: rowsOf(b, first, end), Transposed: true})
	})
	for _, s := range sums[1:] {
		for i, v := range s.Data {
			sums[0].Data[i] += v
		}
	}
	return sums[0]
}

// cholesky replaces the lower triangle of a by its factor and clears the upper one. It reports whether a is positive definite.
func cholesky(a blas64.General) bool {
	if a.Rows == 0 {
		return true
	}
	_, ok := lapack64.Potrf(blas64.Symmetric{N: a.Rows, Stride: a.Stride, Data: a.Data, Uplo: blas.Lower})
	for i := range a.Rows {
		clear(row(a, i)[i+1:])
		if d := a.Data[i*a.Stride+i]; !(d > 0) || math.IsInf(d, 0) {
			return false
		}
	}
	return ok
}

// lower is a lower triangle.
func lower(a blas64.General) blas64.Triangular {
	return blas64.Triangular{N: a.Rows, Stride: a.Stride, Data: a.Data, Uplo: blas.Lower, Diag: blas.NonUnit}
}

// invert replaces a lower triangle by its inverse.
func invert(a blas64.General) {
	if a.Rows > 0 {
		lapack64.Trtri(lower(a))
	}
}

// logs returns Σ log of the diagonal.
func logs(a blas64.General) (sum float64) {
	for i := range a.Rows {
		sum += math.Log(a.Data[i*a.Stride+i])
	}
	return sum
}

// orthonormal returns Q and a lower triangle L of A = Q·Lᵀ by factors of AᵀA: once for about half of the digits and twice for
// all (Yamamoto, Nakatsukasa, Yanagisawa & Fukaya, ETNA 44 (2015), 306), with a shift before where A is nearly
// singular (Fukaya and others, SIAM J. Sci. Comput. 42 (2020), A477).
func (g *algebra) orthonormal(threads int, a blas64.General, passes int) (q, l blas64.General) {
	for done := 0; done < passes; done++ {
		own := g.inner(threads, a, a)
		trace := 0.0
		for i := range own.Rows {
			trace += own.Data[i*own.Stride+i]
		}
		factor := clone(own)
		const unit = 0x1p-53
		shift := 11 * unit * trace * float64(a.Rows+a.Cols+1)
		for tries := 0; !cholesky(factor) && tries < 40; tries++ {
			factor = clone(own)
			for i := range own.Rows {
				factor.Data[i*own.Stride+i] += shift
			}
			shift *= 16
			passes = max(passes, done+3)
		}
		inverse := clone(factor)
		invert(inverse)
		a = g.productT(threads, a, inverse)
		if done == 0 {
			l = factor
		} else {
			l = g.product(1, l, factor)
		}
	}
	return a, l
}
