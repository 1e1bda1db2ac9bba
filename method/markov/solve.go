package markov

import (
	"context"
	"math"
)

// Solve implements [hostmethod.Engine]: the filter of the means, whose innovations v it stores in b, and
// the sweep back (Durbin & Koopman 2012, section 4.4),
//
//	m⁻ = Am, v = b − Hm⁻, m = m⁻ + kv;  u = v/S − kᵀr, r ← Aᵀ(r + Hᵀu),
//
// of which the u are Σ⁻¹b.
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	return substitute(ctx, w, b, m, w.innovate, w.smooth)
}

// Whiten implements [device.DerivativeProducts]. The innovations divided by √S are L⁻¹b for the factor
// of the rows in order, and a sweep back multiplies by its transpose.
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	if transposed {
		return substitute(ctx, w, b, m, nil, w.colour)
	}
	if err := substitute(ctx, w, b, m, w.innovate, nil); err != nil {
		return err
	}
	for q := range m {
		for i, s := range w.s {
			b[q*w.N+w.place(i)] /= math.Sqrt(s)
		}
	}
	return nil
}

// columnSweep overwrites the rows of b from first to last, with the states from the rows before or after.
type columnSweep func(b, states []float64, first, last int)

// substitute overwrites b by sweeps over the rows in order and back. nil means none.
func substitute(ctx context.Context, w *workspace, b []float64, m int, forward, back columnSweep) error {
	w.Begin("", 0)
	states := make([]float64, m*w.stateModel.states)
	if forward != nil {
		if err := w.each(ctx, 0, func(first, last int) { forward(b, states, first, last) }); err != nil {
			return err
		}
	}
	if back == nil {
		return nil
	}
	clear(states)
	return w.eachBack(ctx, 0, func(first, last int) { back(b, states, first, last) })
}

// innovate overwrites b by innovations. mean are the states of each column.
func (f *filter) innovate(b, mean []float64, first, last int) {
	if f.few != nil {
		f.eachColumn(b, mean, first, last, f.few.innovate)
		return
	}
	s, n := f.states, len(f.times)
	var tmp, weights [maxStates]float64
	for i := first; i < last; i++ {
		f.weights(weights[:], f.times[i])
		k, at := f.k[i*s:(i+1)*s], f.place(i)
		var t *transition
		if i > 0 {
			t = f.transition(f.gap(i), turns)
		}
		for q := range len(b) / n {
			m := mean[q*s : (q+1)*s]
			if i > 0 {
				f.forward(m, tmp[:], t)
			}
			v := b[q*n+at] - f.project(m, weights[:])
			b[q*n+at] = v
			for j := range m {
				m[j] += k[j] * v
			}
		}
	}
}

// smooth overwrites innovations by Σ⁻¹b. back are the r of each column.
func (f *filter) smooth(b, back []float64, first, last int) {
	if f.few != nil {
		f.eachColumn(b, back, first, last, f.few.smooth)
		return
	}
	f.sweepBack(b, back, first, last, func(i int, v float64) float64 { return v / f.s[i] })
}

// colour overwrites b by L⁻ᵀb.
func (f *filter) colour(b, back []float64, first, last int) {
	f.sweepBack(b, back, first, last, func(i int, v float64) float64 { return v / math.Sqrt(f.s[i]) })
}

// sweepBack overwrites b by u = scaled(b) − kᵀr, r ← Aᵀ(r + Hᵀu).
func (f *filter) sweepBack(b, back []float64, first, last int, scaled func(i int, v float64) float64) {
	s, n := f.states, len(f.times)
	var tmp, weights [maxStates]float64
	for i := last - 1; i >= first; i-- {
		f.weights(weights[:], f.times[i])
		k, at := f.k[i*s:(i+1)*s], f.place(i)
		var t *transition
		if i > 0 {
			t = f.transition(f.gap(i), turns)
		}
		for q := range len(b) / n {
			r := back[q*s : (q+1)*s]
			u := scaled(i, b[q*n+at])
			for j, v := range k {
				u -= v * r[j]
			}
			b[q*n+at] = u
			f.addWeighted(r, weights[:], u)
			if i > 0 {
				f.backward(r, tmp[:], t)
			}
		}
	}
}

// eachColumn calls a sweep with each column.
func (f *filter) eachColumn(b, states []float64, first, last int, sweep columnSweep) {
	n, s := len(f.times), f.states
	for q := range len(b) / n {
		sweep(b[q*n:(q+1)*n], states[q*s:(q+1)*s], first, last)
	}
}
