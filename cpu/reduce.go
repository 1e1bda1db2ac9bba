package cpu

import (
	"context"

	"gpfit/cpu/spd"
	"gpfit/kernel"
)

// A reducer computes means and the reduction of the prior variance, k*ᵀΣ⁻¹k* = |v|²
// with L·v = k*. In one task a thread computes the covariances k* of some points, the
// means from them, v and |v|², in its cache.
type reducer struct {
	w               *workspace
	evaluators      []*kernel.Evaluator
	xs              *kernel.Points
	alpha           []float64
	mean, reduction []float64
	points          int // in one call of reduce, at most
}

const (
	// reduceFlops bounds the work between two reports of progress.
	reduceFlops = 3e10
	// vectorElements bounds the vectors in memory: 32 MiB, or more if many threads need
	// more for one group of vectors each.
	vectorElements = 4 << 20
	// taskVectors is the largest number of groups of vectors in a task. They share the
	// rows of L that come from memory.
	taskVectors = 8
	// tasksPerThread makes the wait for the last task short.
	tasksPerThread = 8
)

// vectorsPerThread returns the largest number of groups of vectors that a thread has.
func vectorsPerThread(e *spd.Engine, n, threads int) int {
	return max(1, min(taskVectors, vectorElements/(e.Width()*n*threads)))
}

// predictNumbers returns the working space of predictions from n points, in numbers.
func predictNumbers(e *spd.Engine, n, threads int) int64 {
	padded := int64(n + e.Lanes())
	return int64(threads) * padded * int64(vectorsPerThread(e, n, threads)*e.Width()+e.Lanes())
}

func newReducer(w *workspace, evaluators []*kernel.Evaluator) *reducer {
	r := &reducer{w: w, evaluators: evaluators}
	n, round := w.n, w.matrix.Width()*w.engine.Threads()
	r.points = max(1, int(reduceFlops/(float64(n)*float64(n)))/round) * round
	return r
}

// reduce writes the results of points j0 … j1−1.
func (r *reducer) reduce(ctx context.Context, j0, j1 int) error {
	w, width := r.w, r.w.matrix.Width()
	threads := w.engine.Threads()
	if (j1-j0)*w.n < serialBelow*serialBelow {
		threads = 1
	}
	groups := (j1 - j0 + width - 1) / width
	each := min(vectorsPerThread(w.matrix.Engine, w.n, w.engine.Threads()), max(1, groups/(tasksPerThread*threads)))
	w.space.grow(w.matrix, threads, threads*each)
	return w.engine.For(ctx, threads, (groups+each-1)/each, func(worker, task int) {
		vs := w.space.vectors[worker*each : worker*each+min(each, groups-task*each)]
		for i, v := range vs {
			r.load(v, worker, j0+(task*each+i)*width, j1)
		}
		w.matrix.Solve(vs)
		for i, v := range vs {
			j := j0 + (task*each+i)*width
			v.SquaredNorms(r.reduction[j:min(j+width, j1)])
		}
	})
}

// load fills v with the covariances of the points from j on, before last, and computes their means.
func (r *reducer) load(v *spd.Vectors, worker, j, last int) {
	w := r.w
	v.Load(min(w.matrix.Width(), last-j), w.space.scratch[worker], func(i int, row []float64) {
		crossRow(r.evaluators[worker], row, r.xs, j+i, w.x)
		weigh(row, r.alpha, r.mean, j+i, r.xs.N)
	})
}
