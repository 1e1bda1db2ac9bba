/* What the stand-ins for NCCL, cuBLASMp and cuSOLVERMp share: grids of ranks, matrices
 * that are divided over them, and calls of ScaLAPACK on these. Device memory is host
 * memory, so that ScaLAPACK and MPI, which the process has initialized, do the work. */
#ifndef GPFIT_EMU_SCALAPACK_H
#define GPFIT_EMU_SCALAPACK_H

#include "standin.h"

enum { REAL64 = 1 }; /* CUDA_R_64F */

/* The first member of every object tells what it is. */
enum { COMM = 0x4ccc1, GRID = 0x4ccc2, DESCRIPTOR = 0x4ccc3, HANDLE = 0x4ccc4 };

/* ncclComm_t: all ranks of MPI. */
struct comm {
	int magic, error; /* the asynchronous error */
	long grids;
};

/* A grid of both libraries. */
struct grid {
	int magic;
	struct comm *comm;
	int32_t context; /* of BLACS */
	int nrow, ncol, row, col, by_rows;
	long descriptors, calls; /* which use it now */
};

/* A descriptor of both libraries; rows and cols are the numbers that this rank has. */
struct descriptor {
	int magic;
	struct grid *grid;
	L m, n, mb, nb, lld, rows, cols;
};

/* A part of a matrix, of m rows and n columns from row i and column j on, both counted
 * from 1, with the local part of the whole matrix. */
struct part {
	double *local;
	L i, j, m, n;
	const struct descriptor *d;
};

/* A handle of both libraries. */
struct handle {
	int magic, device, math;
	void *stream;
};

/* A routine with its arguments. Each routine uses those that it has. Letters are the
 * arguments of ScaLAPACK, and c is the result. */
struct routine {
	const char *entry, *name;
	struct handle *h;
	void (*compute)(const struct routine *, const int32_t a[9], const int32_t b[9], const int32_t c[9]);
	char side, uplo, ta, tb, diag;
	int part; /* of the result, that matters: LOWER, UPPER or WHOLE */
	L m, n, k;
	double alpha, beta;
	struct part a, b, c;
	void *device, *host; /* workspaces */
	size_t ndevice, nhost;
	int *info; /* device memory, or NULL */
	/* The rest belongs to emu_run. */
	struct descriptor da, db, dc;
	struct grid *grid;
	struct user {
		const void *library;
		long number;
	} user; /* of the workspaces */
};

/* Returns a new object, or NULL. */
void *emu_object(int magic, size_t size);
static inline int is(const void *object, int magic) { return object && *(const int *)object == magic; }

/* Returns the index of the current device, −1 for none. */
int emu_device(void);

/* Returns whether MPI is initialized, and then the rank and the number of ranks. */
int emu_ranks(int *rank, int *size);
/* Return whether something is so on any rank, and whether bytes are the same on all. All
 * ranks call them together. */
int emu_any(int here);
int emu_same(const void *bytes, size_t n);

/* Makes a grid; all ranks call it together. Returns NULL if the arguments are invalid on
 * any rank; *missing tells that there is no ScaLAPACK. */
struct grid *emu_grid(struct comm *comm, int64_t nrow, int64_t ncol, int by_rows, int *missing);
/* Returns 0 for a grid that is in use. */
int emu_grid_free(struct grid *g);
/* Returns NULL if the arguments are invalid. */
struct descriptor *emu_descriptor(struct grid *g, int type, L m, L n, L mb, L nb, L rsrc, L csrc, L lld);
int emu_descriptor_free(struct descriptor *d);

/* Returns whether a part lies within its matrix, whose blocks are square, and begins with
 * a block if that is wanted. */
int emu_part(const struct part *p, int aligned);
/* Returns whether grids of two parts have the same ranks in the same places. */
int emu_compatible(const struct part *p, const struct part *q);
/* Returns whether two parts of one matrix have elements in common. */
int emu_overlap(const struct part *p, const struct part *q);
/* Returns the sizes of the workspaces that a routine needs. */
void emu_sizes(const struct routine *r, size_t *device, size_t *host);
/* Returns whether the matrices and workspaces of a routine are memory of the right kind and size. */
int emu_memory(const struct routine *r);
/* Queues a routine, which all ranks call together. */
void emu_run(struct routine r);
/* Calls a routine of ScaLAPACK. */
void (*emu_scalapack(const char *name))();

#endif
