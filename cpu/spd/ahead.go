package spd

// ahead names the memory that a task needs next: columns [k, k+chunk) of some panels of matrices.
// The micro-kernels prefetch it into the second-level cache, a part in each call, while they work
// on data that are there. A panel comes from memory at a third of the speed at which it is used.
type ahead struct {
	parts [2]aheadPart
	at    int // the next column, counted from k
}

// aheadPart are the rows [i, end) of columns [k, k+chunk).
type aheadPart struct {
	m         *panels
	i, end, k int
}

// ahead returns the columns from k on of two ranges of rows.
func (m *panels) ahead(k, i0, i1, j0, j1 int) *ahead {
	if k >= m.order {
		i1, j1 = i0, j0
	}
	i1, j1 = min(i1, m.order), min(j1, m.order)
	if i0 == j0 {
		j1 = j0
	}
	return &ahead{parts: [2]aheadPart{{m, i0, i1, k}, {m, j0, j1, k}}}
}

// next returns the address of the part that a call for k columns prefetches: k/2 lines of 8
// numbers. It returns a if nothing is left, which is in a cache already.
func (h *ahead) next(k int, a *float64) *float64 {
	if h == nil {
		return a
	}
	for i := range h.parts {
		r := &h.parts[i]
		if r.i >= r.end {
			continue
		}
		p := r.m.p(r.i, min(r.k+h.at, r.m.ld-1))
		if h.at += 4 * k / r.m.lanes; h.at >= chunk {
			h.at = 0
			r.i += r.m.lanes
		}
		return p
	}
	return a
}

// product computes a product of nv panels without prefetching.
func (ks *kernels) product(nv, k int, a, b *float64, bs int, c *float64, cs, mode int) {
	ks.products[nv-1](k, a, b, bs, c, cs, mode, a)
}

// solve solves for nv panels without prefetching.
func (ks *kernels) solve(nv, k int, a, b *float64, bs int, t, x *float64, xs, fresh int) {
	ks.solves[nv-1](k, a, b, bs, t, x, xs, fresh, a)
}
