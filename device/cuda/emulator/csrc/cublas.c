/* Stand-in for cuBLAS: the 64-bit entry points that gpfit uses, with the triangles
 * and sides that it uses, host pointer mode. MAJOR is the version that it reports. */
#include "standin.h"

enum { ALLOC_FAILED = 3, INVALID = 7, EXECUTION_FAILED = 13 };

struct handle {
	void *stream;
};

#define ENTER do { int e_ = fault(__func__, ALLOC_FAILED, EXECUTION_FAILED); if (e_) return e_ == SILENT ? 0 : e_; if (!h) return 1; } while (0)
#define REQUIRE(ok) do { if (!(ok)) return INVALID; } while (0)

API int cublasCreate_v2(struct handle **p) {
	struct handle *h = calloc(1, sizeof *h);
	ENTER;
	return *p = h, 0;
}

API int cublasDestroy_v2(struct handle *h) {
	ENTER;
	free(h);
	return 0;
}

API int cublasSetStream_v2(struct handle *h, void *s) {
	ENTER;
	return h->stream = s, 0;
}

API int cublasGetProperty(int which, int *v) { return *v = which == 0 ? MAJOR : 0, 0; }

API int cublasDgemm_v2_64(struct handle *h, int ta, int tb, L m, L n, L k, const double *alpha, const double *a, L lda,
                          const double *b, L ldb, const double *beta, double *c, L ldc) {
	ENTER;
	REQUIRE(matrix(a, ta ? k : m, ta ? m : k, lda) && matrix(b, tb ? n : k, tb ? k : n, ldb) && matrix(c, m, n, ldc));
	emu_gemm(ta != 0, tb != 0, m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc);
	return 0;
}

API int cublasDsymm_v2_64(struct handle *h, int side, int uplo, L m, L n, const double *alpha, const double *a, L lda,
                          const double *b, L ldb, const double *beta, double *c, L ldc) {
	ENTER;
	REQUIRE(side == LEFT && uplo == UPPER && *alpha == 1 && *beta == 0);
	REQUIRE(matrix(a, m, m, lda) && matrix(b, m, n, ldb) && matrix(c, m, n, ldc));
	emu_symm(m, n, a, lda, b, ldb, c, ldc);
	return 0;
}

API int cublasDtrsm_v2_64(struct handle *h, int side, int uplo, int trans, int diag, L m, L n, const double *alpha,
                          const double *a, L lda, double *b, L ldb) {
	ENTER;
	L k = side == LEFT ? m : n;
	REQUIRE(uplo == LOWER && diag == NONUNIT && matrix(a, k, k, lda) && matrix(b, m, n, ldb));
	emu_trsm(side, LOWER, trans != 0, m, n, *alpha, a, lda, b, ldb);
	return 0;
}

API int cublasDtrmm_v2_64(struct handle *h, int side, int uplo, int trans, int diag, L m, L n, const double *alpha,
                          const double *a, L lda, const double *b, L ldb, double *c, L ldc) {
	ENTER;
	L k = side == LEFT ? m : n;
	REQUIRE(uplo == UPPER && diag == NONUNIT && b == c && ldb == ldc && matrix(a, k, k, lda) && matrix(c, m, n, ldc));
	emu_trmm(side, trans != 0, m, n, *alpha, a, lda, c, ldc);
	return 0;
}
