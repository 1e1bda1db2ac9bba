// Programs of package kernel, run on tiles of pairs of points.
//
// The encoding, an array of 32-bit integers written by kernels.Encode:
//
//	header        HeaderWords words, see below
//	instructions  InstrWords words each, in the order of kernel.Program.Code
//	features      FeatureWords words each
//	dims          the columns of all features, one after the other
//	rows          RowWords words each: where sums of the gradient belong
//
// Offsets in it count words from its start. Slots and rows are for the
// gradient, see contract.h.
#pragma once
#include "elementary.h"

enum Header {
    HVersion, // EncodingVersion
    HCode,    // number of instructions
    HRows,    // number of rows of sums
    HSlots,   // number of slots
    HSingle,  // 1 for a program of one leaf, or one leaf and one Scale
    HCodeAt,  // offsets of the lists
    HFeaturesAt,
    HRowsAt,
    HeaderWords
};

enum Instr {
    IOp,      // kernel.Op
    IFeature, // of a leaf
    IParam,   // offset in θ, or −1
    IRow,     // of an isotropic leaf or Scale, or the first row of an ARD leaf
    IValue,   // slot of the value, or −1 where nobody asks for it
    ISlope,   // slot of a leaf's derivative
    IAdjoint, // slot of the adjoint of a left operand
    ILeft,    // index of the left operand of Add and Mul; the right one is the
              // instruction before
    InstrWords
};

enum Feature {
    FDimsAt, // offset of the columns
    FCount,  // number of columns
    FParam,  // offset in θ of the first of FCount lengthscales, or −1
    FeatureWords
};

enum Op { RBF = 1, Matern12, Matern32, Matern52, Add, Mul, Scale };

// A block works on tiles of 64×32 pairs, 8 pairs per thread: rows tx and tx+32,
// columns ty, ty+8, ty+16, ty+24, for tx = thread mod 32 and ty = thread / 32.
// Threads of a warp have consecutive rows, so that matrices are read and written
// in runs of 256 bytes; per column of X a thread loads 6 numbers from shared
// memory for 8 pairs.
constexpr int TileRows = 64, TileCols = 32, RowsEach = 2, ColsEach = 4;
constexpr int Pairs = RowsEach * ColsEach;
// TileDims columns of X are staged at a time.
constexpr int TileDims = 8;
// MaxDepth bounds the stack; the values below its top are in local memory.
constexpr int MaxDepth = 8;

DEVICE int tileX() { return thread() % 32; }
DEVICE int tileY() { return thread() / 32; }
// The loop over a thread's pairs, unrolled: arrays of Pairs numbers then live in
// registers.
#define EACH_PAIR(p) UNROLL for (int p = 0; p < Pairs; p++)
// Row and column in the tile of pair p of this thread.
DEVICE int pairRow(int p) { return tileX() + 32 * (p / ColsEach); }
DEVICE int pairCol(int p) { return tileY() + 8 * (p % ColsEach); }

// Points i0 … i0+63 of xa (na points, stored by column) against points
// j0 … j0+31 of xb. Positions beyond the last point stand for the last point.
struct Tile {
    const double *xa;
    i64 na, i0;
    const double *xb;
    i64 nb, j0;
};

struct Stage {
    double row[TileDims][TileRows];
    double col[TileDims][TileCols];
    double weight[TileDims];
};

// What the stage holds: columns base … base+7 of a feature, or nothing.
struct Staged {
    int feature, base;
};

DEVICE const int *instruction(const int *prog, int c) { return prog + prog[HCodeAt] + c * InstrWords; }
DEVICE const int *featureOf(const int *prog, int f) { return prog + prog[HFeaturesAt] + f * FeatureWords; }

// stageDims brings columns base … base+7 of feature f to shared memory, with the
// weights 1/ρ² (1 without lengthscales). All threads call it.
DEVICE void stageDims(Stage &stage, Staged &staged, const int *prog, const double *theta, const Tile &tile, int f, int base) {
    if (staged.feature == f && staged.base == base) {
        return;
    }
    staged.feature = f;
    staged.base = base;
    const int *feature = featureOf(prog, f);
    const int *dims = prog + feature[FDimsAt] + base;
    int count = (int)least(feature[FCount] - base, TileDims), t = thread();
    barrier();
    UNROLL for (int k = 0; k < TileDims * TileRows / Threads; k++) {
        int r = t % TileRows, q = t / TileRows + k * (Threads / TileRows);
        if (q < count) {
            stage.row[q][r] = tile.xa[at(least(tile.i0 + r, tile.na - 1), dims[q], tile.na)];
        }
    }
    static_assert(TileDims * TileCols == Threads, "one number per thread");
    if (t / TileCols < count) {
        int r = t % TileCols, q = t / TileCols;
        stage.col[q][r] = tile.xb[at(least(tile.j0 + r, tile.nb - 1), dims[q], tile.nb)];
    }
    if (t < count) {
        double rho = feature[FParam] < 0 ? 1.0 : theta[feature[FParam] + base + t];
        stage.weight[t] = 1.0 / (rho * rho);
    }
    barrier();
}

// addColumns adds the staged columns' part of the squared distances to s.
template <bool Weighted> DEVICE void addColumns(const Stage &stage, int count, double (&s)[Pairs]) {
    for (int q = 0; q < count; q++) {
        double row[RowsEach], col[ColsEach], weight = Weighted ? stage.weight[q] : 1.0;
        UNROLL for (int a = 0; a < RowsEach; a++) {
            row[a] = stage.row[q][tileX() + 32 * a];
        }
        UNROLL for (int b = 0; b < ColsEach; b++) {
            col[b] = stage.col[q][tileY() + 8 * b];
        }
        EACH_PAIR(p) {
            double diff = row[p / ColsEach] - col[p % ColsEach];
            s[p] = Weighted ? __builtin_fma(diff * diff, weight, s[p]) : __builtin_fma(diff, diff, s[p]);
        }
    }
}

// distances writes feature f of the thread's pairs to s, by differences of
// coordinates as the CPU does.
DEVICE void distances(Stage &stage, Staged &staged, const int *prog, const double *theta, const Tile &tile, int f, double (&s)[Pairs]) {
    const int *feature = featureOf(prog, f);
    int dims = feature[FCount];
    bool weighted = feature[FParam] >= 0;
    EACH_PAIR(p) {
        s[p] = 0.0;
    }
    for (int base = 0; base < dims; base += TileDims) {
        stageDims(stage, staged, prog, theta, tile, f, base);
        int count = (int)least(dims - base, TileDims);
        if (weighted) {
            addColumns<true>(stage, count, s);
        } else {
            addColumns<false>(stage, count, s);
        }
    }
}

// scaledDistances writes s = r² as a leaf's formula takes it.
DEVICE void scaledDistances(Stage &stage, Staged &staged, const int *prog, const double *theta, const Tile &tile, const int *in, double (&s)[Pairs]) {
    distances(stage, staged, prog, theta, tile, in[IFeature], s);
    if (in[IParam] >= 0) {
        double rho = theta[in[IParam]], weight = 1.0 / (rho * rho);
        EACH_PAIR(p) {
            s[p] *= weight;
        }
    }
}

// leaf writes the values k(s) and, with Gradient, the slopes dk/ds, or s·dk/ds
// with timesS. After Rasmussen & Williams, Gaussian Processes for Machine Learning
// (2006), eq. 4.9 and 4.14–4.17, as package kernel:
//
//	rbf       e^{−t}, t = s/2                    slope −½ e^{−t}
//	matern12  e^{−t}, t = √s                     −½ e^{−t}/t, 0 at t = 0
//	matern32  (1 + t) e^{−t}, t = √(3s)          −3/2 e^{−t}
//	matern52  (1 + t + t²/3) e^{−t}, t = √(5s)   −5/6 (1 + t) e^{−t}
//
// What depends on the family is decided outside the loops over pairs, so that the
// exponentials of all pairs proceed together.
template <bool Gradient> DEVICE void leaf(int op, bool timesS, const double (&s)[Pairs], double (&value)[Pairs], double (&slope)[Pairs]) {
    double t[Pairs];
    if (op == RBF) {
        EACH_PAIR(p) {
            t[p] = 0.5 * s[p];
        }
    } else {
        double factor = op == Matern12 ? 1.0 : op == Matern32 ? 3.0 : 5.0;
        EACH_PAIR(p) {
            t[p] = squareRoot(factor * s[p]);
        }
    }
    EACH_PAIR(p) {
        value[p] = expNegative(-t[p]);
    }
    if (Gradient) {
        double factor = op == Matern32 ? -1.5 : op == Matern52 ? -5.0 / 6.0 : -0.5;
        EACH_PAIR(p) {
            slope[p] = factor * value[p];
        }
        if (op == Matern52) {
            EACH_PAIR(p) {
                slope[p] *= 1.0 + t[p];
            }
        }
        if (op == Matern12 && timesS) {
            EACH_PAIR(p) {
                slope[p] *= t[p];
            }
        } else if (op == Matern12) {
            EACH_PAIR(p) {
                slope[p] = t[p] > 0.0 ? slope[p] / t[p] : 0.0;
            }
        } else if (timesS) {
            EACH_PAIR(p) {
                slope[p] *= s[p];
            }
        }
    }
    if (op == Matern32) {
        EACH_PAIR(p) {
            value[p] *= 1.0 + t[p];
        }
    } else if (op == Matern52) {
        EACH_PAIR(p) {
            value[p] *= 1.0 + t[p] + t[p] * t[p] * (1.0 / 3.0);
        }
    }
}

// evaluate writes the covariances of the thread's pairs to top. All threads of
// the block call it together. The top of the stack is in registers: a kernel of
// one leaf needs no other memory.
DEVICE void evaluate(Stage &stage, Staged &staged, const int *prog, const double *theta, const Tile &tile, double (&top)[Pairs]) {
    double below[(MaxDepth - 1) * Pairs];
    int level = 0, code = prog[HCode];
    for (int c = 0; c < code; c++) {
        const int *in = instruction(prog, c);
        int op = in[IOp];
        if (op == Scale) {
            double factor = theta[in[IParam]];
            EACH_PAIR(p) {
                top[p] *= factor;
            }
        } else if (op == Add) {
            level--;
            EACH_PAIR(p) {
                top[p] += below[(level - 1) * Pairs + p];
            }
        } else if (op == Mul) {
            level--;
            EACH_PAIR(p) {
                top[p] *= below[(level - 1) * Pairs + p];
            }
        } else {
            if (level > 0) {
                EACH_PAIR(p) {
                    below[(level - 1) * Pairs + p] = top[p];
                }
            }
            level++;
            double s[Pairs];
            scaledDistances(stage, staged, prog, theta, tile, in, s);
            leaf<false>(op, false, s, top, s);
        }
    }
}
