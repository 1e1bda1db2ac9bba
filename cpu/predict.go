package cpu

import (
	"context"
	"fmt"

	"gpfit/cpu/spd"
	"gpfit/device"
	"gpfit/kernel"
)

// Predict computes only the means as [Device.PredictMeans] does. With variances, a
// [reducer] does the work.
func (w *workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) (err error) {
	defer emptyIfStopped(&w.stage, &err)
	if reduction == nil {
		return predictMeans(ctx, w.engines.all, w.x, prog, theta, alpha, xs, mean)
	}
	if err := w.ready(stageFactored, device.CheckPrediction(w.x, xs, alpha, mean, reduction)); err != nil {
		return err
	}
	evaluators, err := w.bind(prog, theta)
	if err != nil {
		return err
	}
	r := newReducer(w, evaluators)
	r.xs, r.alpha, r.mean, r.reduction = xs, alpha, mean, reduction
	perPoint := float64(w.n) * float64(w.n)
	w.Begin("predict", perPoint*float64(xs.N))
	for j0 := 0; j0 < xs.N; j0 += r.points {
		j1 := min(j0+r.points, xs.N)
		if err := r.reduce(ctx, j0, j1); err != nil {
			return err
		}
		w.Worked(perPoint * float64(j1-j0))
	}
	return nil
}

// PredictCovariance solves L·V = K*ᵀ in groups of vectors, a vector for each point, and writes VᵀV.
func (w *workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) (err error) {
	defer emptyIfStopped(&w.stage, &err)
	if err := w.ready(stageFactored, device.CheckCovariance(w.x, xs, reduction)); err != nil {
		return err
	}
	m := xs.N
	evaluators, err := w.bind(prog, theta)
	if err != nil || m == 0 {
		return err
	}
	width := w.matrix.Width()
	groups := (m + width - 1) / width
	if err := device.CheckHost(w.n, w.x.D, 8*int64(groups)*int64(width)*int64(w.n), fmt.Sprintf("the covariance of %d predictions", m)); err != nil {
		return err
	}
	w.Begin("predict", float64(w.n)*float64(m)*float64(w.n+m))
	vs := make([]*spd.Vectors, groups)
	w.space.grow(w.matrix, w.engine.Threads(), 0)
	err = w.parallelFor(ctx, groups, func(worker, g int) {
		v := w.matrix.NewVectors()
		v.Load(min(width, m-g*width), w.space.scratch[worker], func(i int, row []float64) {
			crossRow(evaluators[worker], row, xs, g*width+i, w.x)
		})
		w.matrix.Solve([]*spd.Vectors{v})
		vs[g] = v
	})
	if err != nil {
		return err
	}
	w.Worked(float64(w.n) * float64(w.n) * float64(m))
	if err := w.parallelFor(ctx, groups, func(_, g int) {
		for h := range g + 1 {
			vs[h].Products(vs[g], reduction[g*width*m+h*width:], m)
		}
	}); err != nil {
		return err
	}
	w.Worked(float64(w.n) * float64(m) * float64(m))
	for i := range m {
		for j := range i {
			reduction[j*m+i] = reduction[i*m+j]
		}
	}
	return ctx.Err()
}
