package markov

import "math"

// oneState are the sweeps of matern12.
type oneState struct{ *filter }

func (f oneState) form(state *square, first, last int, det *determinant) (int, float64) {
	p, size := state[0], f.size[0]
	f.wait(0, first, last)
	for i := first; i < last; i++ {
		if i > 0 {
			p = f.decay[i]*f.decay[i]*p + size*noises1(f.integral[i])
		}
		d := f.noiseOf(i)
		s := p + d
		if !(s > 0) || math.IsInf(s, 1) {
			return i, s
		}
		det.multiply(s)
		f.s[i], f.k[i] = s, p/s
		p *= d / s
		f.p[i] = p
	}
	state[0] = p
	return last, 1
}

func (f oneState) innovate(b, mean []float64, first, last int) {
	m := mean[0]
	for i := first; i < last; i++ {
		m *= f.decay[i]
		at := f.place(i)
		b[at] -= m
		m += f.k[i] * b[at]
	}
	mean[0] = m
}

func (f oneState) smooth(b, back []float64, first, last int) {
	r := back[0]
	for i := last - 1; i >= first; i-- {
		at := f.place(i)
		u := b[at]/f.s[i] - f.k[i]*r
		b[at] = u
		r = f.decay[i] * (r + u)
	}
	back[0] = r
}

func (f oneState) contract(info *square, g *sums, inv float64, diag []float64, first, last int) {
	n, rate, size := info[0], f.rate(), f.size[0]
	sizes, shapes := 0.0, 0.0
	for i := last - 1; i >= first; i-- {
		s, k, ratio := f.s[i], f.k[i], f.noiseOf(i)/f.s[i]
		diag[f.place(i)] += inv * (1/s + k*k*n)
		n = 1/s + ratio*ratio*n
		if i == 0 {
			sizes += size * n
			break
		}
		tau, e := f.gap(i)*rate, f.decay[i]*f.decay[i]
		sizes += size * noises1(f.integral[i]) * n
		if tau <= longest {
			shapes += 2 * tau * e * (f.p[i-1] - size) * n // Q + APAᵀ = s² + A(P − s²)Aᵀ
		}
		n *= e
	}
	g.sizes[0] += sizes
	g.shapes[0] += shapes
	info[0] = n
}

func (f oneState) collect(all, state, v []float64, first, last int) {
	c, size := state[0], f.size[0]
	for i := first; i < last; i++ {
		c = f.decay[i]*c + size*v[f.place(i)]
		all[i] = c
	}
	state[0] = c
}

func (f oneState) giveBack(g *sums, all, state, v []float64, first, last int) {
	b, rate, size := state[0], f.rate(), f.size[0]
	sizes, shapes := 0.0, 0.0
	for i := last - 1; i >= first; i-- {
		u := v[f.place(i)]
		sizes += size * u * (u + 2*b)
		b += u
		if i == 0 {
			break
		}
		tau, e := f.gap(i)*rate, f.decay[i]
		if tau <= longest {
			shapes += 2 * tau * b * e * all[i-1]
		}
		b *= e
	}
	g.sizes[0] += sizes
	g.shapes[0] += shapes
	state[0] = b
}
