/* A stand-in for cuBLAS. It has the 64-bit entry points that gpfit uses, with the
 * triangles and sides that it uses, in host pointer mode. It reports version MAJOR.
 * The CUDA 13 version emulates products of float64 numbers in fixed point if its math
 * mode or the environment requests it. */
#include "standin.h"

enum { ALLOC_FAILED = 3, INVALID = 7, EXECUTION_FAILED = 13, DEFAULT_MATH = 0, PEDANTIC_MATH = 2, EMULATED_MATH = 8 };

struct handle {
	void *stream;
	int math, strategy;
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

API int cublasSetMathMode(struct handle *h, int mode) {
	ENTER;
	REQUIRE(mode == DEFAULT_MATH || mode == PEDANTIC_MATH || (MAJOR >= 13 && mode == EMULATED_MATH));
	return h->math = mode, 0;
}

API int cublasGetMathMode(struct handle *h, int *mode) {
	ENTER;
	return *mode = h->math, 0;
}

#if MAJOR >= 13
API int cublasSetEmulationStrategy(struct handle *h, int strategy) {
	ENTER;
	REQUIRE(strategy >= 0 && strategy <= 2);
	return h->strategy = strategy, 0;
}

API int cublasGetEmulationStrategy(struct handle *h, int *strategy) {
	ENTER;
	return *strategy = h->strategy, 0;
}
#endif

/* Returns the bits of a product's operands: 0 for all, else those that fixed point
 * keeps. */
static int mantissa(const struct handle *h) {
	const char *asked = getenv("CUBLAS_EMULATE_DOUBLE_PRECISION"), *bits = getenv("CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT");
	if (MAJOR < 13 || (h->math != EMULATED_MATH && !(h->math == DEFAULT_MATH && asked && atoi(asked) == 1)))
		return 0;
	return bits && atoi(bits) > 0 ? atoi(bits) : 55;
}

API int cublasGetProperty(int which, int *v) { return *v = which == 0 ? MAJOR : 0, 0; }

static void gemm(int bits, int ta, int tb, L m, L n, L k, double alpha, const double *a, L lda, const double *b, L ldb,
                 double beta, double *c, L ldc) {
	if (bits)
		emu_gemm_fixed(bits, ta != 0, tb != 0, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
	else
		emu_gemm(ta != 0, tb != 0, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

API int cublasDgemm_v2_64(struct handle *h, int ta, int tb, L m, L n, L k, const double *alpha, const double *a, L lda,
                          const double *b, L ldb, const double *beta, double *c, L ldc) {
	ENTER;
	REQUIRE(matrix(a, ta ? k : m, ta ? m : k, lda) && matrix(b, tb ? n : k, tb ? k : n, ldb) && matrix(c, m, n, ldc));
	note((struct call){"gemm", {m, n, k}, {a, b, c}, {lda, ldb, ldc}});
	struct spoiled s = spoil(__func__, largest(m, n, k), WHOLE, m, n, *beta, c, ldc);
	gemm(mantissa(h), ta, tb, m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc);
	finish(&s);
	return 0;
}

API int cublasDsymm_v2_64(struct handle *h, int side, int uplo, L m, L n, const double *alpha, const double *a, L lda,
                          const double *b, L ldb, const double *beta, double *c, L ldc) {
	ENTER;
	REQUIRE(side == LEFT && uplo == UPPER && *alpha == 1 && *beta == 0);
	REQUIRE(matrix(a, m, m, lda) && matrix(b, m, n, ldb) && matrix(c, m, n, ldc));
	note((struct call){"symm", {m, n, m}, {a, b, c}, {lda, ldb, ldc}});
	struct spoiled s = spoil(__func__, largest(m, n, 0), WHOLE, m, n, 0, c, ldc);
	emu_symm(m, n, a, lda, b, ldb, c, ldc);
	finish(&s);
	return 0;
}

API int cublasDtrsm_v2_64(struct handle *h, int side, int uplo, int trans, int diag, L m, L n, const double *alpha,
                          const double *a, L lda, double *b, L ldb) {
	ENTER;
	L k = side == LEFT ? m : n;
	REQUIRE(uplo == LOWER && diag == NONUNIT && matrix(a, k, k, lda) && matrix(b, m, n, ldb));
	note((struct call){"trsm", {m, n, k}, {a, b, b}, {lda, ldb, ldb}});
	struct spoiled s = spoil(__func__, largest(m, n, 0), WHOLE, m, n, 1, b, ldb);
	emu_trsm(side, LOWER, trans != 0, m, n, *alpha, a, lda, b, ldb);
	finish(&s);
	return 0;
}

API int cublasDgemmStridedBatched_64(struct handle *h, int ta, int tb, L m, L n, L k, const double *alpha, const double *a,
                                     L lda, long long sa, const double *b, L ldb, long long sb, const double *beta,
                                     double *c, L ldc, long long sc, L count) {
	ENTER;
	int bits = mantissa(h);
	for (L i = 0; i < count; i++, a += sa, b += sb, c += sc) {
		REQUIRE(matrix(a, ta ? k : m, ta ? m : k, lda) && matrix(b, tb ? n : k, tb ? k : n, ldb) && matrix(c, m, n, ldc));
		note((struct call){"gemmbatched", {m, n, k}, {a, b, c}, {lda, ldb, ldc}});
		struct spoiled s = spoil(__func__, largest(m, n, k), WHOLE, m, n, *beta, c, ldc);
		gemm(bits, ta, tb, m, n, k, *alpha, a, lda, b, ldb, *beta, c, ldc);
		finish(&s);
	}
	return 0;
}
