#include "blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NB = 64, MB = 256, KB = 128 };

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif

static L min(L a, L b) { return a < b ? a : b; }

static double *array(L n) {
	double *p = malloc(sizeof *p * (size_t)(n > 0 ? n : 1));
	if (!p)
		abort();
	return p;
}

static void scale(L m, L n, double beta, double *c, L ldc) {
	for (L j = 0; j < n; j++)
		for (L i = 0; i < m; i++)
			c[i + j * ldc] = beta == 0 ? 0 : beta * c[i + j * ldc];
}

/* c += alpha·p·op(b) for a packed m×k panel p. */
CLONES static void panel(L m, L n, L k, double alpha, const double *p, int tb, const double *b, L ldb, double *c, L ldc) {
	L rs = tb ? ldb : 1, cs = tb ? 1 : ldb;
	for (L j = 0; j < n; j++) {
		double *restrict cj = c + j * ldc;
		const double *bj = b + j * cs;
		L q = 0;
		for (; q + 4 <= k; q += 4) {
			double b0 = alpha * bj[q * rs], b1 = alpha * bj[(q + 1) * rs];
			double b2 = alpha * bj[(q + 2) * rs], b3 = alpha * bj[(q + 3) * rs];
			const double *restrict p0 = p + q * m;
			for (L i = 0; i < m; i++)
				cj[i] += (p0[i] * b0 + p0[i + m] * b1) + (p0[i + 2 * m] * b2 + p0[i + 3 * m] * b3);
		}
		for (; q < k; q++) {
			double b0 = alpha * bj[q * rs];
			for (L i = 0; i < m; i++)
				cj[i] += p[q * m + i] * b0;
		}
	}
}

void emu_gemm(int ta, int tb, L m, L n, L k, double alpha, const double *a, L lda, const double *b, L ldb, double beta,
              double *c, L ldc) {
	static __thread double p[MB * KB];
	if (beta != 1)
		scale(m, n, beta, c, ldc);
	if (alpha == 0)
		return;
	for (L q = 0; q < k; q += KB)
		for (L i = 0; i < m; i += MB) {
			L mb = min(MB, m - i), kb = min(KB, k - q);
			for (L s = 0; s < kb; s++)
				for (L r = 0; r < mb; r++)
					p[s * mb + r] = ta ? a[(q + s) + (i + r) * lda] : a[(i + r) + (q + s) * lda];
			panel(mb, n, kb, alpha, p, tb, tb ? b + q * ldb : b + q, ldb, c + i, ldc);
		}
}

/* Copies op(a), m×n, with rows (by = 0) or columns (by = 1) rounded to fixed point. */
static double *fixed_point(int bits, int by, int trans, L m, L n, const double *a, L lda) {
	double *out = array(m * n);
	for (L j = 0; j < n; j++)
		for (L i = 0; i < m; i++)
			out[i + j * m] = trans ? a[j + i * lda] : a[i + j * lda];
	L lines = by ? n : m, length = by ? m : n, to_line = by ? m : 1, to_next = by ? 1 : m;
	for (L q = 0; q < lines; q++) {
		double *line = out + q * to_line, largest = 0;
		int exponent;
		for (L i = 0; i < length; i++)
			largest = fmax(largest, fabs(line[i * to_next]));
		frexp(largest, &exponent);
		for (L i = 0; i < length; i++)
			line[i * to_next] = ldexp(rint(ldexp(line[i * to_next], bits - exponent)), exponent - bits);
	}
	return out;
}

void emu_gemm_fixed(int bits, int ta, int tb, L m, L n, L k, double alpha, const double *a, L lda, const double *b, L ldb,
                    double beta, double *c, L ldc) {
	double *p = fixed_point(bits, 0, ta, m, k, a, lda), *q = fixed_point(bits, 1, tb, k, n, b, ldb);
	emu_gemm(0, 0, m, n, k, alpha, p, m, q, k, beta, c, ldc);
	free(p);
	free(q);
}

/* Returns whether element (i, j) of an n×n block belongs to the triangle uplo. */
static int in_triangle(int uplo, L i, L j) { return uplo == LOWER ? i >= j : i <= j; }

/* c -= a·aᵀ in the lower triangle of the n×n matrix c, a n×k. */
static void syrk(L n, L k, const double *a, L lda, double *c, L ldc) {
	double *t = array(NB * NB);
	for (L j = 0; j < n; j += NB) {
		L nb = min(NB, n - j), below = n - j - nb;
		emu_gemm(0, 1, nb, nb, k, -1, a + j, lda, a + j, lda, 0, t, NB);
		for (L q = 0; q < nb; q++)
			for (L i = q; i < nb; i++)
				c[(j + i) + (j + q) * ldc] += t[i + q * NB];
		if (below)
			emu_gemm(0, 1, below, nb, k, -1, a + j + nb, lda, a + j, lda, 1, c + j + nb + j * ldc, ldc);
	}
	free(t);
}

void emu_symm(L m, L n, const double *a, L lda, const double *b, L ldb, double *c, L ldc) {
	double *full = array(m * m);
	for (L j = 0; j < m; j++)
		for (L i = 0; i < m; i++)
			full[i + j * m] = i <= j ? a[i + j * lda] : a[j + i * lda];
	emu_gemm(0, 0, m, n, m, 1, full, m, b, ldb, 0, c, ldc);
	free(full);
}

/* Sets t (nb×nb, leading dimension NB) to op of the diagonal block, with zeros
 * elsewhere. */
static void diagonal_block(int uplo, int trans, L nb, const double *a, L lda, double *t) {
	memset(t, 0, sizeof *t * NB * NB);
	for (L j = 0; j < nb; j++)
		for (L i = 0; i < nb; i++)
			if (in_triangle(uplo, i, j))
				t[trans ? j + i * NB : i + j * NB] = a[i + j * lda];
}

static const double *at(const double *a, L lda, int trans, L i, L j) {
	return trans ? a + j + i * lda : a + i + j * lda;
}

/* b = op(a)⁻¹·b for one block of rows. */
static void solve_block(int forward, L nb, L n, const double *t, double *b, L ldb) {
	for (L j = 0; j < n; j++) {
		double *x = b + j * ldb;
		for (L s = 0; s < nb; s++) {
			L i = forward ? s : nb - 1 - s, lo = forward ? i + 1 : 0, hi = forward ? nb : i;
			double v = x[i] /= t[i + i * NB];
			for (L r = lo; r < hi; r++)
				x[r] -= v * t[r + i * NB];
		}
	}
}

static void trsm_left(int uplo, int trans, L m, L n, const double *a, L lda, double *b, L ldb) {
	int forward = (uplo == LOWER) != trans;
	double *t = array(NB * NB);
	L blocks = (m + NB - 1) / NB;
	for (L s = 0; s < blocks; s++) {
		L i = (forward ? s : blocks - 1 - s) * NB, nb = min(NB, m - i);
		diagonal_block(uplo, trans, nb, a + i + i * lda, lda, t);
		solve_block(forward, nb, n, t, b + i, ldb);
		L r0 = forward ? i + nb : 0, r1 = forward ? m : i;
		if (r1 > r0)
			emu_gemm(trans, 0, r1 - r0, n, nb, -1, at(a, lda, trans, r0, i), lda, b + i, ldb, 1, b + r0, ldb);
	}
	free(t);
}

static double *transposed(L m, L n, const double *b, L ldb) {
	double *t = array(m * n);
	for (L j = 0; j < n; j++)
		for (L i = 0; i < m; i++)
			t[j + i * n] = b[i + j * ldb];
	return t;
}

static void put_transposed(L m, L n, double *t, double *b, L ldb) {
	for (L j = 0; j < n; j++)
		for (L i = 0; i < m; i++)
			b[i + j * ldb] = t[j + i * n];
	free(t);
}

void emu_trsm(int side, int uplo, int trans, L m, L n, double alpha, const double *a, L lda, double *b, L ldb) {
	if (m <= 0 || n <= 0)
		return;
	if (alpha != 1)
		scale(m, n, alpha, b, ldb);
	if (side == LEFT) {
		trsm_left(uplo, trans, m, n, a, lda, b, ldb);
		return;
	}
	double *t = transposed(m, n, b, ldb); /* x·op(a) = b is op(a)ᵀ·xᵀ = bᵀ */
	trsm_left(uplo, !trans, n, m, a, lda, t, n);
	put_transposed(m, n, t, b, ldb);
}

/* Factors the lower triangle of a block without blocking. */
static L potf2(L n, double *a, L lda) {
	for (L j = 0; j < n; j++) {
		double d = a[j + j * lda];
		for (L k = 0; k < j; k++)
			d -= a[j + k * lda] * a[j + k * lda];
		if (!(d > 0)) /* NaN too */
			return j + 1;
		a[j + j * lda] = d = sqrt(d);
		for (L i = j + 1; i < n; i++) {
			double v = a[i + j * lda];
			for (L k = 0; k < j; k++)
				v -= a[i + k * lda] * a[j + k * lda];
			a[i + j * lda] = v / d;
		}
	}
	return 0;
}

L emu_potrf(L n, double *a, L lda) {
	for (L j = 0; j < n; j += NB) {
		L nb = min(NB, n - j), rest = n - j - nb;
		double *d = a + j + j * lda;
		L info = potf2(nb, d, lda);
		if (info)
			return j + info;
		if (!rest)
			continue;
		emu_trsm(RIGHT, LOWER, TRANS, rest, nb, 1, d, lda, d + nb, lda);
		syrk(rest, nb, d + nb, lda, d + nb + nb * lda, lda);
	}
	return 0;
}
