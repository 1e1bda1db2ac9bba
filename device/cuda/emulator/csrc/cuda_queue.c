/* The emulated libcuda.so.1: work that a device does later. Without a seed every call runs at once. With a
 * seed (GPFIT_EMU_ORDER, gpfit_emu_order) copies, launches and calls of the math libraries wait in the queue
 * of their stream. They run, one after the other, when a call waits for the device, and some before, in a
 * random order that respects streams, events and the rules of the default stream alone: code that forgets
 * a dependency meets an order that shows it. */
#define _GNU_SOURCE
#include "emu.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct op {
	struct op *next;
	long number; /* in the order of the calls */
	void (*run)(void *);
	void *arg;
	struct event *event; /* recorded, or waited for */
	long wanted;         /* the record of the event to wait for, 0 for none */
};

struct stream {
	struct handle h;
	int nonblocking, priority;
	struct op *first, **end;
	struct stream *next;
};

struct event {
	struct handle h;
	double ms;              /* 0: never passed */
	long recorded, passed;  /* numbers of records */
	long waiting;           /* operations that refer to it */
};

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct stream *streams, defaults[MAX_DEVICES];
static unsigned long long seed, x; /* of the random numbers, and their state */
static long number, most;

__attribute__((constructor)) static void configure(void) {
	const char *v = getenv("GPFIT_EMU_ORDER");
	seed = x = v ? strtoull(v, NULL, 10) : 0;
	for (int i = 0; i < MAX_DEVICES; i++) {
		defaults[i].h.dev = &emu_devices[i];
		defaults[i].end = &defaults[i].first;
		defaults[i].next = streams;
		streams = &defaults[i];
	}
}

static unsigned long long draw(unsigned long long n) {
	x = x * 6364136223846793005u + 1442695040888963407u;
	return (x >> 33) % n;
}

static struct stream *stream_of(void *s) { return (uintptr_t)s <= 2 ? &defaults[emu_current->index] : s; }

static int is_default(const struct stream *s) { return s == &defaults[s->h.dev->index]; }

/* Returns whether the first operation of a stream may run: not before an event that it waits for, nor,
 * between the default stream and the streams that wait for it, before earlier calls. */
static int ready(const struct stream *s) {
	const struct op *o = s->first;
	if (!o || (o->wanted && o->event->passed < o->wanted))
		return 0;
	for (const struct stream *t = streams; t; t = t->next)
		if (t != s && t->h.dev == s->h.dev && t->first && t->first->number < o->number && !t->nonblocking && !s->nonblocking &&
		    (is_default(t) || is_default(s)))
			return 0;
	return 1;
}

static void drop(struct op *o) {
	if (o->event)
		o->event->waiting--;
	free(o->arg);
	free(o);
}

/* Runs the first operation of a stream. */
static void step(struct stream *s) {
	struct op *o = s->first;
	struct device *before = emu_current;
	if (!(s->first = o->next))
		s->end = &s->first;
	emu_current = s->h.dev;
	if (o->event && !o->wanted) {
		struct timespec t;
		clock_gettime(CLOCK_MONOTONIC, &t);
		o->event->ms = (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
		o->event->passed++;
	}
	if (o->run && !emu_current->sticky)
		o->run(o->arg);
	emu_current = before;
	drop(o);
}

/* Runs one operation that may run, chosen at random, on any device, because a stream may wait for an event of another
 * device. Returns 0 if there is none. Often it is one of the stream before, so that some streams run far ahead of others. */
static int more(void) {
	static const struct stream *last;
	int n = 0;
	for (struct stream *s = streams; s; s = s->next)
		if (s == last && ready(s) && draw(4)) {
			step(s);
			return 1;
		}
	for (struct stream *s = streams; s; s = s->next)
		n += ready(s);
	if (!n)
		return 0;
	int k = (int)draw((unsigned long long)n);
	for (struct stream *s = streams; s; s = s->next)
		if (ready(s) && k-- == 0) {
			last = s;
			step(s);
			return 1;
		}
	return 0;
}

/* Runs work until a stream of a device, or with none all its streams, have nothing to do. */
static void drain(const struct device *d, const struct stream *only) {
	for (;;) {
		int busy = 0;
		for (const struct stream *s = streams; s; s = s->next)
			busy |= s->h.dev == d && (!only || s == only) && s->first != NULL;
		if (!busy)
			return;
		if (!more()) {
			gpfit_emu_misused("streams wait for an event that is never recorded");
			return;
		}
	}
}

void emu_drain(void) {
	pthread_mutex_lock(&lock);
	drain(emu_current, NULL);
	pthread_mutex_unlock(&lock);
}

void emu_drain_stream(void *s) {
	pthread_mutex_lock(&lock);
	drain(emu_current, stream_of(s));
	pthread_mutex_unlock(&lock);
}

/* Forgets the work of a device whose context is dead. */
void emu_forget(struct device *d) {
	pthread_mutex_lock(&lock);
	for (struct stream *s = streams; s; s = s->next)
		while (s->h.dev == d && s->first) {
			struct op *o = s->first;
			if (!(s->first = o->next))
				s->end = &s->first;
			if (o->event && !o->wanted)
				o->event->passed++; /* streams of other devices may wait for it */
			drop(o);
		}
	pthread_mutex_unlock(&lock);
}

static void queue(struct stream *s, struct op o) {
	struct op *p = malloc(sizeof *p);
	*p = o;
	p->number = ++number;
	if (p->event)
		p->event->waiting++;
	*s->end = p;
	s->end = &p->next;
	long busy = 0;
	for (const struct stream *t = streams; t; t = t->next)
		busy += t->first != NULL;
	if (busy > most)
		most = busy;
	while (draw(seed % 2 ? 16 : 3) == 0 && more()) { /* some work is done before anybody waits */
	}
}

int emu_queued(int (*is)(void (*run)(void *), const void *arg, const void *what), const void *what) {
	int found = 0;
	pthread_mutex_lock(&lock);
	for (const struct stream *s = streams; s; s = s->next)
		for (const struct op *o = s->first; o; o = o->next)
			found |= o->run && is(o->run, o->arg, what);
	pthread_mutex_unlock(&lock);
	return found;
}

int emu_asynchronous(void) { return seed != 0; }

int emu_priority(void *s) { return (uintptr_t)s <= 2 ? 0 : ((struct stream *)s)->priority; }

static void later(void *s, struct op o) {
	if (emu_dry()) {
		free(o.arg);
		return;
	}
	if (!seed) {
		o.run(o.arg);
		free(o.arg);
		return;
	}
	pthread_mutex_lock(&lock);
	queue(stream_of(s), o);
	pthread_mutex_unlock(&lock);
}

/* Calls run(arg) when the stream comes to it, and then frees arg. */
API void gpfit_emu_later(void *s, void (*run)(void *), void *arg) { later(s, (struct op){.run = run, .arg = arg}); }

/* Changes the seed, 0 for calls that run at once. */
API void gpfit_emu_order(long s) {
	pthread_mutex_lock(&lock);
	for (int i = 0; i < emu_ndevices; i++)
		drain(&emu_devices[i], NULL);
	seed = x = (unsigned long long)s;
	most = 0;
	pthread_mutex_unlock(&lock);
}

/* Returns the largest number of streams that had work at the same time. */
API long gpfit_emu_busy(void) { return most; }

static CUresult create(void **p, unsigned flags, int priority) {
	if (flags > 1)
		return INVALID_VALUE;
	struct stream *s = emu_handle(STREAM, sizeof *s);
	s->nonblocking = (int)flags; /* CU_STREAM_NON_BLOCKING */
	s->priority = priority;
	s->end = &s->first;
	pthread_mutex_lock(&lock);
	s->next = streams;
	streams = s;
	pthread_mutex_unlock(&lock);
	return *p = s, 0;
}

API CUresult cuStreamCreate(void **p, unsigned flags) {
	ENTER(CONTEXT);
	return create(p, flags, 0);
}

/* A device clamps a priority to its range, of which the least number comes first. */
API CUresult cuStreamCreateWithPriority(void **p, unsigned flags, int priority) {
	ENTER(CONTEXT);
	return create(p, flags, priority < -5 ? -5 : priority > 0 ? 0 : priority);
}

API CUresult cuStreamDestroy_v2(void *p) {
	ENTER(CONTEXT);
	if (!emu_valid(p, STREAM) || (uintptr_t)p <= 2)
		return INVALID_HANDLE;
	pthread_mutex_lock(&lock);
	drain(emu_current, p);
	for (struct stream **at = &streams; *at; at = &(*at)->next)
		if (*at == p) {
			*at = (*at)->next;
			break;
		}
	emu_release(p);
	pthread_mutex_unlock(&lock);
	return 0;
}

API CUresult cuStreamSynchronize(void *s) {
	ENTER(CONTEXT);
	if (!emu_valid(s, STREAM))
		return INVALID_HANDLE;
	emu_dry_note((struct emu_call){.kind = SYNCHRONIZE, .stream = (int64_t)s});
	emu_drain_stream(s);
	return emu_current->sticky;
}

API CUresult cuStreamWaitEvent(void *s, void *p, unsigned flags) {
	ENTER(CONTEXT);
	struct event *e = p; /* perhaps of another device */
	if (!emu_valid(s, STREAM) || !e || e->h.magic != EVENT || flags)
		return INVALID_HANDLE;
	if (e->h.dev->sticky)
		return e->h.dev->sticky;
	emu_dry_note((struct emu_call){.kind = WAIT, .stream = (int64_t)s, .event = (int64_t)p});
	if (!seed || !e->recorded) /* an event that was never recorded does not hold back */
		return 0;
	pthread_mutex_lock(&lock);
	queue(stream_of(s), (struct op){.event = e, .wanted = e->recorded});
	pthread_mutex_unlock(&lock);
	return 0;
}

API CUresult cuEventCreate(void **e, unsigned flags) {
	ENTER(CONTEXT);
	(void)flags;
	return *e = emu_handle(EVENT, sizeof(struct event)), 0;
}

API CUresult cuEventDestroy_v2(void *p) {
	ENTER(CONTEXT);
	if (!emu_valid(p, EVENT))
		return INVALID_HANDLE;
	struct event *e = p;
	pthread_mutex_lock(&lock);
	while (e->waiting && more()) {
	}
	emu_release(e);
	pthread_mutex_unlock(&lock);
	return 0;
}

API CUresult cuEventRecord(void *p, void *s) {
	ENTER(CONTEXT);
	if (!emu_valid(p, EVENT) || !emu_valid(s, STREAM))
		return INVALID_HANDLE;
	struct event *e = p;
	emu_dry_note((struct emu_call){.kind = RECORD, .stream = (int64_t)s, .event = (int64_t)p});
	pthread_mutex_lock(&lock);
	e->recorded++;
	queue(stream_of(s), (struct op){.event = e});
	if (!seed)
		drain(emu_current, NULL);
	pthread_mutex_unlock(&lock);
	return 0;
}

API CUresult cuEventSynchronize(void *p) {
	ENTER(CONTEXT);
	if (!emu_valid(p, EVENT))
		return INVALID_HANDLE;
	struct event *e = p;
	emu_dry_note((struct emu_call){.kind = SYNCHRONIZE, .event = (int64_t)p});
	pthread_mutex_lock(&lock);
	while (e->passed < e->recorded && more()) {
	}
	pthread_mutex_unlock(&lock);
	return emu_current->sticky;
}

API CUresult cuEventElapsedTime(float *ms, void *a, void *b) {
	ENTER(CONTEXT);
	if (!emu_valid(a, EVENT) || !emu_valid(b, EVENT))
		return INVALID_HANDLE;
	struct event *x = a, *y = b;
	if (x->ms == 0 || y->ms == 0)
		return INVALID_HANDLE;
	if (x->passed < x->recorded || y->passed < y->recorded)
		return NOT_READY;
	return *ms = (float)(y->ms - x->ms), 0;
}

API CUresult cuCtxSynchronize(void) {
	ENTER(CONTEXT);
	emu_drain();
	return emu_current->sticky;
}
