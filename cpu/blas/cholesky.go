package blas

import "gonum.org/v1/gonum/blas"

// Dpotrf computes the Cholesky factorisation of a symmetric positive definite
// matrix of order n in place, A = L·Lᵀ if ul is Lower and A = Uᵀ·U if Upper, like
// gonum's lapack routine of this name. It returns false if A is not positive
// definite; see [Implementation.Cholesky].
func (impl *Implementation) Dpotrf(ul blas.Uplo, n int, a []float64, lda int) (ok bool) {
	return impl.Cholesky(ul, n, a, lda) == 0
}

// Cholesky is like Dpotrf but returns where it failed: 0 for success, or the order
// of the first leading minor that is not positive, including NaN. After a failure
// the triangle holds the factor of the next smaller minor, and its other elements
// are arbitrary.
func (impl *Implementation) Cholesky(ul blas.Uplo, n int, a []float64, lda int) (minor int) {
	checkUplo(ul)
	checkSize(n, nLT0)
	checkLd(lda, n, badLdA)
	if n == 0 {
		return 0
	}
	checkLen(a, n, n, lda, shortA)
	l := rowMajor(a, lda)
	out := lower
	if ul == blas.Upper {
		l = l.t()
		out = upper
	}
	j := impl.e.begin(float64(n) * float64(n) * float64(n) / 6)
	j.addCholesky(l, out, n, a, lda)
	return impl.e.finish(j)
}

// A Cholesky factorisation proceeds by blocks of columns of L. Each block has three
// phases:
//
//	factor    the diagonal block, on one thread
//	solve     the rows below, X·Lᵀ = A, which also leaves X packed
//	multiply  the triangle to the right, C −= X·Xᵀ
//
// The multiplication starts with the columns of the next block. One thread then
// factors the diagonal block of that block while the others multiply the rest,
// which hides the only serial part behind the largest one.
//
// choleskyBlock returns the number of columns of a block, a multiple of the tiles
// of all variants. Small blocks have less serial work; large ones need fewer
// passes over the matrix.
func choleskyBlock(n int) int {
	switch {
	case n <= 500:
		return 96
	case n <= 1000:
		return 144
	case n <= 2000:
		return 192
	}
	return 288
}

// addCholesky appends the factorisation of the matrix whose lower triangle is the
// lower triangle of l, a view of c; out is the corresponding triangle of c.
func (j *job) addCholesky(l view, out shape, n int, c []float64, ldc int) {
	e := j.e
	l.shape = dense
	tri := l
	tri.shape = lower
	j.solves = append(j.solves, solve{t: tri, x: l})
	sop := len(j.solves) - 1
	pr := product{a: l, b: l, c: c, ldc: ldc, m: n, n: n, alpha: -1, out: out}
	j.products = append(j.products, pr)
	pop := len(j.products) - 1

	nb := choleskyBlock(n)
	kpad := roundUp(min(nb, n), e.mr)
	j.t.get(kpad * kpad)
	// The indices of the phases that the next phases follow.
	next, rest := len(j.phases)-1, len(j.phases)-1
	for p0, buf := 0, 0; p0 < n; p0, buf = p0+nb, 1-buf {
		p1 := min(p0+nb, n)
		ph := phase{op: sop, p0: p0, p1: p1, j0: p1, j1: n, buf: buf, beta: 1}
		factor := ph
		factor.kind, factor.items = factorPhase, 1
		next = j.addAfter(factor, next, next)
		if p1 == n {
			break
		}
		packed := n-p1 <= e.keep
		if packed {
			size := panels(n-p1, e.nr) * e.nr * nb
			j.a[buf].get(size)
			j.b[buf].get(size)
		}
		solve := j.solution(ph, packed, packed)
		if !packed {
			// The solution shares the buffers with the product, so it must wait.
			j.addAfter(solve, next, rest)
			j.addTrailing(pop, p0, p1, n)
			next = len(j.phases) - 1
			rest = next
			continue
		}
		solved := j.addAfter(solve, next, next)
		ph = phase{op: pop, p0: p0, p1: p1, i0: p1, i1: n, j0: p1, j1: n, ia: p1, jb: p1, buf: buf, beta: 1}
		first := ph
		if out == lower {
			first.j1 = min(p1+nb, n)
			ph.i0, ph.j0 = first.j1, first.j1
		} else {
			first.i1 = min(p1+nb, n)
			ph.i0, ph.j0 = first.i1, first.i1
		}
		before := rest
		next = j.addAfter(j.multiplication(first), solved, before)
		if more := j.addAfter(j.multiplication(ph), solved, before); more >= 0 {
			rest = more
		}
	}
}

// addTrailing appends the product by which a block of solved columns updates the
// triangle to its right.
func (j *job) addTrailing(pop, p0, p1, n int) {
	s, out := j.e.super, j.products[pop].out
	for j0 := p1; j0 < n; j0 += s {
		for i0 := p1; i0 < n; i0 += s {
			ph := phase{op: pop, p0: p0, p1: p1, i0: i0, i1: min(i0+s, n), j0: j0, j1: min(j0+s, n), beta: 1}
			if out == lower && i0 < j0 || out == upper && i0 > j0 {
				continue
			}
			j.addBlock(ph, true, out == lower && i0 == j0 || out == upper && i0 == p1)
		}
	}
}

// factor factorises a diagonal block, one panel of rows at a time: it solves the
// panel with the panels above it, like a line of a solve, and factorises its last
// tile. The panels, with the reciprocals of the diagonal, form the packed triangle
// for the rows below.
func (j *job) factor(ph *phase) {
	e := j.e
	s := &j.solves[ph.op]
	kc := ph.p1 - ph.p0
	kpad := roundUp(kc, e.mr)
	var diag [8]float64
	for i := 0; i < kc; i += e.mr {
		x := j.t.mem[i*kpad : (i+e.mr)*kpad]
		rows := min(e.mr, kc-i)
		e.packPanel(x, e.mr, &s.t, ph.p0+i, rows, ph.p0, kc)
		for r := rows; r < e.mr; r++ {
			line := x[(i+r)*e.mr : (i+r+1)*e.mr]
			clear(line)
			line[r] = 1
		}
		for q := 0; q < i; q += e.mr {
			t := j.t.mem[q*kpad:]
			e.forward(1, q, &t[0], &x[0], &t[q*e.mr], &x[q*e.mr])
		}
		tile := x[i*e.mr : (i+e.mr)*e.mr]
		done := e.cholesky(i, &x[0], &tile[0], &diag[0])
		if i > 0 {
			e.unpackPanel(x, e.mr, &s.x, ph.p0+i, rows, ph.p0, i)
		}
		for r := range min(rows, done) {
			for c := range r {
				s.x.set(ph.p0+i+r, ph.p0+i+c, tile[c*e.mr+r])
			}
			s.x.set(ph.p0+i+r, ph.p0+i+r, diag[r])
		}
		if done < rows {
			j.minor.Store(int64(ph.p0 + i + done + 1))
			return
		}
	}
}
