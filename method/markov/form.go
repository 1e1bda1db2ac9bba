package markov

import (
	"context"
	"math"

	"gpfit/device"
	"gpfit/kernel"
)

// Form implements [hostmethod.Engine].
func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) (logDet float64, err error) {
	w.sweeps, w.spare = nil, nil
	m, order, err := w.modelAt(prog, theta)
	if err != nil {
		return 0, err
	}
	w.stateModel, w.sortedRows, w.noise = m, order, append(w.noise[:0], noise...)
	w.allocate(w.N)
	w.Begin("factor", w.flops().value*float64(w.N))
	return filterAll(ctx, w)
}

// allocate makes space for n rows, or keeps it, and chooses the sweeps.
func (f *filter) allocate(n int) {
	states := f.states
	f.few = nil
	if f.stateModel.few() {
		f.few = [...]fewStates{oneState{f}, twoStates{f}, threeStates{f}}[states-1]
		if len(f.decay) != n {
			f.decay, f.integral = make([]float64, n), make([]float64, n)
		}
	}
	if len(f.s) == n && len(f.k) == n*states {
		return
	}
	f.p, f.k, f.s = make([]float64, n*packed(states)), make([]float64, n*states), make([]float64, n)
}

// filterAll filters all rows and returns log|Σ|.
func filterAll(ctx context.Context, w *workspace) (logDet float64, err error) {
	f, det, p := &w.filter, determinant{mantissa: 1}, new(square)
	form := f.form
	if f.few != nil {
		form = f.few.form
	}
	f.start(p)
	for first := 0; first < w.N; first += chunk {
		last := min(first+chunk, w.N)
		if row, s := form(p, first, last, &det); row < last {
			return 0, f.explain(row, s)
		}
		if err := w.Step(ctx, f.flops().value*float64(last-first)); err != nil {
			return 0, err
		}
	}
	return det.log(), nil
}

// explain returns the error for the variance of a row.
func (f *filter) explain(i int, s float64) error {
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return &device.NonFiniteError{What: "covariance matrix", Row: f.place(i), Col: f.place(i)}
	}
	return &device.NotPDError{N: len(f.times)}
}

// form filters the rows from first to last, as [fewStates] does.
func (f *filter) form(p *square, first, last int, det *determinant) (row int, s float64) {
	var tmp square
	var h, weights [maxStates]float64
	for i := first; i < last; i++ {
		if i > 0 {
			f.advance(p, &tmp, f.transition(f.gap(i), noise))
		}
		f.weights(weights[:], f.times[i])
		s := f.observe(p, h[:], weights[:], f.noiseOf(i))
		if !(s > 0) || math.IsInf(s, 1) {
			return i, s
		}
		f.s[i] = s
		det.multiply(s)
		f.update(p, h[:], weights[:], i)
		f.pack(p, i)
	}
	return last, 1
}
