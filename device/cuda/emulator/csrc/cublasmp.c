/* A stand-in for cuBLASMp: triangular solves, products and sums of float64 matrices that
 * are divided over ranks, which have square blocks. GPFIT_EMU_OLD_MP=1 makes it report an
 * older version. */
#include "scalapack.h"

enum { ALLOC_FAILED = 2, INVALID = 3, EXECUTION_FAILED = 5, INTERNAL_ERROR = 6, VERSION = 1000, OLD_VERSION = 701, COMPUTE64 = 70 };

#define ENTER do { int e_ = fault(__func__, ALLOC_FAILED, EXECUTION_FAILED); if (e_) return e_ == SILENT ? 0 : e_; } while (0)
#define REQUIRE(ok) do { if (!(ok)) return INVALID; } while (0)

API int cublasMpGetVersion(int *version) {
	ENTER;
	REQUIRE(version);
	const char *old = getenv("GPFIT_EMU_OLD_MP");
	return *version = old && atoi(old) ? OLD_VERSION : VERSION, 0;
}

API int cublasMpCreate(struct handle **p, void *stream) {
	ENTER;
	REQUIRE(p && emu_device() >= 0);
	struct handle *h = emu_object(HANDLE, sizeof *h);
	h->device = emu_device(), h->stream = stream;
	return *p = h, 0;
}

API int cublasMpDestroy(struct handle *h) {
	ENTER;
	REQUIRE(is(h, HANDLE));
	h->magic = 0;
	free(h);
	return 0;
}

API int cublasMpGridCreate(L rows, L cols, int by_rows, struct comm *comm, struct grid **grid) {
	ENTER;
	REQUIRE(grid && (by_rows == 0 || by_rows == 1));
	int missing = 0;
	*grid = emu_grid(comm, rows, cols, by_rows, &missing);
	return *grid ? 0 : missing ? INTERNAL_ERROR : INVALID;
}

API int cublasMpGridDestroy(struct grid *grid) {
	ENTER;
	REQUIRE(emu_grid_free(grid));
	return 0;
}

API int cublasMpMatrixDescriptorCreate(L m, L n, L mb, L nb, L rsrc, L csrc, L lld, int type, struct grid *grid, struct descriptor **d) {
	ENTER;
	REQUIRE(d);
	*d = emu_descriptor(grid, type, m, n, mb, nb, rsrc, csrc, lld);
	REQUIRE(*d);
	return 0;
}

API int cublasMpMatrixDescriptorDestroy(struct descriptor *d) {
	ENTER;
	REQUIRE(emu_descriptor_free(d));
	return 0;
}

/* Make the arguments of ScaLAPACK, which are addresses of 32-bit numbers. */
#define AT(p) r->p.local, (int32_t[]){(int32_t)r->p.i}, (int32_t[]){(int32_t)r->p.j}
#define NUMBER(n) (int32_t[]){(int32_t)r->n}

static void trsm(const struct routine *r, const int32_t *da, const int32_t *db, const int32_t *dc) {
	(void)db;
	emu_scalapack("pdtrsm_")(&r->side, &r->uplo, &r->ta, &r->diag, NUMBER(m), NUMBER(n), &r->alpha, AT(a), da, AT(c), dc,
	                         (size_t)1, (size_t)1, (size_t)1, (size_t)1);
}

static void syrk(const struct routine *r, const int32_t *da, const int32_t *db, const int32_t *dc) {
	(void)db;
	emu_scalapack("pdsyrk_")(&r->uplo, &r->ta, NUMBER(n), NUMBER(k), &r->alpha, AT(a), da, &r->beta, AT(c), dc, (size_t)1, (size_t)1);
}

static void gemm(const struct routine *r, const int32_t *da, const int32_t *db, const int32_t *dc) {
	emu_scalapack("pdgemm_")(&r->ta, &r->tb, NUMBER(m), NUMBER(n), NUMBER(k), &r->alpha, AT(a), da, AT(b), db, &r->beta, AT(c), dc, (size_t)1,
	                         (size_t)1);
}

static void geadd(const struct routine *r, const int32_t *da, const int32_t *db, const int32_t *dc) {
	(void)db;
	emu_scalapack("pdgeadd_")(&r->ta, NUMBER(m), NUMBER(n), &r->alpha, AT(a), da, &r->beta, AT(c), dc, (size_t)1);
}

/* Each routine has a function that makes it from the arguments of a call, without the
 * workspaces, and returns whether they are valid. */

static int valid(const struct handle *h) { return is(h, HANDLE) && h->device == emu_device(); }
static int transposition(int op) { return op >= 0 && op <= 2; } /* 2 is the adjoint, which is the transpose */
static char letter(int op) { return op ? 'T' : 'N'; }
static struct part part(const double *p, L i, L j, L m, L n, const struct descriptor *d) { return (struct part){(double *)p, i, j, m, n, d}; }
static struct part operand(const double *p, L i, L j, int op, L m, L n, const struct descriptor *d) {
	return op ? part(p, i, j, n, m, d) : part(p, i, j, m, n, d);
}

static int sizes(const struct routine *r, size_t *device, size_t *host) {
	REQUIRE(device && host);
	emu_sizes(r, device, host);
	return 0;
}

static int run(struct routine *r, const double *alpha, const double *beta, void *device, size_t ndevice, void *host, size_t nhost) {
	REQUIRE(alpha && beta);
	r->alpha = *alpha, r->beta = *beta;
	r->device = device, r->ndevice = ndevice, r->host = host, r->nhost = nhost;
	int in_place = r->compute == geadd && r->ta == 'N' && r->a.i == r->c.i && r->a.j == r->c.j;
	REQUIRE(emu_memory(r) && (in_place || !emu_overlap(&r->a, &r->c)) && !(r->b.d && emu_overlap(&r->b, &r->c)));
	emu_run(*r);
	return 0;
}

static int solve(struct routine *r, struct handle *h, int side, int uplo, int op, int diag, L m, L n, const double *a, L ia, L ja,
                 struct descriptor *da, double *b, L ib, L jb, struct descriptor *db, int type) {
	L k = side == LEFT ? m : n;
	*r = (struct routine){.entry = "cublasMpTrsm", .name = "ptrsm", .h = h, .compute = trsm, .side = side == LEFT ? 'L' : 'R',
	                      .uplo = uplo == LOWER ? 'L' : 'U', .ta = letter(op), .diag = diag == NONUNIT ? 'N' : 'U', .part = WHOLE, .m = m, .n = n, .k = k,
	                      .a = part(a, ia, ja, k, k, da), .c = part(b, ib, jb, m, n, db)};
	return valid(h) && (side == LEFT || side == RIGHT) && (uplo == LOWER || uplo == UPPER) && transposition(op) && (diag == 0 || diag == 1) &&
	       type == COMPUTE64 && emu_part(&r->a, 0) && emu_part(&r->c, 0) && emu_compatible(&r->a, &r->c) && da->mb == db->mb;
}

API int cublasMpTrsm_bufferSize(struct handle *h, int side, int uplo, int op, int diag, L m, L n, const double *alpha, const double *a, L ia, L ja,
                                struct descriptor *da, double *b, L ib, L jb, struct descriptor *db, int type, size_t *device, size_t *host) {
	ENTER;
	struct routine r;
	(void)alpha;
	REQUIRE(solve(&r, h, side, uplo, op, diag, m, n, a, ia, ja, da, b, ib, jb, db, type));
	return sizes(&r, device, host);
}

API int cublasMpTrsm(struct handle *h, int side, int uplo, int op, int diag, L m, L n, const double *alpha, const double *a, L ia, L ja,
                     struct descriptor *da, double *b, L ib, L jb, struct descriptor *db, int type, void *device, size_t ndevice, void *host,
                     size_t nhost) {
	ENTER;
	struct routine r;
	const double one = 1;
	REQUIRE(solve(&r, h, side, uplo, op, diag, m, n, a, ia, ja, da, b, ib, jb, db, type));
	return run(&r, alpha, &one, device, ndevice, host, nhost);
}

static int square(struct routine *r, struct handle *h, int uplo, int op, L n, L k, const double *alpha, const double *a, L ia, L ja,
                  struct descriptor *da, const double *beta, double *c, L ic, L jc, struct descriptor *dc, int type) {
	*r = (struct routine){.entry = "cublasMpSyrk", .name = "psyrk", .h = h, .compute = syrk, .uplo = uplo == LOWER ? 'L' : 'U', .ta = letter(op),
	                      .part = uplo, .m = n, .n = n, .k = k, .a = operand(a, ia, ja, op, n, k, da), .c = part(c, ic, jc, n, n, dc)};
	return valid(h) && (uplo == LOWER || uplo == UPPER) && (op == NOTRANS || op == TRANS) && alpha && beta && type == COMPUTE64 &&
	       emu_part(&r->a, 1) && emu_part(&r->c, 1) && emu_compatible(&r->a, &r->c) && da->mb == dc->mb;
}

API int cublasMpSyrk_bufferSize(struct handle *h, int uplo, int op, L n, L k, const double *alpha, const double *a, L ia, L ja,
                                struct descriptor *da, const double *beta, double *c, L ic, L jc, struct descriptor *dc, int type, size_t *device,
                                size_t *host) {
	ENTER;
	struct routine r;
	REQUIRE(square(&r, h, uplo, op, n, k, alpha, a, ia, ja, da, beta, c, ic, jc, dc, type));
	return sizes(&r, device, host);
}

API int cublasMpSyrk(struct handle *h, int uplo, int op, L n, L k, const double *alpha, const double *a, L ia, L ja, struct descriptor *da,
                     const double *beta, double *c, L ic, L jc, struct descriptor *dc, int type, void *device, size_t ndevice, void *host,
                     size_t nhost) {
	ENTER;
	struct routine r;
	REQUIRE(square(&r, h, uplo, op, n, k, alpha, a, ia, ja, da, beta, c, ic, jc, dc, type));
	return run(&r, alpha, beta, device, ndevice, host, nhost);
}

static int product(struct routine *r, struct handle *h, int ta, int tb, L m, L n, L k, const double *alpha, const double *a, L ia, L ja,
                   struct descriptor *da, const double *b, L ib, L jb, struct descriptor *db, const double *beta, double *c, L ic, L jc,
                   struct descriptor *dc, int type) {
	*r = (struct routine){.entry = "cublasMpGemm", .name = "pgemm", .h = h, .compute = gemm, .ta = letter(ta), .tb = letter(tb), .part = WHOLE,
	                      .m = m, .n = n, .k = k, .a = operand(a, ia, ja, ta, m, k, da), .b = operand(b, ib, jb, tb, k, n, db),
	                      .c = part(c, ic, jc, m, n, dc)};
	return valid(h) && transposition(ta) && transposition(tb) && alpha && beta && type == COMPUTE64 && emu_part(&r->a, 1) && emu_part(&r->b, 1) &&
	       emu_part(&r->c, 1) && emu_compatible(&r->a, &r->c) && emu_compatible(&r->b, &r->c) && da->mb == dc->mb && db->mb == dc->mb;
}

API int cublasMpGemm_bufferSize(struct handle *h, int ta, int tb, L m, L n, L k, const double *alpha, const double *a, L ia, L ja,
                                struct descriptor *da, const double *b, L ib, L jb, struct descriptor *db, const double *beta, double *c, L ic, L jc,
                                struct descriptor *dc, int type, size_t *device, size_t *host) {
	ENTER;
	struct routine r;
	REQUIRE(product(&r, h, ta, tb, m, n, k, alpha, a, ia, ja, da, b, ib, jb, db, beta, c, ic, jc, dc, type));
	return sizes(&r, device, host);
}

API int cublasMpGemm(struct handle *h, int ta, int tb, L m, L n, L k, const double *alpha, const double *a, L ia, L ja, struct descriptor *da,
                     const double *b, L ib, L jb, struct descriptor *db, const double *beta, double *c, L ic, L jc, struct descriptor *dc, int type,
                     void *device, size_t ndevice, void *host, size_t nhost) {
	ENTER;
	struct routine r;
	REQUIRE(product(&r, h, ta, tb, m, n, k, alpha, a, ia, ja, da, b, ib, jb, db, beta, c, ic, jc, dc, type));
	return run(&r, alpha, beta, device, ndevice, host, nhost);
}

static int sum(struct routine *r, struct handle *h, int op, L m, L n, const double *alpha, const double *a, L ia, L ja, struct descriptor *da,
               const double *beta, double *c, L ic, L jc, struct descriptor *dc) {
	*r = (struct routine){.entry = "cublasMpGeadd", .name = "pgeadd", .h = h, .compute = geadd, .ta = letter(op), .part = WHOLE, .m = m, .n = n,
	                      .a = operand(a, ia, ja, op, m, n, da), .c = part(c, ic, jc, m, n, dc)};
	return valid(h) && transposition(op) && alpha && beta && emu_part(&r->a, 1) && emu_part(&r->c, 1) && da->grid == dc->grid && da->mb == dc->mb;
}

API int cublasMpGeadd_bufferSize(struct handle *h, int op, L m, L n, const double *alpha, const double *a, L ia, L ja, struct descriptor *da,
                                 const double *beta, double *c, L ic, L jc, struct descriptor *dc, size_t *device, size_t *host) {
	ENTER;
	struct routine r;
	REQUIRE(sum(&r, h, op, m, n, alpha, a, ia, ja, da, beta, c, ic, jc, dc));
	return sizes(&r, device, host);
}

API int cublasMpGeadd(struct handle *h, int op, L m, L n, const double *alpha, const double *a, L ia, L ja, struct descriptor *da,
                      const double *beta, double *c, L ic, L jc, struct descriptor *dc, void *device, size_t ndevice, void *host, size_t nhost) {
	ENTER;
	struct routine r;
	REQUIRE(sum(&r, h, op, m, n, alpha, a, ia, ja, da, beta, c, ic, jc, dc));
	return run(&r, alpha, beta, device, ndevice, host, nhost);
}
