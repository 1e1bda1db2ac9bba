// Products of blocks of Order rows and columns, with the matrix units of a multiprocessor.
#pragma once
// batched.h includes this file and has what it needs.

// A product of two blocks of Order rows and columns works on chunks of Depth columns. Four columns with Wide numbers each lie in
// different banks for the eight rows that a warp reads.
constexpr int Wide = Order + 8;

struct Chunks {
    double x[Depth][Wide], y[Depth][Wide];
};

// The elements of a product that a thread has: of the 16×32 elements of its warp, in blocks of 8×8, two in each.
constexpr int Tall = 2, Broad = 4;

struct Product {
    double v[Tall][2 * Broad];
};

// The lane 4·fragmentRow()+fragmentColumn() of a warp has element (row, column) of a matrix 8×4.
DEVICE int fragmentRow() { return __nvvm_read_ptx_sreg_laneid() >> 2; }
DEVICE int fragmentColumn() { return __nvvm_read_ptx_sreg_laneid() & 3; }
DEVICE int firstRow() { return thread() >> 1 & 48; }
DEVICE int firstColumn() { return thread() >> 2 & 32; }
DEVICE int productRow(int r) { return firstRow() + 8 * r + fragmentRow(); }
DEVICE int productColumn(int c) { return firstColumn() + c / 2 * 8 + fragmentColumn() * 2 + c % 2; }

// Adds A·B to the 8×8 matrix of which the thread has c[0] and c[1], as mma.sync does: a is an element of A, 8×4, and b one of B, 4×8.
DEVICE void multiplyAdd(double *c, double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c[0]), "+d"(c[1]) : "d"(a), "d"(b));
}

// The elements of a block that are wanted.
enum Part { Whole, Lower, Upper };

// Computes X·Yᵀ for the first m rows of x and k rows of y, both of Order columns. Elements beyond these rows, and those that are not
// wanted, mean nothing.
DEVICE Product multiply(Chunks *s, const double *x, i64 m, const double *y, i64 k, i64 lda, Part part) {
    bool idle = firstRow() >= m || firstColumn() >= k || (part == Lower && firstRow() + 15 < firstColumn()) || (part == Upper && firstRow() > firstColumn() + 31);
    Product sum;
    for (int r = 0; r < Tall; r++) {
        for (int c = 0; c < 2 * Broad; c++) {
            sum.v[r][c] = 0.0;
        }
    }
    int row = thread() % Order, first = thread() / Order;
    const double *mineX = x + least(row, m - 1) + first * lda, *mineY = y + least(row, k - 1) + first * lda;
    i64 step = Groups * lda;
#pragma clang loop unroll(disable)
    for (int chunk = 0; chunk < Order / Depth; chunk++) {
        double u[Depth / Groups], v[Depth / Groups];
#pragma clang loop unroll(full)
        for (int j = 0; j < Depth / Groups; j++, mineX += step, mineY += step) {
            u[j] = *mineX;
            v[j] = *mineY;
        }
        loaded();
        barrier();
        for (int j = 0; j < Depth / Groups; j++) {
            s->x[first + j * Groups][row] = u[j];
            s->y[first + j * Groups][row] = v[j];
        }
        barrier();
        const double *tileX = s->x[fragmentColumn()] + productRow(0), *tileY = s->y[fragmentColumn()] + firstColumn() + fragmentRow();
#pragma clang loop unroll(full)
        for (int q = 0; q < Depth && !idle; q += 4) {
            double a[Tall], b[Broad];
            for (int r = 0; r < Tall; r++) {
                a[r] = tileX[q * Wide + r * 8];
            }
            for (int c = 0; c < Broad; c++) {
                b[c] = tileY[q * Wide + c * 8];
            }
            loaded();
            for (int r = 0; r < Tall; r++) {
                for (int c = 0; c < Broad; c++) {
                    multiplyAdd(sum.v[r] + 2 * c, a[r], b[c]);
                }
            }
        }
    }
    return sum;
}

// Adds a product, multiplied by a sign, to a whole block of a, or writes it.
DEVICE void addWhole(const Product *sum, double sign, int write, double *a, i64 lda) {
    double *to = a + productRow(0) + productColumn(0) * lda;
    Product before;
    double *at = to;
    for (int c = 0; c < 2 * Broad; c++, at += c % 2 ? lda : 7 * lda) {
        for (int r = 0; r < Tall; r++) {
            before.v[r][c] = write ? 0.0 : at[8 * r];
        }
    }
    loaded();
    at = to;
    for (int c = 0; c < 2 * Broad; c++, at += c % 2 ? lda : 7 * lda) {
        for (int r = 0; r < Tall; r++) {
            at[8 * r] = __builtin_fma(sign, sum->v[r][c], before.v[r][c]);
        }
    }
}
