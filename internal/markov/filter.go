package markov

import (
	"context"
	"math"

	"gpfit/device"
)

// filter is a factorisation of Σ: Kalman's filter for the rows in order (Durbin & Koopman 2012,
// section 4.3). With A and Q of the gap before a row, the row H of weights and the noise d,
//
//	P⁻ = APAᵀ + Q,  S = HP⁻Hᵀ + d,  k = P⁻Hᵀ/S,  P = (I − kH)P⁻(I − kH)ᵀ + d·kkᵀ
//
// and log|Σ| = Σ log S. It keeps P, k and S of every row, of which the other calls are sweeps.
type filter struct {
	*model
	*rows
	// noise has one element, or one for each point of the table.
	noise []float64
	// p holds the packed P, packed(s) numbers a row; k has s a row.
	p, k, s []float64
	// decay is e^−τ of each row's gap if the kernel is one Matérn leaf of at most three states.
	decay  []float64
	gaps   gapCache
	logDet float64
}

// square is working space for a matrix of the states, stored by rows.
type square [maxStates * maxStates]float64

// noiseOf returns the noise variance of the i-th row.
func (f *filter) noiseOf(i int) float64 {
	if len(f.noise) == 1 {
		return f.noise[0]
	}
	return f.noise[f.place(i)]
}

// allocate makes space for n rows, or keeps it.
func (f *filter) allocate(n int) {
	states := f.states
	f.gaps = gapCache{}
	if !f.small() {
		f.decay = nil
	} else if len(f.decay) != n {
		f.decay = make([]float64, n)
	}
	if len(f.s) == n && len(f.k) == n*states {
		return
	}
	f.p, f.k, f.s = make([]float64, n*packed(states)), make([]float64, n*states), make([]float64, n)
}

// run filters all rows.
func (f *filter) run(ctx context.Context, w *workspace) error {
	f.logDet = 0
	det := determinant{mantissa: 1}
	p := new(square)
	f.start(p)
	for first := range chunks(len(f.times)) {
		last := min(first+chunk, len(f.times))
		row, err := f.some(p, first, last, &det)
		if err != nil {
			w.stage = empty
			return f.explain(row, err)
		}
		if err := w.step(ctx, f.flops().value*float64(last-first)); err != nil {
			return err
		}
	}
	f.logDet = det.log()
	return nil
}

// some filters the rows from first to last. It returns the row of an error.
func (f *filter) some(p *square, first, last int, det *determinant) (int, error) {
	if f.decay != nil {
		return f.filterSmall(p, first, last, det)
	}
	var tmp square
	var h, weights [maxStates]float64
	for i := first; i < last; i++ {
		if i > 0 {
			f.advance(p, &tmp, f.transition(f.gap(i), noise))
		}
		f.weights(weights[:], f.times[i])
		s := f.observe(p, h[:], weights[:], f.noiseOf(i))
		if !(s > 0) || math.IsInf(s, 1) {
			return i, errVariance(s)
		}
		f.s[i] = s
		det.multiply(s)
		f.update(p, h[:], weights[:], i)
		f.pack(p, i)
	}
	return last, nil
}

// errVariance is the variance of a row that is not a positive number.
type errVariance float64

func (errVariance) Error() string { return "a variance that is not positive" }

// explain returns the error for the variance of a row.
func (f *filter) explain(i int, err error) error {
	if s, ok := err.(errVariance); ok && (math.IsNaN(float64(s)) || math.IsInf(float64(s), 0)) {
		return &device.NonFiniteError{What: "covariance matrix", Row: f.place(i), Col: f.place(i)}
	}
	return &device.NotPDError{Minor: i + 1, N: len(f.times)}
}

// start writes the covariance of the states before the first row.
func (f *filter) start(p *square) {
	clear(p[:])
	f.addBlocks(p, f.prior)
}

// addBlocks adds diagonal blocks to a matrix.
func (l *layout) addBlocks(p *square, blocks []float64) {
	s := l.states
	for i := range s {
		at := l.at[i]
		for j := l.first[i]; j < l.end[i]; j++ {
			p[i*s+j] += blocks[at+j-l.first[i]]
		}
	}
}

// advance overwrites P by APAᵀ + Q.
func (l *layout) advance(p, tmp *square, t *transition) {
	l.conjugate(p, tmp, t)
	l.addBlocks(p, t.q)
}

// conjugate overwrites a symmetric P by APAᵀ.
func (l *layout) conjugate(p, tmp *square, t *transition) {
	s := l.states
	l.timesLeft(tmp, p, t)
	for i := range s {
		row := tmp[i*s : (i+1)*s]
		for j := range i + 1 {
			sum := 0.0
			for k, a := range t.a[l.at[j]:][:l.end[j]-l.first[j]] {
				sum += row[l.first[j]+k] * a
			}
			p[i*s+j], p[j*s+i] = sum, sum
		}
	}
}

// timesLeft writes AP to dst.
func (l *layout) timesLeft(dst, p *square, t *transition) {
	s := l.states
	for i := range s {
		out := dst[i*s : (i+1)*s]
		clear(out)
		for k, a := range t.a[l.at[i]:][:l.end[i]-l.first[i]] {
			for j, v := range p[(l.first[i]+k)*s:][:s] {
				out[j] += a * v
			}
		}
	}
}

// observe writes P⁻Hᵀ to h and returns S.
func (l *layout) observe(p *square, h, weights []float64, noise float64) float64 {
	s := l.states
	clear(h[:s])
	for b := range l.blocks {
		for j, v := range p[l.blocks[b].first*s:][:s] {
			h[j] += weights[b] * v
		}
	}
	return l.project(h, weights) + noise
}

// project returns H·m.
func (l *layout) project(m, weights []float64) (sum float64) {
	for b := range l.blocks {
		sum += weights[b] * m[l.blocks[b].first]
	}
	return sum
}

// mostExact is the largest number of states of one block for which the rows of P but the first need
// no correction.
const mostExact = 5

// update overwrites P⁻ by P of the i-th row and writes its k. P⁻ − S·kkᵀ would lose the digits of small
// noise. For one block the first row of P is that of P⁻ times d/S; else this is Joseph's form.
func (f *filter) update(p *square, h, weights []float64, i int) {
	s, variance, noise := f.states, f.s[i], f.noiseOf(i)
	k := f.k[i*s : (i+1)*s]
	for j := range k {
		k[j] = h[j] / variance
	}
	if len(f.blocks) == 1 && s <= mostExact {
		ratio := noise / variance
		for r := 1; r < s; r++ {
			for c := 1; c < s; c++ {
				p[r*s+c] -= h[r] * h[c] / variance
			}
			p[r] *= ratio
			p[r*s] = p[r]
		}
		p[0] *= ratio
		return
	}
	f.joseph(p, h, weights, k, noise)
}

// joseph overwrites P⁻ by (I − kH)P⁻(I − kH)ᵀ + d·kkᵀ.
func (l *layout) joseph(p *square, h, weights, k []float64, noise float64) {
	s := l.states
	var rest [maxStates]float64 // (I − kH)P⁻Hᵀ − d·k, which rounding leaves
	for r := range s {
		row := p[r*s : (r+1)*s]
		for c := range row {
			row[c] -= k[r] * h[c]
		}
		rest[r] = l.project(row, weights) - noise*k[r]
	}
	for r := range s {
		for c := range r + 1 {
			v := p[r*s+c] - rest[r]*k[c]
			p[r*s+c], p[c*s+r] = v, v
		}
	}
}

// pack stores P of the i-th row, and unpack reads it.
func (f *filter) pack(p *square, i int)   { packTo(f.p[i*packed(f.states):], p, f.states) }
func (f *filter) unpack(p *square, i int) { unpackFrom(p, f.p[i*packed(f.states):], f.states) }

// packTo stores the upper triangle of a matrix.
func packTo(dst []float64, p *square, s int) {
	at := 0
	for r := range s {
		at += copy(dst[at:], p[r*s+r:(r+1)*s])
	}
}

// unpackFrom reads a matrix from its upper triangle.
func unpackFrom(p *square, src []float64, s int) {
	at := 0
	for r := range s {
		for c := r; c < s; c++ {
			p[r*s+c], p[c*s+r] = src[at], src[at]
			at++
		}
	}
}

// determinant is a product that would overflow, as a mantissa and an exponent.
type determinant struct {
	mantissa float64
	exponent int
}

// multiply multiplies by a positive number.
func (d *determinant) multiply(s float64) {
	const small, large = 1e-100, 1e100
	if s < small || s > large {
		var e int
		s, e = math.Frexp(s)
		d.exponent += e
	}
	d.mantissa *= s
	if d.mantissa < small || d.mantissa > large {
		d.normalize()
	}
}

func (d *determinant) normalize() {
	var e int
	d.mantissa, e = math.Frexp(d.mantissa)
	d.exponent += e
}

// log returns the logarithm of the product.
func (d *determinant) log() float64 {
	return math.Log(d.mantissa) + float64(d.exponent)*math.Ln2
}
