package grid

import (
	"context"
	"fmt"
	"math"

	"gpfit/device"
	"gpfit/kernel"
)

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
	if w.productModel != m {
		earlier := w.eigenSpectrum
		w.productModel = nil
		if w.u, w.ut, w.lambda, err = decompose(ctx, m, earlier); err != nil {
			return err
		}
		w.productModel = m
	}
	allocate(w)
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
			return 0, &device.UnsupportedError{Method: Name, What: "noise that differs between rows; the method dense does"}
		}
	}
	return noise[0], nil
}

// modelAt returns the model of a kernel at theta.
func (w *workspace) modelAt(prog *kernel.Program, theta []float64) (*productModel, error) {
	switch {
	case w.x == nil:
		return nil, device.ErrStage
	case w.productModel.isAt(prog, theta):
		return w.productModel, nil
	case prog.D != w.x.D:
		return nil, fmt.Errorf("grid: kernel for %d columns on points of %d", prog.D, w.x.D)
	}
	if w.lattice == nil || !prog.Same(w.groupsOf) {
		groups, err := columnGroups(prog)
		if err != nil {
			return nil, unsupportedKernel(prog, err)
		}
		if w.lattice, err = newLattice(w.x, groups); err != nil {
			return nil, err
		}
		w.groupsOf, w.lattice.threads = prog, w.threads
	}
	return newModel(w.lattice, w.x, prog, theta)
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
	return w.poll(ctx)
}
