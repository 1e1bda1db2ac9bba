package tree

import (
	"context"

	"gonum.org/v1/gonum/blas/blas64"

	"gpfit/kernel"
	"gpfit/kernel/vec"
)

// atOnce is the number of points that a prediction takes at a time.
const atOnce = 128

// columnsFor returns the matrix k(x_i, x*_j) for the points first to end of xs, in the order of the tree.
func (w *engine) columnsFor(prog *kernel.Program, theta []float64, xs *kernel.Points, first, end int) blas64.General {
	k := newMatrix(w.N, end-first)
	strips(w.Threads, w.N, func(low, high int) {
		e := kernel.NewEvaluator(prog)
		e.Bind(theta)
		for i := low; i < high; i++ {
			e.Row(row(k, i), w.evaluation.points, i, xs, first, end)
		}
	})
	return k
}

// Predict implements [hostmethod.Engine]. It computes means by all elements of the kernel.
func (w *engine) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	k := len(alpha) / w.N
	w.Begin("predict", float64(w.N)*float64(xs.N))
	if err := w.means(ctx, prog, theta, alpha, k, xs, mean); err != nil || reduction == nil {
		return err
	}
	clear(reduction)
	return w.whitened(ctx, prog, theta, xs, func(i, j int, v float64) { reduction[j] += v * v })
}

// whitened calls f with the elements of W⁻¹k for the matrix k(x_i, x*_j), i in the order of the tree.
func (w *engine) whitened(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, f func(i, j int, v float64)) error {
	for first := 0; first < xs.N; first += atOnce {
		end := min(first+atOnce, xs.N)
		b := w.columnsFor(prog, theta, xs, first, end)
		w.whiten(w.root, b, w.Threads)
		for i := range b.Rows {
			for j, v := range row(b, i) {
				f(i, first+j, v)
			}
		}
		if err := w.Step(ctx, float64(w.N)*float64(end-first)); err != nil {
			return err
		}
	}
	return nil
}

// means writes the means.
func (w *engine) means(ctx context.Context, prog *kernel.Program, theta, alpha []float64, k int, xs *kernel.Points, mean []float64) error {
	const part = 16
	for first := 0; k > 0 && first < xs.N; first += part * w.Threads {
		spread(w.Threads, w.Threads, func(thread int) {
			begin := first + thread*part
			end := min(begin+part, xs.N)
			if begin >= end {
				return
			}
			e, values := kernel.NewEvaluator(prog), make([]float64, w.N)
			e.Bind(theta)
			for j := begin; j < end; j++ {
				e.Row(values, xs, j, w.Points, 0, w.N)
				for q := range k {
					mean[q*xs.N+j] = vec.Dot(values, alpha[q*w.N:(q+1)*w.N])
				}
			}
		})
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// PredictCovariance implements [device.JointCovariance].
func (w *engine) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	w.Begin("predict", float64(w.N)*float64(xs.N))
	return w.Joint(xs.N, reduction, func(rows []float64) error {
		return w.whitened(ctx, prog, theta, xs, func(i, j int, v float64) { rows[j*w.N+i] = v })
	})
}
