package markov

import "math"

// oneState are the sweeps of matern12. Each carries its state from row to row by a product and a sum, so that no
// row waits for a division of the row before.
type oneState struct{ *filter }

// form has P as a fraction u/v. With e = A² and the fraction of P⁻ = eP + Q,
//
//	S = P⁻ + d = w/v, w = eu + (Q + d)v;  P = P⁻·d/S: u ← d(eu + Qv), v ← w.
//
// All terms are positive, and v is the product of the S.
func (f oneState) form(state *square, first, last int, det *determinant) (int, float64) {
	const small, large = 1e-50, 1e50
	u, v, size := state[0], 1.0, f.size[0]
	f.wait(0, first, last)
	for i := first; i < last; i++ {
		e, q, d := 1.0, 0.0, f.noiseOf(i)
		if i > 0 {
			e, q = f.decay[i]*f.decay[i], size*noises1(f.integral[i])
		}
		top, w := e*u+q*v, e*u+(q+d)*v
		s := w / v
		if !(s > 0 && s <= math.MaxFloat64) {
			return i, s
		}
		k := top / w
		f.s[i], f.k[i], f.p[i] = s, k, k*d
		if u, v = d*top, w; w < small || w > large {
			det.multiply(w)
			u, v = k*d, 1
		}
	}
	det.multiply(v)
	state[0] = u / v
	return last, 1
}

func (f oneState) innovate(b, mean []float64, first, last int) {
	m := mean[0]
	for i := first; i < last; i++ {
		at, k := f.place(i), f.k[i]
		y, before := b[at], m*f.decay[i]
		b[at] = y - before
		m = f.kept(i)*m + k*y
	}
	mean[0] = m
}

// kept is the weight of the mean before the i-th row in its own mean, (1 − kH)A.
func (f oneState) kept(i int) float64 { return f.noiseOf(i) / f.s[i] * f.decay[i] }

func (f oneState) smooth(b, back []float64, first, last int) {
	r := back[0]
	for i := last - 1; i >= first; i-- {
		at := f.place(i)
		v := b[at] / f.s[i]
		b[at] = v - f.k[i]*r
		r = f.kept(i)*r + f.decay[i]*v
	}
	back[0] = r
}

func (f oneState) contract(info *square, g *sums, inv float64, diag []float64, first, last int) {
	n, rate, size := info[0], f.rate(), f.size[0]
	sizes, shapes := 0.0, 0.0
	for i := last - 1; i >= first; i-- {
		own, k := 1/f.s[i], f.k[i]
		ratio := f.noiseOf(i) * own
		diag[f.place(i)] += inv * (own + k*k*n)
		before := n
		n = own + ratio*ratio*n
		if i == 0 {
			sizes += size * n
			break
		}
		tau, e := f.gap(i)*rate, f.decay[i]*f.decay[i]
		sizes += size * noises1(f.integral[i]) * n
		if tau <= longest {
			shapes += 2 * tau * e * (f.p[i-1] - size) * n // Q + APAᵀ = s² + A(P − s²)Aᵀ
		}
		n = e*own + e*ratio*ratio*before
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
