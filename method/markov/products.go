package markov

// derivativeSweeps computes the products of all derivatives of K with a vector v by the tangents of the sweeps
// of Kv: for each parameter of a shape, with c and h of the row before and after,
//
//	g′ = ∂A·c + A·g′ before;  b′ before = ∂Aᵀh + Aᵀb′;  (∂Kv) = H(g′ + P∞b′),
//
// while the variance of a block multiplies the block's part of Kv.
type derivativeSweeps struct {
	*stateModel
	*sortedRows
	v []float64
	// dst receives the product of parameter p at p·stride.
	dst    []float64
	stride int
	state  [maxStates]float64
	// tangents are the g′ or b′ of each shape.
	tangents [][]float64
}

// reset begins a sweep.
func (p *derivativeSweeps) reset() {
	clear(p.state[:])
	p.tangents = p.tangents[:0]
	for _, shape := range p.shapes {
		p.tangents = append(p.tangents, make([]float64, p.blocks[shape.block].size))
	}
}

// forward adds the parts of the rows before each row.
func (p *derivativeSweeps) forward(first, last int) {
	var tmp, weights [maxStates]float64
	for i := first; i < last; i++ {
		if i > 0 {
			t := p.transition(p.gap(i), slopes)
			for e, shape := range p.shapes {
				own := &p.blocks[shape.block]
				p.turn(p.tangents[e], p.state[own.first:], t.a[own.at:], t.slopeA[e], false)
			}
			p.stateModel.forward(p.state[:p.states], tmp[:], t)
		}
		p.weights(weights[:], p.times[i])
		u := p.v[p.place(i)]
		for e, shape := range p.shapes {
			p.add(shape.param, i, weights[shape.block]*p.tangents[e][0])
		}
		for _, sc := range p.scales {
			own, w := &p.blocks[sc.block], weights[sc.block]
			p.add(sc.param, i, sc.power*w*(p.state[own.first]+p.prior[own.at]*w*u))
		}
		p.addPrior(p.state[:], weights[:], u)
	}
}

// backward adds the parts of the rows after each row. It counts the rows from the end.
func (p *derivativeSweeps) backward(first, last int) {
	var tmp, weights [maxStates]float64
	n := len(p.times)
	for i := n - 1 - first; i >= n-last; i-- {
		p.weights(weights[:], p.times[i])
		for e, shape := range p.shapes {
			p.add(shape.param, i, weights[shape.block]*p.priorRow(shape.block, p.tangents[e]))
		}
		for _, sc := range p.scales {
			p.add(sc.param, i, sc.power*weights[sc.block]*p.priorRow(sc.block, p.state[p.blocks[sc.block].first:]))
		}
		if i == 0 {
			return
		}
		p.addWeighted(p.state[:], weights[:], p.v[p.place(i)])
		t := p.transition(p.gap(i), slopes)
		for e, shape := range p.shapes {
			own := &p.blocks[shape.block]
			p.turn(p.tangents[e], p.state[own.first:], t.a[own.at:], t.slopeA[e], true)
		}
		p.stateModel.backward(p.state[:], tmp[:], t)
	}
}

// turn overwrites a tangent by ∂A·state + A·tangent, or with the transposes of the matrices.
func (p *derivativeSweeps) turn(tangent, state, a, slope []float64, transposed bool) {
	var out [maxStates]float64
	n := len(tangent)
	for i := range n {
		for j, v := range tangent {
			at := i*n + j
			if transposed {
				at = j*n + i
			}
			out[i] += slope[at]*state[j] + a[at]*v
		}
	}
	copy(tangent, out[:n])
}

// add adds to the product of a parameter in the i-th row.
func (p *derivativeSweeps) add(param, i int, v float64) { p.dst[param*p.stride+p.place(i)] += v }
