// Covariances of pairs of points: Σ, cross-covariances, products with Σ.
#include "program.h"

// gpfit_fill writes Σ = K + diag(noise) to a, for columns j0 ≤ j < j1 and rows
// i ≥ j: a[i + j·lda]. noise has one element for all points, or n. One block per
// tile of rows from j0 on.
KERNEL gpfit_fill(const int *prog, const double *theta, const double *x, i64 n, double *a, i64 lda, i64 j0, i64 j1, const double *noise, i64 noises) {
    SHARED(Stage, stage);
    i64 rowTiles = tilesOf(n - j0, TileRows);
    i64 ib = j0 + block() % rowTiles * TileRows, jb = j0 + block() / rowTiles * TileCols;
    if (least(ib + TileRows, n) <= jb) {
        return; // above the diagonal
    }
    Staged staged = {-1, 0};
    Tile tile = {x, n, ib, x, n, jb};
    double k[Pairs];
    evaluate(stage, staged, prog, theta, tile, k);
    EACH_PAIR(p) {
        i64 i = ib + pairRow(p), j = jb + pairCol(p);
        if (i < n && j < j1 && i >= j) {
            a[at(i, j, lda)] = i == j ? k[p] + noise[noises == 1 ? 0 : j] : k[p];
        }
    }
}

// gpfit_cross writes k(x_i, x*_r) to out[i + (r−r0)·ldo], for 0 ≤ i < n and test
// points r0 ≤ r < r1 out of the m in xs. One block per tile.
KERNEL gpfit_cross(const int *prog, const double *theta, const double *x, i64 n, const double *xs, i64 m, i64 r0, i64 r1, double *out, i64 ldo) {
    SHARED(Stage, stage);
    i64 rowTiles = tilesOf(n, TileRows);
    i64 ib = block() % rowTiles * TileRows, jb = r0 + block() / rowTiles * TileCols;
    Staged staged = {-1, 0};
    Tile tile = {x, n, ib, xs, m, jb};
    double k[Pairs];
    evaluate(stage, staged, prog, theta, tile, k);
    EACH_PAIR(p) {
        i64 i = ib + pairRow(p), j = jb + pairCol(p);
        if (i < n && j < r1) {
            out[at(i, j - r0, ldo)] = k[p];
        }
    }
}

// Columns of v that one regeneration of Σ serves.
constexpr int Vectors = 4;

struct MultiplyShared {
    Stage stage;
    double sums[Vectors][TileRows][Threads / 32];
};

// gpfit_multiply writes rows i0 ≤ i < i1 of Σ·v to y[i−i0 + q·ldy], for the n×m
// matrix v with leading dimension ldv. Σ = K + diag(noise) is generated anew from
// the points, both triangles: a check of a factorisation that shares nothing
// with it. One block per 64 rows goes through all columns in order.
KERNEL gpfit_multiply(const int *prog, const double *theta, const double *x, i64 n, const double *noise, i64 noises, i64 i0, i64 i1, const double *v, i64 ldv, i64 m, double *y, i64 ldy) {
    SHARED(MultiplyShared, shared);
    i64 ib = i0 + block() * TileRows;
    for (i64 q0 = 0; q0 < m; q0 += Vectors) {
        double sums[RowsEach][Vectors];
        UNROLL for (int a = 0; a < RowsEach; a++) {
            UNROLL for (int q = 0; q < Vectors; q++) {
                sums[a][q] = 0.0;
            }
        }
        for (i64 jb = 0; jb < n; jb += TileCols) {
            Staged staged = {-1, 0};
            Tile tile = {x, n, ib, x, n, jb};
            double k[Pairs];
            evaluate(shared.stage, staged, prog, theta, tile, k);
            EACH_PAIR(p) {
                i64 j = jb + pairCol(p);
                UNROLL for (int q = 0; q < Vectors; q++) {
                    if (j < n && q0 + q < m) {
                        sums[p / ColsEach][q] += k[p] * v[at(j, q0 + q, ldv)];
                    }
                }
            }
        }
        barrier();
        UNROLL for (int a = 0; a < RowsEach; a++) {
            UNROLL for (int q = 0; q < Vectors; q++) {
                shared.sums[q][tileX() + 32 * a][tileY()] = sums[a][q];
            }
        }
        barrier();
        // Thread t ends vector t / 64 of row t mod 64.
        i64 q = q0 + thread() / TileRows, i = ib + thread() % TileRows;
        if (q < m && i < i1) {
            double sum = noise[noises == 1 ? 0 : i] * v[at(i, q, ldv)];
            for (int part = 0; part < Threads / 32; part++) {
                sum += shared.sums[thread() / TileRows][thread() % TileRows][part];
            }
            y[at(i - i0, q, ldy)] = sum;
        }
    }
}
