package finite

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/device"
)

// mostParts is the number of parts into which the rows are divided. It does not depend on the threads,
// so that results do not.
const mostParts = 16

// blockRows is the number of rows of a block for r features.
func blockRows(r int) int { return max(256, 2*r) }

// parts returns the number of parts of n rows. Each has whole blocks.
func parts(n, r int) int { return max(1, min(mostParts, (n+blockRows(r)-1)/blockRows(r))) }

// featureNeed is the memory for r features of n rows.
func featureNeed(n, r int) device.Need {
	bytes := 8 * (int64(n)*int64(r+4) + int64(parts(n, r)+8)*int64(r)*int64(r))
	return device.Need{Bytes: bytes, What: fmt.Sprintf("%d features of %d rows", r, n)}
}

// pass is a pass over the rows: all parts, several at a time, and the blocks of each in order.
type pass struct {
	n, rank, threads int
	// stop ends it early.
	stop atomic.Bool
}

// part calls f for the blocks of a part, and then done with the number of their rows.
func (p *pass) part(k int, f func(first, last int), done func(rows int)) {
	rows, all := blockRows(p.rank), parts(p.n, p.rank)
	blocks := (p.n + rows - 1) / rows
	for b := k * blocks / all; b < (k+1)*blocks/all && !p.stop.Load(); b++ {
		first, last := b*rows, min((b+1)*rows, p.n)
		f(first, last)
		done(last - first)
	}
}

// run calls what begin returns for all blocks, and worked on this goroutine after each.
func (p *pass) run(begin func(part int) func(first, last int), worked func(rows int)) {
	all, rows := parts(p.n, p.rank), make(chan int, 64)
	var next atomic.Int64
	var group sync.WaitGroup
	for range max(1, min(p.threads, all)) {
		group.Go(func() {
			for k := int(next.Add(1)) - 1; k < all; k = int(next.Add(1)) - 1 {
				p.part(k, begin(k), func(n int) { rows <- n })
			}
		})
	}
	go func() { group.Wait(); close(rows) }()
	for n := range rows {
		worked(n)
	}
}

// each calls what begin returns for all blocks of rows. It counts flops operations a row, and reports
// them unless they are 0. It polls ctx.
func each(ctx context.Context, w *workspace, rank int, flops float64, begin func(part int) func(first, last int)) error {
	p := &pass{n: w.N, rank: rank, threads: w.Threads}
	p.run(begin, func(rows int) {
		if flops > 0 {
			w.Worked(flops * float64(rows))
		}
		if ctx.Err() != nil {
			p.stop.Store(true)
		}
	})
	return ctx.Err()
}

// partSums are accumulators of the parts.
type partSums [][]float64

func newSums(n, rank, size int) partSums {
	s := make(partSums, parts(n, rank))
	for k := range s {
		s[k] = make([]float64, size)
	}
	return s
}

// total returns the sum, in the order of the parts.
func (s partSums) total() []float64 {
	for _, part := range s[1:] {
		for i, v := range part {
			s[0][i] += v
		}
	}
	return s[0]
}

// blockReader returns the features of blocks of rows, one block after the other. A feature is a row of
// a matrix, so that the inner loops are long.
type blockReader struct {
	*workspace
	table  *atomTable
	buffer []float64
}

func newReader(w *workspace, e *expansion) *blockReader {
	return &blockReader{workspace: w, table: newAtomTable(e, w.Points)}
}

// features returns the features of the rows from first to last, valid until the next call.
func (b *blockReader) features(first, last int) blas64.General {
	r := b.table.rank()
	if b.table.expansion == b.expansion {
		return matrix(b.phi[first*r:last*r], r)
	}
	b.table.read(first, last)
	if len(b.buffer) < (last-first)*r {
		b.buffer = make([]float64, (last-first)*r)
	}
	b.table.features(b.buffer)
	return matrix(b.buffer[:(last-first)*r], r)
}

// inner returns Φᵀ·diag(weight)·b for b of m columns: r numbers for each.
func inner(ctx context.Context, w *workspace, e *expansion, b []float64, m int, weight func(i int) float64) ([]float64, error) {
	r := e.rank()
	all := newSums(w.N, r, r*m)
	err := each(ctx, w, r, 0, func(part int) func(first, last int) {
		in, column := newReader(w, e), make([]float64, blockRows(r))
		return func(first, last int) {
			phi := in.features(first, last)
			for q := range m {
				for i, v := range b[q*w.N+first : q*w.N+last] {
					column[i] = weight(first+i) * v
				}
				blas64.Gemv(plain, 1, phi, vector(column[:last-first]), 1, vector(all[part][q*r:(q+1)*r]))
			}
		}
	})
	return all.total(), err
}

// subtract replaces b, of m columns, by what finish makes of b and Φt, in every row.
func subtract(ctx context.Context, w *workspace, t, b []float64, m int, finish func(i int, b, product float64) float64) error {
	r := w.rank()
	return each(ctx, w, r, 0, func(int) func(first, last int) {
		in, column := newReader(w, w.expansion), make([]float64, blockRows(r))
		return func(first, last int) {
			phi, product := in.features(first, last), column[:last-first]
			for q := range m {
				blas64.Gemv(transposed, 1, phi, vector(t[q*r:(q+1)*r]), 0, vector(product))
				for i, v := range product {
					at := q*w.N + first + i
					b[at] = finish(first+i, b[at], v)
				}
			}
		}
	})
}
