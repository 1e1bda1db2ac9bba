/* Emulated libcuda.so.1: kernels for the tests of package driver. */
#include "emu.h"

#include <string.h>

int emu_run_test_kernel(const char *name, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                        unsigned shared, void **p) {
	if (!strcmp(name, "axpy")) { /* y[i] += a·x[i] for i < n, a thread each */
		int64_t n = *(int64_t *)p[0];
		double a = *(double *)p[1], *x = *(double **)p[2], *y = *(double **)p[3];
		for (int64_t i = 0; i < n && i < (int64_t)gx * bx; i++)
			y[i] += a * x[i];
		return 0;
	}
	if (!strcmp(name, "geometry")) { /* writes what it was launched with */
		unsigned with[7] = {gx, gy, gz, bx, by, bz, shared};
		for (int i = 0; i < 7; i++)
			(*(int64_t **)p[0])[i] = with[i];
		return 0;
	}
	return !strcmp(name, "fault") ? ILLEGAL_ADDRESS : NOT_FOUND;
}
