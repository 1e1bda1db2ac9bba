/* A stand-in for cuSOLVERMp: the Cholesky factorization of a matrix that is divided over
 * ranks. The version for CUDA 13 has math modes. */
#include "scalapack.h"

enum { ALLOC_FAILED = 2, INVALID = 3, EXECUTION_FAILED = 6, INTERNAL_ERROR = 7, VERSION = 901 };

enum { DEFAULT_MATH = 1, EMULATED_MATH = 4 };

#define ENTER do { int e_ = fault(__func__, ALLOC_FAILED, EXECUTION_FAILED); if (e_) return e_ == SILENT ? 0 : e_; } while (0)
#define REQUIRE(ok) do { if (!(ok)) return INVALID; } while (0)

API int cusolverMpCreate(struct handle **p, int device, void *stream) {
	ENTER;
	REQUIRE(p && device >= 0 && device == emu_device());
	struct handle *h = emu_object(HANDLE, sizeof *h);
	h->device = device, h->stream = stream, h->math = DEFAULT_MATH;
	return *p = h, 0;
}

API int cusolverMpDestroy(struct handle *h) {
	ENTER;
	REQUIRE(is(h, HANDLE));
	h->magic = 0;
	free(h);
	return 0;
}

API int cusolverMpGetVersion(struct handle *h, int *version) {
	ENTER;
	REQUIRE(is(h, HANDLE) && version);
	return *version = VERSION, 0;
}

#if MAJOR >= 13
API int cusolverMpSetMathMode(struct handle *h, int mode) {
	ENTER;
	REQUIRE(is(h, HANDLE) && (mode == DEFAULT_MATH || mode == EMULATED_MATH));
	return h->math = mode, 0;
}

API int cusolverMpGetMathMode(struct handle *h, int *mode) {
	ENTER;
	REQUIRE(is(h, HANDLE) && mode);
	return *mode = h->math, 0;
}
#endif

API int cusolverMpCreateDeviceGrid(struct handle *h, struct grid **grid, struct comm *comm, int32_t rows, int32_t cols, int by_rows) {
	ENTER;
	REQUIRE(is(h, HANDLE) && grid && (by_rows == 0 || by_rows == 1));
	int missing = 0;
	*grid = emu_grid(comm, rows, cols, by_rows, &missing);
	return *grid ? 0 : missing ? INTERNAL_ERROR : INVALID;
}

API int cusolverMpDestroyGrid(struct grid *grid) {
	ENTER;
	REQUIRE(emu_grid_free(grid));
	return 0;
}

API int cusolverMpCreateMatrixDesc(struct descriptor **d, struct grid *grid, int type, L m, L n, L mb, L nb, uint32_t rsrc, uint32_t csrc, L lld) {
	ENTER;
	REQUIRE(d);
	*d = emu_descriptor(grid, type, m, n, mb, nb, rsrc, csrc, lld);
	REQUIRE(*d);
	return 0;
}

API int cusolverMpDestroyMatrixDesc(struct descriptor *d) {
	ENTER;
	REQUIRE(emu_descriptor_free(d));
	return 0;
}

static void potrf(const struct routine *r, const int32_t *da, const int32_t *db, const int32_t *dc) {
	(void)da, (void)db;
	const int32_t n = (int32_t)r->n, i = (int32_t)r->c.i, j = (int32_t)r->c.j;
	int32_t info = 0;
	emu_scalapack("pdpotrf_")(&r->uplo, &n, r->c.local, &i, &j, dc, &info, (size_t)1);
	if (info < 0)
		misused("ScaLAPACK refuses an argument of a factorization");
	*r->info = info;
}

/* Makes the routine of a factorization of the lower half. Returns whether it is valid. */
static int factorization(struct routine *r, struct handle *h, int uplo, L n, double *a, L i, L j, struct descriptor *d, int compute) {
	*r = (struct routine){.entry = "cusolverMpPotrf", .name = "ppotrf", .h = h, .compute = potrf, .uplo = 'L', .part = LOWER,
	                      .m = n, .n = n, .k = n, .beta = 1, .c = {a, i, j, n, n, d}};
	return is(h, HANDLE) && h->device == emu_device() && uplo == LOWER && compute == REAL64 && emu_part(&r->c, 1);
}

API int cusolverMpPotrf_bufferSize(struct handle *h, int uplo, L n, double *a, L i, L j, struct descriptor *d, int compute, size_t *device,
                                   size_t *host) {
	ENTER;
	struct routine r;
	REQUIRE(factorization(&r, h, uplo, n, a, i, j, d, compute) && device && host);
	emu_sizes(&r, device, host);
	return 0;
}

API int cusolverMpPotrf(struct handle *h, int uplo, L n, double *a, L i, L j, struct descriptor *d, int compute, void *device, size_t ndevice,
                        void *host, size_t nhost, int *info) {
	ENTER;
	struct routine r;
	REQUIRE(factorization(&r, h, uplo, n, a, i, j, d, compute) && info);
	r.device = device, r.ndevice = ndevice, r.host = host, r.nhost = nhost, r.info = info;
	REQUIRE(emu_memory(&r));
	emu_run(r);
	return 0;
}
