/* Declarations for the sources of the emulated libcuda.so.1. Device memory is host
 * memory, and one mutex guards all state except for queues of work (cuda_queue.c). */
#ifndef GPFIT_EMU_H
#define GPFIT_EMU_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#define API __attribute__((visibility("default")))

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;

enum {
	SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3,
	NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_IMAGE = 200, INVALID_CONTEXT = 201,
	INVALID_PTX = 218, INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600,
	ILLEGAL_ADDRESS = 700, PEER_ENABLED = 704, ALREADY_REGISTERED = 712, NOT_REGISTERED = 713, LAUNCH_FAILED = 719,
	SILENT = -1 /* a fault: the call does nothing and reports success */
};

enum { MAX_DEVICES = 8, MAX_FAULTS = 32, MAX_ENTRIES = 256, MAX_THREADS = 64, MAX_PARAMS = 64 };

/* What an entry point needs, which also determines how it is counted. */
enum { FREE, DEVICE, CONTEXT };

struct device {
	int index, major, minor, mode;
	long long memory, used;
	int retained, sticky;
	long threads[MAX_THREADS];
	int nthreads;
	long handles;
	int peers[MAX_DEVICES]; /* the devices to which access is enabled */
};

struct region {
	struct region *next;
	struct device *dev;
	char *map, *base; /* the pages, of which the first and the last cannot be accessed, and the block */
	size_t mapped, size;
};

extern pthread_mutex_t emu_lock;
extern struct device emu_devices[MAX_DEVICES];
extern int emu_ndevices;
extern __thread struct device *emu_current;

/* Counts a call and applies faults. Returns the code to return, or 0 to continue.
 * Every entry point of the library calls it first. */
CUresult emu_enter(const char *name, int need);
#define ENTER(need) do { CUresult e_ = emu_enter(__func__, need); if (e_) return e_ == SILENT ? 0 : e_; } while (0)

/* Calls take for each item entry:number:code of an environment variable; commas separate them. */
void emu_each(const char *variable, void (*take)(const char *entry, long number, int code));

/* Returns whether a code makes a device unusable for the rest of the process or until
 * reset. */
int emu_is_sticky(int code);

/* Handles other than memory: streams, events, modules, functions. */
void *emu_handle(int magic, size_t size);
int emu_valid(const void *h, int magic);
void emu_release(void *h);
enum { STREAM = 0x57e4a, EVENT = 0xe7e27, MODULE = 0x30d01, FUNCTION = 0xf04c7 };
struct handle {
	int magic;
	struct device *dev;
};

/* Work in streams (cuda_queue.c). */
int emu_asynchronous(void);
API void gpfit_emu_later(void *stream, void (*run)(void *), void *arg);
/* Returns whether there is an operation for which is returns 1. */
int emu_queued(int (*is)(void (*run)(void *), const void *arg, const void *what), const void *what);
/* Run the work of the current device, or of one of its streams, and what it waits for. */
void emu_drain(void);
void emu_drain_stream(void *stream);
void emu_forget(struct device *d);

void emu_violation(const char *what);
/* The same for callers that do not hold the lock. */
API void gpfit_emu_misused(const char *what);
/* Forgets the allocations of a device whose context is dead. */
void emu_bury(struct device *d);
/* Returns whether [p, p+n) lies in one live allocation; counts a violation if not. */
API int gpfit_emu_in_range(const void *p, size_t n);
/* Returns the current device's allocations; the caller frees the list. */
struct extent {
	void *base;
	size_t size;
};
struct extent *emu_extents(size_t *n);
/* Returns the distance of an address from the beginning of its allocation, -1 if it is
 * in none. */
int64_t emu_offset(const void *p);

/* A call that is recorded. That of a math library has its name and sizes, and the addresses (in the list:
 * the offsets in their allocations) and leading dimensions of up to three matrices. A dry device records the
 * other kinds, too. */
struct emu_call {
	char entry[32];
	int64_t size[3], at[3], ld[3], stream, kind, priority, event;
};
/* The size of a launch is its blocks, and ld has what the model says of one; a copy, or memory that is set, has bytes. */
enum { LIBRARY_CALL, LAUNCH, COPY, SET, RECORD, WAIT, SYNCHRONIZE };
API void gpfit_emu_note(const struct emu_call *c);
/* Notes a call of a dry device. */
void emu_dry_note(struct emu_call c);
/* Returns whether the devices are dry: they record the calls and compute nothing. */
int emu_dry(void);
/* Sets what the model says of a launch if the list has one of about as many blocks, and returns whether it has. */
int emu_known(struct emu_call *launch);
int emu_priority(void *stream);
API void gpfit_emu_spoil(const char *entry, long from, int kind);
/* Withdraws what tests requested from the math libraries. The caller holds the lock. */
void emu_library_reset(void);

/* PTX (ptx_device.cpp). emu_ptx_load returns the module of a text, or NULL and a line in
 * the log; emu_ptx_kernel returns one of its kernels, or NULL; emu_ptx_launch runs a
 * launch to its end. params[i] points to the i-th parameter. A launch returns a CUDA
 * code, INVALID_VALUE for a block with which the kernel cannot run. */
struct emu_ptx *emu_ptx_load(const char *text, char *log, size_t size);
void emu_ptx_unload(struct emu_ptx *m);
const void *emu_ptx_kernel(const struct emu_ptx *m, const char *name);
int emu_ptx_static_shared(const void *kernel);
/* Returns the number of parameters, and writes their sizes unless sizes is NULL. */
int emu_ptx_params(const void *kernel, int *sizes);
int emu_ptx_accepts(const void *kernel, const unsigned grid[3], const unsigned block[3], unsigned shared);
int emu_ptx_launch(const struct emu_ptx *m, const void *kernel, const unsigned grid[3], const unsigned block[3],
                   unsigned shared, void **params);
/* Runs some blocks of a launch and sets the means of what a model says of them; see ptx_clock.h. */
int emu_ptx_timed(const struct emu_ptx *m, const void *kernel, const unsigned grid[3], const unsigned block[3],
                  unsigned shared, void **params, int64_t means[3]);

#endif
