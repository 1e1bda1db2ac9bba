package blas

import "gonum.org/v1/gonum/blas"

// Dtrtri replaces a triangular matrix of order n by its inverse, like gonum's
// lapack routine of this name. If an element of the diagonal is zero, it returns
// false and changes nothing.
func (impl *Implementation) Dtrtri(ul blas.Uplo, d blas.Diag, n int, a []float64, lda int) (ok bool) {
	checkUplo(ul)
	if d != blas.NonUnit && d != blas.Unit {
		panic(badDiag)
	}
	checkSize(n, nLT0)
	checkLd(lda, n, badLdA)
	if n == 0 {
		return true
	}
	checkLen(a, n, n, lda, shortA)
	for i := range n {
		if d == blas.NonUnit && a[i*lda+i] == 0 {
			return false
		}
	}
	j := impl.e.begin(float64(n) * float64(n) * float64(n) / 6)
	j.addInverse(ul == blas.Lower, d == blas.Unit, n, a, lda)
	impl.e.finish(j)
	return true
}

// Dlauum replaces the triangular matrix L of order n by the lower triangle of Lᵀ·L
// if ul is Lower, and U by the upper triangle of U·Uᵀ if ul is Upper, like gonum's
// lapack routine of this name.
func (impl *Implementation) Dlauum(ul blas.Uplo, n int, a []float64, lda int) {
	checkUplo(ul)
	checkSize(n, nLT0)
	checkLd(lda, n, badLdA)
	if n == 0 {
		return
	}
	checkLen(a, n, n, lda, shortA)
	j := impl.e.begin(float64(n) * float64(n) * float64(n) / 6)
	j.addSquare(ul == blas.Lower, n, a, lda)
	impl.e.finish(j)
}

// Dpotri replaces the Cholesky factor of a matrix, as computed by Dpotrf, by the
// same triangle of the matrix's inverse, like gonum's lapack routine of this name.
// It returns false if an element of the factor's diagonal is zero.
func (impl *Implementation) Dpotri(ul blas.Uplo, n int, a []float64, lda int) (ok bool) {
	if !impl.Dtrtri(ul, blas.NonUnit, n, a, lda) {
		return false
	}
	impl.Dlauum(ul, n, a, lda)
	return true
}

// addInverse appends the inversion of a triangle: the solution of L·W = I by
// substitution, with W replacing L. Each solved block of rows of W is multiplied by
// the rows of L below it, and the product is subtracted there. This consumes a
// block of L's columns, which makes room for the first such product. The total is
// n³/3 flops. For an upper triangle it solves the transpose: U·W = I as Wᵀ·Uᵀ = I.
func (j *job) addInverse(left, unit bool, n int, a []float64, lda int) {
	e := j.e
	l := rowMajor(a, lda)
	if !left {
		l = l.t()
	}
	tri := l
	tri.shape, tri.unit = lower, unit
	j.solves = append(j.solves, solve{t: tri, x: l.t(), left: left, inverse: true})
	sop := len(j.solves) - 1
	// W's diagonal block is lower triangular. It is packed as an operand for
	// multiplication from the other side.
	pr := product{a: l, b: l, c: a, ldc: lda, m: n, n: n, k: n, alpha: -1}
	if left {
		pr.b.shape, pr.over = upper, overCols
	} else {
		pr.a.shape, pr.over = upper, overRows
	}
	j.products = append(j.products, pr)
	pop := len(j.products) - 1
	kc := e.kblock(n, e.nr)
	for p0 := 0; p0 < n; p0 += kc {
		p1 := min(p0+kc, n)
		j.addDiagonal(phase{op: sop, p0: p0, p1: p1, j0: 0, j1: p1, beta: 1}, p1 < n)
		for s := p1; s < n; s += e.super {
			ph := phase{op: pop, i0: s, i1: min(s+e.super, n), j0: 0, j1: p1, p0: p0, p1: p1, beta: 1}
			if !left {
				ph.i0, ph.i1, ph.j0, ph.j1 = ph.j0, ph.j1, ph.i0, ph.i1
			}
			j.addBlock(ph, left, !left)
		}
	}
}

// unpackTriangle stores the lines from line of a solution of the identity, in
// which unknowns before the line's own are zero.
func (s *solve) unpackTriangle(ks *kernels, x []float64, w, line, lines, p0, kc int) {
	first := line - p0
	for c := range lines {
		for r := c; r < lines; r++ {
			if r > c || !s.t.unit {
				s.x.set(line+c, line+r, x[(first+r)*w+c])
			}
		}
	}
	if below := first + lines; below < kc {
		ks.unpackPanel(x[below*w:], w, &s.x, line, lines, p0+below, kc-below)
	}
}

// addSquare appends C = Lᵀ·L in place of L, or C = U·Uᵀ: one triangle of a product
// of Lᵀ with its transpose. It takes L's rows block by block. Each block is added
// to the triangle above it, whose rows are no longer needed, and replaces itself
// last.
func (j *job) addSquare(left bool, n int, a []float64, lda int) {
	e := j.e
	l := rowMajor(a, lda)
	out, over := upper, overCols
	if left {
		l = l.t()
		out, over = lower, overRows
	}
	full := l
	l.shape = upper
	j.products = append(j.products,
		product{a: l, b: l, c: a, ldc: lda, m: n, n: n, k: n, alpha: 1, out: out, over: over},
		product{a: full, b: full, c: a, ldc: lda, m: n, n: n, k: n, alpha: 1, out: out})
	own := len(j.products) - 2
	above := own + 1
	kc := e.kblock(n, e.nr)
	for p0 := 0; p0 < n; p0 += kc {
		p1 := min(p0+kc, n)
		if p1 <= e.keep {
			j.addBlock(phase{op: own, i0: 0, i1: p1, j0: 0, j1: p1, p0: p0, p1: p1, beta: 1}, true, true)
			continue
		}
		// Proceed in parts that fit a cache, with the parts that overwrite the
		// block last. Each overwrites only elements that no other part needs.
		for j0 := 0; j0 < p0; j0 += e.super {
			j1 := min(j0+e.super, p0)
			for i0 := 0; i0 < p0; i0 += e.super {
				if out == lower && i0 < j0 || out == upper && i0 > j0 {
					continue
				}
				first := out == lower && i0 == j0 || out == upper && i0 == 0
				j.addBlock(phase{op: above, i0: i0, i1: min(i0+e.super, p0), j0: j0, j1: j1, p0: p0, p1: p1, beta: 1}, true, first)
			}
		}
		for s := 0; s < p1; s += e.super {
			ph := phase{op: own, i0: p0, i1: p1, j0: s, j1: min(s+e.super, p1), p0: p0, p1: p1, beta: 1}
			if !left {
				ph.i0, ph.i1, ph.j0, ph.j1 = ph.j0, ph.j1, ph.i0, ph.i1
			}
			j.addBlock(ph, left && s == 0 || !left, left || s == 0)
		}
	}
}
