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

struct Leaf {
    double v[Order * (Order + 1) / 2];
};

// Loads the lower triangle of the leaf at o.
DEVICE void loadLeaf(Leaf *leaf, const double *a, i64 lda, i64 o, i64 w) {
    for (i64 e = thread(); e < w * w; e += Threads) {
        i64 i = e % w, j = e / w;
        if (i >= j) {
            leaf->v[packed(i, j)] = a[at(o + i, o + j, lda)];
        }
    }
}

// gpfit_batch_leaf factors the leaf at o. It takes one block per problem. A pivot that is
// not positive makes all that follows NaN.
KERNEL gpfit_batch_leaf(const Problem *problems, i64 lda, i64 n, i64 o) {
    SHARED(Leaf, leaf);
    Problem p = problemOf(problems, 1);
    i64 w = leafWidth(n, o);
    int t = thread(), i = t % Order;
    loadLeaf(&leaf, p.a, lda, o, w);
    if (t == 0 && o == 0) {
        p.out[0] = 0.0;
    }
    barrier();
    for (i64 c = 0; c < w; c++) {
        double pivot = leaf.v[packed(c, c)];
        bool good = pivot > 0.0 && isFinite(pivot);
        double root = good ? __nvvm_sqrt_rn_d(pivot) : __builtin_nan("");
        if (t == 0 && !good && p.out[0] == 0.0) {
            p.out[0] = (double)(o + c + 1);
        }
        barrier();
        if (t >= c && t < w) {
            double v = leaf.v[packed(t, c)];
            leaf.v[packed(t, c)] = t == c ? root : v / root;
        }
        barrier();
        if (i < w) {
#pragma clang loop unroll(disable)
            for (i64 j = c + 1 + t / Order; j <= i; j += Threads / Order) {
                leaf.v[packed(i, j)] = __builtin_fma(-leaf.v[packed(i, c)], leaf.v[packed(j, c)], leaf.v[packed(i, j)]);
            }
        }
        barrier();
    }
    for (i64 e = t; e < w * w; e += Threads) {
        i64 row = e % w, col = e / w;
        if (row >= col) {
            p.a[at(o + row, o + col, lda)] = leaf.v[packed(row, col)];
        }
    }
}

// Rows of a triangular solve that a block takes.
constexpr int Rows = 32;

struct Substitution {
    Leaf leaf;
    double x[Order][Rows];
};

// Solves X·Lᵀ = B for the rows that s->x holds, with the leaf of order w: thread t works on
// row t mod Rows and writes columns c ≡ t/Rows of the solution to out, if that row exists.
DEVICE void substitute(Substitution *s, i64 w, double *out, i64 ld, bool exists) {
    int row = thread() % Rows, group = thread() / Rows;
#pragma clang loop unroll(disable)
    for (i64 c = 0; c < w; c++) {
        barrier();
        double x = s->x[c][row] / s->leaf.v[packed(c, c)];
        if (exists && c % (Threads / Rows) == group) {
            out[at(row, c, ld)] = x;
        }
#pragma clang loop unroll(disable)
        for (i64 j = c + 1 + group; j < w; j += Threads / Rows) {
            s->x[j][row] = __builtin_fma(-s->leaf.v[packed(j, c)], x, s->x[j][row]);
        }
    }
}

// gpfit_batch_below computes the rows of L below the leaf at o, in place.
KERNEL gpfit_batch_below(const Problem *problems, i64 lda, i64 n, i64 o) {
    SHARED(Substitution, s);
    i64 w = leafWidth(n, o), each = tilesOf(n - o - w, Rows);
    Problem p = problemOf(problems, each);
    i64 i0 = o + w + block() % each * Rows, i = i0 + thread() % Rows;
    loadLeaf(&s.leaf, p.a, lda, o, w);
    for (i64 c = thread() / Rows; c < w; c += Threads / Rows) {
        s.x[c][thread() % Rows] = i < n ? p.a[at(i, o + c, lda)] : 0.0;
    }
    substitute(&s, w, p.a + at(i0, o, lda), lda, i < n);
}

// gpfit_batch_above writes the columns of U of the leaf at o, rows 0 … o+w−1, to the panel, and
// the diagonal of the leaf to the pivots.
KERNEL gpfit_batch_above(const Problem *problems, i64 lda, i64 n, i64 o) {
    SHARED(Substitution, s);
    i64 w = leafWidth(n, o), rows = o + w, each = tilesOf(rows, Rows);
    Problem p = problemOf(problems, each);
    i64 i0 = block() % each * Rows, i = i0 + thread() % Rows;
    loadLeaf(&s.leaf, p.a, lda, o, w);
    for (i64 c = thread() / Rows; c < w; c += Threads / Rows) {
        double v = i == o + c ? 1.0 : 0.0;
        s.x[c][thread() % Rows] = i < o ? p.a[at(i, o + c, lda)] : v;
    }
    substitute(&s, w, p.panel + i0, lda, i < rows);
    if (i0 == 0 && thread() < w) {
        p.pivots[o + thread()] = s.leaf.v[packed(thread(), thread())];
    }
}

// A product of two blocks of Order rows and w ≤ Order columns works on chunks of Depth columns.
constexpr int Depth = 16, Span = 4;

struct Chunks {
    double x[Depth][Order], y[Depth][Order];
};

// The elements (thread mod 16 + 16r, thread/16 + 16c) of X·Yᵀ.
struct Products {
    double v[Span][Span];
};

// Computes X·Yᵀ for the first m rows of x and k rows of y, both of w columns.
DEVICE Products multiply(Chunks *s, const double *x, i64 m, const double *y, i64 k, i64 ld, i64 w) {
    Products sum;
    for (int r = 0; r < Span; r++) {
        for (int c = 0; c < Span; c++) {
            sum.v[r][c] = 0.0;
        }
    }
    int t = thread(), tx = t % Depth, ty = t / Depth;
    int row = t % Order, first = t / Order;
#pragma clang loop unroll(disable)
    for (i64 q0 = 0; q0 < w; q0 += Depth) {
        barrier();
        for (int q = first; q < Depth; q += Threads / Order) {
            bool in = q0 + q < w;
            s->x[q][row] = in && row < m ? x[at(row, q0 + q, ld)] : 0.0;
            s->y[q][row] = in && row < k ? y[at(row, q0 + q, ld)] : 0.0;
        }
        barrier();
#pragma clang loop unroll_count(2)
        for (int q = 0; q < Depth; q++) {
            for (int r = 0; r < Span; r++) {
                for (int c = 0; c < Span; c++) {
                    sum.v[r][c] = __builtin_fma(s->x[q][tx + Depth * r], s->y[q][ty + Depth * c], sum.v[r][c]);
                }
            }
        }
    }
    return sum;
}

// gpfit_batch_trailing subtracts the product of the leaf's columns of L from the columns to the
// right of the leaf at o, in the lower triangle.
KERNEL gpfit_batch_trailing(const Problem *problems, i64 lda, i64 n, i64 o) {
    SHARED(Chunks, s);
    i64 w = leafWidth(n, o), from = o + w, side = tilesOf(n - from, Order), each = side * (side + 1) / 2;
    Problem p = problemOf(problems, each);
    i64 tile = block() % each, column = 0;
    while (tile >= side - column) {
        tile -= side - column;
        column++;
    }
    i64 i0 = from + (column + tile) * Order, j0 = from + column * Order;
    const double *l = p.a + at(0, o, lda);
    Products sum = multiply(&s, l + i0, n - i0, l + j0, n - j0, lda, w);
    for (int c = 0; c < Span; c++) {
        for (int r = 0; r < Span; r++) {
            i64 i = i0 + thread() % Depth + Depth * r, j = j0 + thread() / Depth + Depth * c;
            if (i < n && j <= i) {
                p.a[at(i, j, lda)] -= sum.v[r][c];
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
    i64 tile = block() % each, row = 0;
    while (tile >= side - row) {
        tile -= side - row;
        row++;
    }
    i64 i0 = row * Order, j0 = (row + tile) * Order;
    bool right = j0 >= end, first = right ? i0 == o : j0 == o;
    const double *y = right ? p.a + at(j0, o, lda) : p.panel + j0;
    Products sum = multiply(&s, p.panel + i0, end - i0, y, (right ? n : end) - j0, lda, w);
    for (int c = 0; c < Span; c++) {
        for (int r = 0; r < Span; r++) {
            i64 i = i0 + thread() % Depth + Depth * r, j = j0 + thread() / Depth + Depth * c;
            if (i < end && j < (right ? n : end) && i <= j) {
                double *to = i == j ? p.diagonal + i : p.a + at(i, j, lda);
                double v = right ? -sum.v[r][c] : sum.v[r][c];
                *to = first ? v : *to + v;
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

// Solves L·x = b, or Lᵀ·x = b with transposed, for the leaf of order w and b in s->x. Thread t
// < w returns x_t.
DEVICE double solveLeaf(System *s, i64 w, bool transposed) {
    int t = thread();
    barrier();
    double v = t < w ? s->x[t] : 0.0;
#pragma clang loop unroll(disable)
    for (i64 step = 0; step < w; step++) {
        i64 c = transposed ? w - 1 - step : step;
        if (t == c) {
            v /= s->leaf.v[packed(c, c)];
            s->x[c] = v;
        }
        barrier();
        if (t < w && (transposed ? t < c : t > c)) {
            v = __builtin_fma(-(transposed ? s->leaf.v[packed(c, t)] : s->leaf.v[packed(t, c)]), s->x[c], v);
        }
    }
    return v;
}

// gpfit_batch_forward takes the step o of the solution of L·x = rhs: it writes x to rows o … of
// the panel's first column and subtracts its products from the rows of rhs below.
KERNEL gpfit_batch_forward(const Problem *problems, i64 lda, i64 n, i64 o) {
    SHARED(System, s);
    i64 w = leafWidth(n, o), each = 1 + tilesOf(n - o - w, Order);
    Problem p = problemOf(problems, each);
    int t = thread(), row = t % Order, part = t / Order;
    loadLeaf(&s.leaf, p.a, lda, o, w);
    if (t < w) {
        s.x[t] = p.rhs[o + t];
    }
    double x = solveLeaf(&s, w, false);
    i64 chunk = block() % each;
    if (chunk == 0) {
        if (t < w) {
            p.panel[o + t] = x;
        }
        return;
    }
    i64 i = o + w + (chunk - 1) * Order + row;
    double sum = 0.0;
    if (i < n) {
        for (i64 c = part; c < w; c += Threads / Order) {
            sum = __builtin_fma(p.a[at(i, o + c, lda)], s.x[c], sum);
        }
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
    loadLeaf(&s.leaf, p.a, lda, o, w);
    if (t < w) {
        s.x[t] = p.panel[o + t];
    }
    double x = solveLeaf(&s, w, true);
    i64 chunk = block() % each;
    if (chunk == 0) {
        if (t < w) {
            p.rhs[o + t] = x;
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
