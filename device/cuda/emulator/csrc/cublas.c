/* A stand-in for cuBLAS. It has the 64-bit entry points that gpfit uses, with the
 * triangles and sides that it uses, in host pointer mode. It reports version MAJOR.
 * The CUDA 13 version emulates products of float64 numbers in fixed point if its math
 * mode or the environment requests it. */
#include "standin.h"

enum { ALLOC_FAILED = 3, INVALID = 7, EXECUTION_FAILED = 13, DEFAULT_MATH = 0, PEDANTIC_MATH = 2, EMULATED_MATH = 8 };

struct handle {
	void *stream;
	int math, strategy;
	long busy; /* the call that uses the workspace */
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

/* A routine with its arguments. Each routine uses those that it has. */
struct routine {
	struct handle *handle;
	long number;
	void (*compute)(const struct routine *);
	const char *entry;
	int bits, side, ta, tb;
	L m, n, k, lda, ldb, ldc, size;
	double alpha, beta;
	const double *a, *b;
	double *c;
};

static void begin(void *arg) {
	struct routine *r = arg;
	r->handle->busy = r->number;
}

static void compute(void *arg) {
	struct routine *r = arg;
	if (r->handle->busy != r->number)
		misused("two streams use the workspace of one cuBLAS handle at the same time");
	struct spoiled s = spoil(r->entry, r->size, WHOLE, r->m, r->n, r->beta, r->c, r->ldc);
	r->compute(r);
	finish(&s);
}

/* Queues a routine in two steps: it takes the workspace of the handle, and it computes. */
static void queue(struct routine r) {
	static long number;
	r.number = __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED);
	later(r.handle->stream, begin, &r, sizeof r);
	later(r.handle->stream, compute, &r, sizeof r);
}

static void gemm(const struct routine *r) {
	if (r->bits)
		emu_gemm_fixed(r->bits, r->ta, r->tb, r->m, r->n, r->k, r->alpha, r->a, r->lda, r->b, r->ldb, r->beta, r->c, r->ldc);
	else
		emu_gemm(r->ta, r->tb, r->m, r->n, r->k, r->alpha, r->a, r->lda, r->b, r->ldb, r->beta, r->c, r->ldc);
}

static void symm(const struct routine *r) { emu_symm(r->m, r->n, r->a, r->lda, r->b, r->ldb, r->c, r->ldc); }

static void trsm(const struct routine *r) { emu_trsm(r->side, LOWER, r->ta, r->m, r->n, r->alpha, r->a, r->lda, r->c, r->ldc); }

API int cublasDgemm_v2_64(struct handle *h, int ta, int tb, L m, L n, L k, const double *alpha, const double *a, L lda,
                          const double *b, L ldb, const double *beta, double *c, L ldc) {
	ENTER;
	REQUIRE(matrix(a, ta ? k : m, ta ? m : k, lda) && matrix(b, tb ? n : k, tb ? k : n, ldb) && matrix(c, m, n, ldc));
	note((struct call){"gemm", {m, n, k}, {a, b, c}, {lda, ldb, ldc}, h->stream});
	queue((struct routine){h, 0, gemm, __func__, mantissa(h), 0, ta != 0, tb != 0, m, n, k, lda, ldb, ldc, largest(m, n, k), *alpha, *beta, a, b, c});
	return 0;
}

API int cublasDsymm_v2_64(struct handle *h, int side, int uplo, L m, L n, const double *alpha, const double *a, L lda,
                          const double *b, L ldb, const double *beta, double *c, L ldc) {
	ENTER;
	REQUIRE(side == LEFT && uplo == UPPER && *alpha == 1 && *beta == 0);
	REQUIRE(matrix(a, m, m, lda) && matrix(b, m, n, ldb) && matrix(c, m, n, ldc));
	note((struct call){"symm", {m, n, m}, {a, b, c}, {lda, ldb, ldc}, h->stream});
	queue((struct routine){h, 0, symm, __func__, 0, side, 0, 0, m, n, m, lda, ldb, ldc, largest(m, n, 0), 1, 0, a, b, c});
	return 0;
}

API int cublasDtrsm_v2_64(struct handle *h, int side, int uplo, int trans, int diag, L m, L n, const double *alpha,
                          const double *a, L lda, double *b, L ldb) {
	ENTER;
	L k = side == LEFT ? m : n;
	REQUIRE(uplo == LOWER && diag == NONUNIT && matrix(a, k, k, lda) && matrix(b, m, n, ldb));
	note((struct call){"trsm", {m, n, k}, {a, b, b}, {lda, ldb, ldb}, h->stream});
	queue((struct routine){h, 0, trsm, __func__, 0, side, trans != 0, 0, m, n, k, lda, ldb, ldb, largest(m, n, 0), *alpha, 1, a, b, b});
	return 0;
}

API int cublasDgemmStridedBatched_64(struct handle *h, int ta, int tb, L m, L n, L k, const double *alpha, const double *a,
                                     L lda, long long sa, const double *b, L ldb, long long sb, const double *beta,
                                     double *c, L ldc, long long sc, L count) {
	ENTER;
	int bits = mantissa(h);
	for (L i = 0; i < count; i++, a += sa, b += sb, c += sc) {
		REQUIRE(matrix(a, ta ? k : m, ta ? m : k, lda) && matrix(b, tb ? n : k, tb ? k : n, ldb) && matrix(c, m, n, ldc));
		note((struct call){"gemmbatched", {m, n, k}, {a, b, c}, {lda, ldb, ldc}, h->stream});
		queue((struct routine){h, 0, gemm, __func__, bits, 0, ta != 0, tb != 0, m, n, k, lda, ldb, ldc, largest(m, n, k), *alpha, *beta, a, b, c});
	}
	return 0;
}
