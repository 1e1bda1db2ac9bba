package markov

// information is the sweep back of N, the information of the rows after a time about the states there
// (Durbin & Koopman 2012, section 4.4):
//
//	D = 1/S + kᵀNk,  N ← HᵀH/S + (I − kH)ᵀN(I − kH);  then N ← AᵀNA
//
// for the gap before the row. The D are the diagonal of Σ⁻¹.
type information struct {
	*filter
	n, left, tmp square
}

// observe adds the i-th row to N and returns its D.
func (b *information) observe(i int) float64 {
	if len(b.blocks) == 1 {
		return b.observeOne(i)
	}
	f, s := b.filter, b.states
	var u, weights [maxStates]float64
	k := f.k[i*s : (i+1)*s]
	f.weights(weights[:], f.times[i])
	d := 1 / f.s[i]
	for r := range s {
		for c, v := range b.n[r*s : (r+1)*s] {
			u[r] += v * k[c]
		}
		d += u[r] * k[r]
	}
	for p := range f.blocks {
		for q := range f.blocks {
			b.n[f.blocks[p].first*s+f.blocks[q].first] += weights[p] * weights[q] * d
		}
	}
	for p := range f.blocks {
		at := f.blocks[p].first
		for r := range s {
			b.n[at*s+r] -= weights[p] * u[r]
			b.n[r*s+at] -= weights[p] * u[r]
		}
	}
	return d
}

// observeOne is observe for one block. The first column of I − kH is d/S and −k: its first element
// is small with the noise, and a difference would lose its digits.
func (b *information) observeOne(i int) float64 {
	f, s := b.filter, b.states
	var weights [1]float64
	k := f.k[i*s : (i+1)*s]
	f.weights(weights[:], f.times[i])
	w, ratio := weights[0], f.noiseOf(i)/f.s[i]
	var rest, column [maxStates]float64 // N₁₁k₁ without the first state; the first column of NL
	kNk, cross := 0.0, 0.0
	for r := 1; r < s; r++ {
		for c := 1; c < s; c++ {
			rest[r] += b.n[r*s+c] * k[c]
		}
		kNk += k[r] * rest[r]
		cross += k[r] * b.n[r]
		column[r] = ratio*b.n[r] - w*rest[r]
	}
	d := 1/f.s[i] + k[0]*k[0]*b.n[0] + 2*k[0]*cross + kNk
	b.n[0] = w*w/f.s[i] + ratio*ratio*b.n[0] - 2*ratio*w*cross + w*w*kNk
	for r := 1; r < s; r++ {
		b.n[r], b.n[r*s] = column[r], column[r]
	}
	return d
}

// retreat overwrites N by AᵀNA. It keeps NA in left.
func (b *information) retreat(t *transition) {
	b.timesRight(&b.left, &b.n, t)
	b.transposedLeft(&b.n, &b.left, t)
}

// timesRight writes NA to dst.
func (l *layout) timesRight(dst, n *square, t *transition) {
	s := l.states
	for i := range s {
		in, out := n[i*s:(i+1)*s], dst[i*s:(i+1)*s]
		clear(out)
		for j, v := range in {
			for k, a := range t.a[l.at[j]:][:l.end[j]-l.first[j]] {
				out[l.first[j]+k] += v * a
			}
		}
	}
}

// transposedLeft writes the symmetric AᵀX to dst.
func (l *layout) transposedLeft(dst, x *square, t *transition) {
	s := l.states
	clear(dst[:s*s])
	for i := range s {
		in := x[i*s : (i+1)*s]
		for k, a := range t.a[l.at[i]:][:l.end[i]-l.first[i]] {
			out := dst[(l.first[i]+k)*s:][:l.first[i]+k+1]
			for j := range out {
				out[j] += a * in[j]
			}
		}
	}
	for r := range s {
		for c := range r {
			dst[c*s+r] = dst[r*s+c]
		}
	}
}

// addSlopes adds 2⟨∂A, XP⟩ for symmetric P.
func (l *layout) addSlopes(g *sums, x, p *square, t *transition) {
	s := l.states
	for e, shape := range l.shapes {
		own := &l.blocks[shape.block]
		for i := range own.size {
			left := x[(own.first+i)*s:][:s]
			for j, da := range t.slopeA[e][i*own.size:][:own.size] {
				if da == 0 {
					continue
				}
				sum := 0.0
				for k, v := range p[(own.first+j)*s:][:s] {
					sum += left[k] * v
				}
				g.shapes[e] += 2 * da * sum
			}
		}
	}
}

// addNoise adds ⟨∂Q, N⟩.
func (l *layout) addNoise(g *sums, n *square, t *transition) {
	for e, shape := range l.shapes {
		g.shapes[e] += l.inner(shape.block, t.slopeQ[e], n)
	}
	l.addSizes(g, n, t.q)
}

// addSizes adds ⟨blocks, N⟩ to the derivatives by the blocks' variances.
func (l *layout) addSizes(g *sums, n *square, blocks []float64) {
	for b := range l.blocks {
		g.sizes[b] += l.inner(b, blocks[l.blocks[b].at:], n)
	}
}

// inner returns the inner product of a matrix of the size of a block with the block of N.
func (l *layout) inner(block int, a []float64, n *square) (sum float64) {
	own := &l.blocks[block]
	for i := range own.size {
		row := n[(own.first+i)*l.states+own.first:]
		for j, v := range a[i*own.size:][:own.size] {
			sum += v * row[j]
		}
	}
	return sum
}

// contract adds the rows from first to last. The gap before a row contributes, for N after it,
//
//	2⟨N, ∂A·P·Aᵀ⟩ + ⟨N, ∂Q⟩ = 2⟨∂A, NAP⟩ + ⟨∂Q, N⟩.
func (b *information) contract(g *sums, inv float64, diag []float64, first, last int) {
	for i := last - 1; i >= first; i-- {
		diag[b.place(i)] += inv * b.observe(i)
		if i == 0 {
			b.addSizes(g, &b.n, b.prior)
			break
		}
		t := b.transition(b.gap(i), noise|slopes)
		b.addNoise(g, &b.n, t)
		b.retreat(t)
		b.unpack(&b.tmp, i-1)
		b.addSlopes(g, &b.left, &b.tmp, t)
	}
}
