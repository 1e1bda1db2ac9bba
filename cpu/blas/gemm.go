package blas

import (
	"runtime"

	"gonum.org/v1/gonum/blas"
)

// Dgemm performs
//
//	C = alpha·op(A)·op(B) + beta·C
//
// where op(A) is m×k, op(B) k×n and C m×n, and op is the transpose or the identity.
func (impl *Implementation) Dgemm(tA, tB blas.Transpose, m, n, k int, alpha float64, a []float64, lda int, b []float64, ldb int, beta float64, c []float64, ldc int) {
	checkTranspose(tA)
	checkTranspose(tB)
	checkSize(m, mLT0)
	checkSize(n, nLT0)
	checkSize(k, kLT0)
	aTrans, bTrans := tA != blas.NoTrans, tB != blas.NoTrans
	arows, acols, brows, bcols := m, k, k, n
	if aTrans {
		arows, acols = k, m
	}
	if bTrans {
		brows, bcols = n, k
	}
	checkLd(lda, acols, badLdA)
	checkLd(ldb, bcols, badLdB)
	checkLd(ldc, n, badLdC)
	if m == 0 || n == 0 {
		return
	}
	checkLen(a, arows, acols, lda, shortA)
	checkLen(b, brows, bcols, ldb, shortB)
	checkLen(c, m, n, ldc, shortC)
	if alpha == 0 || k == 0 {
		scale(dense, m, n, beta, c, ldc)
		return
	}
	pr := product{
		a: op(a, lda, aTrans), b: op(b, ldb, !bTrans), c: c, ldc: ldc,
		m: m, n: n, k: k, alpha: alpha, beta: beta,
	}
	work := float64(m) * float64(n) * float64(k)
	if work <= smallWork {
		impl.e.small(&pr)
		return
	}
	j := impl.e.begin(work)
	j.addProduct(pr)
	impl.e.finish(j)
}

const (
	// smallWork is the number of multiply-adds up to which a product needs no
	// program and reads B in place.
	smallWork = 64 * 64 * 64
	// threadWork is the number of multiply-adds that justify another thread: about
	// 5 µs of an AVX-512 core.
	threadWork = 5e5
)

// begin returns a job for a call with the given number of multiply-adds. The caller
// must call finish.
func (e *engine) begin(work float64) *job {
	threads := 1
	if work >= 2*threadWork {
		threads = min(e.pool.team.Size(), runtime.GOMAXPROCS(0), int(min(work/threadWork, 1<<20)))
	}
	j := e.pool.acquire(threads)
	j.e = e
	return j
}

func (e *engine) finish(j *job) (minor int) { return e.pool.run(j) }

// small computes a small dense product on this goroutine.
func (e *engine) small(pr *product) {
	j := e.pool.acquire(1)
	kc := e.kblock(pr.k, e.lanes)
	j.a[0].get(roundUp(pr.m, e.mr) * kc)
	j.b[0].get(roundUp(pr.n, e.nr) * kc)
	beta := pr.beta
	for p0 := 0; p0 < pr.k; p0 += kc {
		e.smallBlock(pr, p0, min(kc, pr.k-p0), beta, j.a[0].mem, j.b[0].mem)
		beta = 1
	}
	e.pool.release(j)
}

// smallBlock adds the product of kc columns of A and kc rows of B, starting at p0.
func (e *engine) smallBlock(pr *product, p0, kc int, beta float64, abuf, bbuf []float64) {
	for i := 0; i < pr.m; i += e.mr {
		e.packDense(abuf[i*kc:], e.mr, &pr.a, i, min(e.mr, pr.m-i), p0, kc)
	}
	for col := 0; col < pr.n; col += e.nr {
		cols := min(e.nr, pr.n-col)
		nv := e.vectors(cols)
		bs := nv * e.lanes
		b := bbuf
		if pr.b.rs == 1 && cols == bs {
			b, bs = pr.b.p[p0*pr.b.cs+col:], pr.b.cs
		} else {
			e.packDense(b, bs, &pr.b, col, cols, p0, kc)
		}
		var mask tileMask
		mask.set(e.lanes, e.mr, cols, dense, 0)
		for i := 0; i < pr.m; i += e.mr {
			if i+e.mr > pr.m {
				clear(mask[3*(pr.m-i):])
			}
			e.edge(nv, kc, &abuf[i*kc], &b[0], bs, &pr.c[i*pr.ldc+col], pr.ldc, pr.alpha, beta, &mask)
		}
	}
}
