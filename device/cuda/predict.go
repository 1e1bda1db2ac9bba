package cuda

import (
	"context"
	"fmt"

	"gpfit/device"
	"gpfit/device/cuda/kernels"
	"gpfit/kernel"
)

// Predict processes xs in blocks of columns. Each block holds k(x_i, x*) for all i,
// which L⁻¹ times it then overwrites.
func (w *Workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	needs := stageEmpty
	if reduction != nil {
		needs = stageFactored
	}
	return w.do(ctx, needs, func() {
		if w.check(device.CheckPrediction(w.x, xs, alpha, mean, reduction)); w.err != nil {
			return
		}
		if xs.N == 0 || !w.bind(prog, theta) {
			return
		}
		w.local(func(local *memory) {
			w.solution = nil
			weights, count := w.alpha, int64(len(alpha))/w.n
			if count > 1 {
				weights = buffer{}
				w.need(local, &weights, leadingDim(w.n)*count)
			}
			w.uploadBlock(w.columns(weights), alpha, w.n, w.n, count)
			step := min(int64(xs.N), w.sizes.crossWidth(w.n))
			w.need(&w.memory, &w.cross, leadingDim(w.n)*step)
			p := prediction{w, xs, step, buffer{}}
			w.need(local, &p.coordinates, step*int64(xs.D))
			p.marginal(local, w.columns(weights), count, mean, reduction)
		})
	})
}

// prediction is a prediction at xs, step points at a time.
type prediction struct {
	*Workspace
	xs          *kernel.Points
	step        int64
	coordinates buffer // of these points
}

// marginal writes means and reductions, for count vectors of weights.
func (p prediction) marginal(local *memory, weights kernels.Matrix, count int64, mean, reduction []float64) {
	m, perColumn := int64(p.xs.N), float64(p.n)*float64(p.n)
	var out buffer
	p.need(local, &out, max(count, 1)*leadingDim(p.step))
	block := p.columns(p.cross)
	p.Begin("predict", perColumn*float64(m))
	for r0 := int64(0); r0 < m; r0 += p.step {
		r1 := min(r0+p.step, m)
		cols := r1 - r0
		p.crossCovariances(r0, r1, block)
		if count > 0 {
			means := kernels.Matrix{A: out.at, LD: leadingDim(cols)}
			p.then(func() error { return p.gpu.Gemm(transposed, plain, cols, count, p.n, 1, block, weights, 0, means) })
			p.downloadBlock(mean[r0:], m, means, cols, count)
		}
		if reduction != nil {
			p.trsm(left, plain, p.n, cols, p.matrix, block)
			p.run(kernels.ColumnSumSquares(block, p.n, kernels.Vector{A: out.at, N: cols}))
			p.download(reduction[r0:r1], out.at)
		}
		p.worked(perColumn * float64(cols))
	}
}

// crossCovariances writes k(x_i, x*_r) to element (i, r−r0) of out, for r0 ≤ r < r1.
func (p prediction) crossCovariances(r0, r1 int64, out kernels.Matrix) {
	cols := r1 - r0
	p.uploadBlock(kernels.Matrix{A: p.coordinates.at, LD: cols}, p.xs.X[r0:], int64(p.xs.N), cols, int64(p.xs.D))
	test := kernels.Points{X: p.coordinates.at, N: cols}
	p.run(kernels.Cross(p.program.value.Function, p.points, test, 0, cols, out))
}

// PredictCovariance forms V = L⁻¹·K*, one column for each point, in blocks, and then VᵀV.
func (w *Workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	return w.do(ctx, stageFactored, func() {
		m := int64(xs.N)
		w.check(device.CheckCovariance(w.x, xs, reduction))
		if !w.bind(prog, theta) || m == 0 {
			return
		}
		w.require(8*m*(leadingDim(w.n)+leadingDim(m)+int64(xs.D)), fmt.Sprintf("the covariance of %d predictions", m))
		w.local(func(local *memory) {
			p := prediction{w, xs, min(m, w.sizes.crossWidth(w.n)), buffer{}}
			p.covariance(local, reduction)
		})
	})
}

func (p prediction) covariance(local *memory, reduction []float64) {
	m, perColumn := int64(p.xs.N), float64(p.n)*float64(p.n)
	var all buffer
	p.need(local, &all, m*(leadingDim(p.n)+leadingDim(m)))
	p.need(local, &p.coordinates, p.step*int64(p.xs.D))
	v := p.columns(all)
	square := kernels.Matrix{A: v.At(0, m).A, LD: leadingDim(m)}
	p.Begin("predict", perColumn*float64(m)+squareFlops(p.n, m, p.step))
	for r0 := int64(0); r0 < m; r0 += p.step {
		cols := min(p.step, m-r0)
		p.crossCovariances(r0, r0+cols, v.At(0, r0))
		p.trsm(left, plain, p.n, cols, p.matrix, v.At(0, r0))
		p.worked(perColumn * float64(cols))
	}
	// Columns of the lower triangle become rows of the upper one on the host.
	for r0 := int64(0); r0 < m; r0 += p.step {
		cols := min(p.step, m-r0)
		p.gemm(transposed, plain, m-r0, cols, p.n, 1, v.At(0, r0), v.At(0, r0), 0, square.At(r0, r0))
		p.downloadBlock(reduction[r0*m+r0:], m, square.At(r0, r0), m-r0, cols)
	}
	for i := range m {
		for j := i + 1; j < m; j++ {
			reduction[j*m+i] = reduction[i*m+j]
		}
	}
}

// squareFlops counts the operations of VᵀV for m columns, in panels of step columns.
func squareFlops(n, m, step int64) float64 {
	sum := 0.0
	for r0 := int64(0); r0 < m; r0 += step {
		sum += 2 * float64(n) * float64(m-r0) * float64(min(step, m-r0))
	}
	return sum
}
