/* Column-major linear algebra in plain C, 64-bit sizes; only the triangle that is
 * named is read or written. What trans is not 0 transposes. Used by the stand-ins
 * of cuBLAS and cuSOLVER. */
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
/* The same with rows of op(a) and columns of op(b) rounded to fixed point: to so many
 * bits, counted from each row's or column's largest element. */
void emu_gemm_fixed(int bits, int ta, int tb, L m, L n, L k, double alpha, const double *a, L lda, const double *b, L ldb,
                    double beta, double *c, L ldc);
/* c = a·b for a symmetric a whose upper triangle is read. */
void emu_symm(L m, L n, const double *a, L lda, const double *b, L ldb, double *c, L ldc);
/* b = alpha·op(a)⁻¹·b or alpha·b·op(a)⁻¹. */
void emu_trsm(int side, int uplo, int trans, L m, L n, double alpha, const double *a, L lda, double *b, L ldb);
/* b = alpha·op(a)·b or alpha·b·op(a) for an upper triangle a. */
void emu_trmm(int side, int trans, L m, L n, double alpha, const double *a, L lda, double *b, L ldb);
/* The lower factor: 0, or the order of the leading minor that is not positive
 * definite. */
L emu_potrf(L n, double *a, L lda);
/* The inverse of an upper triangle: 0, or the index (from 1) of a zero on the
 * diagonal. */
L emu_trtri(L n, double *a, L lda);

#endif
