/* The emulated libcuda.so.1: memory. Every allocation ends where a page that cannot be
 * accessed begins, so that an access beyond it ends the process. A pattern guards the
 * part of its first page before it. Its contents are 0xff (a NaN as float64), so that
 * reads of memory that was never written show, too. An allocation above LARGE contains
 * zeros, in pages that the system provides on first access, and may therefore exceed
 * the machine's memory. So does every allocation of a dry device. */
#define _GNU_SOURCE
#include "emu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE = 1 << 30, CANARY = 0xa5 };

#define PAGE ((size_t)sysconf(_SC_PAGESIZE))

static struct region *regions;

static struct region *find(const void *p, size_t n) {
	const char *c = p;
	for (struct region *r = regions; r; r = r->next)
		if (c >= r->base && n <= r->size && (size_t)(c - r->base) <= r->size - n)
			return r;
	return NULL;
}

API int gpfit_emu_in_range(const void *p, size_t n) {
	pthread_mutex_lock(&emu_lock);
	int ok = n == 0 || find(p, n) != NULL;
	if (!ok)
		emu_violation("access outside every allocation");
	pthread_mutex_unlock(&emu_lock);
	return ok;
}

int64_t emu_offset(const void *p) {
	struct region *r = find(p, 0);
	return r ? (const char *)p - r->base : -1;
}

struct extent *emu_extents(size_t *n) {
	pthread_mutex_lock(&emu_lock);
	*n = 0;
	for (struct region *r = regions; r; r = r->next)
		*n += r->dev == emu_current;
	struct extent *all = malloc((*n + 1) * sizeof *all), *to = all;
	for (struct region *r = regions; r; r = r->next)
		if (r->dev == emu_current)
			*to++ = (struct extent){r->base, r->size};
	pthread_mutex_unlock(&emu_lock);
	return all;
}

/* Returns the number of allocations. */
API long gpfit_emu_blocks(void) {
	long n = 0;
	pthread_mutex_lock(&emu_lock);
	for (struct region *r = regions; r; r = r->next)
		n++;
	pthread_mutex_unlock(&emu_lock);
	return n;
}

/* Returns whether the pattern before the block is intact. */
static int guarded(const struct region *r) {
	for (const char *p = r->map + PAGE; p < r->base; p++)
		if ((unsigned char)*p != CANARY)
			return 0;
	return 1;
}

static void drop(struct region *r) {
	munmap(r->map, r->mapped);
	free(r);
}

static CUresult allocate(char **p, size_t n) {
	struct device *d = emu_current;
	if (!n)
		return INVALID_VALUE;
	if (d->used + (long long)n > d->memory)
		return OUT_OF_MEMORY;
	size_t whole = (n + PAGE - 1) / PAGE * PAGE;
	struct region *r = malloc(sizeof *r);
	*r = (struct region){.dev = d, .mapped = whole + 2 * PAGE, .size = n};
	r->map = mmap(NULL, r->mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (r->map == MAP_FAILED || mprotect(r->map + PAGE, whole, PROT_READ | PROT_WRITE)) {
		free(r);
		return OUT_OF_MEMORY;
	}
	r->base = r->map + PAGE + whole - n;
	memset(r->map + PAGE, CANARY, whole - n);
	if (n <= LARGE && !emu_dry())
		memset(r->base, 0xff, n);
	d->used += (long long)n;
	r->next = regions;
	regions = r;
	*p = r->base;
	return 0;
}

static CUresult release(char *p) {
	for (struct region **at = &regions; *at; at = &(*at)->next) {
		struct region *r = *at;
		if (r->base != p)
			continue;
		if (!guarded(r))
			emu_violation("a write before an allocation");
		r->dev->used -= (long long)r->size;
		*at = r->next;
		drop(r);
		return 0;
	}
	return INVALID_VALUE;
}

void emu_bury(struct device *d) {
	for (struct region **at = &regions; *at;) {
		struct region *r = *at;
		if (r->dev != d) {
			at = &r->next;
			continue;
		}
		*at = r->next;
		drop(r);
	}
	d->used = d->handles = 0;
}

API CUresult cuMemGetInfo_v2(size_t *avail, size_t *total) {
	ENTER(CONTEXT);
	*total = (size_t)emu_current->memory;
	*avail = emu_current->used < emu_current->memory ? (size_t)(emu_current->memory - emu_current->used) : 0;
	return 0;
}

API CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) {
	ENTER(CONTEXT);
	pthread_mutex_lock(&emu_lock);
	CUresult e = allocate((char **)p, n);
	pthread_mutex_unlock(&emu_lock);
	return e;
}

/* As on a card, the call waits for the work of the device. */
API CUresult cuMemFree_v2(CUdeviceptr p) {
	ENTER(CONTEXT);
	emu_drain();
	pthread_mutex_lock(&emu_lock);
	CUresult e = p ? release((char *)p) : 0;
	pthread_mutex_unlock(&emu_lock);
	return e;
}

/* As on a card, an address outside every allocation is an error of the call. */
static CUresult ranges(const void *a, const void *b, size_t n) {
	return (!a || gpfit_emu_in_range(a, n)) && (!b || gpfit_emu_in_range(b, n)) ? 0 : INVALID_VALUE;
}

/* Page-locked host memory. Copies from and to it are asynchronous. */
static struct pinned {
	struct pinned *next;
	char *base;
	size_t size;
	int registered; /* the caller's memory */
} *pinned;

static int is_pinned(const void *p) {
	pthread_mutex_lock(&emu_lock);
	struct pinned *at = pinned;
	while (at && ((const char *)p < at->base || (const char *)p >= at->base + at->size))
		at = at->next;
	pthread_mutex_unlock(&emu_lock);
	return at != NULL;
}

/* A copy of lines, or a value to set. */
struct move {
	char *to;
	const char *from; /* NULL: set value */
	size_t to_pitch, from_pitch, width, lines;
	unsigned char value;
	int peer; /* between devices, of which one may free its memory too early */
	char staged[];
};

static void move(void *arg) {
	struct move *m = arg;
	if (m->peer && (!gpfit_emu_in_range(m->from, m->width) || !gpfit_emu_in_range(m->to, m->width)))
		return;
	for (size_t i = 0; i < m->lines; i++)
		if (m->from)
			memmove(m->to + i * m->to_pitch, m->from + i * m->from_pitch, m->width);
		else
			memset(m->to + i * m->to_pitch, m->value, m->width);
}

static void spoil(const struct move *m) {
	for (size_t i = 0; i < m->lines; i++)
		memset(m->to + i * m->to_pitch, 0xff, m->width);
}

static size_t extent(size_t pitch, const struct move *m) { return (m->lines - 1) * pitch + m->width; }

/* Returns whether a queued copy reads memory that another one will write. */
static int reads(void (*run)(void *), const void *arg, const void *what) {
	const struct move *m = arg, *w = what;
	return run == move && m->from && m->from < w->to + extent(w->to_pitch, w) && w->to < m->from + extent(m->from_pitch, m);
}

static long copied, peered; /* bytes between the host and devices, and between devices */

/* Queues a copy. Pageable memory of the host has been read, or is written, when the call returns.
 * Page-locked memory is read when the device comes to it; what will be written there is NaN until then, unless an
 * earlier copy is still to read it. */
static CUresult move_later(struct move m, int host_from, int host_to, void *stream) {
	if (!m.width || !m.lines)
		return 0;
	for (size_t i = 0; i < m.lines; i++) {
		CUresult e = ranges(host_to ? NULL : m.to + i * m.to_pitch, host_from || !m.from ? NULL : m.from + i * m.from_pitch, m.width);
		if (e)
			return e;
	}
	if (host_to || host_from)
		__atomic_add_fetch(&copied, (long)(m.width * m.lines), __ATOMIC_RELAXED);
	emu_dry_note((struct emu_call){.kind = m.from ? COPY : SET, .stream = (int64_t)stream, .size = {(int64_t)(m.width * m.lines), host_from || host_to}});
	if (emu_dry() && !m.from)
		return 0;
	if (!emu_asynchronous())
		return move(&m), 0;
	int staged = host_from && !is_pinned(m.from);
	struct move *p = malloc(sizeof *p + (staged ? m.width * m.lines : 0));
	*p = m;
	if (staged) {
		for (size_t i = 0; i < m.lines; i++)
			memcpy(p->staged + i * m.width, m.from + i * m.from_pitch, m.width);
		p->from = p->staged;
		p->from_pitch = m.width;
	}
	if (host_to && !emu_queued(reads, &m))
		spoil(&m);
	gpfit_emu_later(stream, move, p);
	if (host_to && !is_pinned(m.to))
		emu_drain_stream(stream);
	return 0;
}

/* Return the bytes copied between the host and devices, and between devices. */
API long gpfit_emu_copied(void) { return copied; }
API long gpfit_emu_peered(void) { return peered; }

static CUresult lock_pages(char *base, size_t n, int registered) {
	CUresult e = 0;
	pthread_mutex_lock(&emu_lock);
	for (struct pinned *at = pinned; at; at = at->next)
		if (base < at->base + at->size && at->base < base + n)
			e = ALREADY_REGISTERED;
	if (!e) {
		struct pinned *at = malloc(sizeof *at);
		*at = (struct pinned){pinned, base, n, registered};
		pinned = at;
		emu_current->handles++;
	}
	pthread_mutex_unlock(&emu_lock);
	return e;
}

/* As on a card, the call waits for the work of the device. */
static CUresult unlock_pages(const void *p, int registered, CUresult unknown) {
	emu_drain();
	pthread_mutex_lock(&emu_lock);
	for (struct pinned **at = &pinned; *at; at = &(*at)->next)
		if ((*at)->base == p && (*at)->registered == registered) {
			struct pinned *old = *at;
			*at = old->next;
			if (!registered)
				free(old->base);
			free(old);
			emu_current->handles--;
			unknown = 0;
			break;
		}
	pthread_mutex_unlock(&emu_lock);
	return unknown;
}

API CUresult cuMemHostAlloc(void **p, size_t n, unsigned flags) {
	ENTER(CONTEXT);
	if (!n || flags & ~7u)
		return INVALID_VALUE;
	char *base = malloc(n);
	memset(base, 0xff, n);
	return *p = base, lock_pages(base, n, 0);
}

API CUresult cuMemFreeHost(void *p) {
	ENTER(CONTEXT);
	return unlock_pages(p, 0, INVALID_VALUE);
}

API CUresult cuMemHostRegister_v2(void *p, size_t n, unsigned flags) {
	ENTER(CONTEXT);
	return !p || !n || flags & ~15u ? INVALID_VALUE : lock_pages(p, n, 1);
}

API CUresult cuMemHostUnregister(void *p) {
	ENTER(CONTEXT);
	return unlock_pages(p, 1, NOT_REGISTERED);
}

API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n, void *st) {
	ENTER(CONTEXT);
	return emu_valid(st, STREAM) ? move_later((struct move){(void *)d, s, n, n, n, 1}, 1, 0, st) : INVALID_HANDLE;
}

API CUresult cuMemcpyDtoHAsync_v2(void *d, CUdeviceptr s, size_t n, void *st) {
	ENTER(CONTEXT);
	return emu_valid(st, STREAM) ? move_later((struct move){d, (void *)s, n, n, n, 1}, 0, 1, st) : INVALID_HANDLE;
}

API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr s, size_t n, void *st) {
	ENTER(CONTEXT);
	return emu_valid(st, STREAM) ? move_later((struct move){(void *)d, (void *)s, n, n, n, 1}, 0, 0, st) : INVALID_HANDLE;
}

static int within(const void *p, size_t n, const struct device *d) {
	pthread_mutex_lock(&emu_lock);
	const struct region *r = find(p, n);
	pthread_mutex_unlock(&emu_lock);
	return r && r->dev == d;
}

API CUresult cuMemcpyPeerAsync(CUdeviceptr d, void *to, CUdeviceptr s, void *from, size_t n, void *st) {
	ENTER(CONTEXT);
	if (!emu_valid(st, STREAM))
		return INVALID_HANDLE;
	if (((struct device *)to)->sticky || ((struct device *)from)->sticky)
		return ((struct device *)to)->sticky ? ((struct device *)to)->sticky : ((struct device *)from)->sticky;
	if (!within((void *)d, n, to) || !within((void *)s, n, from))
		return INVALID_VALUE;
	__atomic_add_fetch(&peered, (long)n, __ATOMIC_RELAXED);
	return move_later((struct move){.to = (void *)d, .from = (void *)s, .width = n, .lines = 1, .peer = 1}, 0, 0, st);
}

API CUresult cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, void *st) {
	ENTER(CONTEXT);
	return emu_valid(st, STREAM) ? move_later((struct move){(void *)d, NULL, n, n, n, .lines = 1, .value = v}, 0, 0, st) : INVALID_HANDLE;
}

struct copy2d { /* CUDA_MEMCPY2D */
	size_t sx, sy;
	unsigned stype;
	const void *shost;
	CUdeviceptr sdev;
	void *sarray;
	size_t spitch, dx, dy;
	unsigned dtype;
	void *dhost;
	CUdeviceptr ddev;
	void *darray;
	size_t dpitch, width, height;
};

API CUresult cuMemcpy2DAsync_v2(const struct copy2d *c, void *st) {
	ENTER(CONTEXT);
	if (!emu_valid(st, STREAM))
		return INVALID_HANDLE;
	int from = c->stype == 2, to = c->dtype == 2; /* CU_MEMORYTYPE_DEVICE; 1 is HOST */
	if ((c->stype != 1 && !from) || (c->dtype != 1 && !to) || c->width > c->spitch || c->width > c->dpitch)
		return INVALID_VALUE;
	const char *s = (from ? (const char *)c->sdev : c->shost) + c->sy * c->spitch + c->sx;
	char *d = (to ? (char *)c->ddev : c->dhost) + c->dy * c->dpitch + c->dx;
	return move_later((struct move){d, s, c->dpitch, c->spitch, c->width, c->height}, !from, !to, st);
}
