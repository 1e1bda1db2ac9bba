/* A stand-in for NCCL: communicators of all ranks that MPI knows. Nothing but the
 * stand-ins for cuBLASMp and cuSOLVERMp uses them. */
#include "scalapack.h"

#include <sys/random.h>

enum { CUDA_ERROR = 1, SYSTEM_ERROR = 2, INVALID_ARGUMENT = 4, INVALID_USAGE = 5, VERSION = 22907, ID_BYTES = 128, MOST_DEVICES = 8 };

#define ENTER do { int e_ = fault(__func__, CUDA_ERROR, CUDA_ERROR); if (e_) return e_ == SILENT ? 0 : e_; } while (0)

/* Every id begins with it. */
static const char mark[8] = "ncclid";

API int ncclGetVersion(int *version) {
	ENTER;
	return version ? (*version = VERSION, 0) : INVALID_ARGUMENT;
}

API int ncclGetUniqueId(char *id) {
	ENTER;
	if (!id)
		return INVALID_ARGUMENT;
	memcpy(id, mark, sizeof mark);
	return getrandom(id + sizeof mark, ID_BYTES - sizeof mark, 0) == ID_BYTES - sizeof mark ? 0 : SYSTEM_ERROR;
}

/* Returns on all ranks whether two of them have the same device. All ranks are on one
 * machine. */
static int shared(int own, int size) {
	int with_me = 0;
	for (int r = 0; r < size; r++)
		for (int d = 0; d < MOST_DEVICES; d++)
			if (emu_any(r == own && d == emu_device()) && r != own && d == emu_device())
				with_me = 1;
	return emu_any(with_me);
}

/* All ranks call it together. They fail together if one has another id or place than it
 * should, or the device of another. */
API int ncclCommInitRankScalable(struct comm **comm, int ranks, int rank, int ids, const char *id, const void *config) {
	ENTER;
	int own, size;
	if (!emu_ranks(&own, &size))
		return SYSTEM_ERROR;
	char copy[ID_BYTES] = {0};
	if (id)
		memcpy(copy, id, sizeof copy);
	int same = emu_same(copy, sizeof copy);
	if (emu_any(!comm || ranks != size || rank != own || ids != 1 || config || memcmp(copy, mark, sizeof mark)) || !same)
		return INVALID_USAGE;
	if (emu_any(emu_device() < 0))
		return CUDA_ERROR;
	if (shared(own, size))
		return INVALID_USAGE;
	return *comm = emu_object(COMM, sizeof **comm), 0;
}

/* A fault of this function is an asynchronous error, which the communicator keeps. */
API int ncclCommGetAsyncError(struct comm *comm, int *error) {
	int e = fault(__func__, CUDA_ERROR, CUDA_ERROR);
	if (!is(comm, COMM) || !error)
		return INVALID_ARGUMENT;
	if (e > 0)
		comm->error = e;
	return *error = comm->error, 0;
}

API int ncclCommDestroy(struct comm *comm) {
	ENTER;
	if (!is(comm, COMM))
		return INVALID_ARGUMENT;
	if (comm->grids) {
		misused("a communicator is destroyed before its grids");
		return INVALID_USAGE;
	}
	comm->magic = 0;
	free(comm);
	return 0;
}
