// The Cholesky factors and inverses of many matrices of one order n, in lock step. Every
// kernel takes the same step for each problem, by the same operations in the same order
// however many problems there are.
//
// A step o works on the leaf of rows and columns o … o+w−1, w ≤ Order. The factorization
// is right-looking: leaf, below, trailing. The inverse follows it leaf by leaf: above
// gives the columns of U = L⁻ᵀ of the leaf, and expand adds their products to the columns
// of U to the right and to U·Uᵀ (Gauss-Jordan; Higham, Accuracy and Stability of Numerical
// Algorithms, 2nd ed., §14.2 and §14.4). All triangular systems are solved by
// substitution, never by an inverse.
#pragma once
// matrix.cu includes this file at its end and has what it needs.

// One of the matrices, lda×n, with its vectors of n numbers.
struct Problem {
    // a holds Σ or L in its lower triangle and parts of U, then Σ⁻¹, strictly above.
    double *a;
    // panel has room for n×Order numbers with leading dimension lda.
    double *panel;
    // diagonal receives the diagonal of Σ⁻¹, pivots that of L.
    double *diagonal, *pivots;
    // rhs is the right-hand side and the solution of a system.
    double *rhs;
    // out[0] receives the order of the first minor that is not positive definite, or 0;
    // out[1] the sum of the logarithms of L's diagonal.
    double *out;
};

// The problem of a block, if each problem has so many blocks.
DEVICE Problem problemOf(const Problem *problems, i64 each) { return problems[block() / each]; }

DEVICE i64 leafWidth(i64 n, i64 o) { return least(Order, n - o); }

// The leading dimension of a leaf in shared memory. It is odd, so that neither rows nor columns meet in one bank.
constexpr int Pitch = Order + 1;

struct Leaf {
    double v[Order * Pitch];
};

// Tiles of Span×Span elements: thread t has the elements (t mod Depth + Depth·r, t/Depth + Depth·c) of a block of
// Order rows and columns in its registers.
// Groups of Order threads take every fourth column.
constexpr int Depth = 16, Span = 4, Groups = Threads / Order;

struct Tile {
    double v[Span][Span];
};

DEVICE int rowOf(int r) { return thread() % Depth + Depth * r; }
DEVICE int columnOf(int c) { return thread() / Depth + Depth * c; }

// Loads the lower triangle of the leaf at a. From w on it has the rows of the identity.
DEVICE void loadLeaf(Leaf *leaf, const double *a, int lda, int w) {
    int i = thread() % Order, first = thread() / Order;
    double v[Depth]; // all loads come before their first use
#pragma clang loop unroll(full)
    for (int k = 0; k < Depth; k++) {
        int j = first + k * Groups;
        double one = i == j ? 1.0 : 0.0;
        v[k] = i >= j && i < w ? a[i + j * lda] : one;
    }
#pragma clang loop unroll(full)
    for (int k = 0; k < Depth; k++) {
        leaf->v[i + Pitch * (first + k * Groups)] = v[k];
    }
}

struct Column {
    double v[2][Order], pivots[Order], scale[Order];
};

DEVICE bool isPivot(double v) { return v > 0.0 && isFinite(v); }

// gpfit_batch_leaf factors the leaf at o. It takes one block per problem. A pivot that is
// not positive makes all that follows NaN. The columns are scaled by the roots of the pivots
// in the end, so that a column waits for one reciprocal.
KERNEL gpfit_batch_leaf(const Problem *problems, i64 lda, i64 n, i64 o) {
    SHARED(Column, s);
    Problem p = problemOf(problems, 1);
    int t = thread(), w = (int)leafWidth(n, o), ld = (int)lda;
    double *leaf = p.a + at(o, o, lda);
    Tile a;
    for (int c = 0; c < Span; c++) {
        for (int r = 0; r < Span; r++) {
            int i = rowOf(r), j = columnOf(c);
            double one = i == j ? 1.0 : 0.0;
            a.v[r][c] = i >= j && i < w ? leaf[i + j * ld] : one;
        }
    }
#pragma clang loop unroll(full)
    for (int phase = 0; phase < Span; phase++) {
#pragma clang loop unroll(disable)
        for (int q = 0; q < Depth; q++) {
            double *column = s.v[q % 2], *pivots = s.pivots + phase * Depth;
            if (t / Depth == q) { // the rows below the diagonal
                double *mine = column + t % Depth;
                mine[phase * Depth] = t % Depth > q ? a.v[phase][phase] : 0.0;
                for (int r = phase + 1; r < Span; r++) {
                    mine[r * Depth] = a.v[r][phase];
                }
                if (t % Depth == q) {
                    pivots[q] = a.v[phase][phase];
                }
            }
            barrier();
            const double *below = column + t % Depth, *right = column + t / Depth;
            double pivot = pivots[q], x[Span], y[Span];
            for (int k = phase; k < Span; k++) {
                x[k] = below[k * Depth];
                y[k] = right[k * Depth];
            }
            loaded();
            double inverse = isPivot(pivot) ? -(1.0 / pivot) : __builtin_nan("");
            for (int k = phase; k < Span; k++) {
                y[k] *= inverse;
            }
            for (int c = phase; c < Span; c++) {
                for (int r = c; r < Span; r++) {
                    a.v[r][c] = __builtin_fma(x[r], y[c], a.v[r][c]);
                }
            }
        }
    }
    double root = 0.0;
    if (t < Order) {
        root = isPivot(s.pivots[t]) ? __nvvm_sqrt_rn_d(s.pivots[t]) : __builtin_nan("");
        s.scale[t] = 1.0 / root;
    }
    if (t < w) {
        leaf[t + t * ld] = root;
    }
    if (t == 0) {
        double bad = o == 0 ? 0.0 : p.out[0];
        if (bad == 0.0 && !isPivot(s.pivots[w - 1])) { // the last one, if any
            int c = 0;
            while (isPivot(s.pivots[c])) {
                c++;
            }
            bad = (double)(o + c + 1);
        }
        p.out[0] = bad;
    }
    barrier();
    for (int c = 0; c < Span; c++) {
        for (int r = c; r < Span; r++) {
            int i = rowOf(r), j = columnOf(c);
            if (i > j && i < w) {
                leaf[i + j * ld] = a.v[r][c] * s.scale[j];
            }
        }
    }
}

struct Substitution {
    Leaf leaf;
    double inverse[Order];
};

// A block solves for Rows rows of Order columns: thread t has the columns t mod Lanes + Lanes·k of row t/Lanes in its registers. The threads of a row
// pass its solution on without a barrier.
constexpr int Rows = 32, Lanes = Threads / Rows, Share = Order / Lanes;

struct Row {
    double v[Share];
};

DEVICE int laneOf() { return thread() % Lanes; }

// The value of the thread with a lane among so many.
template <int Lanes> DEVICE double fromLane(double v, int lane) {
    constexpr int Segment = (32 - Lanes) << 8 | 31;
    int low, high;
    asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "d"(v));
    low = __nvvm_shfl_sync_idx_i32(-1, low, lane, Segment);
    high = __nvvm_shfl_sync_idx_i32(-1, high, lane, Segment);
    asm("mov.b64 %0, {%1, %2};" : "=d"(v) : "r"(low), "r"(high));
    return v;
}

// Solves X·Lᵀ = B for Rows rows B with the leaf that s holds, and returns −X. The diagonal of the leaf becomes zero.
DEVICE void substitute(Substitution *s, Row *b) {
    int t = thread(), lane = laneOf();
    if (t < Order) {
        s->inverse[t] = -(1.0 / s->leaf.v[t + Pitch * t]);
        s->leaf.v[t + Pitch * t] = 0.0;
    }
    barrier();
#pragma clang loop unroll(full)
    for (int k = 0; k < Share; k++) {
        const double *l = s->leaf.v + (Pitch + 1) * Lanes * k + lane, *inverse = s->inverse + Lanes * k;
#pragma clang loop unroll_count(2)
        for (int q = 0; q < Lanes; q++, l += Pitch) {
            double scale = inverse[q], below[Share];
            for (int c = k; c < Share; c++) {
                below[c] = l[(c - k) * Lanes];
            }
            loaded();
            double solution = b->v[k] * scale, x = fromLane<Lanes>(solution, q);
            if (lane == q) {
                b->v[k] = solution;
            }
            for (int c = k; c < Share; c++) {
                b->v[c] = __builtin_fma(below[c], x, b->v[c]);
            }
        }
    }
}

// Writes the negative of a row, if it is one of the first rows.
DEVICE void writeRow(const Row *b, double *a, int lda, int rows) {
    int i = thread() / Lanes;
    double *to = a + i + laneOf() * lda;
    if (i < rows) {
        for (int k = 0; k < Share; k++) {
            to[k * Lanes * lda] = -b->v[k];
        }
    }
}

// gpfit_batch_below computes the rows of L below the leaf at o, in place.
KERNEL gpfit_batch_below(const Problem *problems, i64 lda, i64 n, i64 o) {
    SHARED(Substitution, s);
    i64 w = leafWidth(n, o), each = tilesOf(n - o - w, Rows);
    Problem p = problemOf(problems, each);
    i64 i0 = o + w + block() % each * Rows;
    int rows = (int)least(Rows, n - i0), ld = (int)lda;
    loadLeaf(&s.leaf, p.a + at(o, o, lda), ld, (int)w);
    double *a = p.a + at(i0, o, lda);
    const double *from = a + least(thread() / Lanes, rows - 1) + laneOf() * ld; // the last row more than once
    Row b;
    for (int k = 0; k < Share; k++) {
        b.v[k] = from[k * Lanes * ld];
    }
    barrier();
    substitute(&s, &b);
    writeRow(&b, a, ld, rows);
}

// gpfit_batch_above writes the columns of U of the leaf at o, rows 0 … o+w−1, to the panel, with zeros from column w on,
// and the diagonal of the leaf to the pivots.
KERNEL gpfit_batch_above(const Problem *problems, i64 lda, i64 n, i64 o) {
    SHARED(Substitution, s);
    i64 w = leafWidth(n, o), end = o + w, each = tilesOf(end, Rows);
    Problem p = problemOf(problems, each);
    i64 i0 = block() % each * Rows;
    int rows = (int)least(Rows, end - i0), ld = (int)lda;
    loadLeaf(&s.leaf, p.a + at(o, o, lda), ld, (int)w);
    const double *a = p.a + at(i0, o, lda);
    Row b;
    for (int k = 0; k < Share; k++) {
        int i = thread() / Lanes, j = laneOf() + Lanes * k;
        double one = i0 + i == o + j ? 1.0 : 0.0;
        if (i0 < o) {
            one = j < (int)w ? a[i + j * ld] : 0.0;
        }
        b.v[k] = one;
    }
    barrier();
    if (i0 == 0 && thread() < w) {
        p.pivots[o + thread()] = s.leaf.v[thread() + Pitch * thread()];
    }
    substitute(&s, &b);
    writeRow(&b, p.panel + i0, ld, rows);
}

#include "product.h"

struct Place {
    int row, column;
};

// The tile with a number among those on and above the diagonal, in the first rows of side columns. The first row and the last, the
// second and the last but one, and so on, have the same number of tiles together.
DEVICE Place placeOf(int tile, int rows, int side) {
    int both = 2 * side - rows + 1, row = tile / both, next = tile - row * both;
    if (next >= side - row) {
        next -= side - row;
        row = rows - 1 - row;
    }
    return {row, row + next};
}

// gpfit_batch_trailing subtracts the product of the leaf's columns of L from the columns to the
// right of the leaf at o, in the lower triangle.
KERNEL gpfit_batch_trailing(const Problem *problems, i64 lda, i64 n, i64 o) {
    SHARED(Chunks, s);
    i64 w = leafWidth(n, o), from = o + w, side = tilesOf(n - from, Order), each = side * (side + 1) / 2;
    Problem p = problemOf(problems, each);
    Place tile = placeOf((int)(block() % each), (int)side, (int)side);
    i64 i0 = from + tile.column * Order, j0 = from + tile.row * Order; // of the lower triangle
    const double *l = p.a + at(0, o, lda);
    Product sum = multiply(&s, l + i0, n - i0, l + j0, n - j0, lda, i0 == j0 ? Lower : Whole);
    double *a = p.a + at(i0, j0, lda);
    int rows = (int)least(Order, n - i0), ld = (int)lda;
    if (i0 > j0 && rows == Order) {
        addWhole(&sum, -1.0, false, a, lda);
        return;
    }
    for (int c = 0; c < 2 * Broad; c++) {
        for (int r = 0; r < Tall; r++) {
            int i = productRow(r), j = productColumn(c);
            if (i < rows && (i0 > j0 || j <= i)) {
                a[i + j * ld] -= sum.v[r][c];
            }
        }
    }
}

// gpfit_batch_expand adds the products of the panel, the columns of U of the leaf at o: with the
// rows of L below the leaf to the columns of U to the right, and with itself to Σ⁻¹. The
// elements that nothing was added to before are written.
KERNEL gpfit_batch_expand(const Problem *problems, i64 lda, i64 n, i64 o) {
    SHARED(Chunks, s);
    i64 w = leafWidth(n, o), end = o + w, side = tilesOf(n, Order), rows = tilesOf(end, Order);
    i64 each = rows * side - rows * (rows - 1) / 2;
    Problem p = problemOf(problems, each);
    Place tile = placeOf((int)(block() % each), (int)rows, (int)side);
    i64 i0 = tile.row * Order, j0 = tile.column * Order;
    bool right = j0 >= end, first = right ? i0 == o : j0 == o;
    const double *y = right ? p.a + at(j0, o, lda) : p.panel + j0;
    Product sum = multiply(&s, p.panel + i0, end - i0, y, (right ? n : end) - j0, lda, i0 == j0 ? Upper : Whole);
    double *a = p.a + at(i0, j0, lda), sign = right ? -1.0 : 1.0;
    int height = (int)least(Order, end - i0), width = (int)least(Order, (right ? n : end) - j0), ld = (int)lda;
    if (j0 > i0 && height == Order && width == Order) {
        addWhole(&sum, sign, first, a, lda);
        return;
    }
    for (int c = 0; c < 2 * Broad; c++) {
        for (int r = 0; r < Tall; r++) {
            int i = productRow(r), j = productColumn(c);
            if (i < height && j < width && (j0 > i0 || i <= j)) {
                double *to = i == j && i0 == j0 ? p.diagonal + i0 + i : a + i + j * ld;
                *to = __builtin_fma(sign, sum.v[r][c], first ? 0.0 : *to);
            }
        }
    }
}

// Columns of L that a block of the backward solution multiplies.
constexpr int Columns = 16;

struct System {
    Leaf leaf;
    double x[Order], rows[Threads / Order][Order];
    double tile[Columns][Order + 1], part[Columns][Columns + 1];
};

// Solves L·x = b, or Lᵀ·x = b with transposed, for the leaf and b in s->x. One warp does, two rows in a thread, without barriers.
DEVICE void solveLeaf(System *s, bool transposed) {
    barrier();
    if (thread() < 32) {
        int lane = thread();
        double v[2], inverse[2];
        for (int h = 0; h < 2; h++) {
            v[h] = s->x[lane + 32 * h];
            inverse[h] = 1.0 / s->leaf.v[(Pitch + 1) * (lane + 32 * h)];
        }
        int across = transposed ? Pitch : 1, along = transposed ? -1 : Pitch;
        const double *l = s->leaf.v + across * lane + (transposed ? Order - 1 : 0);
#pragma clang loop unroll(full)
        for (int part = 0; part < 2; part++) {
            int h = transposed ? 1 - part : part;
#pragma clang loop unroll(disable)
            for (int step = 0; step < 32; step++, l += along) {
                int q = transposed ? 31 - step : step;
                double own = l[across * 32 * h], other = l[across * 32 * (1 - h)];
                loaded();
                double solution = v[h] * inverse[h], x = -fromLane<32>(solution, q);
                if (transposed ? lane < q : lane > q) {
                    v[h] = __builtin_fma(own, x, v[h]);
                }
                if (lane == q) {
                    v[h] = solution;
                }
                if (part == 0) {
                    v[1 - h] = __builtin_fma(other, x, v[1 - h]);
                }
            }
        }
        s->x[lane] = v[0];
        s->x[lane + 32] = v[1];
    }
    barrier();
}

// gpfit_batch_forward takes the step o of the solution of L·x = rhs: it writes x to rows o … of
// the panel's first column and subtracts its products from the rows of rhs below.
KERNEL gpfit_batch_forward(const Problem *problems, i64 lda, i64 n, i64 o) {
    SHARED(System, s);
    i64 w = leafWidth(n, o), each = 1 + tilesOf(n - o - w, Order);
    Problem p = problemOf(problems, each);
    int t = thread(), row = t % Order, part = t / Order;
    loadLeaf(&s.leaf, p.a + at(o, o, lda), (int)lda, (int)w);
    if (t < Order) {
        s.x[t] = t < w ? p.rhs[o + t] : 0.0;
    }
    i64 chunk = block() % each, i = o + w + (chunk - 1) * Order + row;
    double l[Depth]; // rows below a leaf have Order columns
#pragma clang loop unroll(full)
    for (int k = 0; k < Depth; k++) {
        l[k] = chunk > 0 && i < n ? p.a[at(i, o, lda) + (part + k * Groups) * (int)lda] : 0.0;
    }
    double sum = 0.0;
    solveLeaf(&s, false);
    if (chunk == 0) {
        if (t < w) {
            p.panel[o + t] = s.x[t];
        }
        return;
    }
#pragma clang loop unroll(full)
    for (int k = 0; k < Depth; k++) {
        sum = __builtin_fma(l[k], s.x[part + k * Groups], sum);
    }
    s.rows[part][row] = sum;
    barrier();
    if (part == 0 && i < n) {
        p.rhs[i] -= (s.rows[0][row] + s.rows[1][row]) + (s.rows[2][row] + s.rows[3][row]);
    }
}

// gpfit_batch_backward takes the step o of the solution of Lᵀ·x = b, for b in the panel's first
// column: it writes x to rows o … of rhs and subtracts its products from the rows of b above.
KERNEL gpfit_batch_backward(const Problem *problems, i64 lda, i64 n, i64 o) {
    SHARED(System, s);
    i64 w = leafWidth(n, o), each = 1 + tilesOf(o, Columns);
    Problem p = problemOf(problems, each);
    int t = thread(), row = t % Order, part = t / Order;
    loadLeaf(&s.leaf, p.a + at(o, o, lda), (int)lda, (int)w);
    if (t < Order) {
        s.x[t] = t < w ? p.panel[o + t] : 0.0;
    }
    solveLeaf(&s, true);
    i64 chunk = block() % each;
    if (chunk == 0) {
        if (t < w) {
            p.rhs[o + t] = s.x[t];
        }
        return;
    }
    // Neighbouring threads read neighbouring rows of L; Columns threads then add up a column.
    i64 i0 = (chunk - 1) * Columns;
    for (int c = part; c < Columns; c += Threads / Order) {
        s.tile[c][row] = row < w && i0 + c < o ? p.a[at(o + row, i0 + c, lda)] * s.x[row] : 0.0;
    }
    barrier();
    int column = t / Columns, share = t % Columns;
    double sum = 0.0;
    for (int k = 0; k < Order / Columns; k++) {
        sum += s.tile[column][share + k * Columns];
    }
    s.part[column][share] = sum;
    barrier();
    if (t < Columns && i0 + t < o) {
        sum = 0.0;
        for (int k = 0; k < Columns; k++) {
            sum += s.part[t][k];
        }
        p.panel[i0 + t] -= sum;
    }
}

// gpfit_batch_logdet writes the sum of the logarithms of L's diagonal. It takes one block per
// problem.
KERNEL gpfit_batch_logdet(const Problem *problems, i64 lda, i64 n) {
    SHARED(Sums, sums);
    Problem p = problemOf(problems, 1);
    double sum = 0.0;
    for (i64 i = thread(); i < n; i += Threads) {
        sum += logPositive(p.a[at(i, i, lda)]);
    }
    sum = sumBlock(sums.red, sum);
    if (thread() == 0) {
        p.out[1] = sum;
    }
}
