/* Declarations for the stand-ins for the math libraries: faults of the emulated
 * driver, checks of memory, and the wrong results and list of calls that tests
 * request. */
#ifndef GPFIT_EMU_STANDIN_H
#define GPFIT_EMU_STANDIN_H

#define _GNU_SOURCE
#include "blas.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define API __attribute__((visibility("default")))

enum { SILENT = -1 }; /* as in emu.h */

/* Returns a function of the emulated libcuda, if the process has loaded that library. */
static inline void *emu_driver(const char *name) {
	void *h = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
	return h ? dlsym(h, name) : NULL;
}

/* Returns the status of a call before it does anything. A CUDA out of memory (2 for
 * the name "*") and errors of a dead context appear as the library's own codes. */
static inline int fault(const char *entry, int alloc_failed, int execution_failed) {
	static int (*f)(const char *, int *);
	int dead = 0, code;
	if (!f)
		f = (int (*)(const char *, int *))emu_driver("gpfit_emu_fault");
	if (!f)
		return 0;
	code = f(entry, &dead);
	if (dead || code >= 100)
		return execution_failed;
	return code == 2 ? alloc_failed : code;
}

typedef void queued(void *stream, void (*run)(void *), void *arg);

static inline void give(queued *f, void *stream, void (*run)(void *), const void *arg, size_t bytes) {
	void *copy = memcpy(malloc(bytes), arg, bytes);
	if (f) {
		f(stream, run, copy);
		return;
	}
	run(copy);
	free(copy);
}

/* Calls run with a copy of what arg points to, when the stream comes to it. */
static inline void later(void *stream, void (*run)(void *), const void *arg, size_t bytes) {
	static queued *f;
	if (!f)
		f = (queued *)emu_driver("gpfit_emu_later");
	give(f, stream, run, arg, bytes);
}

static inline void misused(const char *what) {
	void (*f)(const char *) = (void (*)(const char *))emu_driver("gpfit_emu_misused");
	if (f)
		f(what);
}

static inline int in_range(const void *p, size_t bytes) {
	static int (*f)(const void *, size_t);
	if (!f)
		f = (int (*)(const void *, size_t))emu_driver("gpfit_emu_in_range");
	return !f || f(p, bytes);
}

/* Returns whether the m×n matrix of leading dimension ld is device memory. */
static inline int matrix(const void *p, L m, L n, L ld) {
	if (m < 0 || n < 0 || ld < (m > 1 ? m : 1))
		return 0;
	return m == 0 || n == 0 || in_range(p, 8 * (size_t)((n - 1) * ld + m));
}

/* This struct equals struct emu_call in emu.h. */
struct call {
	char entry[32];
	int64_t size[3];
	const void *at[3];
	int64_t ld[3];
	const void *stream;
	int64_t kind, priority, event;
};

static inline void note(struct call c) {
	static void (*f)(const struct call *);
	if (!f)
		f = (void (*)(const struct call *))emu_driver("gpfit_emu_note");
	if (f)
		f(&c);
}

/* A result that a test wants to be wrong: none, a block that keeps its previous
 * contents, an element off by a thousandth, or a transposed square block. */
enum { RIGHT_RESULT, BLOCK_LEFT_OUT, ELEMENT_OFF, BLOCK_TRANSPOSED, MAX_BLOCK = 64 };
enum { WHOLE = -1 }; /* the part of the result that matters, besides LOWER and UPPER */

struct spoiled {
	int kind;
	L rows, cols, ldc;
	double *block, before[MAX_BLOCK * MAX_BLOCK];
};

static inline L quarter(L n) { return n < 4 ? 1 : n > 4 * MAX_BLOCK ? MAX_BLOCK : n / 4; }

/* Chooses a block in the middle of the m×n result, away from the diagonal of a
 * triangle, and keeps beta times its contents; the size is the size of the call. */
static inline struct spoiled spoil(const char *entry, L size, int part, L m, L n, double beta, double *c, L ldc) {
	static int (*f)(const char *, long);
	struct spoiled s = {.kind = RIGHT_RESULT};
	if (!f)
		f = (int (*)(const char *, long))emu_driver("gpfit_emu_spoiled");
	if (!f || m < 1 || n < 1 || (part != WHOLE && n < 4) || !(s.kind = f(entry, size)))
		return s;
	L i0 = part == UPPER ? m / 4 : m / 2, j0 = part == UPPER ? n / 2 : n / 4;
	s.rows = quarter(m), s.cols = quarter(n), s.block = c + i0 + j0 * ldc, s.ldc = ldc;
	for (L j = 0; j < s.cols; j++)
		for (L i = 0; i < s.rows; i++)
			s.before[i + j * MAX_BLOCK] = beta == 0 ? 0 : beta * s.block[i + j * ldc];
	return s;
}

/* Spoils the result that the call has written. */
static inline void finish(const struct spoiled *s) {
	if (s->kind == ELEMENT_OFF)
		s->block[0] *= 1.001;
	if (s->kind == BLOCK_LEFT_OUT)
		for (L j = 0; j < s->cols; j++)
			memcpy(s->block + j * s->ldc, s->before + j * MAX_BLOCK, sizeof(double) * (size_t)s->rows);
	if (s->kind == BLOCK_TRANSPOSED)
		for (L j = 0; j < s->rows && j < s->cols; j++)
			for (L i = 0; i < j; i++) {
				double v = s->block[i + j * s->ldc];
				s->block[i + j * s->ldc] = s->block[j + i * s->ldc];
				s->block[j + i * s->ldc] = v;
			}
}

static inline L largest(L a, L b, L c) { return a > b ? (a > c ? a : c) : b > c ? b : c; }

#endif
