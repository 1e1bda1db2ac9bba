package grid

import (
	"context"
	"math"

	"gpfit/kernel"
)

// Form implements [hostmethod.Engine].
func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) (logDet float64, err error) {
	m, err := w.modelAt(prog, theta)
	if err != nil {
		return 0, err
	}
	w.Begin("factor", eigenFlops*m.cubes()+20*float64(w.N))
	if w.productModel != m {
		earlier := w.eigenSpectrum
		w.productModel = nil
		if w.u, w.ut, w.lambda, err = decompose(ctx, m, earlier); err != nil {
			return 0, err
		}
		w.productModel = m
	}
	allocate(w)
	if logDet, err = w.shift(noise[0]); err != nil {
		return 0, err
	}
	return logDet, w.Step(ctx, 20*float64(w.N)+eigenFlops*m.cubes())
}

// modelAt returns the model of a kernel at theta.
func (w *workspace) modelAt(prog *kernel.Program, theta []float64) (*productModel, error) {
	if w.productModel.isAt(prog, theta) {
		return w.productModel, nil
	}
	if w.lattice == nil || !prog.Same(w.groupsOf) {
		groups, err := columnGroups(prog)
		if err != nil {
			return nil, unsupportedKernel(prog, err)
		}
		if w.lattice, err = newLattice(w.Points, groups); err != nil {
			return nil, err
		}
		w.groupsOf, w.lattice.threads = prog, &w.Threads
	}
	return newModel(w.lattice, w.Points, prog, theta)
}

// Solve implements [hostmethod.Engine]: Σ⁻¹b = U·D⁻¹·Uᵀb.
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	for c := range m {
		column := b[c*w.N : (c+1)*w.N]
		w.gather(w.work[0], column)
		if err := w.along(ctx, w.lattice, w.ut); err != nil {
			return err
		}
		for i, v := range w.d {
			w.work[0][i] /= v
		}
		if err := w.along(ctx, w.lattice, w.u); err != nil {
			return err
		}
		w.scatter(column, w.work[0])
	}
	return ctx.Err()
}

// Whiten implements [device.DerivativeProducts] for the factor U·D^½.
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	for c := range m {
		column := b[c*w.N : (c+1)*w.N]
		if transposed {
			for i, v := range column {
				w.work[0][i] = v / math.Sqrt(w.d[i])
			}
			if err := w.along(ctx, w.lattice, w.u); err != nil {
				return err
			}
			w.scatter(column, w.work[0])
			continue
		}
		w.gather(w.work[0], column)
		if err := w.along(ctx, w.lattice, w.ut); err != nil {
			return err
		}
		for i, v := range w.work[0] {
			column[i] = v / math.Sqrt(w.d[i])
		}
	}
	return ctx.Err()
}
