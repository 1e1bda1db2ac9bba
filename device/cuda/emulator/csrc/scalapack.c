/* Grids, divided matrices and calls of ScaLAPACK: see scalapack.h. The libraries of MPI
 * and ScaLAPACK are found when the process runs. */
#include "scalapack.h"

#include <stdio.h>

void *emu_object(int magic, size_t size) {
	int *p = calloc(1, size);
	if (p)
		*p = magic;
	return p;
}

int emu_device(void) {
	static int (*f)(void);
	if (!f)
		f = (int (*)(void))emu_driver("gpfit_emu_device");
	return f ? f() : 0;
}

/* MPI, whose handles are addresses in Open MPI and numbers in what descends from MPICH. */
static struct {
	int open_mpi;
	uintptr_t world, byte, real, largest;
	int (*broadcast)(void *, int, uintptr_t, int, uintptr_t);
	int (*reduce)(const void *, void *, int, uintptr_t, uintptr_t, uintptr_t);
} mpi;

int emu_ranks(int *rank, int *size) {
	int (*initialized)(int *) = (int (*)(int *))dlsym(RTLD_DEFAULT, "MPI_Initialized"), yes = 0;
	if (!initialized || initialized(&yes) || !yes)
		return 0;
	mpi.world = (uintptr_t)dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
	mpi.open_mpi = mpi.world != 0;
	if (mpi.open_mpi) {
		mpi.byte = (uintptr_t)dlsym(RTLD_DEFAULT, "ompi_mpi_byte");
		mpi.real = (uintptr_t)dlsym(RTLD_DEFAULT, "ompi_mpi_double");
		mpi.largest = (uintptr_t)dlsym(RTLD_DEFAULT, "ompi_mpi_op_max");
	} else {
		mpi.world = 0x44000000, mpi.byte = 0x4c00010d, mpi.real = 0x4c00080b, mpi.largest = 0x58000001;
	}
	mpi.broadcast = (int (*)(void *, int, uintptr_t, int, uintptr_t))dlsym(RTLD_DEFAULT, "MPI_Bcast");
	mpi.reduce = (int (*)(const void *, void *, int, uintptr_t, uintptr_t, uintptr_t))dlsym(RTLD_DEFAULT, "MPI_Allreduce");
	int (*of)(uintptr_t, int *) = (int (*)(uintptr_t, int *))dlsym(RTLD_DEFAULT, "MPI_Comm_rank");
	int (*among)(uintptr_t, int *) = (int (*)(uintptr_t, int *))dlsym(RTLD_DEFAULT, "MPI_Comm_size");
	return mpi.broadcast && mpi.reduce && of && among && !of(mpi.world, rank) && !among(mpi.world, size);
}

/* Returns the largest of the numbers of all ranks. */
static double largest_of(double own) {
	double all = 0;
	mpi.reduce(&own, &all, 1, mpi.real, mpi.largest, mpi.world);
	return all;
}

int emu_any(int here) { return largest_of(here != 0) > 0; }

int emu_same(const void *bytes, size_t n) {
	void *first = memcpy(malloc(n), bytes, n);
	mpi.broadcast(first, (int)n, mpi.byte, 0, mpi.world);
	int differ = memcmp(first, bytes, n) != 0;
	free(first);
	return !emu_any(differ);
}

static void *scalapack;

/* Opens the library for the MPI of the process, once, and lets it use one thread. */
static int open_scalapack(void) {
	static const char *const names[2][5] = {
		{"libscalapack-mpich.so.2.2", "libscalapack-mpich.so.2.1", "libscalapack.so.2.2", "libscalapack.so.2", "libscalapack.so"},
		{"libscalapack-openmpi.so.2.2", "libscalapack-openmpi.so.2.1", "libscalapack.so.2.2", "libscalapack.so.2", "libscalapack.so"}};
	for (int i = 0; i < 5 && !scalapack; i++)
		scalapack = dlopen(names[mpi.open_mpi][i], RTLD_NOW | RTLD_GLOBAL);
	if (!scalapack) {
		fprintf(stderr, "emulated libraries: no ScaLAPACK: %s\n", dlerror());
		return 0;
	}
	void (*threads)(int) = (void (*)(int))dlsym(scalapack, "openblas_set_num_threads");
	if (threads && !getenv("OPENBLAS_NUM_THREADS"))
		threads(1);
	return 1;
}

void (*emu_scalapack(const char *name))() {
	void *f = dlsym(scalapack, name);
	if (!f) {
		fprintf(stderr, "emulated libraries: ScaLAPACK lacks %s\n", name);
		abort();
	}
	return (void (*)())f;
}

struct grid *emu_grid(struct comm *comm, int64_t nrow, int64_t ncol, int by_rows, int *missing) {
	int rank, size;
	if (!emu_ranks(&rank, &size))
		return NULL;
	const int64_t shape[3] = {nrow, ncol, by_rows};
	int same = emu_same(shape, sizeof shape);
	*missing = emu_any(!open_scalapack());
	if (emu_any(!is(comm, COMM) || nrow < 1 || ncol < 1 || nrow * ncol != size || emu_device() < 0) || !same || *missing)
		return NULL;
	struct grid *g = emu_object(GRID, sizeof *g);
	g->comm = comm, g->nrow = (int)nrow, g->ncol = (int)ncol, g->by_rows = by_rows;
	g->row = by_rows ? rank / g->ncol : rank % g->nrow;
	g->col = by_rows ? rank % g->ncol : rank / g->nrow;
	const int32_t none = -1, system = 0, rows = g->nrow, cols = g->ncol;
	emu_scalapack("blacs_get_")(&none, &system, &g->context);
	emu_scalapack("blacs_gridinit_")(&g->context, by_rows ? "R" : "C", &rows, &cols, (size_t)1);
	comm->grids++;
	return g;
}

int emu_grid_free(struct grid *g) {
	if (!is(g, GRID))
		return 0;
	if (g->descriptors || g->calls) {
		misused("a grid is destroyed before its matrices, or before the end of a call");
		return 0;
	}
	emu_scalapack("blacs_gridexit_")(&g->context);
	g->comm->grids--;
	g->magic = 0;
	free(g);
	return 1;
}

/* Returns how many of the first n rows, or columns, of a matrix in blocks are of a rank. */
static L count(L n, L block, int rank, int ranks) {
	L whole = n / block, rest = whole % ranks;
	return whole / ranks * block + (rank < rest ? block : rank == rest ? n % block : 0);
}

struct descriptor *emu_descriptor(struct grid *g, int type, L m, L n, L mb, L nb, L rsrc, L csrc, L lld) {
	if (!is(g, GRID) || type != REAL64 || m < 0 || n < 0 || m > INT32_MAX || n > INT32_MAX || mb < 1 || nb < 1 || mb > INT32_MAX ||
	    nb > INT32_MAX || rsrc || csrc || lld > INT32_MAX)
		return NULL;
	L rows = count(m, mb, g->row, g->nrow), cols = count(n, nb, g->col, g->ncol);
	if (lld < (rows > 1 ? rows : 1))
		return NULL;
	struct descriptor *d = emu_object(DESCRIPTOR, sizeof *d);
	*d = (struct descriptor){DESCRIPTOR, g, m, n, mb, nb, lld, rows, cols};
	g->descriptors++;
	return d;
}

int emu_descriptor_free(struct descriptor *d) {
	if (!is(d, DESCRIPTOR))
		return 0;
	d->grid->descriptors--;
	d->magic = 0;
	free(d);
	return 1;
}

int emu_part(const struct part *p, int aligned) {
	const struct descriptor *d = p->d;
	if (!is(d, DESCRIPTOR) || !is(d->grid, GRID) || d->mb != d->nb || p->i < 1 || p->j < 1 || p->m < 0 || p->n < 0)
		return 0;
	return p->i - 1 + p->m <= d->m && p->j - 1 + p->n <= d->n && !(aligned && ((p->i - 1) % d->mb || (p->j - 1) % d->nb));
}

int emu_compatible(const struct part *p, const struct part *q) {
	const struct grid *g = p->d->grid, *h = q->d->grid;
	return g->comm == h->comm && g->nrow == h->nrow && g->ncol == h->ncol && g->by_rows == h->by_rows;
}

int emu_overlap(const struct part *p, const struct part *q) {
	return p->d->rows && p->d->cols && p->local == q->local && p->i < q->i + q->m && q->i < p->i + p->m && p->j < q->j + q->n &&
	       q->j < p->j + p->n;
}

void emu_sizes(const struct routine *r, size_t *device, size_t *host) {
	L panels = r->c.d->mb * (1 + r->c.d->rows + r->c.d->cols);
	*device = sizeof(double) * (size_t)panels;
	*host = sizeof(double) * (size_t)(8 + r->c.d->grid->nrow + r->c.d->grid->ncol);
}

/* Returns whether the local part of a matrix is device memory, if there is one. */
static int there(const struct part *p) { return !p->d || p->d->rows == 0 || p->d->cols == 0 || matrix(p->local, p->d->rows, p->d->cols, p->d->lld); }

int emu_memory(const struct routine *r) {
	size_t device, host;
	emu_sizes(r, &device, &host);
	return there(&r->a) && there(&r->b) && there(&r->c) && r->ndevice >= device && in_range(r->device, r->ndevice) && r->host && r->nhost >= host &&
	       (!r->info || in_range(r->info, sizeof *r->info));
}

/* What all ranks must agree on. */
static int agreed(const struct routine *r) {
	double v[40] = {r->side, r->uplo, r->ta, r->tb, r->diag, (double)r->m, (double)r->n, (double)r->k, r->alpha, r->beta, r->h->math};
	const struct part *all[3] = {&r->a, &r->b, &r->c};
	char text[sizeof v + 48] = {0};
	for (int i = 0, at = 11; i < 3; i++) {
		const struct part *p = all[i];
		if (p->d) {
			const double of[8] = {(double)p->i, (double)p->j, (double)p->m, (double)p->n, (double)p->d->m, (double)p->d->n, (double)p->d->mb, (double)p->d->nb};
			memcpy(v + at, of, sizeof of);
			at += 8;
		}
	}
	memcpy(text, v, sizeof v);
	snprintf(text + sizeof v, 48, "%s", r->entry);
	return emu_same(text, sizeof text);
}

/* Fills workspaces with NaN except for the name of the call that uses them. */
static void begin(void *arg) {
	struct routine *r = arg;
	memset(r->device, 0xff, r->ndevice);
	memset(r->host, 0xff, r->nhost);
	memcpy(r->device, &r->user, sizeof r->user);
	memcpy(r->host, &r->user, sizeof r->user);
}

/* Returns the part of the result that this rank has, and its sizes. */
static double *result(const struct routine *r, L *m, L *n) {
	const struct part *c = &r->c;
	const struct descriptor *d = c->d;
	L i = count(c->i - 1, d->mb, d->grid->row, d->grid->nrow), j = count(c->j - 1, d->nb, d->grid->col, d->grid->ncol);
	*m = count(c->i - 1 + c->m, d->mb, d->grid->row, d->grid->nrow) - i;
	*n = count(c->j - 1 + c->n, d->nb, d->grid->col, d->grid->ncol) - j;
	return c->local + i + j * d->lld;
}

static void fill(double *c, L m, L n, L ld) {
	for (L j = 0; j < n; j++)
		memset(c + j * ld, 0xff, sizeof(double) * (size_t)m);
}

/* Writes the description of a matrix for ScaLAPACK, on the grid of the result. */
static void describe(int32_t to[9], const struct descriptor *d, const struct grid *g) {
	const int32_t all[9] = {1, g->context, (int32_t)d->m, (int32_t)d->n, (int32_t)d->mb, (int32_t)d->nb, 0, 0, (int32_t)d->lld};
	memcpy(to, all, sizeof all);
}

static void compute(void *arg) {
	struct routine *r = arg;
	L m, n;
	r->a.d = r->a.d ? &r->da : NULL, r->b.d = r->b.d ? &r->db : NULL, r->c.d = &r->dc;
	double *c = result(r, &m, &n);
	if (memcmp(r->device, &r->user, sizeof r->user) || memcmp(r->host, &r->user, sizeof r->user))
		misused("two calls of the libraries for many ranks use one workspace at the same time");
	if (!agreed(r)) {
		misused("ranks call different functions, or pass different arguments");
		fill(c, m, n, r->dc.lld);
	} else {
		struct spoiled s = spoil(r->entry, largest(r->m, r->n, r->k), r->part, m, n, r->beta, c, r->dc.lld);
		int32_t da[9], db[9], dc[9];
		describe(da, r->a.d ? r->a.d : r->c.d, r->grid);
		describe(db, r->b.d ? r->b.d : r->c.d, r->grid);
		describe(dc, r->c.d, r->grid);
		r->compute(r, da, db, dc);
		finish(&s);
		if (r->info) /* which only some ranks may have */
			*r->info = (int)largest_of(*r->info);
	}
	memset(r->device, 0xff, r->ndevice);
	memset(r->host, 0xff, r->nhost);
	r->grid->calls--;
}

void emu_run(struct routine r) {
	static long number;
	struct call c = {"", {r.m, r.n, r.k}, {r.a.d ? r.a.local : r.c.local, r.b.d ? r.b.local : r.c.local, r.c.local}};
	snprintf(c.entry, sizeof c.entry, "%s", r.name);
	c.ld[0] = r.a.d ? r.a.d->lld : r.c.d->lld, c.ld[1] = r.b.d ? r.b.d->lld : r.c.d->lld, c.ld[2] = r.c.d->lld;
	note(c);
	/* Descriptors may go before the device comes to the call. */
	r.da = r.a.d ? *r.a.d : *r.c.d, r.db = r.b.d ? *r.b.d : *r.c.d, r.dc = *r.c.d, r.grid = r.c.d->grid;
	r.user = (struct user){&number, ++number};
	r.grid->calls++;
	later(r.h->stream, begin, &r, sizeof r);
	together(r.h->stream, compute, &r, sizeof r);
}
