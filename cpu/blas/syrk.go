package blas

import "gonum.org/v1/gonum/blas"

// Dsyrk performs one of
//
//	C = alpha·A·Aᵀ + beta·C  if tA is NoTrans
//	C = alpha·Aᵀ·A + beta·C  otherwise
//
// where C is symmetric of order n, with one triangle stored, and A is n×k or
// k×n.
func (impl *Implementation) Dsyrk(ul blas.Uplo, tA blas.Transpose, n, k int, alpha float64, a []float64, lda int, beta float64, c []float64, ldc int) {
	checkUplo(ul)
	checkTranspose(tA)
	checkSize(n, nLT0)
	checkSize(k, kLT0)
	rows, cols := n, k
	if tA != blas.NoTrans {
		rows, cols = k, n
	}
	checkLd(lda, cols, badLdA)
	checkLd(ldc, n, badLdC)
	if n == 0 {
		return
	}
	checkLen(a, rows, cols, lda, shortA)
	checkLen(c, n, n, ldc, shortC)

	out := upper
	if ul == blas.Lower {
		out = lower
	}
	if alpha == 0 || k == 0 {
		scale(out, n, n, beta, c, ldc)
		return
	}
	v := op(a, lda, tA != blas.NoTrans)
	j := impl.e.begin(float64(n) * float64(n) * float64(k) / 2)
	j.addProduct(product{a: v, b: v, c: c, ldc: ldc, m: n, n: n, k: k, alpha: alpha, beta: beta, out: out})
	impl.e.finish(j)
}

// Dsymm performs one of
//
//	C = alpha·A·B + beta·C  if side is Left
//	C = alpha·B·A + beta·C  if side is Right
//
// where A is symmetric, of order m or n, with one triangle stored, and B and C
// are m×n.
func (impl *Implementation) Dsymm(side blas.Side, ul blas.Uplo, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	checkSide(side)
	checkUplo(ul)
	checkSize(m, mLT0)
	checkSize(n, nLT0)
	order := n
	if side == blas.Left {
		order = m
	}
	checkLd(lda, order, badLdA)
	checkLd(ldb, n, badLdB)
	checkLd(ldc, n, badLdC)
	if m == 0 || n == 0 {
		return
	}
	checkLen(a, order, order, lda, shortA)
	checkLen(b, m, n, ldb, shortB)
	checkLen(c, m, n, ldc, shortC)
	if alpha == 0 {
		scale(dense, m, n, beta, c, ldc)
		return
	}
	v := rowMajor(a, lda)
	v.shape = symUpper
	if ul == blas.Lower {
		v.shape = symLower
	}
	pr := product{m: m, n: n, k: order, alpha: alpha, beta: beta, c: c, ldc: ldc}
	if side == blas.Left {
		pr.a, pr.b = v, rowMajor(b, ldb).t()
	} else {
		pr.a, pr.b = rowMajor(b, ldb), v
	}
	j := impl.e.begin(float64(m) * float64(n) * float64(order))
	j.addProduct(pr)
	impl.e.finish(j)
}
