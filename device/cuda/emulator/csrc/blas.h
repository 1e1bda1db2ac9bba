/* Column-major linear algebra in plain C with 64-bit sizes, for the stand-ins for
 * cuBLAS and cuSOLVER. Functions read and write only the named triangle. A trans
 * other than 0 transposes. */
#ifndef GPFIT_EMU_BLAS_H
#define GPFIT_EMU_BLAS_H

#include <stdint.h>

typedef int64_t L;
enum { NOTRANS, TRANS };
enum { LOWER, UPPER };
enum { LEFT, RIGHT };
enum { NONUNIT };

void emu_gemm(int ta, int tb, L m, L n, L k, double alpha, const double *a, L lda, const double *b, L ldb, double beta,
              double *c, L ldc);
/* The same with rows of op(a) and columns of op(b) rounded to fixed point: to the
 * given number of bits, counted from the largest element of each row or column. */
void emu_gemm_fixed(int bits, int ta, int tb, L m, L n, L k, double alpha, const double *a, L lda, const double *b, L ldb,
                    double beta, double *c, L ldc);
/* c = a·b for a symmetric a, of which only the upper triangle is read. */
void emu_symm(L m, L n, const double *a, L lda, const double *b, L ldb, double *c, L ldc);
/* b = alpha·op(a)⁻¹·b or alpha·b·op(a)⁻¹. */
void emu_trsm(int side, int uplo, int trans, L m, L n, double alpha, const double *a, L lda, double *b, L ldb);
/* Computes the lower factor. Returns 0, or the order of the leading minor that is not
 * positive definite. */
L emu_potrf(L n, double *a, L lda);

#endif
