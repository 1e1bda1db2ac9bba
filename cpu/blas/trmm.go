package blas

import "gonum.org/v1/gonum/blas"

// Dtrmm performs one of
//
//	B = alpha·op(A)·B  if side is Left
//	B = alpha·B·op(A)  if side is Right
//
// where A is triangular, of order m or n, and B is m×n.
func (impl *Implementation) Dtrmm(side blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, alpha float64, a []float64, lda int, b []float64, ldb int) {
	order := checkTriangular(side, ul, tA, d, m, n, a, lda, b, ldb)
	if m == 0 || n == 0 {
		return
	}
	if alpha == 0 {
		scale(dense, m, n, 0, b, ldb)
		return
	}
	left := side == blas.Left
	pr := product{m: m, n: n, k: order, alpha: alpha, c: b, ldc: ldb}
	t := triangle(ul, tA, d, a, lda, left)
	if left {
		pr.a, pr.b, pr.over = t, rowMajor(b, ldb).t(), overRows
	} else {
		pr.a, pr.b, pr.over = rowMajor(b, ldb), t, overCols
	}
	j := impl.e.begin(float64(m) * float64(n) * float64(order))
	j.addProduct(pr)
	impl.e.finish(j)
}
