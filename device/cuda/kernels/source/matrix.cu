// Sums, triangles and blocks of column-major matrices.
#include "elementary.h"

// sumBlock returns the sum of every thread's v in thread 0, summed in pairs.
DEVICE double sumBlock(double *red, double v) {
    int t = thread();
    barrier();
    red[t] = v;
    barrier();
    for (int step = Threads / 2; step > 0; step /= 2) {
        if (t < step) {
            red[t] += red[t + step];
        }
        barrier();
    }
    return red[0];
}

struct Sums {
    double red[Threads];
};

// gpfit_reduce writes out[p] = Σ_k parts[p·count + k], or adds it to out[p] with add ≠
// 0. It takes one block per p.
KERNEL gpfit_reduce(const double *parts, i64 count, double *out, i64 add) {
    SHARED(Sums, sums);
    i64 p = block();
    double sum = 0.0;
    for (i64 k = thread(); k < count; k += Threads) {
        sum += parts[p * count + k];
    }
    sum = sumBlock(sums.red, sum);
    if (thread() == 0) {
        out[p] = add ? out[p] + sum : sum;
    }
}

// gpfit_logdiag writes block b's share of Σ log a_ii to parts[b].
KERNEL gpfit_logdiag(const double *a, i64 lda, i64 n, double *parts) {
    SHARED(Sums, sums);
    double sum = 0.0;
    for (i64 i = block() * Threads + thread(); i < n; i += blocks() * Threads) {
        sum += logPositive(a[at(i, i, lda)]);
    }
    sum = sumBlock(sums.red, sum);
    if (thread() == 0) {
        parts[block()] = sum;
    }
}

// A place of numbers in device memory, with its part of a room.
struct Transfer {
    double *at;
    i64 first, count;
};

// gpfit_move copies numbers from a room to their places, or from there to the room with back ≠ 0. The room begins with
// the transfers, of which the first does not count. It takes one block per transfer.
KERNEL gpfit_move(double *room, i64 first, i64 back) {
    Transfer t = ((const Transfer *)room)[first + block()];
    double *part = room + t.first;
    for (i64 k = thread(); k < t.count; k += Threads) {
        if (back) {
            part[k] = t.at[k];
        } else {
            t.at[k] = part[k];
        }
    }
}

struct Indices {
    i64 first[Threads];
};

// gpfit_firstbad writes to first[b] the least k < count in block b's share for which
// x[k·stride] is not finite or, with positive ≠ 0, not above zero, and count if there
// is none. The least over all blocks is the answer.
KERNEL gpfit_firstbad(const double *x, i64 count, i64 stride, i64 positive, i64 *first) {
    SHARED(Indices, shared);
    i64 found = count;
    for (i64 k = block() * Threads + thread(); k < count; k += blocks() * Threads) {
        double v = x[k * stride];
        if (!isFinite(v) || (positive && !(v > 0.0))) {
            found = k;
            break;
        }
    }
    shared.first[thread()] = found;
    barrier();
    for (int step = Threads / 2; step > 0; step /= 2) {
        if (thread() < step) {
            shared.first[thread()] = least(shared.first[thread()], shared.first[thread() + step]);
        }
        barrier();
    }
    if (thread() == 0) {
        first[block()] = shared.first[0];
    }
}

// gpfit_sumsq writes out[q] = Σ_i a[i·step + q·apart]² for i < n: the squares of columns, or of rows. It takes
// one block per q.
KERNEL gpfit_sumsq(const double *a, i64 step, i64 apart, i64 n, double *out) {
    SHARED(Sums, sums);
    const double *first = a + block() * apart;
    double sum = 0.0;
    for (i64 i = thread(); i < n; i += Threads) {
        double v = first[i * step];
        sum = __builtin_fma(v, v, sum);
    }
    sum = sumBlock(sums.red, sum);
    if (thread() == 0) {
        out[block()] = sum;
    }
}

// gpfit_getdiag writes out[i] = a_ii, or 1/a_ii with invert ≠ 0.
KERNEL gpfit_getdiag(const double *a, i64 lda, i64 n, double *out, i64 invert) {
    i64 i = block() * Threads + thread();
    if (i < n) {
        double v = a[at(i, i, lda)];
        out[i] = invert ? 1.0 / v : v;
    }
}

// gpfit_setdiag writes a_ii = d[i], or 1/d[i] with invert ≠ 0.
KERNEL gpfit_setdiag(double *a, i64 lda, i64 n, const double *d, i64 invert) {
    i64 i = block() * Threads + thread();
    if (i < n) {
        a[at(i, i, lda)] = invert ? 1.0 / d[i] : d[i];
    }
}

// The kernels below work on blocks of 32×32 elements. Thread t works on row t mod 32
// and columns t/32, t/32+8, … of its block.
constexpr int Side = 32;

DEVICE int sideX() { return thread() % Side; }
DEVICE int sideY() { return thread() / Side; }

// The first row and column of one of the blocks that cover rows×…
struct Origin {
    i64 i, j;
};

DEVICE Origin origin(i64 rows) {
    i64 rowBlocks = tilesOf(rows, Side);
    return {block() % rowBlocks * Side, block() / rowBlocks * Side};
}

// A block in shared memory; the padding spreads a column over the banks.
struct Square {
    double v[Side][Side + 1];
};

// gpfit_copy copies count rows×cols blocks from a to b, or with upper ≠ 0 their elements
// i ≤ j; the others stay as they are in b. A block begins sa numbers in a and sb in b
// after the one before.
KERNEL gpfit_copy(const double *a, i64 lda, i64 sa, double *b, i64 ldb, i64 sb, i64 rows, i64 cols, i64 upper) {
    i64 rowBlocks = tilesOf(rows, Side), squares = rowBlocks * tilesOf(cols, Side);
    i64 each = block() / squares, square = block() % squares;
    i64 i = square % rowBlocks * Side + sideX(), j0 = square / rowBlocks * Side;
    a += each * sa;
    b += each * sb;
    for (i64 j = j0 + sideY(); j < least(j0 + Side, cols); j += Threads / Side) {
        if (i < rows && (!upper || i <= j)) {
            b[at(i, j, ldb)] = a[at(i, j, lda)];
        }
    }
}

// The largest order of a block of gpfit_invert.
constexpr int Order = 64;

// The lower triangles of a block and of its inverse, packed by rows.
struct Triangles {
    double l[Order * (Order + 1) / 2], x[Order * (Order + 1) / 2];
};

DEVICE i64 packed(i64 i, i64 j) { return i * (i + 1) / 2 + j; }

// gpfit_invert inverts the diagonal blocks of the given order ≤ Order, the last one
// possibly smaller, of the lower triangle of an n×n matrix. It writes the transposed
// inverses to the upper triangles of the same diagonal blocks of b. Block k of the grid
// inverts diagonal block k; its thread j solves L·x = e_j.
KERNEL gpfit_invert(const double *a, i64 lda, i64 n, i64 order, double *b, i64 ldb) {
    SHARED(Triangles, t);
    i64 o = block() * order;
    i64 rows = least(order, n - o);
    for (i64 e = thread(); e < rows * rows; e += Threads) {
        i64 i = e % rows, j = e / rows;
        if (i >= j) {
            t.l[packed(i, j)] = a[at(o + i, o + j, lda)];
        }
    }
    barrier();
    i64 j = thread();
    if (j < rows) {
        t.x[packed(j, j)] = 1.0 / t.l[packed(j, j)];
        for (i64 i = j + 1; i < rows; i++) {
            double sum[4] = {0.0, 0.0, 0.0, 0.0};
#pragma clang loop unroll(disable)
            for (i64 k = j - j % 4; k < i; k += 4) {
                for (int s = 0; s < 4; s++) {
                    bool in = k + s >= j && k + s < i;
                    i64 q = in ? k + s : j;
                    sum[s] = __builtin_fma(in ? t.l[packed(i, q)] : 0.0, t.x[packed(q, j)], sum[s]);
                }
            }
            t.x[packed(i, j)] = -((sum[0] + sum[1]) + (sum[2] + sum[3])) / t.l[packed(i, i)];
        }
    }
    barrier();
    for (i64 e = thread(); e < rows * rows; e += Threads) {
        i64 i = e % rows, j = e / rows;
        if (i <= j) {
            b[at(o + i, o + j, ldb)] = t.x[packed(j, i)];
        }
    }
}

// gpfit_symcols writes columns j0 ≤ j < j1 of diag(c)·S to b, for a symmetric n×n
// matrix S whose upper triangle, including the diagonal, is in a: b[i + (j−j0)·ldb] =
// c_i·S_ij.
KERNEL gpfit_symcols(const double *a, i64 lda, i64 n, i64 j0, i64 j1, const double *c, double *b, i64 ldb) {
    SHARED(Square, square);
    Origin o = origin(n);
    i64 jb = j0 + o.j;
    // Elements below the diagonal come from their mirror image.
    for (int y = sideY(); y < Side; y += Threads / Side) {
        i64 j = jb + sideX(), i = o.i + y;
        if (j < j1 && i < n && j < i) {
            square.v[y][sideX()] = a[at(j, i, lda)];
        }
    }
    barrier();
    for (int y = sideY(); y < Side; y += Threads / Side) {
        i64 i = o.i + sideX(), j = jb + y;
        if (i < n && j < j1) {
            b[at(i, j - j0, ldb)] = c[i] * (i <= j ? a[at(i, j, lda)] : square.v[sideX()][y]);
        }
    }
}

// gpfit_readrows copies rows r0 ≤ r < r1 of the lower triangle of an n×n matrix to b[j
// + (r−r0)·ldb], one row after the other, with zeros above the diagonal.
KERNEL gpfit_readrows(const double *a, i64 lda, i64 n, i64 r0, i64 r1, double *b, i64 ldb) {
    SHARED(Square, square);
    Origin o = origin(r1 - r0);
    for (int y = sideY(); y < Side; y += Threads / Side) {
        i64 i = r0 + o.i + sideX(), j = o.j + y;
        if (i < r1 && j < n) {
            square.v[y][sideX()] = j <= i ? a[at(i, j, lda)] : 0.0;
        }
    }
    barrier();
    for (int y = sideY(); y < Side; y += Threads / Side) {
        i64 i = r0 + o.i + y, j = o.j + sideX();
        if (i < r1 && j < n) {
            b[at(j, i - r0, ldb)] = square.v[sideX()][y];
        }
    }
}

// gpfit_writerows is the inverse of gpfit_readrows; it leaves the upper triangle as it
// is.
KERNEL gpfit_writerows(double *a, i64 lda, i64 n, i64 r0, i64 r1, const double *b, i64 ldb) {
    SHARED(Square, square);
    Origin o = origin(r1 - r0);
    for (int y = sideY(); y < Side; y += Threads / Side) {
        i64 i = r0 + o.i + y, j = o.j + sideX();
        if (i < r1 && j < n) {
            square.v[sideX()][y] = b[at(j, i - r0, ldb)];
        }
    }
    barrier();
    for (int y = sideY(); y < Side; y += Threads / Side) {
        i64 i = r0 + o.i + sideX(), j = o.j + y;
        if (i < r1 && j <= i && j < n) {
            a[at(i, j, lda)] = square.v[y][sideX()];
        }
    }
}

#include "batched.h"
