package markov

import (
	"math"
	"slices"

	"gpfit/kernel"
)

// cacheBits is the logarithm of the number of gaps whose transitions are kept. Regular times have few gaps,
// which differ by rounding.
const cacheBits = 7

// stateModel is a layout at parameters θ.
type stateModel struct {
	*layout
	prog  *kernel.Program
	theta []float64
	// prior holds P∞, the covariance of the states, by diagonal blocks: the variances of the blocks
	// times the products of the leaves' matrices. size are these variances.
	prior, size []float64
	cache       []transition
	work        *kroneckers
}

// wanted are the parts of a transition besides A.
type wanted uint8

const (
	turns  wanted = 0 // A alone
	noise  wanted = 1 // Q
	slopes wanted = 2 // the derivatives of A and, with noise, of Q
)

// transition holds by diagonal blocks how the states change over a gap Δ: x(t+Δ) = A·x(t) + noise with
// covariance Q. slopeA and slopeQ are the derivatives by the logarithms of the shapes' parameters, a
// matrix of the size of its block each.
type transition struct {
	bits           uint64
	filled         bool
	has            wanted
	a, q           []float64
	slopeA, slopeQ [][]float64
}

// newModel returns the model at θ.
func newModel(l *layout, prog *kernel.Program, theta []float64) *stateModel {
	m := &stateModel{layout: l, prog: prog, theta: slices.Clone(theta), cache: make([]transition, 1<<cacheBits), size: make([]float64, len(l.blocks))}
	for b := range m.size {
		m.size[b] = 1
	}
	for _, s := range l.scales {
		m.size[s.block] *= math.Pow(theta[s.param], s.power)
	}
	for b := range l.blocks {
		prior, size := []float64{m.size[b]}, 1
		for _, leaf := range l.blocks[b].leaves {
			next := make([]float64, len(prior)*leaf.size()*leaf.size())
			kronecker(next, prior, leaf.stationary(), size, leaf.size())
			prior, size = next, size*leaf.size()
		}
		m.prior = append(m.prior, prior...)
	}
	return m
}

// at reports whether m belongs to the program and the parameters.
func (m *stateModel) isAt(prog *kernel.Program, theta []float64) bool {
	return m != nil && m.prog.Same(prog) && slices.Equal(m.theta, theta)
}

// rate returns λ of a model of few states.
func (m *stateModel) rate() float64 {
	leaf := m.blocks[0].leaves[0]
	return lambda(leaf.order) / m.theta[leaf.param]
}

// kronecker writes the Kronecker product of square matrices of orders n and m.
func kronecker(dst, a, b []float64, n, m int) {
	for i := range n {
		for j := range n {
			v := a[i*n+j]
			for k := range m {
				out := dst[(i*m+k)*n*m+j*m:][:m]
				for l, u := range b[k*m : (k+1)*m] {
					out[l] = v * u
				}
			}
		}
	}
}

// stationary returns the covariance of the leaf's states, for unit variance.
func (l factorStates) stationary() []float64 {
	if l.cosine {
		return []float64{1, 0, 0, 1}
	}
	return materns()[l.order].stationary
}

// transition returns how the states change over a gap, with the parts that are wanted. The result holds
// until the next call.
func (m *stateModel) transition(gap float64, want wanted) *transition {
	bits := math.Float64bits(gap)
	t := &m.cache[bits*0x9E3779B97F4A7C15>>(64-cacheBits)]
	if t.filled && t.bits == bits && t.has&want == want {
		return t
	}
	if t.a == nil {
		t.a, t.q = make([]float64, m.elements), make([]float64, m.elements)
	}
	if want&slopes != 0 && t.slopeA == nil {
		for _, s := range m.shapes {
			n := m.blocks[s.block].size
			t.slopeA, t.slopeQ = append(t.slopeA, make([]float64, n*n)), append(t.slopeQ, make([]float64, n*n))
		}
	}
	if t.filled && t.bits == bits {
		want |= t.has
	}
	t.bits, t.filled, t.has = bits, true, want
	next := 0
	for b := range m.blocks {
		m.fillBlock(t, b, next, gap)
		next += len(m.blocks[b].leaves)
	}
	return t
}

// fillBlock computes the transition of a block, whose first shape is the given one.
func (m *stateModel) fillBlock(t *transition, b, first int, gap float64) {
	own := &m.blocks[b]
	a, q := t.a[own.at:][:own.size*own.size], t.q[own.at:][:own.size*own.size]
	switch len(own.leaves) {
	case 0:
		a[0], q[0] = 1, 0
		return
	case 1:
		var da, dq []float64
		if t.has&slopes != 0 {
			da, dq = t.slopeA[first], t.slopeQ[first]
		}
		own.leaves[0].transition(a, q, da, dq, gap, m.theta, t.has)
	default:
		m.fillProduct(t, own, first, gap, a, q)
	}
	if t.has&noise == 0 {
		return
	}
	scaleAll(q, m.size[b])
	if t.has&slopes != 0 {
		for s := range own.leaves {
			scaleAll(t.slopeQ[first+s], m.size[b])
		}
	}
}

func scaleAll(v []float64, factor float64) {
	for i := range v {
		v[i] *= factor
	}
}

// kroneckers is working space for the transition of a product: A, Q and P of the leaves so far and P − Q,
// the same of the next leaf, and its slopes.
type kroneckers struct{ a, q, p, kept, oneA, oneQ, oneKept, da, dq, tmp square }

// fillProduct computes the transition of a product of leaves: A = A₁⊗A₂, P = P₁⊗P₂ and
// Q = P − APAᵀ = Q₁⊗P₂ + (P₁ − Q₁)⊗Q₂, without the variance of the block.
func (m *stateModel) fillProduct(t *transition, own *independent, first int, gap float64, a, q []float64) {
	if m.work == nil {
		m.work = new(kroneckers)
	}
	w, size := m.work, own.leaves[0].size()
	m.fillFirst(t, own.leaves[0], first, gap)
	for k, leaf := range own.leaves {
		if k == 0 {
			continue
		}
		one, p := leaf.size(), leaf.stationary()
		e := one * one
		leaf.transition(w.oneA[:e], w.oneQ[:e], w.da[:e], w.dq[:e], gap, m.theta, t.has)
		if t.has&noise != 0 {
			subtract(w.kept[:size*size], w.p[:], w.q[:])
			subtract(w.oneKept[:e], p, w.oneQ[:])
		}
		if t.has&slopes != 0 {
			w.multiplySlopes(t.slopeA[first:], t.slopeQ[first:], k, size, one, t.has)
		}
		if t.has&noise != 0 {
			w.multiply(w.q[:], w.q[:], p, size, one)
			kronecker(w.tmp[:], w.kept[:], w.oneQ[:], size, one)
			for i := range size * size * e {
				w.q[i] += w.tmp[i]
			}
			w.multiply(w.p[:], w.p[:], p, size, one)
		}
		w.multiply(w.a[:], w.a[:], w.oneA[:], size, one)
		size *= one
	}
	copy(a, w.a[:])
	copy(q, w.q[:])
}

// fillFirst begins with the first leaf.
func (m *stateModel) fillFirst(t *transition, leaf factorStates, shape int, gap float64) {
	w, e := m.work, leaf.size()*leaf.size()
	da, dq := w.da[:e], w.dq[:e]
	if t.has&slopes != 0 {
		da, dq = t.slopeA[shape][:e], t.slopeQ[shape][:e]
	}
	leaf.transition(w.a[:e], w.q[:e], da, dq, gap, m.theta, t.has)
	copy(w.p[:], leaf.stationary())
}

// multiply writes a⊗b to dst, which may be a.
func (w *kroneckers) multiply(dst, a, b []float64, n, m int) {
	kronecker(w.tmp[:], a, b, n, m)
	copy(dst, w.tmp[:n*n*m*m])
}

// multiplySlopes multiplies the slopes of the k leaves so far by the next leaf, and adds the leaf's own:
// ∂Q = ∂Q₁⊗(P₂ − Q₂) and (P₁ − Q₁)⊗∂Q₂.
func (w *kroneckers) multiplySlopes(slopeA, slopeQ [][]float64, k, size, one int, has wanted) {
	for s := range k {
		w.multiply(slopeA[s], slopeA[s], w.oneA[:], size, one)
		if has&noise != 0 {
			w.multiply(slopeQ[s], slopeQ[s], w.oneKept[:], size, one)
		}
	}
	w.multiply(slopeA[k], w.a[:], w.da[:], size, one)
	if has&noise != 0 {
		w.multiply(slopeQ[k], w.kept[:], w.dq[:], size, one)
	}
}

// subtract writes a − b to dst.
func subtract(dst, a, b []float64) {
	for i := range dst {
		dst[i] = a[i] - b[i]
	}
}

// transition writes A of a leaf with unit variance, and the parts that are wanted: Q, and the derivatives
// by the logarithm of its parameter.
func (l factorStates) transition(a, q, da, dq []float64, gap float64, theta []float64, want wanted) {
	if l.cosine {
		rotate(a, da, gap/theta[l.param], want&slopes != 0)
		clear(q)
		if want&slopes != 0 {
			clear(dq)
		}
		return
	}
	m := materns()[l.order]
	tau := lambda(l.order) * gap / theta[l.param] // 0 for equal times, whatever θ
	decay := decayOf(tau)
	m.turn(a, tau, decay)
	if want&noise != 0 {
		m.noises(a, q, tau, decay)
	}
	if want&slopes != 0 {
		m.slopes(da, dq, a, tau)
	}
}

// lambda is λ·ℓ, √(2ν) for order ν = p + ½.
func lambda(order int) float64 { return math.Sqrt(float64(2*order + 1)) }

// rotate writes the rotation by a number of turns, and its derivative by the logarithm of the period.
// Whole turns are taken off first, because they may be many.
func rotate(a, da []float64, turns float64, slope bool) {
	sin, cos := math.Sincos(2 * math.Pi * (turns - math.Round(turns)))
	a[0], a[1], a[2], a[3] = cos, sin, -sin, cos
	if slope {
		angle := 2 * math.Pi * turns
		da[0], da[1], da[2], da[3] = angle*sin, -angle*cos, angle*cos, angle*sin
	}
}

// addPrior adds P∞Hᵀv to a state.
func (m *stateModel) addPrior(state, weights []float64, v float64) {
	for b := range m.blocks {
		own := &m.blocks[b]
		for j := range own.size {
			state[own.first+j] += m.prior[own.at+j] * weights[b] * v
		}
	}
}

// priorRow returns the first element of P∞b for a block.
func (m *stateModel) priorRow(block int, b []float64) (sum float64) {
	own := &m.blocks[block]
	for j, v := range m.prior[own.at:][:own.size] {
		sum += v * b[j]
	}
	return sum
}
