package markov

import "math"

// One Matérn leaf of at most three states, by far the most frequent kernel, has sweeps of its own with
// the states in local variables: one.go, two.go and three.go. They compute what the general ones do.

// mostSmall is the largest number of states of these sweeps.
const mostSmall = 3

// small reports whether they serve a kernel.
func (l *layout) small() bool {
	return len(l.blocks) == 1 && l.states <= mostSmall && l.blocks[0].power == 0 && len(l.blocks[0].leaves) == 1 && !l.blocks[0].leaves[0].cosine
}

// rate returns λ, and size the variance.
func (m *model) rate() float64 {
	leaf := m.blocks[0].leaves[0]
	return lambda(leaf.order) / m.theta[leaf.param]
}

// noises are the elements of Q for a gap, for unit variance, by its bits. Regular times have few gaps.
type noises struct {
	bits   uint64
	filled bool
	// decay is e^−τ.
	decay                        float64
	q00, q01, q02, q11, q12, q22 float64
}

// gapCache keeps noises of gaps.
type gapCache [1 << cacheBits]noises

// of returns the noises of a gap for λ. fill computes them from τ.
func (c *gapCache) of(gap, rate float64, fill func(n *noises, tau float64)) *noises {
	bits := math.Float64bits(gap)
	n := &c[bits*0x9E3779B97F4A7C15>>(64-cacheBits)]
	if !n.filled || n.bits != bits {
		n.bits, n.filled = bits, true
		fill(n, gap*rate)
	}
	return n
}

// filterSmall filters the rows from first to last.
func (f *filter) filterSmall(p *square, first, last int, det *determinant) (int, error) {
	return [...]func(*square, int, int, *determinant) (int, error){f.filter1, f.filter2, f.filter3}[f.states-1](p, first, last, det)
}

// innovateSmall overwrites one column by innovations.
func (f *filter) innovateSmall(b, mean []float64, first, last int) {
	[...]sweep{f.innovate1, f.innovate2, f.innovate3}[f.states-1](b, mean, first, last)
}

// smoothSmall overwrites innovations by Σ⁻¹b.
func (f *filter) smoothSmall(b, back []float64, first, last int) {
	[...]sweep{f.smooth1, f.smooth2, f.smooth3}[f.states-1](b, back, first, last)
}

// contractSmall adds the rows from first to last to the derivatives of log|Σ|.
func (b *information) contractSmall(g *sums, inv float64, diag []float64, first, last int) {
	[...]func(*sums, float64, []float64, int, int){b.contract1, b.contract2, b.contract3}[b.states-1](g, inv, diag, first, last)
}

// collectSmall stores the c of the rows from first to last.
func (f *filter) collectSmall(all, state, v []float64, first, last int) {
	[...]func(all, state, v []float64, first, last int){f.collect1, f.collect2, f.collect3}[f.states-1](all, state, v, first, last)
}

// returnSmall adds the rows from first to last to the derivatives of vᵀKv.
func (f *filter) returnSmall(g *sums, all, state, v []float64, first, last int) {
	[...]func(g *sums, all, state, v []float64, first, last int){f.return1, f.return2, f.return3}[f.states-1](g, all, state, v, first, last)
}
