package markov

import "math"

// filter is a factorization of Σ: Kalman's filter for the rows in order (Durbin & Koopman 2012,
// section 4.3). With A and Q of the gap before a row, the row H of weights and the noise d,
//
//	P⁻ = APAᵀ + Q,  S = HP⁻Hᵀ + d,  k = P⁻Hᵀ/S,  P = (I − kH)P⁻(I − kH)ᵀ + d·kkᵀ
//
// and log|Σ| = Σ log S. It keeps P, k and S of every row, of which the other calls are sweeps.
type filter struct {
	*stateModel
	*sortedRows
	// noise has one element, or one for each point of the table.
	noise []float64
	// p holds the packed P, packed(s) numbers a row; k has s a row.
	p, k, s []float64
	// few are the sweeps of a kernel of one Matérn leaf and at most three states; nil for others. decay and integral
	// are then of each row's gap ([filter.wait]).
	few             fewStates
	decay, integral []float64
}

// fewStates are the sweeps over the rows from first to last of the most frequent kernels, with the states
// in local variables. They compute what the general sweeps do.
type fewStates interface {
	// form continues from P of the row before. It returns last, or the row of an S that is not a
	// positive number, and S.
	form(p *square, first, last int, det *determinant) (row int, s float64)
	// innovate and smooth overwrite one column (solve.go).
	innovate(b, mean []float64, first, last int)
	smooth(b, back []float64, first, last int)
	// contract continues from N of the row after (contract.go).
	contract(n *square, g *sums, inv float64, diag []float64, first, last int)
	// collect and giveBack are the sweeps of products with K (vectors.go).
	collect(all, state, v []float64, first, last int)
	giveBack(g *sums, all, state, v []float64, first, last int)
}

// noiseOf returns the noise variance of the i-th row.
func (f *filter) noiseOf(i int) float64 {
	if len(f.noise) == 1 {
		return f.noise[0]
	}
	return f.noise[f.place(i)]
}

// start writes the covariance of the states before the first row.
func (f *filter) start(p *square) {
	clear(p[:f.states*f.states])
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
// noise. For one block the first row of P is the first row of P⁻ times d/S; else this is Joseph's form.
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

// addWeighted adds Hᵀu to r.
func (l *layout) addWeighted(r, weights []float64, u float64) {
	for b := range l.blocks {
		r[l.blocks[b].first] += weights[b] * u
	}
}

// forward overwrites m by Am.
func (l *layout) forward(m, tmp []float64, t *transition) {
	copy(tmp, m)
	l.multiply1(m, tmp, t.a)
}

// multiply1 writes the product of diagonal blocks with a vector to dst.
func (l *layout) multiply1(dst, v, blocks []float64) {
	for i := range l.states {
		sum := 0.0
		for k, a := range blocks[l.at[i]:][:l.end[i]-l.first[i]] {
			sum += a * v[l.first[i]+k]
		}
		dst[i] = sum
	}
}

// backward overwrites r by Aᵀr.
func (l *layout) backward(r, tmp []float64, t *transition) {
	s := l.states
	copy(tmp, r[:s])
	clear(r[:s])
	for i := range s {
		for k, a := range t.a[l.at[i]:][:l.end[i]-l.first[i]] {
			r[l.first[i]+k] += a * tmp[i]
		}
	}
}
