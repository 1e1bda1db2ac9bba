/* Stand-in for cuBLAS: the 64-bit entry points that gpfit uses, host pointer
 * mode. MAJOR is the version that it reports. */
#include "standin.h"

enum { ALLOC_FAILED = 3, INVALID = 7, EXECUTION_FAILED = 13 };

struct handle {
	void *stream, *workspace;
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

API int cublasSetWorkspace_v2(struct handle *h, void *p, size_t n) {
	ENTER;
	REQUIRE(!p || in_range(p, n));
	return h->workspace = p, 0;
}

API int cublasGetProperty(int which, int *v) { return *v = which == 0 ? MAJOR : 0, 0; }

API int cublasDgemm_v2_64(struct handle *h, int ta, int tb, L m, L n, L k, const double *alpha, const double *a, L lda,
                          const double *b, L ldb, const double *beta, double *c, L ldc) {
	ENTER;
	REQUIRE(matrix(a, ta ? k : m, ta ? m : k, lda) && matrix(b, tb ? n : k, tb ? k : n, ldb) && matrix(c, m, n, ldc));
	emu_gemm(ta != 0, tb != 0, m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc);
	return 0;
}

API int cublasDsyrk_v2_64(struct handle *h, int uplo, int trans, L n, L k, const double *alpha, const double *a, L lda,
                          const double *beta, double *c, L ldc) {
	ENTER;
	REQUIRE(matrix(a, trans ? k : n, trans ? n : k, lda) && matrix(c, n, n, ldc));
	emu_syrk(uplo, trans != 0, n, k, *alpha, a, lda, *beta, c, ldc);
	return 0;
}

API int cublasDsymm_v2_64(struct handle *h, int side, int uplo, L m, L n, const double *alpha, const double *a, L lda,
                          const double *b, L ldb, const double *beta, double *c, L ldc) {
	ENTER;
	L k = side == LEFT ? m : n;
	REQUIRE(matrix(a, k, k, lda) && matrix(b, m, n, ldb) && matrix(c, m, n, ldc));
	emu_symm(side, uplo, m, n, *alpha, a, lda, b, ldb, *beta, c, ldc);
	return 0;
}

API int cublasDtrsm_v2_64(struct handle *h, int side, int uplo, int trans, int diag, L m, L n, const double *alpha,
                          const double *a, L lda, double *b, L ldb) {
	ENTER;
	L k = side == LEFT ? m : n;
	REQUIRE(matrix(a, k, k, lda) && matrix(b, m, n, ldb));
	emu_trsm(side, uplo, trans != 0, diag, m, n, *alpha, a, lda, b, ldb);
	return 0;
}

API int cublasDtrmm_v2_64(struct handle *h, int side, int uplo, int trans, int diag, L m, L n, const double *alpha,
                          const double *a, L lda, const double *b, L ldb, double *c, L ldc) {
	ENTER;
	L k = side == LEFT ? m : n;
	REQUIRE(matrix(a, k, k, lda) && matrix(b, m, n, ldb) && matrix(c, m, n, ldc));
	emu_trmm(side, uplo, trans != 0, diag, m, n, *alpha, a, lda, b, ldb, c, ldc);
	return 0;
}

API int cublasDgemv_v2_64(struct handle *h, int trans, L m, L n, const double *alpha, const double *a, L lda,
                          const double *x, L incx, const double *beta, double *y, L incy) {
	ENTER;
	L rows = trans ? n : m, cols = trans ? m : n;
	REQUIRE(matrix(a, m, n, lda) && vector(x, cols, incx) && vector(y, rows, incy));
	for (L i = 0; i < rows; i++) {
		double s = 0;
		for (L j = 0; j < cols; j++)
			s += (trans ? a[j + i * lda] : a[i + j * lda]) * x[j * incx];
		y[i * incy] = *alpha * s + (*beta == 0 ? 0 : *beta * y[i * incy]);
	}
	return 0;
}

API int cublasDsymv_v2_64(struct handle *h, int uplo, L n, const double *alpha, const double *a, L lda, const double *x,
                          L incx, const double *beta, double *y, L incy) {
	ENTER;
	REQUIRE(matrix(a, n, n, lda) && vector(x, n, incx) && vector(y, n, incy));
	for (L i = 0; i < n; i++) {
		double s = 0;
		for (L j = 0; j < n; j++)
			s += ((uplo == LOWER ? i >= j : i <= j) ? a[i + j * lda] : a[j + i * lda]) * x[j * incx];
		y[i * incy] = *alpha * s + (*beta == 0 ? 0 : *beta * y[i * incy]);
	}
	return 0;
}

API int cublasDtrsv_v2_64(struct handle *h, int uplo, int trans, int diag, L n, const double *a, L lda, double *x, L incx) {
	ENTER;
	REQUIRE(matrix(a, n, n, lda) && vector(x, n, incx) && incx == 1);
	emu_trsm(LEFT, uplo, trans != 0, diag, n, 1, 1, a, lda, x, n > 0 ? n : 1);
	return 0;
}

API int cublasDdot_v2_64(struct handle *h, L n, const double *x, L incx, const double *y, L incy, double *r) {
	ENTER;
	REQUIRE(vector(x, n, incx) && vector(y, n, incy));
	double s = 0;
	for (L i = 0; i < n; i++)
		s += x[i * incx] * y[i * incy];
	return *r = s, 0;
}

API int cublasDaxpy_v2_64(struct handle *h, L n, const double *alpha, const double *x, L incx, double *y, L incy) {
	ENTER;
	REQUIRE(vector(x, n, incx) && vector(y, n, incy));
	for (L i = 0; i < n; i++)
		y[i * incy] += *alpha * x[i * incx];
	return 0;
}

API int cublasDscal_v2_64(struct handle *h, L n, const double *alpha, double *x, L incx) {
	ENTER;
	REQUIRE(vector(x, n, incx));
	for (L i = 0; i < n; i++)
		x[i * incx] *= *alpha;
	return 0;
}
