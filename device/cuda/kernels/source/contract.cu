// The gradient: ⟨G, ∂K/∂log θ⟩ with G = inv·Σ⁻¹ + M + Σ_k outer_k·v_k v_kᵀ, tile by
// tile.
//
// A block goes through its tiles of G in a fixed order. For each it runs the
// program forwards and backwards (reverse mode) and adds to its rows of sums.
// A row holds a number per thread, kept in device memory where only that
// thread touches it:
//
//	scalar row: thread t's part of the derivative by one parameter;
//	ARD row:    for 8 lengthscales, thread t's part of lengthscale t/32.
//
// Slots hold what the backward run of a program of several leaves needs, 8
// numbers per thread: values, slopes, adjoints. A program of one leaf needs none.
// The scratch memory of a block is HRows rows of Threads numbers, then HSlots
// slots of Pairs·Threads. At the end a block adds up each row and writes its
// share of every parameter; gpfit_reduce adds up the blocks.
#include "program.h"

enum Row {
    RParam, // the (first) parameter
    RCount, // number of lengthscales of an ARD row, or 0 for a scalar row
    RowWords
};

struct ContractShared {
    Stage stage;
    // One number per column of the stage and thread; also for sums.
    double red[TileDims * Threads];
};

// Everything a thread knows about its work.
struct Gradient {
    const int *prog;
    const double *theta;
    ContractShared &shared;
    // This thread's number of row 0 and of slot 0.
    double *rows, *slots;

    DEVICE_METHOD double &row(int r) const { return rows[(i64)r * Threads]; }
    DEVICE_METHOD double &slot(int s, int p) const { return slots[((i64)s * Pairs + p) * Threads]; }
};

// backColumns adds factor·Σ_pairs w·weight_q·term_q for every column q of a feature:
// to a row for each lengthscale, or all of it to one scalar row.
//
// With a row for each, every thread first adds up its 8 pairs for each of 8 columns;
// then, through shared memory, thread t takes on part t mod 32 of lengthscale t / 32,
// 8 threads' sums. This keeps one number per row in every thread, for any number of
// lengthscales.
template <int T> DEVICE void backColumns(const Gradient &grad, Staged &staged, const Tile &tile, int f, const double (&w)[Pairs], double factor, int to, bool each) {
    Stage &stage = grad.shared.stage;
    double *red = grad.shared.red;
    int dims = featureOf(grad.prog, f)[FCount];
    double total = 0.0;
    for (int base = 0; base < dims; base += TileDims) {
        stageDims(stage, staged, grad.prog, grad.theta, tile, f, base);
        int count = (int)least(dims - base, TileDims);
        if (each) {
            barrier(); // red may still be read from
        }
        for (int q = 0; q < count; q++) {
            Coordinates c = coordinates(stage, q);
            double sum = 0.0, frequency = T == TSineSquare || T == TSinePhase ? stage.frequency[q] : 0.0;
            EACH_PAIR(p) {
                sum = __builtin_fma(term<T>(c.row[p / ColsEach], c.col[p % ColsEach], frequency), w[p], sum);
            }
            if (each) {
                red[q * Threads + thread()] = sum;
            } else {
                total = __builtin_fma(sum, stage.weight[q], total);
            }
        }
        if (!each) {
            continue;
        }
        barrier();
        int q = thread() / 32, part = thread() % 32;
        if (q < count) {
            double sum = 0.0;
            UNROLL for (int k = 0; k < TileDims; k++) {
                sum += red[q * Threads + part + 32 * k];
            }
            grad.row(to + base / TileDims) += factor * sum * stage.weight[q];
        }
    }
    if (!each) {
        grad.row(to) += factor * total;
    }
}

// backLeaf adds the derivatives by the parameters of a leaf's feature, for g the
// adjoint of its value and slope from leaf. Of a scale ρ and, with u = Δ/p, a period,
//
//	∂k/∂log ρ = −2 s k'(s), or −s k'(s) for cosine,
//	∂k/∂log p = −π u sin(2πu) k'(s),
//
// where s is all of the feature or the part of the column that ρ or p belongs to.
DEVICE void backLeaf(const Gradient &grad, Staged &staged, const Tile &tile, const int *in, const double (&g)[Pairs], const double (&slope)[Pairs]) {
    int f = in[IFeature];
    if (f < 0) {
        return;
    }
    if (timesS(in)) {
        double sum = 0.0;
        EACH_PAIR(p) {
            sum = __builtin_fma(g[p], slope[p], sum);
        }
        grad.row(in[IRow]) -= (in[IOp] == Cosine ? 1.0 : 2.0) * sum;
        return;
    }
    const int *feature = featureOf(grad.prog, f);
    int kind = feature[FKind];
    bool each = feature[FParam] >= 0;
    if (!each && kind != SinSquares) {
        return; // an inner product without lengthscales
    }
    double w[Pairs];
    EACH_PAIR(p) {
        w[p] = g[p] * slope[p];
    }
    if (kind == SquaredDistance) {
        backColumns<TSquare>(grad, staged, tile, f, w, -2.0, in[IRow], true);
    } else if (kind == InnerProduct) {
        backColumns<TProduct>(grad, staged, tile, f, w, -2.0, in[IRow], true);
    } else if (kind == Differences) {
        backColumns<TDifference>(grad, staged, tile, f, w, -1.0, in[IRow], true);
    } else {
        double scale = leafScale(grad.theta, in);
        if (in[IRow] >= 0) {
            backColumns<TSineSquare>(grad, staged, tile, f, w, -2.0 * scale, in[IRow], each);
        }
        backColumns<TSinePhase>(grad, staged, tile, f, w, -Pi * scale, feature[FPeriodRow], feature[FPeriods] > 1);
    }
}

// backShape adds the derivative by the log of a leaf's shape: of Poly's offset o it
// is o times the slope, that of RQ is in a slot.
DEVICE void backShape(const Gradient &grad, const int *in, const double (&g)[Pairs], const double (&slope)[Pairs]) {
    double sum = 0.0;
    if (in[IOp] == Poly) {
        EACH_PAIR(p) {
            sum = __builtin_fma(g[p], slope[p], sum);
        }
        sum *= grad.theta[in[IShape]];
    } else {
        EACH_PAIR(p) {
            sum = __builtin_fma(g[p], grad.slot(in[IShapeSlot], p), sum);
        }
    }
    grad.row(in[IShapeRow]) += sum;
}

// A program of one leaf, or one leaf and one Scale: everything in registers.
DEVICE void contractSingle(const Gradient &grad, Staged &staged, const Tile &tile, double (&g)[Pairs]) {
    const int *in = instruction(grad.prog, 0);
    double s[Pairs], value[Pairs], slope[Pairs];
    scaledFeature(grad.shared.stage, staged, grad.prog, grad.theta, tile, in, s);
    leaf<true, false>(in, grad.theta, s, value, slope, slope);
    if (grad.prog[HCode] > 1) {
        const int *scale = instruction(grad.prog, 1);
        double factor = grad.theta[scale[IParam]], sum = 0.0;
        EACH_PAIR(p) {
            g[p] *= factor;
            sum = __builtin_fma(g[p], value[p], sum);
        }
        grad.row(scale[IRow]) += sum;
    }
    backLeaf(grad, staged, tile, in, g, slope);
}

// forwards runs any program and leaves what backwards needs in the slots.
DEVICE void forwards(const Gradient &grad, Staged &staged, const Tile &tile) {
    int code = grad.prog[HCode];
    double top[Pairs];
    for (int c = 0; c < code; c++) {
        const int *in = instruction(grad.prog, c);
        int op = in[IOp];
        if (op == Scale) {
            double factor = grad.theta[in[IParam]];
            EACH_PAIR(p) {
                top[p] *= factor;
            }
        } else if (op == Add || op == Mul) {
            int left = instruction(grad.prog, in[ILeft])[IValue];
            EACH_PAIR(p) {
                double v = grad.slot(left, p);
                top[p] = op == Add ? v + top[p] : v * top[p];
            }
        } else {
            double s[Pairs], slope[Pairs], shape[Pairs];
            scaledFeature(grad.shared.stage, staged, grad.prog, grad.theta, tile, in, s);
            leaf<true, true>(in, grad.theta, s, top, slope, shape);
            if (in[ISlope] >= 0) {
                EACH_PAIR(p) {
                    grad.slot(in[ISlope], p) = slope[p];
                }
            }
            if (in[IShapeSlot] >= 0) {
                EACH_PAIR(p) {
                    grad.slot(in[IShapeSlot], p) = shape[p];
                }
            }
        }
        if (in[IValue] >= 0) {
            EACH_PAIR(p) {
                grad.slot(in[IValue], p) = top[p];
            }
        }
    }
}

// backwards sends the adjoint g of the last instruction back through the code.
// Every value has one consumer. The adjoint of a right operand, which is the
// instruction before, stays in registers; that of a left operand waits in its
// slot until the leaf that follows it in the code is done.
DEVICE void backwards(const Gradient &grad, Staged &staged, const Tile &tile, double (&g)[Pairs]) {
    for (int c = grad.prog[HCode] - 1; c >= 0; c--) {
        const int *in = instruction(grad.prog, c);
        int op = in[IOp];
        if (op == Scale) {
            double factor = grad.theta[in[IParam]], sum = 0.0;
            EACH_PAIR(p) {
                sum = __builtin_fma(g[p], grad.slot(in[IValue], p), sum);
                g[p] *= factor;
            }
            grad.row(in[IRow]) += sum;
        } else if (op == Add) {
            int adjoint = instruction(grad.prog, in[ILeft])[IAdjoint];
            EACH_PAIR(p) {
                grad.slot(adjoint, p) = g[p];
            }
        } else if (op == Mul) {
            const int *left = instruction(grad.prog, in[ILeft]), *right = instruction(grad.prog, c - 1);
            EACH_PAIR(p) {
                grad.slot(left[IAdjoint], p) = g[p] * grad.slot(right[IValue], p);
                g[p] *= grad.slot(left[IValue], p);
            }
        } else {
            if (in[ISlope] >= 0) {
                double slope[Pairs];
                EACH_PAIR(p) {
                    slope[p] = grad.slot(in[ISlope], p);
                }
                if (in[IShapeRow] >= 0) {
                    backShape(grad, in, g, slope);
                }
                backLeaf(grad, staged, tile, in, g, slope);
            }
            if (c > 0) {
                int adjoint = instruction(grad.prog, c - 1)[IAdjoint];
                EACH_PAIR(p) {
                    g[p] = grad.slot(adjoint, p);
                }
            }
        }
    }
}

// adjoints writes G for the thread's pairs to g, elements off the diagonal twice,
// 0 beside the part that gpfit_contract takes; the diagonal goes to diag.
DEVICE void adjoints(const double *s, i64 lds, const double *middle, i64 ldm, i64 n, i64 ib, i64 jb, i64 j0, i64 j1, const double *vectors, const double *outer, i64 count, double inv, double *diag, double (&g)[Pairs]) {
    EACH_PAIR(p) {
        i64 i = ib + pairRow(p), j = jb + pairCol(p);
        g[p] = 0.0;
        if (j < j1 && i <= j) {
            g[p] = inv * s[at(i, j - j0, lds)];
            if (middle) {
                g[p] += middle[at(i, j - j0, ldm)];
            }
        }
    }
    for (i64 k = 0; k < count; k++) {
        const double *v = vectors + k * n;
        double factor = outer[k], row[RowsEach], col[ColsEach];
        UNROLL for (int a = 0; a < RowsEach; a++) {
            row[a] = factor * v[least(ib + tileX() + 32 * a, n - 1)];
        }
        UNROLL for (int b = 0; b < ColsEach; b++) {
            col[b] = v[least(jb + tileY() + 8 * b, n - 1)];
        }
        EACH_PAIR(p) {
            g[p] = __builtin_fma(row[p / ColsEach], col[p % ColsEach], g[p]);
        }
    }
    EACH_PAIR(p) {
        i64 i = ib + pairRow(p), j = jb + pairCol(p);
        if (!(j < j1 && i <= j)) {
            g[p] = 0.0;
        } else if (i == j) {
            diag[j] = g[p];
        } else {
            g[p] *= 2.0;
        }
    }
}

// contract is gpfit_contract for programs of one leaf (Single) or of any.
template <bool Single> DEVICE void contract(ContractShared &shared, const int *prog, const double *theta, const double *x, i64 n, const double *s, i64 lds, const double *middle, i64 ldm, i64 j0, i64 j1, const double *vectors, const double *outer, i64 count, double inv, double *diag, double *scratch, double *partial) {
    i64 rows = prog[HRows], perBlock = (rows + (i64)prog[HSlots] * Pairs) * Threads;
    double *mine = scratch + block() * perBlock + thread();
    Gradient grad = {prog, theta, shared, mine, mine + rows * Threads};
    for (int r = 0; r < rows; r++) {
        grad.row(r) = 0.0;
    }
    i64 rowTiles = tilesOf(j1, TileRows), tiles = rowTiles * tilesOf(j1 - j0, TileCols);
    for (i64 k = block(); k < tiles; k += blocks()) {
        i64 ib = k % rowTiles * TileRows, jb = j0 + k / rowTiles * TileCols;
        if (ib >= least(jb + TileCols, j1)) {
            continue; // below the diagonal
        }
        Staged staged = {-1, 0};
        Tile tile = {x, n, ib, x, n, jb};
        if (!Single) {
            forwards(grad, staged, tile);
        }
        double g[Pairs];
        adjoints(s, lds, middle, ldm, n, ib, jb, j0, j1, vectors, outer, count, inv, diag, g);
        if (Single) {
            contractSingle(grad, staged, tile, g);
        } else {
            backwards(grad, staged, tile, g);
        }
    }
    const int *row = prog + prog[HRowsAt];
    for (int r = 0; r < rows; r++, row += RowWords) {
        int width = row[RCount] == 0 ? Threads : 32, t = thread();
        barrier();
        shared.red[t] = grad.row(r);
        sumSegments(shared.red, width);
        if (t % width == 0 && t / width < most(row[RCount], 1)) {
            partial[at(block(), row[RParam] + t / width, blocks())] = shared.red[t];
        }
    }
}

// gpfit_contract takes columns j0 ≤ j < j1 of Σ⁻¹, rows 0 ≤ i ≤ j, from
// s[i + (j−j0)·lds], and of M in the same way from middle, which may be null; what
// is below the diagonal is not read. There are count columns of n numbers in
// vectors, and as many factors in outer. Elements off the diagonal count twice. It
// writes G_jj to diag[j], and block b of B writes its share of ⟨G, ∂K/∂log θ_p⟩ to
// partial[p·B + b]. Programs of one leaf have a kernel of their
// own, which needs fewer registers.
KERNEL gpfit_contract(const int *prog, const double *theta, const double *x, i64 n, const double *s, i64 lds, const double *middle, i64 ldm, i64 j0, i64 j1, const double *vectors, const double *outer, i64 count, double inv, double *diag, double *scratch, double *partial) {
    SHARED(ContractShared, shared);
    contract<false>(shared, prog, theta, x, n, s, lds, middle, ldm, j0, j1, vectors, outer, count, inv, diag, scratch, partial);
}

KERNEL gpfit_contractone(const int *prog, const double *theta, const double *x, i64 n, const double *s, i64 lds, const double *middle, i64 ldm, i64 j0, i64 j1, const double *vectors, const double *outer, i64 count, double inv, double *diag, double *scratch, double *partial) {
    SHARED(ContractShared, shared);
    contract<true>(shared, prog, theta, x, n, s, lds, middle, ldm, j0, j1, vectors, outer, count, inv, diag, scratch, partial);
}
