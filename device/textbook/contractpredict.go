package textbook

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/kernel"
)

// InverseDiagonal copies the diagonal of Σ⁻¹.
func (w *workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	if err := device.Invalid("textbook", device.CheckColumns(dst, w.n, 1)); err != nil {
		return err
	}
	if err := invert(ctx, w, 0); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = w.inverse[i*w.n+i]
	}
	return nil
}

// InverseBlocks copies blocks of Σ⁻¹.
func (w *workspace) InverseBlocks(ctx context.Context, b *device.Blocks) error {
	if err := device.Invalid("textbook", b.Check(w.n)); err != nil {
		return err
	}
	if err := invert(ctx, w, 0); err != nil {
		return err
	}
	return b.Each(func(first, m int, elements []float64) error {
		for i := range m {
			copy(elements[i*m:(i+1)*m], w.inverse[(first+i)*w.n+first:])
		}
		return nil
	})
}

// Contract forms G some rows at a time and contracts it with ∂K.
func (w *workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if err := w.ready(factored, adj.CheckSizes(w.n, diag, grad, prog)); err != nil {
		return err
	}
	e, err := evaluator(w.x, prog, theta)
	if err != nil {
		return err
	}
	flops := 0.0 // of the middle term
	g := make([]float64, min(blockRows, w.n)*w.n)
	var weighed []float64
	if adj.HasMiddle() {
		flops, weighed = 2*cube(w.n), make([]float64, len(g))
		if adj.Blocks != nil {
			flops += adj.Blocks.Flops(w.n)
		}
	}
	if err := invert(ctx, w, flops); err != nil {
		return err
	}
	for i0 := 0; i0 < w.n; i0 += blockRows {
		i1 := min(i0+blockRows, w.n)
		rows := w.general(g, 0, i1-i0, 0, w.n)
		clear(g)
		if weighed != nil {
			w.weighInverse(adj, i0, i1, weighed)
			blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, w.general(weighed, 0, i1-i0, 0, w.n), w.general(w.inverse, 0, w.n, 0, w.n), 0, rows)
		}
		for i := i0; i < i1; i++ {
			row := g[(i-i0)*w.n : (i-i0+1)*w.n]
			floats.AddScaled(row, adj.Inv, w.inverse[i*w.n:(i+1)*w.n])
			for k, f := range adj.Outer {
				v := adj.Vectors[k*w.n : (k+1)*w.n]
				floats.AddScaled(row, f*v[i], v)
			}
			diag[i] = row[i]
			e.RowGradient(grad, row, w.x, i, w.x, 0, w.n)
		}
		if err := w.step(ctx, flops*float64(i1-i0)/float64(w.n)); err != nil {
			return err
		}
	}
	return nil
}

// weighInverse writes rows [i0, i1) of Σ⁻¹ times the matrix of the middle term to out.
func (w *matrices) weighInverse(adj device.Adjoint, i0, i1 int, out []float64) {
	if adj.Blocks == nil {
		for i := i0; i < i1; i++ {
			floats.MulTo(out[(i-i0)*w.n:(i-i0+1)*w.n], w.inverse[i*w.n:(i+1)*w.n], adj.Diagonal)
		}
		return
	}
	_ = adj.Blocks.Each(func(first, m int, elements []float64) error {
		block := blas64.General{Rows: m, Cols: m, Stride: m, Data: elements}
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, w.general(w.inverse, i0, i1, first, first+m), block, 0, w.general(out, 0, i1-i0, first, first+m))
		return nil
	})
}

// MultiplyDerivatives contracts each row of ∂K with each vector.
func (w *workspace) MultiplyDerivatives(ctx context.Context, prog *kernel.Program, theta, vectors []float64, m int, dst []float64) error {
	if err := w.ready(empty, device.CheckProducts(prog, w.n, vectors, m, dst)); err != nil {
		return err
	}
	e, err := evaluator(w.x, prog, theta)
	if err != nil {
		return err
	}
	grad := make([]float64, prog.NumParams)
	for i := range w.n {
		if err := w.poll(ctx); err != nil {
			return err
		}
		for k := range m {
			clear(grad)
			e.RowGradient(grad, vectors[k*w.n:(k+1)*w.n], w.x, i, w.x, 0, w.n)
			for p, v := range grad {
				dst[(p*m+k)*w.n+i] = v
			}
		}
	}
	return nil
}

var _ device.MeanPredictor = gonum{}

// PredictMeans implements [device.MeanPredictor].
func (gonum) PredictMeans(ctx context.Context, x *kernel.Points, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean []float64) error {
	if err := device.Invalid("textbook", device.CheckPrediction(x, xs, alpha, mean, nil)); err != nil {
		return err
	}
	e, err := evaluator(x, prog, theta)
	if err != nil {
		return err
	}
	row := make([]float64, x.N)
	for j := range xs.N {
		if err := ctx.Err(); err != nil {
			return err
		}
		e.Row(row, xs, j, x, 0, x.N)
		weigh(row, alpha, mean, j, xs.N)
	}
	return nil
}

// weigh writes the products of a row of covariances, of point j of points, with the columns
// of alpha.
func weigh(row, alpha, mean []float64, j, points int) {
	n := len(row)
	for q := range len(alpha) / n {
		mean[q*points+j] = floats.Dot(row, alpha[q*n:(q+1)*n])
	}
}

// Predict computes means, and with reduction |v|² for L·v = k*.
func (w *workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	if w.x == nil || reduction != nil && w.stage < factored {
		return device.ErrStage
	}
	if reduction == nil {
		if err := w.poll(ctx); err != nil {
			return err
		}
		return gonum{}.PredictMeans(ctx, w.x, prog, theta, alpha, xs, mean)
	}
	if err := device.Invalid("textbook", device.CheckPrediction(w.x, xs, alpha, mean, reduction)); err != nil {
		return err
	}
	e, err := evaluator(w.x, prog, theta)
	if err != nil {
		return err
	}
	each := float64(w.n) * float64(w.n)
	if err := w.begin(ctx, "predict", each*float64(xs.N)); err != nil {
		return err
	}
	v := make([]float64, min(blockRows, xs.N)*w.n)
	for j0 := 0; j0 < xs.N; j0 += blockRows {
		j1 := min(j0+blockRows, xs.N)
		for j := j0; j < j1; j++ {
			row := v[(j-j0)*w.n : (j-j0+1)*w.n]
			e.Row(row, xs, j, w.x, 0, w.n)
			weigh(row, alpha, mean, j, xs.N)
		}
		blas64.Trsm(blas.Right, blas.Trans, 1, w.lower(0, w.n), w.general(v, 0, j1-j0, 0, w.n))
		for j := j0; j < j1; j++ {
			row := v[(j-j0)*w.n : (j-j0+1)*w.n]
			reduction[j] = floats.Dot(row, row)
		}
		if err := w.step(ctx, each*float64(j1-j0)); err != nil {
			return err
		}
	}
	return nil
}

// PredictCovariance computes VVᵀ for the rows v of V, L·v = k*.
func (w *workspace) PredictCovariance(ctx context.Context, prog *kernel.Program, theta []float64, xs *kernel.Points, reduction []float64) error {
	m := xs.N
	if w.stage < factored {
		return device.ErrStage
	}
	if err := device.Invalid("textbook", device.CheckCovariance(w.x, xs, reduction)); err != nil {
		return err
	}
	e, err := evaluator(w.x, prog, theta)
	if err != nil || m == 0 {
		return err
	}
	if err := device.CheckHost(w.n, w.x.D, 8*int64(m)*int64(w.n), fmt.Sprintf("the covariance of %d predictions", m)); err != nil {
		return err
	}
	if err := w.begin(ctx, "predict", float64(w.n)*float64(m)*float64(w.n+m)); err != nil {
		return err
	}
	v := make([]float64, m*w.n)
	for j := range m {
		e.Row(v[j*w.n:(j+1)*w.n], xs, j, w.x, 0, w.n)
	}
	rows := w.general(v, 0, m, 0, w.n)
	blas64.Trsm(blas.Right, blas.Trans, 1, w.lower(0, w.n), rows)
	if err := w.step(ctx, float64(w.n)*float64(w.n)*float64(m)); err != nil {
		return err
	}
	blas64.Syrk(blas.NoTrans, 1, rows, 0, blas64.Symmetric{Uplo: blas.Lower, N: m, Stride: m, Data: reduction})
	for i := range m {
		for j := range i {
			reduction[j*m+i] = reduction[i*m+j]
		}
	}
	return w.step(ctx, float64(w.n)*float64(m)*float64(m))
}
