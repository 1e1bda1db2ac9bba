package gp

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/floats"

	"gpfit/kernel"
)

// covariance is a covariance function with a value for each parameter.
type covariance struct {
	prog  *kernel.Program
	theta []float64
}

// evaluator returns an evaluator of the function.
func (c covariance) evaluator() *kernel.Evaluator {
	e := kernel.NewEvaluator(c.prog)
	e.Bind(c.theta)
	return e
}

// diagonal returns the prior variances at points.
func (c covariance) diagonal(xs *kernel.Points) []float64 {
	out := make([]float64, xs.N)
	c.evaluator().Diagonal(out, xs, 0, xs.N)
	return out
}

// eachRow calls f for every row in parallel, with an evaluator and scratch space for a piece of a row, on that
// many threads, 0 for all. One goroutine handles a whole row, so results do not depend on their number.
func (c covariance) eachRow(ctx context.Context, threads, rows int, f func(e *kernel.Evaluator, piece []float64, i int)) error {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(threads, rows) {
		group.Go(func() {
			e, piece := c.evaluator(), make([]float64, rowPiece)
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= rows {
					return
				}
				f(e, piece, i)
			}
		})
	}
	group.Wait()
	return ctx.Err()
}

// rowPiece is the length of the rows passed to an evaluator. It keeps the scratch
// space in the first-level cache.
const rowPiece = 512

// addSums adds K*ᵀα to out for each column α of alpha (n×T), at the points xs, on the host.
func (c covariance) addSums(ctx context.Context, threads int, x *kernel.Points, alpha []float64, xs *kernel.Points, out [][]float64) error {
	n := x.N
	return c.eachRow(ctx, threads, xs.N, func(e *kernel.Evaluator, piece []float64, i int) {
		for j := 0; j < n; j += rowPiece {
			end := min(j+rowPiece, n)
			e.Row(piece[:end-j], xs, i, x, j, end)
			for t := range out {
				out[t][i] += floats.Dot(piece[:end-j], alpha[t*n+j:t*n+end])
			}
		}
	})
}
