package markov

import (
	"math"
	"slices"

	"gpfit/kernel"
)

// model is a layout at parameters θ.
type model struct {
	*layout
	prog  *kernel.Program
	theta []float64
	// prior holds P∞, the covariance of the states, by diagonal blocks: the variances of the blocks
	// times the products of the leaves' matrices. size are these variances.
	prior, size []float64
	cache       []transition
}

// cacheBits is the logarithm of the number of gaps whose transitions are kept. Regular times have few
// gaps, which differ by rounding.
const cacheBits = 7

// transition holds by diagonal blocks how the states change over a gap Δ: x(t+Δ) = A·x(t) + noise with
// covariance Q. slopeA and slopeQ are the derivatives by the logarithms of the shapes' parameters, a
// matrix of the size of its block each.
type transition struct {
	bits           uint64
	filled, sloped bool
	a, q           []float64
	slopeA, slopeQ [][]float64
}

// newModel returns the model at θ.
func newModel(l *layout, prog *kernel.Program, theta []float64) *model {
	m := &model{layout: l, prog: prog, theta: slices.Clone(theta), cache: make([]transition, 1<<cacheBits), size: make([]float64, len(l.blocks))}
	for b := range m.size {
		m.size[b] = 1
	}
	for _, s := range l.scales {
		m.size[s.block] *= math.Pow(theta[s.param], s.power)
	}
	for b := range l.blocks {
		prior := []float64{m.size[b]}
		for _, leaf := range l.blocks[b].leaves {
			prior = kronecker(prior, leaf.stationary())
		}
		m.prior = append(m.prior, prior...)
	}
	return m
}

// at reports whether m belongs to the program and the parameters.
func (m *model) isAt(prog *kernel.Program, theta []float64) bool {
	return m != nil && m.prog == prog && slices.Equal(m.theta, theta)
}

// side returns the order of a square matrix.
func side(a []float64) int { return int(math.Sqrt(float64(len(a))) + 0.5) }

// kronecker returns the Kronecker product of square matrices.
func kronecker(a, b []float64) []float64 {
	n, m := side(a), side(b)
	out := make([]float64, len(a)*len(b))
	for i := range n {
		for j := range n {
			for k := range m {
				for l := range m {
					out[(i*m+k)*n*m+j*m+l] = a[i*n+j] * b[k*m+l]
				}
			}
		}
	}
	return out
}

// stationary returns the covariance of the leaf's states, for unit variance.
func (l leaf) stationary() []float64 {
	if l.cosine {
		return []float64{1, 0, 0, 1}
	}
	return materns[l.order].stationary
}

// transition returns how the states change over a gap, with derivatives if they are requested. The
// result holds until the next call.
func (m *model) transition(gap float64, slopes bool) *transition {
	bits := math.Float64bits(gap)
	t := &m.cache[bits*0x9E3779B97F4A7C15>>(64-cacheBits)]
	if t.filled && t.bits == bits && (t.sloped || !slopes) {
		return t
	}
	if t.a == nil {
		t.a, t.q = make([]float64, m.elements), make([]float64, m.elements)
	}
	if slopes && t.slopeA == nil {
		for _, s := range m.shapes {
			n := m.blocks[s.block].size
			t.slopeA, t.slopeQ = append(t.slopeA, make([]float64, n*n)), append(t.slopeQ, make([]float64, n*n))
		}
	}
	t.bits, t.filled, t.sloped = bits, true, slopes
	next := 0
	for b := range m.blocks {
		m.fillBlock(t, b, next, gap)
		next += len(m.blocks[b].leaves)
	}
	return t
}

// fillBlock computes the transition of a block, whose first shape is the given one.
func (m *model) fillBlock(t *transition, b, first int, gap float64) {
	own := &m.blocks[b]
	a, q := t.a[own.at:][:own.size*own.size], t.q[own.at:][:own.size*own.size]
	switch len(own.leaves) {
	case 0:
		a[0], q[0] = 1, 0
		return
	case 1:
		var da, dq []float64
		if t.sloped {
			da, dq = t.slopeA[first], t.slopeQ[first]
		}
		own.leaves[0].transition(a, q, da, dq, gap, m.theta)
	default:
		m.fillProduct(t, own, first, gap, a, q)
	}
	scaleAll(q, m.size[b])
	if t.sloped {
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

// fillProduct computes the transition of a product of leaves: A = A₁⊗A₂, P = P₁⊗P₂ and
// Q = P − APAᵀ = Q₁⊗P₂ + (P₁ − Q₁)⊗Q₂, without the variance of the block.
func (m *model) fillProduct(t *transition, own *block, first int, gap float64, a, q []float64) {
	allA, allQ, allP := []float64{1}, []float64{0}, []float64{1}
	var slopeA, slopeQ [][]float64
	for _, leaf := range own.leaves {
		n := leaf.size() * leaf.size()
		p := leaf.stationary()
		oneA, oneQ := make([]float64, n), make([]float64, n)
		var da, dq []float64
		if t.sloped {
			da, dq = make([]float64, n), make([]float64, n)
		}
		leaf.transition(oneA, oneQ, da, dq, gap, m.theta)
		kept := difference(allP, allQ)
		if t.sloped {
			for s := range slopeA {
				slopeA[s], slopeQ[s] = kronecker(slopeA[s], oneA), kronecker(slopeQ[s], difference(p, oneQ))
			}
			slopeA, slopeQ = append(slopeA, kronecker(allA, da)), append(slopeQ, kronecker(kept, dq))
		}
		allQ = sum(kronecker(allQ, p), kronecker(kept, oneQ))
		allA, allP = kronecker(allA, oneA), kronecker(allP, p)
	}
	copy(a, allA)
	copy(q, allQ)
	for s := range slopeA {
		copy(t.slopeA[first+s], slopeA[s])
		copy(t.slopeQ[first+s], slopeQ[s])
	}
}

func difference(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range out {
		out[i] = a[i] - b[i]
	}
	return out
}

func sum(a, b []float64) []float64 {
	out := make([]float64, len(a))
	for i := range out {
		out[i] = a[i] + b[i]
	}
	return out
}

// transition writes A and Q of a leaf with unit variance, and unless da is nil their derivatives by
// the logarithm of its parameter.
func (l leaf) transition(a, q, da, dq []float64, gap float64, theta []float64) {
	if l.cosine {
		rotate(a, da, gap/theta[l.param])
		clear(q)
		clear(dq)
		return
	}
	m := materns[l.order]
	tau := lambda(l.order) * gap / theta[l.param] // 0 for equal times, whatever θ
	m.transition(a, q, tau)
	if da != nil {
		m.slopes(da, dq, a, tau)
	}
}

// lambda is λ·ℓ, √(2ν) for order ν = p + ½.
func lambda(order int) float64 { return math.Sqrt(float64(2*order + 1)) }

// rotate writes the rotation by a number of turns, and its derivative by the logarithm of the period.
// Whole turns are taken off first, because they may be many.
func rotate(a, da []float64, turns float64) {
	sin, cos := math.Sincos(2 * math.Pi * (turns - math.Round(turns)))
	a[0], a[1], a[2], a[3] = cos, sin, -sin, cos
	if da != nil {
		angle := 2 * math.Pi * turns
		da[0], da[1], da[2], da[3] = angle*sin, -angle*cos, angle*cos, angle*sin
	}
}
