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

/* The part of an n×n column block that belongs to the triangle uplo. */
static int in_triangle(int uplo, L i, L j) { return uplo == LOWER ? i >= j : i <= j; }

void emu_syrk(int uplo, int trans, L n, L k, double alpha, const double *a, L lda, double beta, double *c, L ldc) {
	double *t = array(NB * NB);
	L step = trans ? lda : 1; /* from one row of op(a) to the next */
	for (L j = 0; j < n; j += NB) {
		L nb = min(NB, n - j), r0 = uplo == LOWER ? j + nb : 0, r1 = uplo == LOWER ? n : j;
		const double *aj = a + j * step;
		emu_gemm(trans != 0, !trans, nb, nb, k, alpha, aj, lda, aj, lda, 0, t, NB);
		for (L q = 0; q < nb; q++)
			for (L i = 0; i < nb; i++)
				if (in_triangle(uplo, i, q)) {
					double *x = &c[(j + i) + (j + q) * ldc];
					*x = (beta == 0 ? 0 : beta * *x) + t[i + q * NB];
				}
		if (r1 > r0)
			emu_gemm(trans != 0, !trans, r1 - r0, nb, k, alpha, a + r0 * step, lda, aj, lda, beta, c + r0 + j * ldc, ldc);
	}
	free(t);
}

void emu_symm(int side, int uplo, L m, L n, double alpha, const double *a, L lda, const double *b, L ldb, double beta,
              double *c, L ldc) {
	L k = side == LEFT ? m : n;
	double *full = array(k * k);
	for (L j = 0; j < k; j++)
		for (L i = 0; i < k; i++)
			full[i + j * k] = in_triangle(uplo, i, j) ? a[i + j * lda] : a[j + i * lda];
	if (side == LEFT)
		emu_gemm(0, 0, m, n, k, alpha, full, k, b, ldb, beta, c, ldc);
	else
		emu_gemm(0, 0, m, n, k, alpha, b, ldb, full, k, beta, c, ldc);
	free(full);
}

/* t (nb×nb, leading dimension NB) = op of the diagonal block, zeros elsewhere. */
static void diagonal_block(int uplo, int trans, int diag, L nb, const double *a, L lda, double *t) {
	memset(t, 0, sizeof *t * NB * NB);
	for (L j = 0; j < nb; j++)
		for (L i = 0; i < nb; i++)
			if (i == j)
				t[i + j * NB] = diag == UNIT ? 1 : a[i + i * lda];
			else if (in_triangle(uplo, i, j))
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

static void trsm_left(int uplo, int trans, int diag, L m, L n, const double *a, L lda, double *b, L ldb) {
	int forward = (uplo == LOWER) != (trans != 0);
	double *t = array(NB * NB);
	L blocks = (m + NB - 1) / NB;
	for (L s = 0; s < blocks; s++) {
		L i = (forward ? s : blocks - 1 - s) * NB, nb = min(NB, m - i);
		diagonal_block(uplo, trans, diag, nb, a + i + i * lda, lda, t);
		solve_block(forward, nb, n, t, b + i, ldb);
		L r0 = forward ? i + nb : 0, r1 = forward ? m : i;
		if (r1 > r0)
			emu_gemm(trans != 0, 0, r1 - r0, n, nb, -1, at(a, lda, trans, r0, i), lda, b + i, ldb, 1, b + r0, ldb);
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

void emu_trsm(int side, int uplo, int trans, int diag, L m, L n, double alpha, const double *a, L lda, double *b, L ldb) {
	if (m <= 0 || n <= 0)
		return;
	if (alpha != 1)
		scale(m, n, alpha, b, ldb);
	if (alpha == 0)
		return;
	if (side == LEFT) {
		trsm_left(uplo, trans, diag, m, n, a, lda, b, ldb);
		return;
	}
	double *t = transposed(m, n, b, ldb); /* x·op(a) = b is op(a)ᵀ·xᵀ = bᵀ */
	trsm_left(uplo, !trans, diag, n, m, a, lda, t, n);
	put_transposed(m, n, t, b, ldb);
}

/* c = alpha·op(a)·b, c apart from b. */
static void trmm_left(int uplo, int trans, int diag, L m, L n, double alpha, const double *a, L lda, const double *b,
                      L ldb, double *c, L ldc) {
	int lower = (uplo == LOWER) != (trans != 0);
	double *t = array(NB * NB);
	for (L i = 0; i < m; i += NB) {
		L nb = min(NB, m - i), k0 = lower ? 0 : i + nb, k1 = lower ? i : m;
		diagonal_block(uplo, trans, diag, nb, a + i + i * lda, lda, t);
		emu_gemm(0, 0, nb, n, nb, alpha, t, NB, b + i, ldb, 0, c + i, ldc);
		if (k1 > k0)
			emu_gemm(trans != 0, 0, nb, n, k1 - k0, alpha, at(a, lda, trans, i, k0), lda, b + k0, ldb, 1, c + i, ldc);
	}
	free(t);
}

void emu_trmm(int side, int uplo, int trans, int diag, L m, L n, double alpha, const double *a, L lda, const double *b,
              L ldb, double *c, L ldc) {
	if (m <= 0 || n <= 0)
		return;
	double *t = transposed(m, n, b, ldb); /* n×m; also makes b == c work */
	double *r = array(m * n);
	if (side == RIGHT) { /* b·op(a) = (op(a)ᵀ·bᵀ)ᵀ */
		trmm_left(uplo, !trans, diag, n, m, alpha, a, lda, t, n, r, n);
		free(t);
		put_transposed(m, n, r, c, ldc);
		return;
	}
	double *copy = transposed(n, m, t, n);
	trmm_left(uplo, trans, diag, m, n, alpha, a, lda, copy, m, r, m);
	for (L j = 0; j < n; j++)
		memcpy(c + j * ldc, r + j * m, sizeof *c * (size_t)m);
	free(t);
	free(r);
	free(copy);
}

/* Unblocked factorisation of a block; the element (i, j) of L is at
 * a[i + j·lda] for LOWER and at a[j + i·lda] for UPPER (U = Lᵀ). */
static L potf2(int uplo, L n, double *a, L lda) {
	L rs = uplo == LOWER ? 1 : lda, cs = uplo == LOWER ? lda : 1;
	for (L j = 0; j < n; j++) {
		double d = a[j * rs + j * cs];
		for (L k = 0; k < j; k++)
			d -= a[j * rs + k * cs] * a[j * rs + k * cs];
		if (!(d > 0)) /* NaN too */
			return j + 1;
		a[j * rs + j * cs] = d = sqrt(d);
		for (L i = j + 1; i < n; i++) {
			double v = a[i * rs + j * cs];
			for (L k = 0; k < j; k++)
				v -= a[i * rs + k * cs] * a[j * rs + k * cs];
			a[i * rs + j * cs] = v / d;
		}
	}
	return 0;
}

L emu_potrf(int uplo, L n, double *a, L lda) {
	for (L j = 0; j < n; j += NB) {
		L nb = min(NB, n - j), rest = n - j - nb;
		double *d = a + j + j * lda;
		L info = potf2(uplo, nb, d, lda);
		if (info)
			return j + info;
		if (!rest)
			continue;
		if (uplo == LOWER) {
			emu_trsm(RIGHT, LOWER, TRANS, NONUNIT, rest, nb, 1, d, lda, d + nb, lda);
			emu_syrk(LOWER, NOTRANS, rest, nb, -1, d + nb, lda, 1, d + nb + nb * lda, lda);
		} else {
			emu_trsm(LEFT, UPPER, TRANS, NONUNIT, nb, rest, 1, d, lda, d + nb * lda, lda);
			emu_syrk(UPPER, TRANS, rest, nb, -1, d + nb * lda, lda, 1, d + nb + nb * lda, lda);
		}
	}
	return 0;
}

static void trti2(int uplo, int diag, L n, double *a, L lda) {
	double t[NB * NB], x[NB * NB];
	diagonal_block(uplo, 0, diag, n, a, lda, t);
	memset(x, 0, sizeof x);
	for (L i = 0; i < n; i++)
		x[i + i * NB] = 1;
	solve_block(uplo == LOWER, n, n, t, x, NB);
	for (L j = 0; j < n; j++)
		for (L i = 0; i < n; i++)
			if (in_triangle(uplo, i, j) && (i != j || diag == NONUNIT))
				a[i + j * lda] = x[i + j * NB];
}

L emu_trtri(int uplo, int diag, L n, double *a, L lda) {
	if (diag == NONUNIT)
		for (L i = 0; i < n; i++)
			if (a[i + i * lda] == 0)
				return i + 1;
	L blocks = (n + NB - 1) / NB;
	for (L s = 0; s < blocks; s++) {
		L j = (uplo == LOWER ? blocks - 1 - s : s) * NB, nb = min(NB, n - j);
		L r0 = uplo == LOWER ? j + nb : 0, r1 = uplo == LOWER ? n : j;
		double *d = a + j + j * lda, *p = a + r0 + j * lda;
		if (r1 > r0) {
			emu_trmm(LEFT, uplo, NOTRANS, diag, r1 - r0, nb, 1, a + r0 + r0 * lda, lda, p, lda, p, lda);
			emu_trsm(RIGHT, uplo, NOTRANS, diag, r1 - r0, nb, -1, d, lda, p, lda);
		}
		trti2(uplo, diag, nb, d, lda);
	}
	return 0;
}
