/* Column-major linear algebra in plain C, 64-bit sizes; only the triangle that
 * uplo names is read or written. Used by the stand-ins of cuBLAS and cuSOLVER. */
#ifndef GPFIT_EMU_BLAS_H
#define GPFIT_EMU_BLAS_H

#include <stdint.h>

typedef int64_t L;
enum { NOTRANS, TRANS, CONJTRANS };
enum { LOWER, UPPER };
enum { LEFT, RIGHT };
enum { NONUNIT, UNIT };

void emu_gemm(int ta, int tb, L m, L n, L k, double alpha, const double *a, L lda, const double *b, L ldb, double beta,
              double *c, L ldc);
void emu_syrk(int uplo, int trans, L n, L k, double alpha, const double *a, L lda, double beta, double *c, L ldc);
void emu_symm(int side, int uplo, L m, L n, double alpha, const double *a, L lda, const double *b, L ldb, double beta,
              double *c, L ldc);
void emu_trsm(int side, int uplo, int trans, int diag, L m, L n, double alpha, const double *a, L lda, double *b, L ldb);
void emu_trmm(int side, int uplo, int trans, int diag, L m, L n, double alpha, const double *a, L lda, const double *b,
              L ldb, double *c, L ldc);
/* 0, or the order of the leading minor that is not positive definite. */
L emu_potrf(int uplo, L n, double *a, L lda);
/* 0, or the index (from 1) of a zero on the diagonal. */
L emu_trtri(int uplo, int diag, L n, double *a, L lda);

#endif
