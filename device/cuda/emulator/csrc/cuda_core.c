/* The emulated libcuda.so.1: configuration, faults, devices, contexts. */
#define _GNU_SOURCE
#include "emu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

pthread_mutex_t emu_lock = PTHREAD_MUTEX_INITIALIZER;
struct device emu_devices[MAX_DEVICES];
int emu_ndevices;
__thread struct device *emu_current;

static int driver_version, init_code, initialized;
static char device_name[64];
static long violations;

static struct fault {
	char entry[48];
	long at; /* the call number, counted from 1 since reset */
	int code;
} faults[MAX_FAULTS];
static int nfaults;

static struct counter {
	char entry[48];
	long calls;
} counters[MAX_ENTRIES];
static int ncounters;

/* These codes make a context dead. */
int emu_is_sticky(int code) {
	return code == 214 || code == 220 || code == 226 || code == 700 || code == 702 || code == 709 ||
	       code == 710 || (code >= 714 && code <= 719) || code == 721 || code == 810;
}

static long long env_number(const char *name, long long otherwise) {
	const char *v = getenv(name);
	return v && *v ? atoll(v) : otherwise;
}

static void add_fault(const char *entry, long at, int code) {
	if (nfaults < MAX_FAULTS) {
		struct fault *f = &faults[nfaults++];
		snprintf(f->entry, sizeof f->entry, "%s", entry);
		f->at = at;
		f->code = code;
	}
}

void emu_each(const char *variable, void (*take)(const char *entry, long number, int code)) {
	const char *v = getenv(variable);
	char copy[2048], *save = NULL;
	snprintf(copy, sizeof copy, "%s", v ? v : "");
	for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
		char entry[48];
		long number;
		int code;
		if (sscanf(item, "%47[^:]:%ld:%d", entry, &number, &code) == 3)
			take(entry, number, code);
		else
			fprintf(stderr, "emulated libcuda: cannot read %s in %s\n", item, variable);
	}
}

/* Returns the i-th item of a comma-separated list of numbers; the last one repeats. */
static int list_item(const char *name, int i, int otherwise) {
	const char *v = getenv(name);
	if (!v || !*v)
		return otherwise;
	for (const char *comma; i > 0 && (comma = strchr(v, ',')); i--)
		v = comma + 1;
	return atoi(v);
}

__attribute__((constructor)) static void configure(void) {
	emu_ndevices = (int)env_number("GPFIT_EMU_DEVICES", 1);
	if (emu_ndevices < 0)
		emu_ndevices = 0;
	if (emu_ndevices > MAX_DEVICES)
		emu_ndevices = MAX_DEVICES;
	driver_version = (int)env_number("GPFIT_EMU_DRIVER", 12040);
	init_code = (int)env_number("GPFIT_EMU_INIT", 0);
	snprintf(device_name, sizeof device_name, "%s",
	         getenv("GPFIT_EMU_NAME") ? getenv("GPFIT_EMU_NAME") : "Emulated GPU");
	for (int i = 0; i < emu_ndevices; i++) {
		int cc = list_item("GPFIT_EMU_COMPUTE", i, 90);
		emu_devices[i] = (struct device){.index = i, .major = cc / 10, .minor = cc % 10,
			.mode = list_item("GPFIT_EMU_MODE", i, 0),
			.memory = env_number("GPFIT_EMU_MEMORY", 1LL << 30)};
	}
	emu_each("GPFIT_EMU_FAULTS", add_fault);
}

static struct counter *counter_of(const char *entry) {
	for (int i = 0; i < ncounters; i++)
		if (!strcmp(counters[i].entry, entry))
			return &counters[i];
	if (ncounters == MAX_ENTRIES)
		return NULL;
	struct counter *c = &counters[ncounters++];
	snprintf(c->entry, sizeof c->entry, "%s", entry);
	c->calls = 0;
	return c;
}

static int count(const char *entry) {
	struct counter *c = counter_of(entry);
	if (!c)
		return 0;
	c->calls++;
	for (int i = 0; i < nfaults; i++)
		if (!strcmp(faults[i].entry, entry) && faults[i].at == c->calls)
			return faults[i].code;
	return 0;
}

static void note_thread(struct device *d) {
	long id = syscall(SYS_gettid);
	for (int i = 0; i < d->nthreads; i++)
		if (d->threads[i] == id)
			return;
	if (d->nthreads < MAX_THREADS)
		d->threads[d->nthreads++] = id;
}

/* Returns the code of a call. A dead context has precedence over faults by name and
 * by "*". */
static int admit(const char *name, int need) {
	int code = count(name);
	if (need != FREE) {
		int any = count("*");
		code = code ? code : any;
	}
	if (need == CONTEXT) {
		if (!emu_current)
			return INVALID_CONTEXT;
		note_thread(emu_current);
		if (emu_current->sticky)
			return emu_current->sticky;
		if (code && emu_is_sticky(code))
			emu_current->sticky = code;
	}
	return code;
}

CUresult emu_enter(const char *name, int need) {
	pthread_mutex_lock(&emu_lock);
	int code = initialized ? admit(name, need) : NOT_INITIALIZED;
	pthread_mutex_unlock(&emu_lock);
	return code;
}

/* For the math libraries: returns a CUDA code or, for a fault of that entry itself,
 * its status. Sets *dead if the context is dead. */
API int gpfit_emu_fault(const char *name, int *dead) {
	pthread_mutex_lock(&emu_lock);
	int own = count(name), any = count("*");
	int code = own ? own : any;
	*dead = 0;
	if (emu_current) {
		note_thread(emu_current);
		if (emu_is_sticky(code) && !emu_current->sticky)
			emu_current->sticky = code;
		*dead = emu_current->sticky != 0;
	}
	pthread_mutex_unlock(&emu_lock);
	return code;
}

/* Returns the index of the device whose context is current, −1 for none. */
API int gpfit_emu_device(void) { return emu_current ? emu_current->index : -1; }

void emu_violation(const char *what) {
	violations++;
	fprintf(stderr, "emulated libcuda: %s\n", what);
}

API void gpfit_emu_misused(const char *what) {
	pthread_mutex_lock(&emu_lock);
	emu_violation(what);
	pthread_mutex_unlock(&emu_lock);
}

/* Functions that tests call to control the device. */

API void gpfit_emu_inject(const char *entry, long k, int code) {
	pthread_mutex_lock(&emu_lock);
	struct counter *c = counter_of(entry);
	add_fault(entry, k + (c ? c->calls : 0), code);
	pthread_mutex_unlock(&emu_lock);
}

API void gpfit_emu_reset(void) {
	for (int i = 0; i < emu_ndevices; i++)
		if (emu_devices[i].sticky)
			emu_forget(&emu_devices[i]);
	pthread_mutex_lock(&emu_lock);
	nfaults = ncounters = 0;
	emu_library_reset();
	for (int i = 0; i < emu_ndevices; i++) {
		if (emu_devices[i].sticky)
			emu_bury(&emu_devices[i]);
		emu_devices[i].sticky = emu_devices[i].nthreads = 0;
	}
	pthread_mutex_unlock(&emu_lock);
}

API long gpfit_emu_calls(const char *entry) {
	pthread_mutex_lock(&emu_lock);
	long n = 0;
	for (int i = 0; i < ncounters; i++)
		if (!strcmp(counters[i].entry, entry))
			n = counters[i].calls;
	pthread_mutex_unlock(&emu_lock);
	return n;
}

API long gpfit_emu_used(int i) { return (long)emu_devices[i].used; }
API long gpfit_emu_threads(int i) { return emu_devices[i].nthreads; }
API long gpfit_emu_retained(int i) { return emu_devices[i].retained; }
API long gpfit_emu_violations(void) { return violations; }
API void gpfit_emu_set_memory(int i, long bytes) { emu_devices[i].memory = bytes; }

/* Initialization, errors and devices. */

static long connections;

API CUresult cuInit(unsigned flags) {
	if (flags)
		return INVALID_VALUE;
	if (init_code)
		return init_code;
	if (emu_ndevices <= 0)
		return NO_DEVICE;
	initialized = 1;
	const char *v = getenv("CUDA_DEVICE_MAX_CONNECTIONS"); /* read once, as libcuda does */
	connections = v ? atol(v) : 8;
	return 0;
}

/* Returns the number of queues of a context to its card, as the environment had it when the library started. */
API long gpfit_emu_connections(void) { return connections; }

API CUresult cuDriverGetVersion(int *v) { return *v = driver_version, 0; }

API CUresult cuGetErrorName(CUresult e, const char **s) {
	return *s = e == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : e == 997 ? "CUDA_ERROR_EMULATED" : NULL,
	       *s ? 0 : INVALID_VALUE;
}

API CUresult cuGetErrorString(CUresult e, const char **s) {
	return *s = e == OUT_OF_MEMORY ? "out of memory" : e == 997 ? "an error of the emulated device" : NULL,
	       *s ? 0 : INVALID_VALUE;
}

API CUresult cuDeviceGetCount(int *n) {
	ENTER(FREE);
	return *n = emu_ndevices, 0;
}

API CUresult cuDeviceGet(CUdevice *d, int i) {
	ENTER(FREE);
	return i < 0 || i >= emu_ndevices ? INVALID_DEVICE : (*d = i, 0);
}

API CUresult cuDeviceGetName(char *s, int len, CUdevice d) {
	ENTER(FREE);
	snprintf(s, (size_t)len, "%s %d", device_name, d);
	return 0;
}

API CUresult cuDeviceTotalMem_v2(size_t *n, CUdevice d) {
	ENTER(FREE);
	return *n = (size_t)emu_devices[d].memory, 0;
}

API CUresult cuDeviceGetAttribute(int *v, int attribute, CUdevice d) {
	ENTER(FREE);
	switch (attribute) {
	case 13: *v = 1500000; break;        /* clock, kHz */
	case 16: *v = emu_dry() ? 132 : 4; break; /* multiprocessors */
	case 20: *v = emu_devices[d].mode; break;
	case 36: *v = 2000000; break;        /* memory clock, kHz */
	case 37: *v = 512; break;            /* memory bus, bits */
	case 75: *v = emu_devices[d].major; break;
	case 76: *v = emu_devices[d].minor; break;
	case 87: *v = (int)env_number("GPFIT_EMU_SINGLE", 2); break; /* float32 over float64 */
	default: return INVALID_VALUE;
	}
	return 0;
}

API CUresult cuDevicePrimaryCtxRetain(void **ctx, CUdevice d) {
	ENTER(DEVICE);
	if (d < 0 || d >= emu_ndevices)
		return INVALID_DEVICE;
	if (emu_devices[d].sticky)
		return emu_devices[d].sticky;
	emu_devices[d].retained++;
	return *ctx = &emu_devices[d], 0;
}

API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) {
	ENTER(DEVICE);
	return emu_devices[d].retained-- > 0 ? 0 : INVALID_CONTEXT;
}

API CUresult cuDeviceCanAccessPeer(int *can, CUdevice d, CUdevice peer) {
	ENTER(FREE);
	if (d < 0 || d >= emu_ndevices || peer < 0 || peer >= emu_ndevices)
		return INVALID_DEVICE;
	return *can = d != peer && env_number("GPFIT_EMU_PEER", 1), 0;
}

API CUresult cuCtxEnablePeerAccess(void *ctx, unsigned flags) {
	ENTER(CONTEXT);
	struct device *d = ctx;
	if (d < emu_devices || d >= emu_devices + emu_ndevices || d == emu_current || flags)
		return INVALID_VALUE;
	if (d->sticky)
		return d->sticky;
	return emu_current->peers[d->index]++ ? PEER_ENABLED : 0;
}

API CUresult cuCtxSetCurrent(void *ctx) {
	ENTER(DEVICE);
	return emu_current = ctx, 0;
}
