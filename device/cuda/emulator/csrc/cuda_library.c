/* The emulated libcuda.so.1: what tests request from the stand-ins for the math
 * libraries, which is wrong results of some calls and a list of all calls. */
#define _GNU_SOURCE
#include "emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct spoiling {
	char entry[48];
	long from;
	int kind;
} spoilings[MAX_FAULTS];
static int nspoilings;

static struct emu_call *calls;
static long ncalls, capacity;
static int recording, dry;

/* GPFIT_EMU_SPOIL lists entry:from:kind, separated by commas. */
__attribute__((constructor)) static void configure(void) { emu_each("GPFIT_EMU_SPOIL", gpfit_emu_spoil); }

/* Makes all calls of an entry point return a wrong result from a given size on. */
API void gpfit_emu_spoil(const char *entry, long from, int kind) {
	pthread_mutex_lock(&emu_lock);
	if (nspoilings < MAX_FAULTS) {
		struct spoiling *s = &spoilings[nspoilings++];
		snprintf(s->entry, sizeof s->entry, "%s", entry);
		s->from = from;
		s->kind = kind;
	}
	pthread_mutex_unlock(&emu_lock);
}

/* Returns how to spoil the result of a call of that size, 0 for not at all. */
API int gpfit_emu_spoiled(const char *entry, long size) {
	int kind = 0;
	pthread_mutex_lock(&emu_lock);
	for (int i = 0; i < nspoilings; i++)
		if (!strcmp(spoilings[i].entry, entry) && size >= spoilings[i].from)
			kind = spoilings[i].kind;
	pthread_mutex_unlock(&emu_lock);
	return kind;
}

/* Begins a list of calls, or ends and clears it. */
API void gpfit_emu_record(int on) {
	pthread_mutex_lock(&emu_lock);
	recording = on;
	ncalls = 0;
	pthread_mutex_unlock(&emu_lock);
}

API void gpfit_emu_note(const struct emu_call *c) {
	pthread_mutex_lock(&emu_lock);
	if (recording) {
		if (ncalls == capacity) {
			capacity = capacity ? 2 * capacity : 64;
			calls = realloc(calls, (size_t)capacity * sizeof *calls);
			if (!calls)
				abort();
		}
		calls[ncalls] = *c;
		if (c->kind == LIBRARY_CALL)
			calls[ncalls].priority = emu_priority((void *)c->stream);
		for (int i = 0; i < 3; i++)
			calls[ncalls].at[i] = emu_offset((const void *)c->at[i]);
		ncalls++;
	}
	pthread_mutex_unlock(&emu_lock);
}

/* Makes the devices dry, or ends that. */
API void gpfit_emu_dry(int on) { dry = on; }

int emu_dry(void) { return dry; }

void emu_dry_note(struct emu_call c) {
	if (dry) {
		c.priority = emu_priority((void *)c.stream);
		gpfit_emu_note(&c);
	}
}

static int magnitude(int64_t n) { return n < 2 ? 0 : 1 + magnitude(n / 2); }

int emu_known(struct emu_call *c) {
	int found = 0;
	pthread_mutex_lock(&emu_lock);
	for (long i = ncalls - 1; i >= 0 && !found; i--)
		if (calls[i].kind == LAUNCH && magnitude(calls[i].size[0]) == magnitude(c->size[0]) && !strcmp(calls[i].entry, c->entry)) {
			memcpy(c->ld, calls[i].ld, sizeof c->ld);
			found = 1;
		}
	pthread_mutex_unlock(&emu_lock);
	return found;
}

/* Copies the list to out, which has room for max calls, and returns its length. */
API long gpfit_emu_noted(struct emu_call *out, long max) {
	pthread_mutex_lock(&emu_lock);
	long n = ncalls;
	if (n && max >= n)
		memcpy(out, calls, (size_t)n * sizeof *out);
	pthread_mutex_unlock(&emu_lock);
	return n;
}

void emu_library_reset(void) { nspoilings = 0; }
