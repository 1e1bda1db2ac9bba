/* Emulated libcuda.so.1: streams, events, modules, launches. */
#define _GNU_SOURCE
#include "emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void *emu_handle(int magic, size_t size) {
	struct handle *h = calloc(1, size);
	h->magic = magic;
	h->dev = emu_current;
	__atomic_add_fetch(&h->dev->handles, 1, __ATOMIC_RELAXED);
	return h;
}

/* The default streams are 0, 1 and 2. A handle of another device is invalid. */
int emu_valid(const void *h, int magic) {
	const struct handle *s = h;
	if (magic == STREAM && (uintptr_t)h <= 2)
		return 1;
	return h && s->magic == magic && s->dev == emu_current;
}

void emu_release(void *h) {
	struct handle *g = h;
	__atomic_sub_fetch(&g->dev->handles, 1, __ATOMIC_RELAXED);
	g->magic = 0;
	free(g);
}

API long gpfit_emu_handles(void) {
	long n = 0;
	for (int i = 0; i < emu_ndevices; i++)
		n += emu_devices[i].handles;
	return n;
}

API CUresult cuStreamCreate(void **s, unsigned flags) {
	ENTER(CONTEXT);
	(void)flags;
	return *s = emu_handle(STREAM, sizeof(struct handle)), 0;
}

static CUresult destroy(void *h, int magic) {
	if (!emu_valid(h, magic) || (uintptr_t)h <= 2)
		return INVALID_HANDLE;
	emu_release(h);
	return 0;
}

API CUresult cuStreamDestroy_v2(void *s) {
	ENTER(CONTEXT);
	return destroy(s, STREAM);
}

API CUresult cuStreamSynchronize(void *s) {
	ENTER(CONTEXT);
	return emu_valid(s, STREAM) ? 0 : INVALID_HANDLE;
}

struct event {
	struct handle h;
	double ms; /* 0: never recorded */
};

API CUresult cuEventCreate(void **e, unsigned flags) {
	ENTER(CONTEXT);
	(void)flags;
	return *e = emu_handle(EVENT, sizeof(struct event)), 0;
}

API CUresult cuEventDestroy_v2(void *e) {
	ENTER(CONTEXT);
	return destroy(e, EVENT);
}

API CUresult cuEventRecord(void *e, void *s) {
	ENTER(CONTEXT);
	if (!emu_valid(e, EVENT) || !emu_valid(s, STREAM))
		return INVALID_HANDLE;
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	((struct event *)e)->ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
	return 0;
}

API CUresult cuEventSynchronize(void *e) {
	ENTER(CONTEXT);
	return emu_valid(e, EVENT) ? 0 : INVALID_HANDLE;
}

API CUresult cuEventElapsedTime(float *ms, void *a, void *b) {
	ENTER(CONTEXT);
	if (!emu_valid(a, EVENT) || !emu_valid(b, EVENT))
		return INVALID_HANDLE;
	struct event *x = a, *y = b;
	if (x->ms == 0 || y->ms == 0)
		return INVALID_HANDLE;
	return *ms = (float)(y->ms - x->ms), 0;
}

/* Modules and kernels. */

struct module {
	struct handle h;
	char *text; /* the image, if it is PTX */
};

struct function {
	struct handle h;
	char name[128];
};

static CUresult load(void **m, const char *image, char *log, size_t size) {
	if (!strncmp(image, "broken", 6)) {
		if (log && size)
			snprintf(log, size, "ptxas: emulated syntax error on line 1");
		return INVALID_PTX;
	}
	struct module *mod = emu_handle(MODULE, sizeof *mod);
	mod->text = strstr(image, ".entry") ? strdup(image) : NULL;
	return *m = mod, 0;
}

API CUresult cuModuleLoadData(void **m, const void *image) {
	ENTER(CONTEXT);
	return load(m, image, NULL, 0);
}

API CUresult cuModuleLoadDataEx(void **m, const void *image, unsigned n, int *options, void **values) {
	ENTER(CONTEXT);
	char *log = NULL;
	size_t size = 0;
	for (unsigned i = 0; i < n; i++) {
		if (options[i] == 5) /* CU_JIT_ERROR_LOG_BUFFER */
			log = values[i];
		if (options[i] == 6) /* CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES */
			size = (size_t)(uintptr_t)values[i];
	}
	return load(m, image, log, size);
}

API CUresult cuModuleUnload(void *m) {
	ENTER(CONTEXT);
	if (!emu_valid(m, MODULE))
		return INVALID_HANDLE;
	free(((struct module *)m)->text);
	emu_release(m);
	return 0;
}

/* Whether the PTX text has an entry of that name. */
static int has_entry(const char *text, const char *name) {
	size_t n = strlen(name);
	for (const char *p = text; (p = strstr(p, ".entry")); p++) {
		const char *q = p + strlen(".entry");
		q += strspn(q, " \t\n");
		if (!strncmp(q, name, n) && !strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$", q[n]))
			return 1;
	}
	return 0;
}

API CUresult cuModuleGetFunction(void **f, void *m, const char *name) {
	ENTER(CONTEXT);
	if (!emu_valid(m, MODULE))
		return INVALID_HANDLE;
	const char *text = ((struct module *)m)->text;
	if (text && !has_entry(text, name))
		return NOT_FOUND;
	struct function *fn = emu_handle(FUNCTION, sizeof *fn); /* lives as long as the process, as its module may */
	__atomic_sub_fetch(&fn->h.dev->handles, 1, __ATOMIC_RELAXED);
	snprintf(fn->name, sizeof fn->name, "%s", name);
	return *f = fn, 0;
}

enum { MAX_THREADS_PER_BLOCK = 0, STATIC_SHARED = 1, REGISTERS = 4 };

API CUresult cuFuncGetAttribute(int *v, int attribute, void *f) {
	ENTER(CONTEXT);
	if (!emu_valid(f, FUNCTION))
		return INVALID_HANDLE;
	switch (attribute) {
	case MAX_THREADS_PER_BLOCK: return *v = 1024, 0;
	case STATIC_SHARED: return *v = 0, 0;
	case REGISTERS: return *v = 64, 0;
	}
	return INVALID_VALUE;
}

API CUresult cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned shared, void *s, void **params, void **extra) {
	ENTER(CONTEXT);
	if (!emu_valid(f, FUNCTION) || !emu_valid(s, STREAM))
		return INVALID_HANDLE;
	struct function *fn = f;
	if (extra || !gx || !gy || !gz || !bx || !by || !bz || gx > 0x7fffffff || gy > 65535 || gz > 65535 ||
	    bz > 64 || (unsigned long long)bx * by * bz > 1024 || shared > 48 << 10)
		return INVALID_VALUE;
	int e = emu_enter(fn->name, FREE); /* faults of one kernel */
	if (e)
		return e == SILENT ? 0 : e;
	e = emu_run_test_kernel(fn->name, gx, gy, gz, bx, by, bz, shared, params);
	if (e == NOT_FOUND)
		e = emu_run_kernel(fn->name, gx, gy, gz, bx, by, bz, shared, emu_current->reverse, params);
	if (emu_is_sticky(e))
		emu_current->sticky = e;
	return e;
}
