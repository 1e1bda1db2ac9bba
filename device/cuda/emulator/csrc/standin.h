/* Shared by the stand-ins: faults of the emulated driver, checks of memory. */
#ifndef GPFIT_EMU_STANDIN_H
#define GPFIT_EMU_STANDIN_H

#define _GNU_SOURCE
#include "blas.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#define API __attribute__((visibility("default")))

enum { SILENT = -1 }; /* as in emu.h */

/* A function of the emulated libcuda, if that is what the process has loaded. */
static void *emu_driver(const char *name) {
	void *h = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_NOW);
	return h ? dlsym(h, name) : NULL;
}

/* The status of a call before it does anything. A CUDA out of memory (2 by the
 * name "*") and errors of a dead context appear as the library's own codes. */
static int fault(const char *entry, int alloc_failed, int execution_failed) {
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

static int in_range(const void *p, size_t bytes) {
	static int (*f)(const void *, size_t);
	if (!f)
		f = (int (*)(const void *, size_t))emu_driver("gpfit_emu_in_range");
	return !f || f(p, bytes);
}

/* Whether the m×n matrix of leading dimension ld is device memory. */
static int matrix(const void *p, L m, L n, L ld) {
	if (m < 0 || n < 0 || ld < (m > 1 ? m : 1))
		return 0;
	return m == 0 || n == 0 || in_range(p, 8 * (size_t)((n - 1) * ld + m));
}

#endif
