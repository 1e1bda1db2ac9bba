package markov

import "math"

// twoStates are the sweeps of matern32.
type twoStates struct{ *filter }

func (f twoStates) form(state *square, first, last int, det *determinant) (int, float64) {
	p00, p01, p11 := state[0], state[1], state[3]
	rate, size := f.rate(), f.size[0]
	f.wait(1, first, last)
	for i := first; i < last; i++ {
		if i > 0 {
			tau, decay := f.gap(i)*rate, f.decay[i]
			n := noises2(tau, decay, f.integral[i])
			a00, a01, a11 := turn2(tau, decay)
			t00, t01 := a00*p00+a01*p01, a00*p01+a01*p11
			t10, t11 := a11*p01-a01*p00, a11*p11-a01*p01
			p00 = t00*a00 + t01*a01 + size*n.q00
			p01 = t01*a11 - t00*a01 + size*n.q01
			p11 = t11*a11 - t10*a01 + size*n.q11
		}
		d := f.noiseOf(i)
		s := p00 + d
		if !(s > 0) || math.IsInf(s, 1) {
			return i, s
		}
		det.multiply(s)
		k0, k1, ratio := p00/s, p01/s, d/s
		f.s[i], f.k[2*i], f.k[2*i+1] = s, k0, k1
		p11 -= k1 * p01
		p00 *= ratio
		p01 *= ratio
		f.p[3*i], f.p[3*i+1], f.p[3*i+2] = p00, p01, p11
	}
	state[0], state[1], state[2], state[3] = p00, p01, p01, p11
	return last, 1
}

func (f twoStates) innovate(b, mean []float64, first, last int) {
	m0, m1, rate := mean[0], mean[1], f.rate()
	for i := first; i < last; i++ {
		if i > 0 {
			a00, a01, a11 := turn2(f.gap(i)*rate, f.decay[i])
			m0, m1 = a00*m0+a01*m1, a11*m1-a01*m0
		}
		at := f.place(i)
		v := b[at] - m0
		b[at] = v
		m0 += f.k[2*i] * v
		m1 += f.k[2*i+1] * v
	}
	mean[0], mean[1] = m0, m1
}

func (f twoStates) smooth(b, back []float64, first, last int) {
	r0, r1, rate := back[0], back[1], f.rate()
	for i := last - 1; i >= first; i-- {
		at := f.place(i)
		u := b[at]/f.s[i] - f.k[2*i]*r0 - f.k[2*i+1]*r1
		b[at] = u
		if i > 0 {
			a00, a01, a11 := turn2(f.gap(i)*rate, f.decay[i])
			r0 += u
			r0, r1 = a00*r0-a01*r1, a01*r0+a11*r1
		}
	}
	back[0], back[1] = r0, r1
}

// contract2 uses that ∂A = −τFA, so that ⟨∂A, NAP⟩ = −τ⟨F, N·APAᵀ⟩, with F = (0, 1; −1, −2).
func (f twoStates) contract(info *square, g *sums, inv float64, diag []float64, first, last int) {
	rate, size := f.rate(), f.size[0]
	n00, n01, n11 := info[0], info[1], info[3]
	sizes, shapes := 0.0, 0.0
	for i := last - 1; i >= first; i-- {
		s, k0, k1 := f.s[i], f.k[2*i], f.k[2*i+1]
		one, ratio := 1/s, f.noiseOf(i)/s
		rest, cross := k1*n11, k1*n01
		diag[f.place(i)] += inv * (one + k0*k0*n00 + 2*k0*cross + k1*rest)
		n00 = one + ratio*(ratio*n00-2*cross) + k1*rest
		n01 = ratio*n01 - rest
		if i == 0 {
			sizes += size * (n00 + n11)
			break
		}
		tau, decay := f.gap(i)*rate, f.decay[i]
		q := noises2(tau, decay, f.integral[i])
		sizes += size * (q.q00*n00 + 2*q.q01*n01 + q.q11*n11)
		a00, a01, a11 := turn2(tau, decay)
		if tau <= longest {
			p00, p01, p11 := f.p[3*i-3], f.p[3*i-2], f.p[3*i-1]
			t00, t01 := a00*p00+a01*p01, a00*p01+a01*p11
			t10, t11 := a11*p01-a01*p00, a11*p11-a01*p01
			m00, m01, m11 := t00*a00+t01*a01, t01*a11-t00*a01, t11*a11-t10*a01
			drift := n00*m01 + n01*m11 - n01*m00 - n11*m01 - 2*(n01*m01+n11*m11)
			noise := a01*(a01*n00+2*a11*n01) + a11*a11*n11
			shapes -= tau * (2*drift + 4*size*noise)
		}
		// N ← AᵀNA
		u00, u01 := n00*a00-n01*a01, n00*a01+n01*a11
		u10, u11 := n01*a00-n11*a01, n01*a01+n11*a11
		n00, n01, n11 = a00*u00-a01*u10, a00*u01-a01*u11, a01*u01+a11*u11
	}
	g.sizes[0] += sizes
	g.shapes[0] += shapes
	info[0], info[1], info[2], info[3] = n00, n01, n01, n11
}

func (f twoStates) collect(all, state, v []float64, first, last int) {
	c0, c1, rate, size := state[0], state[1], f.rate(), f.size[0]
	for i := first; i < last; i++ {
		if i > 0 {
			a00, a01, a11 := turn2(f.gap(i)*rate, f.decay[i])
			c0, c1 = a00*c0+a01*c1, a11*c1-a01*c0
		}
		c0 += size * v[f.place(i)]
		all[2*i], all[2*i+1] = c0, c1
	}
	state[0], state[1] = c0, c1
}

func (f twoStates) giveBack(g *sums, all, state, v []float64, first, last int) {
	b0, b1, rate, size := state[0], state[1], f.rate(), f.size[0]
	sizes, shapes := 0.0, 0.0
	for i := last - 1; i >= first; i-- {
		u := v[f.place(i)]
		sizes += size * u * (u + 2*b0)
		b0 += u
		if i == 0 {
			break
		}
		tau := f.gap(i) * rate
		a00, a01, a11 := turn2(tau, f.decay[i])
		if tau <= longest {
			c0, c1 := all[2*i-2], all[2*i-1]
			y0, y1 := a00*c0+a01*c1, a11*c1-a01*c0
			shapes -= 2 * tau * (b0*y1 - b1*(y0+2*y1))
		}
		b0, b1 = a00*b0-a01*b1, a01*b0+a11*b1
	}
	g.sizes[0] += sizes
	g.shapes[0] += shapes
	state[0], state[1] = b0, b1
}
