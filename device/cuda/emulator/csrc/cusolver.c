/* A stand-in for cuSOLVER: dense Cholesky factorization and triangular inverse,
 * 64-bit. It reports version MAJOR. */
#include "standin.h"

enum { ALLOC_FAILED = 2, INVALID = 3, EXECUTION_FAILED = 6, REAL64 = 1, WORK_BYTES = 4096, HOST_BYTES = 64 };

enum { DEFAULT_MATH = 1, EMULATED_MATH = 4 };

struct handle {
	void *stream;
	int math;
};

#define ENTER do { int e_ = fault(__func__, ALLOC_FAILED, EXECUTION_FAILED); if (e_) return e_ == SILENT ? 0 : e_; } while (0)
#define REQUIRE(ok) do { if (!(ok)) return INVALID; } while (0)

API int cusolverDnCreate(struct handle **p) {
	ENTER;
	*p = calloc(1, sizeof **p);
	return (*p)->math = DEFAULT_MATH, 0;
}

API int cusolverDnDestroy(struct handle *h) {
	ENTER;
	free(h);
	return 0;
}

API int cusolverDnSetStream(struct handle *h, void *s) {
	ENTER;
	return h->stream = s, 0;
}

API int cusolverDnCreateParams(void **p) {
	ENTER;
	return *p = calloc(1, 16), 0;
}

API int cusolverDnDestroyParams(void *p) {
	ENTER;
	free(p);
	return 0;
}

API int cusolverGetProperty(int which, int *v) { return *v = which == 0 ? MAJOR : 0, 0; }

API int cusolverDnSetDeterministicMode(struct handle *h, int mode) {
	ENTER;
	REQUIRE(h && (mode == 1 || mode == 2));
	return 0;
}

#if MAJOR >= 12 /* the version of CUDA 13 */
API int cusolverDnSetMathMode(struct handle *h, int mode) {
	ENTER;
	REQUIRE(h && (mode == DEFAULT_MATH || mode == EMULATED_MATH));
	return h->math = mode, 0;
}

API int cusolverDnGetMathMode(struct handle *h, int *mode) {
	ENTER;
	return *mode = h->math, 0;
}
#endif

API int cusolverDnXpotrf_bufferSize(struct handle *h, void *params, int uplo, L n, int type, const void *a, L lda,
                                    int compute, size_t *device, size_t *host) {
	ENTER;
	REQUIRE(h && params && type == REAL64 && compute == REAL64 && uplo == LOWER && matrix(a, n, n, lda));
	*device = WORK_BYTES;
	return *host = HOST_BYTES, 0;
}

struct factor {
	const char *entry;
	L n, lda;
	double *a;
	long number, *work;
	int *info;
};

static void begin(void *arg) {
	struct factor *f = arg;
	*f->work = f->number;
}

static void factor(void *arg) {
	struct factor *f = arg;
	if (*f->work != f->number)
		misused("two factorizations use one workspace at the same time");
	struct spoiled s = spoil(f->entry, f->n, LOWER, f->n, f->n, 1, f->a, f->lda);
	*f->info = (int)emu_potrf(f->n, f->a, f->lda);
	finish(&s);
}

API int cusolverDnXpotrf(struct handle *h, void *params, int uplo, L n, int type, void *a, L lda, int compute,
                         void *device, size_t ndevice, void *host, size_t nhost, int *info) {
	ENTER;
	REQUIRE(h && params && type == REAL64 && compute == REAL64 && uplo == LOWER && matrix(a, n, n, lda));
	REQUIRE(ndevice >= WORK_BYTES && in_range(device, ndevice) && host && nhost >= HOST_BYTES && in_range(info, sizeof *info));
	note((struct call){"potrf", {n, n, n}, {a, a, a}, {lda, lda, lda}, h->stream});
	static long number;
	struct factor f = {__func__, n, lda, a, __atomic_add_fetch(&number, 1, __ATOMIC_RELAXED), device, info};
	later(h->stream, begin, &f, sizeof f);
	later(h->stream, factor, &f, sizeof f);
	return 0;
}
