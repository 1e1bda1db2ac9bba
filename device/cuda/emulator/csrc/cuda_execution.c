/* The emulated libcuda.so.1: handles, modules, launches. */
#define _GNU_SOURCE
#include "emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Modules and kernels. A module's functions become invalid with it. */

struct function {
	struct handle h;
	struct function *next;
	struct module *module; /* NULL after the module is unloaded */
	const void *kernel;
	char name[128];
};

struct module {
	struct handle h;
	struct emu_ptx *ptx;
	struct function *functions;
};

static CUresult load(void **m, const char *image, char *log, size_t size) {
	struct emu_ptx *ptx = emu_ptx_load(image, log, size);
	if (!ptx)
		return INVALID_PTX;
	struct module *mod = emu_handle(MODULE, sizeof *mod);
	mod->ptx = ptx;
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

/* The function objects remain, because the caller may still hold them. */
API CUresult cuModuleUnload(void *m) {
	ENTER(CONTEXT);
	if (!emu_valid(m, MODULE))
		return INVALID_HANDLE;
	struct module *mod = m;
	emu_drain();
	pthread_mutex_lock(&emu_lock);
	for (struct function *f = mod->functions; f; f = f->next)
		f->module = NULL;
	pthread_mutex_unlock(&emu_lock);
	emu_ptx_unload(mod->ptx);
	emu_release(m);
	return 0;
}

API CUresult cuModuleGetFunction(void **f, void *m, const char *name) {
	ENTER(CONTEXT);
	if (!emu_valid(m, MODULE))
		return INVALID_HANDLE;
	struct module *mod = m;
	const void *kernel = emu_ptx_kernel(mod->ptx, name);
	if (!kernel)
		return NOT_FOUND;
	struct function *fn = emu_handle(FUNCTION, sizeof *fn);
	__atomic_sub_fetch(&fn->h.dev->handles, 1, __ATOMIC_RELAXED); /* nothing releases it */
	fn->module = mod;
	fn->kernel = kernel;
	snprintf(fn->name, sizeof fn->name, "%s", name);
	pthread_mutex_lock(&emu_lock);
	fn->next = mod->functions;
	mod->functions = fn;
	pthread_mutex_unlock(&emu_lock);
	return *f = fn, 0;
}

static int valid_function(void *f) {
	return emu_valid(f, FUNCTION) && ((struct function *)f)->module;
}

enum { MAX_THREADS_PER_BLOCK = 0, STATIC_SHARED = 1, REGISTERS = 4 };

API CUresult cuFuncGetAttribute(int *v, int attribute, void *f) {
	ENTER(CONTEXT);
	if (!valid_function(f))
		return INVALID_HANDLE;
	switch (attribute) {
	case MAX_THREADS_PER_BLOCK: return *v = 1024, 0;
	case STATIC_SHARED: return *v = emu_ptx_static_shared(((struct function *)f)->kernel), 0;
	case REGISTERS: return *v = 64, 0;
	}
	return INVALID_VALUE;
}

/* A launch with the values of its parameters. */
struct launch {
	struct function *function;
	unsigned grid[3], block[3], shared;
	void *params[MAX_PARAMS];
	char values[];
};

static void launch(void *arg) {
	struct launch *l = arg;
	int e = l->function->module ? emu_ptx_launch(l->function->module->ptx, l->function->kernel, l->grid, l->block, l->shared, l->params) : INVALID_HANDLE;
	if (e && !emu_current->sticky)
		emu_current->sticky = emu_is_sticky(e) ? e : LAUNCH_FAILED;
}

/* Queues a launch. It copies the parameters, as a device does. */
static CUresult launch_later(struct function *fn, const unsigned grid[3], const unsigned block[3], unsigned shared, void *s, void **params) {
	int n = emu_ptx_params(fn->kernel, NULL), sizes[MAX_PARAMS], bytes = 0;
	if (n > MAX_PARAMS || !emu_ptx_accepts(fn->kernel, grid, block, shared))
		return INVALID_VALUE;
	emu_ptx_params(fn->kernel, sizes);
	for (int i = 0; i < n; i++)
		bytes += sizes[i];
	struct launch *l = malloc(sizeof *l + (size_t)bytes);
	*l = (struct launch){fn, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, {NULL}};
	char *to = l->values;
	for (int i = 0; i < n; to += sizes[i++])
		l->params[i] = memcpy(to, params[i], (size_t)sizes[i]);
	gpfit_emu_later(s, launch, l);
	return 0;
}

/* Records a launch of a dry device. The search for an invalid element finds none. */
static CUresult launch_dry(struct function *fn, const unsigned grid[3], const unsigned block[3], unsigned shared, void *s, void **params) {
	struct emu_call c = {.kind = LAUNCH, .stream = (int64_t)s, .size = {grid[0]}};
	snprintf(c.entry, sizeof c.entry, "%.31s", fn->name);
	if (!strcmp(fn->name, "gpfit_firstbad"))
		memset(*(void **)params[emu_ptx_params(fn->kernel, NULL) - 1], 0x7f, 8 * (size_t)grid[0]);
	int e = emu_known(&c) ? 0 : emu_ptx_timed(fn->module->ptx, fn->kernel, grid, block, shared, params, c.ld);
	emu_dry_note(c);
	return e;
}

API CUresult cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                            unsigned shared, void *s, void **params, void **extra) {
	ENTER(CONTEXT);
	if (!valid_function(f) || !emu_valid(s, STREAM))
		return INVALID_HANDLE;
	struct function *fn = f;
	if (extra || !gx || !gy || !gz || !bx || !by || !bz || gx > 0x7fffffff || gy > 65535 || gz > 65535 ||
	    bz > 64 || (unsigned long long)bx * by * bz > 1024 || shared > 48 << 10)
		return INVALID_VALUE;
	int e = emu_enter(fn->name, FREE); /* faults of this kernel alone */
	if (e)
		return e == SILENT ? 0 : e;
	unsigned grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
	if (emu_dry())
		return launch_dry(fn, grid, block, shared, s, params);
	if (emu_asynchronous())
		return launch_later(fn, grid, block, shared, s, params);
	e = emu_ptx_launch(fn->module->ptx, fn->kernel, grid, block, shared, params);
	if (emu_is_sticky(e))
		emu_current->sticky = e;
	return e;
}
