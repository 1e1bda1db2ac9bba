package markov

import "math"

// threeStates are the sweeps of matern52.
type threeStates struct{ *filter }

// symmetric3 is a symmetric matrix of three states.
type symmetric3 struct{ m00, m01, m02, m11, m12, m22 float64 }

// load3 and store convert matrices of the general sweeps.
func load3(p *square) symmetric3 { return symmetric3{p[0], p[1], p[2], p[4], p[5], p[8]} }

func (m symmetric3) store(p *square) {
	p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8] = m.m00, m.m01, m.m02, m.m01, m.m11, m.m12, m.m02, m.m12, m.m22
}

// conjugate returns AMAᵀ.
func (m symmetric3) conjugate(a *[9]float64) symmetric3 {
	t00, t01, t02 := a[0]*m.m00+a[1]*m.m01+a[2]*m.m02, a[0]*m.m01+a[1]*m.m11+a[2]*m.m12, a[0]*m.m02+a[1]*m.m12+a[2]*m.m22
	t10, t11, t12 := a[3]*m.m00+a[4]*m.m01+a[5]*m.m02, a[3]*m.m01+a[4]*m.m11+a[5]*m.m12, a[3]*m.m02+a[4]*m.m12+a[5]*m.m22
	t20, t21, t22 := a[6]*m.m00+a[7]*m.m01+a[8]*m.m02, a[6]*m.m01+a[7]*m.m11+a[8]*m.m12, a[6]*m.m02+a[7]*m.m12+a[8]*m.m22
	return symmetric3{
		t00*a[0] + t01*a[1] + t02*a[2], t00*a[3] + t01*a[4] + t02*a[5], t00*a[6] + t01*a[7] + t02*a[8],
		t10*a[3] + t11*a[4] + t12*a[5], t10*a[6] + t11*a[7] + t12*a[8], t20*a[6] + t21*a[7] + t22*a[8],
	}
}

// transposed returns Aᵀ.
func transposed(a *[9]float64) [9]float64 {
	return [9]float64{a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]}
}

// times returns Av.
func times(a *[9]float64, v0, v1, v2 float64) (w0, w1, w2 float64) {
	return a[0]*v0 + a[1]*v1 + a[2]*v2, a[3]*v0 + a[4]*v1 + a[5]*v2, a[6]*v0 + a[7]*v1 + a[8]*v2
}

// timesTransposed returns Aᵀv.
func timesTransposed(a *[9]float64, v0, v1, v2 float64) (w0, w1, w2 float64) {
	return a[0]*v0 + a[3]*v1 + a[6]*v2, a[1]*v0 + a[4]*v1 + a[7]*v2, a[2]*v0 + a[5]*v1 + a[8]*v2
}

func (f threeStates) form(state *square, first, last int, det *determinant) (int, float64) {
	p := load3(state)
	rate, size := f.rate(), f.size[0]
	f.wait(2, first, last)
	for i := first; i < last; i++ {
		if i > 0 {
			tau, decay := f.gap(i)*rate, f.decay[i]
			n := noises3(tau, decay, f.integral[i])
			a := turn3(tau, decay)
			p = p.conjugate(&a)
			p.m00 += size * n.q00
			p.m01 += size * n.q01
			p.m02 += size * n.q02
			p.m11 += size * n.q11
			p.m12 += size * n.q12
			p.m22 += size * n.q22
		}
		d := f.noiseOf(i)
		s := p.m00 + d
		if !(s > 0) || math.IsInf(s, 1) {
			return i, s
		}
		det.multiply(s)
		k0, k1, k2, ratio := p.m00/s, p.m01/s, p.m02/s, d/s
		k := f.k[3*i : 3*i+3]
		f.s[i], k[0], k[1], k[2] = s, k0, k1, k2
		p.m11 -= k1 * p.m01
		p.m12 -= k1 * p.m02
		p.m22 -= k2 * p.m02
		p.m00 *= ratio
		p.m01 *= ratio
		p.m02 *= ratio
		*(*[6]float64)(f.p[6*i:]) = [6]float64{p.m00, p.m01, p.m02, p.m11, p.m12, p.m22}
	}
	p.store(state)
	return last, 1
}

func (f threeStates) innovate(b, mean []float64, first, last int) {
	m0, m1, m2, rate := mean[0], mean[1], mean[2], f.rate()
	for i := first; i < last; i++ {
		if i > 0 {
			a := turn3(f.gap(i)*rate, f.decay[i])
			m0, m1, m2 = times(&a, m0, m1, m2)
		}
		at, k := f.place(i), f.k[3*i:3*i+3]
		v := b[at] - m0
		b[at] = v
		m0 += k[0] * v
		m1 += k[1] * v
		m2 += k[2] * v
	}
	mean[0], mean[1], mean[2] = m0, m1, m2
}

func (f threeStates) smooth(b, back []float64, first, last int) {
	r0, r1, r2, rate := back[0], back[1], back[2], f.rate()
	for i := last - 1; i >= first; i-- {
		at, k := f.place(i), f.k[3*i:3*i+3]
		u := b[at]/f.s[i] - k[0]*r0 - k[1]*r1 - k[2]*r2
		b[at] = u
		if i > 0 {
			a := turn3(f.gap(i)*rate, f.decay[i])
			r0, r1, r2 = timesTransposed(&a, r0+u, r1, r2)
		}
	}
	back[0], back[1], back[2] = r0, r1, r2
}

// contract3 uses that ⟨∂A, NAP⟩ = −τ⟨F, N·APAᵀ⟩, with F = (0, 1, 0; 0, 0, 1; −1, −3, −3).
func (f threeStates) contract(info *square, g *sums, inv float64, diag []float64, first, last int) {
	rate, size := f.rate(), f.size[0]
	n := load3(info)
	sizes, shapes := 0.0, 0.0
	for i := last - 1; i >= first; i-- {
		s, k := f.s[i], f.k[3*i:3*i+3]
		one, ratio := 1/s, f.noiseOf(i)/s
		rest1, rest2 := n.m11*k[1]+n.m12*k[2], n.m12*k[1]+n.m22*k[2]
		cross, kNk := k[1]*n.m01+k[2]*n.m02, k[1]*rest1+k[2]*rest2
		diag[f.place(i)] += inv * (one + k[0]*k[0]*n.m00 + 2*k[0]*cross + kNk)
		n.m00 = one + ratio*(ratio*n.m00-2*cross) + kNk
		n.m01, n.m02 = ratio*n.m01-rest1, ratio*n.m02-rest2
		if i == 0 {
			sizes += size * (n.m00 - n.m02*2/3 + n.m11/3 + n.m22)
			break
		}
		tau, decay := f.gap(i)*rate, f.decay[i]
		q := noises3(tau, decay, f.integral[i])
		sizes += size * (q.q00*n.m00 + 2*(q.q01*n.m01+q.q02*n.m02+q.q12*n.m12) + q.q11*n.m11 + q.q22*n.m22)
		a := turn3(tau, decay)
		if tau <= longest {
			m := symmetric3{f.p[6*i-6], f.p[6*i-5], f.p[6*i-4], f.p[6*i-3], f.p[6*i-2], f.p[6*i-1]}.conjugate(&a)
			w0, w1, w2 := n.m00*a[2]+n.m01*a[5]+n.m02*a[8], n.m01*a[2]+n.m11*a[5]+n.m12*a[8], n.m02*a[2]+n.m12*a[5]+n.m22*a[8]
			noise := a[2]*w0 + a[5]*w1 + a[8]*w2
			shapes -= tau * (2*n.drift(m) + 16.0/3*size*noise)
		}
		back := transposed(&a)
		n = n.conjugate(&back)
	}
	g.sizes[0] += sizes
	g.shapes[0] += shapes
	n.store(info)
}

// drift returns ⟨F, MP⟩.
func (m symmetric3) drift(p symmetric3) float64 {
	x01 := m.m00*p.m01 + m.m01*p.m11 + m.m02*p.m12
	x12 := m.m01*p.m02 + m.m11*p.m12 + m.m12*p.m22
	x20 := m.m02*p.m00 + m.m12*p.m01 + m.m22*p.m02
	x21 := m.m02*p.m01 + m.m12*p.m11 + m.m22*p.m12
	x22 := m.m02*p.m02 + m.m12*p.m12 + m.m22*p.m22
	return x01 + x12 - x20 - 3*(x21+x22)
}

func (f threeStates) collect(all, state, v []float64, first, last int) {
	c0, c1, c2, rate, size := state[0], state[1], state[2], f.rate(), f.size[0]
	for i := first; i < last; i++ {
		if i > 0 {
			a := turn3(f.gap(i)*rate, f.decay[i])
			c0, c1, c2 = times(&a, c0, c1, c2)
		}
		u := size * v[f.place(i)]
		c0 += u
		c2 -= u / 3
		*(*[3]float64)(all[3*i:]) = [3]float64{c0, c1, c2}
	}
	state[0], state[1], state[2] = c0, c1, c2
}

func (f threeStates) giveBack(g *sums, all, state, v []float64, first, last int) {
	b0, b1, b2, rate, size := state[0], state[1], state[2], f.rate(), f.size[0]
	sizes, shapes := 0.0, 0.0
	for i := last - 1; i >= first; i-- {
		u := v[f.place(i)]
		sizes += size * u * (u + 2*(b0-b2/3))
		b0 += u
		if i == 0 {
			break
		}
		tau := f.gap(i) * rate
		a := turn3(tau, f.decay[i])
		if tau <= longest {
			y0, y1, y2 := times(&a, all[3*i-3], all[3*i-2], all[3*i-1])
			shapes -= 2 * tau * (b0*y1 + b1*y2 - b2*(y0+3*(y1+y2)))
		}
		b0, b1, b2 = timesTransposed(&a, b0, b1, b2)
	}
	g.sizes[0] += sizes
	g.shapes[0] += shapes
	state[0], state[1], state[2] = b0, b1, b2
}
