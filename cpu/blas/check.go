package blas

import "gonum.org/v1/gonum/blas"

// The panic messages of gonum's BLAS, copied from blas/gonum/errors.go, which does
// not export them.
const (
	mLT0 = "blas: m < 0"
	nLT0 = "blas: n < 0"
	kLT0 = "blas: k < 0"

	badUplo      = "blas: illegal triangle"
	badTranspose = "blas: illegal transpose"
	badDiag      = "blas: illegal diagonal"
	badSide      = "blas: illegal side"

	badLdA = "blas: bad leading dimension of A"
	badLdB = "blas: bad leading dimension of B"
	badLdC = "blas: bad leading dimension of C"

	shortA = "blas: insufficient length of a"
	shortB = "blas: insufficient length of b"
	shortC = "blas: insufficient length of c"
)

func checkUplo(ul blas.Uplo) {
	if ul != blas.Lower && ul != blas.Upper {
		panic(badUplo)
	}
}

func checkTranspose(t blas.Transpose) {
	if t != blas.NoTrans && t != blas.Trans && t != blas.ConjTrans {
		panic(badTranspose)
	}
}

func checkSide(s blas.Side) {
	if s != blas.Left && s != blas.Right {
		panic(badSide)
	}
}

func checkSize(n int, message string) {
	if n < 0 {
		panic(message)
	}
}

func checkLd(ld, cols int, message string) {
	if ld < max(1, cols) {
		panic(message)
	}
}

func checkLen(s []float64, rows, cols, ld int, message string) {
	if len(s) < ld*(rows-1)+cols {
		panic(message)
	}
}

// checkTriangular checks the arguments of Dtrmm and Dtrsm in gonum's order and
// returns the order of A.
func checkTriangular(side blas.Side, ul blas.Uplo, tA blas.Transpose, d blas.Diag, m, n int, a []float64, lda int, b []float64, ldb int) int {
	checkSide(side)
	checkUplo(ul)
	checkTranspose(tA)
	if d != blas.NonUnit && d != blas.Unit {
		panic(badDiag)
	}
	checkSize(m, mLT0)
	checkSize(n, nLT0)
	order := n
	if side == blas.Left {
		order = m
	}
	checkLd(lda, order, badLdA)
	checkLd(ldb, n, badLdB)
	if m == 0 || n == 0 {
		return order
	}
	checkLen(a, order, order, lda, shortA)
	checkLen(b, m, n, ldb, shortB)
	return order
}

// scale multiplies C, or a triangle of it, by beta. It does not read C if beta
// is 0.
func scale(out shape, m, n int, beta float64, c []float64, ldc int) {
	if beta == 1 {
		return
	}
	for i := range m {
		lo, hi := 0, n
		switch out {
		case lower:
			hi = i + 1
		case upper:
			lo = i
		}
		row := c[i*ldc+lo : i*ldc+hi]
		if beta == 0 {
			clear(row)
			continue
		}
		for x := range row {
			row[x] *= beta
		}
	}
}
