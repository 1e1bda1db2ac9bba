package grid

import (
	"context"
	"fmt"
	"math"
	"sync"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/internal/team"
	"gpfit/kernel"
)

// spectrum is the eigen-decomposition of Σ.
type spectrum struct {
	*model
	// u are the eigenvectors of the K_a, as columns, and lambda the eigenvalues.
	u      []blas64.General
	lambda [][]float64
	// d is D in the order of the cells, and noise is σ².
	d      []float64
	noise  float64
	logDet float64
}

// Form implements [device.Workspace].
func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if w.x == nil {
		return device.ErrStage
	}
	w.formed = false
	if err := w.poll(ctx); err != nil {
		return err
	}
	own, err := oneVariance(noise, w.n)
	if err != nil {
		return err
	}
	m, err := w.modelAt(prog, theta)
	if err != nil {
		return err
	}
	w.Begin("factor", eigenFlops*m.cubes()+20*float64(w.n))
	if w.model != m {
		w.model = m
		if err := w.decompose(ctx); err != nil {
			w.model = nil
			return err
		}
	}
	w.allocate()
	if err := w.shift(own); err != nil {
		return err
	}
	w.formed = true
	return w.step(ctx, 20*float64(w.n)+eigenFlops*m.cubes())
}

// oneVariance returns the noise variance of all n points.
func oneVariance(noise []float64, n int) (float64, error) {
	if len(noise) != 1 && len(noise) != n {
		return 0, fmt.Errorf("grid: %d noise variances for %d points", len(noise), n)
	}
	for i, v := range noise {
		if v-v != 0 {
			return 0, &device.NonFiniteError{What: "noise variance", Row: i, Col: -1}
		}
		if v != noise[0] {
			return 0, &device.UnsupportedError{Method: Name, What: "noise that differs between rows"}
		}
	}
	return noise[0], nil
}

// decompose computes the eigenvectors of all axes at once.
func (w *workspace) decompose(ctx context.Context) error {
	type decomposed struct {
		u      []blas64.General
		lambda [][]float64
	}
	k := w.k
	all, err := team.Await(ctx, func() (decomposed, error) {
		out, errs := decomposed{make([]blas64.General, len(k)), make([][]float64, len(k))}, make([]error, len(k))
		var wg sync.WaitGroup
		for a := range k {
			wg.Go(func() { out.u[a], out.lambda[a], errs[a] = eigen(k[a]) })
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return out, err
			}
		}
		return out, nil
	})
	if err != nil {
		return err
	}
	w.u, w.lambda = all.u, all.lambda
	return nil
}

// eigen returns the eigenvectors of a symmetric matrix as columns, and its eigenvalues, none below 0.
func eigen(k blas64.General) (u blas64.General, lambda []float64, err error) {
	g := k.Rows
	if g == 1 {
		return blas64.General{Rows: 1, Cols: 1, Stride: 1, Data: []float64{1}}, []float64{max(0, k.Data[0])}, nil
	}
	var e mat.EigenSym
	symmetric := mat.NewSymDense(g, append([]float64(nil), k.Data...))
	if !e.Factorize(symmetric, true) {
		return u, nil, &device.NotPDError{Minor: g, N: g}
	}
	var vectors mat.Dense
	e.VectorsTo(&vectors)
	lambda = e.Values(nil)
	for p := range lambda {
		lambda[p] = max(0, lambda[p]) // K_a is positive semidefinite
	}
	return vectors.RawMatrix(), lambda, nil
}

// shift computes D and log|Σ| for a noise variance.
func (w *workspace) shift(noise float64) error {
	if len(w.d) != w.n {
		w.d = make([]float64, w.n)
	}
	w.noise, w.logDet = noise, 0
	w.products(w.d, w.scale, w.lambda)
	for i, v := range w.d {
		v += noise
		if !(v > 0) || math.IsInf(v, 1) {
			return w.explain(v)
		}
		w.d[i] = v
		w.logDet += math.Log(v)
	}
	return nil
}

// explain returns the error for an eigenvalue.
func (w *workspace) explain(v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return &device.NonFiniteError{What: "covariance matrix", Row: -1, Col: -1}
	}
	return &device.NotPDError{Minor: w.n, N: w.n}
}

// products writes scale times the product of a number for each axis, to each cell of the grid.
func (l *lattice) products(dst []float64, scale float64, factors [][]float64) {
	dst[0] = scale
	size := 1
	// From the last axis on, the array of the axes after is repeated with each number of this one.
	for a := len(factors) - 1; a >= 0; a-- {
		own := factors[a]
		for p := len(own) - 1; p >= 0; p-- {
			for i := range size {
				dst[p*size+i] = own[p] * dst[i]
			}
		}
		size *= len(own)
	}
}

// LogDet implements [device.Workspace].
func (w *workspace) LogDet() (value, stdErr float64, err error) {
	if !w.formed {
		return 0, 0, device.ErrStage
	}
	return w.logDet, 0, nil
}

// Solve implements [device.Workspace]: Σ⁻¹b = U·D⁻¹·Uᵀb.
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	if err := w.checkSides(b, m); err != nil {
		return err
	}
	for c := range m {
		column := b[c*w.n : (c+1)*w.n]
		w.gather(w.work[0], column)
		if err := w.along(ctx, w.u, blas.Trans, -1); err != nil {
			return err
		}
		for i, v := range w.d {
			w.work[0][i] /= v
		}
		if err := w.along(ctx, w.u, blas.NoTrans, -1); err != nil {
			return err
		}
		w.scatter(column, w.work[0])
	}
	return w.poll(ctx)
}

// Whiten implements [device.DerivativeProducts] for the factor U·D^½.
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	if err := w.checkSides(b, m); err != nil {
		return err
	}
	for c := range m {
		column := b[c*w.n : (c+1)*w.n]
		if transposed {
			for i, v := range column {
				w.work[0][i] = v / math.Sqrt(w.d[i])
			}
			if err := w.along(ctx, w.u, blas.NoTrans, -1); err != nil {
				return err
			}
			w.scatter(column, w.work[0])
			continue
		}
		w.gather(w.work[0], column)
		if err := w.along(ctx, w.u, blas.Trans, -1); err != nil {
			return err
		}
		for i, v := range w.work[0] {
			column[i] = v / math.Sqrt(w.d[i])
		}
	}
	return w.poll(ctx)
}
