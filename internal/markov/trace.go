package markov

import "context"

// trace is ⟨Σ⁻¹, ∂K⟩ for a K at other parameters than Σ's, of which second derivatives take differences.
// For rows i < j, with the filter's k, L = I − kH, D and N after row j,
//
//	(Σ⁻¹)_ij = −k_iᵀ·A ᵀLᵀ…Aᵀ·w_j,  w_j = H_jᵀD_j − N_jk_j,
//
// with the A and L of the rows between, while K_ij = H_j·A…A·P∞H_iᵀ has the A of its own parameters. The
// sum over j is carried back as a matrix Z, with its derivatives by the shapes of K:
//
//	Z before = Aᵀ(LᵀZ + wH)A,  Σ_j (Σ⁻¹)_ij K_ij = −k_iᵀZP∞H_iᵀ.
type trace struct {
	information
	of *stateModel
	// z is Z, and slopes are its derivatives, with the columns of their blocks.
	z      square
	slopes []square
	out    square
}

// contractTrace adds inv·⟨Σ⁻¹, ∂K⟩ to grad for the K of a model, and inv times the diagonal of Σ⁻¹ to
// diag.
func contractTrace(ctx context.Context, w *workspace, m *stateModel, inv float64, grad, diag []float64) error {
	g, t := m.newSums(), &trace{information: information{filter: &w.filter}, of: m, slopes: make([]square, len(m.shapes))}
	for last := range backwards(w.n) {
		first := max(last-chunk, 0)
		for i := last - 1; i >= first; i-- {
			diag[w.place(i)] += inv * t.add(g, i)
		}
		if err := w.step(ctx, w.flops().inverse*float64(last-first)); err != nil {
			return err
		}
	}
	m.addTo(grad, g, inv)
	return nil
}

// add adds the i-th row to the derivatives, and returns its element of the diagonal of Σ⁻¹.
func (t *trace) add(g *sums, i int) float64 {
	f, m, s := t.filter, t.of, t.states
	k := f.k[i*s : (i+1)*s]
	var own, weights, link [maxStates]float64
	f.weights(own[:], f.times[i])
	m.weights(weights[:], f.times[i])
	for r := range s {
		link[r] = -dot(t.n[r*s:(r+1)*s], k)
	}
	d := t.information.observe(i)
	f.addWeighted(link[:], own[:], d)

	seen := t.through(&t.z, m.states, k)
	for b := range m.blocks {
		at := &m.blocks[b]
		g.sizes[b] += weights[b] * (weights[b]*d*m.prior[at.at] - 2*m.priorRow(b, seen[at.first:]))
	}
	var before *transition
	if i > 0 {
		before = f.transition(f.gap(i), turns)
	}
	t.leave(&t.z, m.states, own[:], seen[:])
	for b := range m.blocks {
		for r := range s {
			t.z[r*m.states+m.blocks[b].first] += link[r] * weights[b]
		}
	}
	for e, shape := range m.shapes {
		size := m.blocks[shape.block].size
		seen := t.through(&t.slopes[e], size, k)
		g.shapes[e] -= 2 * weights[shape.block] * m.priorRow(shape.block, seen[:])
		t.leave(&t.slopes[e], size, own[:], seen[:])
	}
	if i > 0 {
		t.move(before, m.transition(f.gap(i), slopes))
		t.retreat(before)
	}
	return d
}

// through returns kᵀZ for a matrix of so many columns.
func (t *trace) through(z *square, columns int, k []float64) (out [maxStates]float64) {
	for r, v := range k {
		for c := range columns {
			out[c] += v * z[r*columns+c]
		}
	}
	return out
}

// leave overwrites Z by LᵀZ, given kᵀZ.
func (t *trace) leave(z *square, columns int, weights, seen []float64) {
	for b := range t.blocks {
		row := z[t.blocks[b].first*columns:][:columns]
		for c := range row {
			row[c] -= weights[b] * seen[c]
		}
	}
}

// move overwrites Z by AᵀZA, with the A of Σ on the left and of K on the right, and its derivatives.
func (t *trace) move(left, right *transition) {
	m, s := t.of, t.states
	for e, shape := range m.shapes {
		own := &m.blocks[shape.block]
		out := t.out[:s*own.size]
		clear(out)
		for r := range s {
			for j := range own.size {
				v, u := t.slopes[e][r*own.size+j], t.z[r*m.states+own.first+j]
				for c := range own.size {
					out[r*own.size+c] += v*right.a[own.at+j*own.size+c] + u*right.slopeA[e][j*own.size+c]
				}
			}
		}
		t.turnBack(&t.slopes[e], out, own.size, left)
	}
	out := t.out[:s*m.states]
	clear(out)
	for r := range s {
		for j := range m.states {
			v := t.z[r*m.states+j]
			for c, a := range right.a[m.at[j]:][:m.end[j]-m.first[j]] {
				out[r*m.states+m.first[j]+c] += v * a
			}
		}
	}
	t.turnBack(&t.z, out, m.states, left)
}

// turnBack writes Aᵀx to dst.
func (t *trace) turnBack(dst *square, x []float64, columns int, left *transition) {
	clear(dst[:t.states*columns])
	for i := range t.states {
		for k, a := range left.a[t.at[i]:][:t.end[i]-t.first[i]] {
			out := dst[(t.first[i]+k)*columns:][:columns]
			for c := range out {
				out[c] += a * x[i*columns+c]
			}
		}
	}
}
