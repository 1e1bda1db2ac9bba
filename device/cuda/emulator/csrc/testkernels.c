/* Kernels for the tests of the driver package: what a library named by
 * GPFIT_EMU_KERNELS looks like. */
#include <stdint.h>
#include <string.h>

#define API __attribute__((visibility("default")))

/* axpy: y[i] += a*x[i] for the n points of a grid of one dimension. */
static void axpy(unsigned threads, int64_t n, double a, const double *x, double *y) {
	for (int64_t i = 0; i < n && i < (int64_t)threads; i++)
		y[i] += a * x[i];
}

/* geometry: writes what it was launched with to out[0…6]. */
static void geometry(int64_t *out, const unsigned *dims, unsigned shared) {
	for (int i = 0; i < 6; i++)
		out[i] = dims[i];
	out[6] = shared;
}

API int gpfit_emu_launch(const char *name, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                         unsigned shared, void **p) {
	unsigned dims[6] = {gx, gy, gz, bx, by, bz};
	if (!strcmp(name, "axpy")) {
		axpy(gx * bx, *(int64_t *)p[0], *(double *)p[1], *(double **)p[2], *(double **)p[3]);
		return 0;
	}
	if (!strcmp(name, "geometry")) {
		geometry(*(int64_t **)p[0], dims, shared);
		return 0;
	}
	if (!strcmp(name, "fault"))
		return 700;
	return -1;
}
