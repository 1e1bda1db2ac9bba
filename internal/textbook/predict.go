package textbook

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/internal/hostmem"
	"gpfit/kernel"
)

var _ device.MeanPredictor = gonum{}

// PredictMeans implements [device.MeanPredictor].
func (gonum) PredictMeans(ctx context.Context, x *kernel.Points, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean []float64) error {
	if err := device.CheckPrediction(x, xs, alpha, mean, nil); err != nil {
		return fmt.Errorf("textbook: %w", err)
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
	if err := device.CheckPrediction(w.x, xs, alpha, mean, reduction); err != nil {
		return fmt.Errorf("textbook: %w", err)
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
	if xs.D != w.x.D || len(reduction) != m*m {
		return fmt.Errorf("textbook: covariance of %d points of %d columns in %d elements, d = %d", m, xs.D, len(reduction), w.x.D)
	}
	e, err := evaluator(w.x, prog, theta)
	if err != nil || m == 0 {
		return err
	}
	need, free := 8*int64(m)*int64(w.n), hostmem.Free()
	if free > 0 && need > free {
		return &device.MemoryError{Plan: gonum{}.Plan(w.n, w.x.D), Where: "host", Need: need, Free: free, What: fmt.Sprintf("the covariance of %d predictions", m)}
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
