package blas

import "gonum.org/v1/gonum/blas"

// Dtrsm solves one of the matrix equations
//
//	op(A)·X = alpha·B  if side is Left
//	X·op(A) = alpha·B  if side is Right
//
// for X, which replaces B. A is triangular, of order m or n; B is m×n.
//
// Dtrsm solves the diagonal blocks by substitution, tile by tile, so that the
// result is as backward stable as gonum's.
func (impl *Implementation) Dtrsm(side blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	order := checkTriangular(side, ul, tA, d, m, n, a, lda, b, ldb)
	if m == 0 || n == 0 {
		return
	}
	if alpha == 0 {
		scale(dense, m, n, 0, b, ldb)
		return
	}
	if order == 1 && d == blas.Unit && alpha == 1 {
		return
	}
	left := side == blas.Left
	j := impl.e.begin(float64(m) * float64(n) * float64(order))
	j.addSolve(left, triangle(ul, tA, d, a, lda, left), m, n, alpha, b, ldb)
	impl.e.finish(j)
}

// triangle returns the view of op(A), or of its transpose if A is on the right.
func triangle(ul blas.Uplo, tA blas.Transpose, d blas.Diag, a []float64, lda int, left bool) view {
	v := rowMajor(a, lda)
	v.shape = upper
	if ul == blas.Lower {
		v.shape = lower
	}
	v.unit = d == blas.Unit
	if (tA != blas.NoTrans) == left {
		v = v.t()
	}
	return v
}

// A solve is a triangular solve T·X = alpha·B with the triangle on the left; a
// triangle on the right is transposed, together with X and B.
type solve struct {
	t    view
	x    view // line l of X, in a row: one equation
	left bool
	// inverse means that the lines from p0 are the lines of the identity; they are
	// stored in place of the triangle and replaced by its inverse.
	inverse bool
}

// addSolve appends the phases of a triangular solve. It takes the blocks of the
// triangle in the order of the substitution, solves each for all lines, and updates
// the rest with a product.
func (j *job) addSolve(left bool, t view, m, n int, alpha float64, b []float64, ldb int) {
	e := j.e
	x := rowMajor(b, ldb)
	order, lines := n, m
	if left {
		x = x.t()
		order, lines = m, n
	}
	j.solves = append(j.solves, solve{t: t, x: x, left: left})
	sop := len(j.solves) - 1
	full := t
	full.shape, full.unit = dense, false
	j.products = append(j.products, product{a: full, b: full, c: b, ldc: ldb, m: m, n: n, k: order, alpha: -1})
	pop := len(j.products) - 1

	kb := e.kblock(order, e.mr)
	for l0 := 0; l0 < lines; l0 += e.super {
		l1 := min(l0+e.super, lines)
		for done := 0; done < order; done += kb {
			// The last block is the short one, so that only the block without
			// further updates is not a multiple of mr.
			size := min(kb, order-done)
			p0 := done
			r0, r1 := p0+size, order // the rest
			if t.shape == upper {
				p0 = order - done - size
				r0, r1 = 0, p0
			}
			beta := 1.0
			if done == 0 {
				beta = alpha
			}
			j.addDiagonal(phase{op: sop, j0: l0, j1: l1, p0: p0, p1: p0 + size, beta: beta}, r1 > r0)
			for s := r0; s < r1; s += e.super {
				ph := phase{op: pop, i0: s, i1: min(s+e.super, r1), j0: l0, j1: l1, p0: p0, p1: p0 + size, beta: beta}
				if !left {
					ph.i0, ph.i1, ph.j0, ph.j1 = l0, l1, ph.i0, ph.i1
				}
				j.addBlock(ph, left, !left)
			}
		}
	}
}

// addDiagonal appends the phases that solve a diagonal block. If more is set, they
// leave the solution in the packed operand of the next product.
func (j *job) addDiagonal(ph phase, more bool) {
	e := j.e
	kpad := roundUp(ph.p1-ph.p0, e.mr)
	j.t.get(kpad * kpad)
	tp := kpad / e.mr
	xp := panels(ph.j1-ph.j0, e.nr)
	if more {
		if j.solves[ph.op].left {
			j.b[0].get(xp * e.nr * kpad)
		} else {
			j.a[0].get(xp * e.nr * kpad)
		}
	}
	ph.kind = trianglePhase
	ph.x = max(1, tp/(j.threads*itemsPerThread/2))
	ph.items = panels(tp, ph.x)
	j.add(ph)
	left := j.solves[ph.op].left
	j.add(j.solution(ph, more && !left, more && left))
}

// The operands that a solution leaves packed.
const (
	keepA = 1 << iota // panels of the left operand
	keepB             // panels of the right operand
)

// solution returns the phase that solves lines [j0, j1) for the unknowns [p0, p1)
// with the packed triangle. It can leave them packed for the next product.
func (j *job) solution(ph phase, asA, asB bool) phase {
	xp := panels(ph.j1-ph.j0, j.e.nr)
	ph.kind = solvePhase
	ph.x = max(1, min(4, xp/(j.threads*itemsPerThread)))
	ph.items = panels(xp, ph.x)
	ph.y = 0
	if asA {
		ph.y |= keepA
	}
	if asB {
		ph.y |= keepB
	}
	return ph
}

// packTriangle packs some panels of a diagonal block, with reciprocals in place of
// the diagonal. It pads the block to whole tiles with the identity.
func (j *job) packTriangle(ph *phase, item int) {
	e := j.e
	t := &j.solves[ph.op].t
	kc := ph.p1 - ph.p0
	kpad := roundUp(kc, e.mr)
	last := min((item+1)*ph.x, kpad/e.mr)
	for p := item * ph.x; p < last; p++ {
		dst := j.t.mem[p*e.mr*kpad : (p+1)*e.mr*kpad]
		i := p * e.mr
		rows := min(e.mr, kc-i)
		e.packPanel(dst, e.mr, t, ph.p0+i, rows, ph.p0, kc)
		e.invertDiagonal(dst, i, rows)
	}
}

// invertDiagonal replaces the diagonal of a packed panel of a triangle, which begins at row
// i and has the given number of rows, by its reciprocals. It pads the panel to a whole tile
// with the identity.
func (e *engine) invertDiagonal(panel []float64, i, rows int) {
	for r := range e.mr {
		line := panel[(i+r)*e.mr : (i+r+1)*e.mr]
		if r < rows {
			line[r] = 1 / line[r]
			continue
		}
		clear(line)
		line[r] = 1
	}
}

// solvePanels solves a diagonal block for some panels of lines.
func (j *job) solvePanels(worker int, ph *phase, item int) {
	e := j.e
	s := &j.solves[ph.op]
	kc := ph.p1 - ph.p0
	kpad := roundUp(kc, e.mr)
	stride := e.nr * kpad
	scratch := &j.scratch[worker]
	last := min((item+1)*ph.x, panels(ph.j1-ph.j0, e.nr))
	for q := item * ph.x; q < last; q++ {
		line := ph.j0 + q*e.nr
		lines := min(e.nr, ph.j1-line)
		nv := e.vectors(lines)
		wd := nv * e.lanes
		var x []float64
		if ph.y&keepB != 0 {
			x = j.b[ph.buf].mem[q*stride : (q+1)*stride]
		} else {
			if len(scratch.mem) < stride {
				scratch.mem = aligned(max(stride, e.nr*e.kc))
			}
			x = scratch.mem[:stride]
		}
		first := 0 // first unknown that may be nonzero
		if s.inverse && line >= ph.p0 {
			first = line - ph.p0
			clear(x[first*wd : kpad*wd])
			for c := range lines {
				x[(first+c)*wd+c] = 1
			}
		} else {
			e.packDense(x, wd, &s.x, line, lines, ph.p0, kc)
			clear(x[kc*wd : kpad*wd])
		}
		if ph.beta != 1 {
			for i := range x[:kc*wd] {
				x[i] *= ph.beta
			}
		}
		if s.t.shape == upper {
			e.backSubstitute(nv, kc, kpad, j.t.mem, x)
		} else {
			e.substitute(nv, first, kpad, j.t.mem, x)
		}
		if s.inverse && line >= ph.p0 {
			s.unpackTriangle(&e.kernels, x, wd, line, lines, ph.p0, kc)
		} else {
			e.unpackPanel(x, wd, &s.x, line, lines, ph.p0, kc)
		}
		if ph.y&keepA != 0 {
			// A panel of nr lines is nv panels of mr.
			for g := range nv {
				e.copyRows(kc, 1, &x[g*e.mr], wd, &j.a[ph.buf].mem[(q*e.nr/e.mr+g)*e.mr*kc], e.mr)
			}
		}
	}
}

// substitute solves a packed lower triangle for a packed panel x of nv vectors. The
// unknowns before first, a multiple of mr, are zero.
func (ks *kernels) substitute(nv, first, kpad int, t, x []float64) {
	mr, w := ks.mr, nv*ks.lanes
	for i := first; i < kpad; i += mr {
		panel := t[i*kpad:]
		ks.forward(nv, i-first, &panel[first*mr], &x[first*w], &panel[i*mr], &x[i*w])
	}
}

// backSubstitute solves a packed upper triangle of order kc.
func (ks *kernels) backSubstitute(nv, kc, kpad int, t, x []float64) {
	mr, w := ks.mr, nv*ks.lanes
	for i := kpad - mr; i >= 0; i -= mr {
		panel := t[i*kpad:]
		next := min(i+mr, kpad-1) // keep the index in bounds where nothing is read
		ks.backward(nv, max(0, kc-i-mr), &panel[next*mr], &x[next*w], &panel[i*mr], &x[i*w])
	}
}
