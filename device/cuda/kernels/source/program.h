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
    HCodeAt,  // offsets of the lists
    HFeaturesAt,
    HRowsAt,
    HeaderWords
};

enum Instr {
    IOp,       // kernel.Op
    IFeature,  // of a leaf, −1 for Constant
    IParam,    // offset in θ, or −1
    IRow,      // of a leaf's parameter or Scale, or the first row of an ARD leaf
    IValue,    // slot of the value, or −1 where nobody asks for it
    ISlope,    // slot of a leaf's derivative, −1 for Constant
    IAdjoint,  // slot of the adjoint of a left operand
    ILeft,     // index of the left operand of Add and Mul; the right one is the
               // instruction before
    IShape,    // offset in θ of the shape of RQ and Poly, or −1
    IShapeRow, // its row
    IShapeSlot, // slot of the derivative of RQ by it
    IDegree,   // of Poly
    InstrWords
};

enum Feature {
    FDimsAt,    // offset of the columns
    FCount,     // number of columns
    FParam,     // offset in θ of the first of FCount parameters, or −1
    FKind,      // kernel.FeatureKind
    FPeriod,    // offset in θ of the first of FPeriods periods of SinSquares
    FPeriods,   // 1 or FCount
    FPeriodRow, // their (first) row
    FeatureWords
};

enum Op { RBF = 1, Matern12, Matern32, Matern52, Add, Mul, Scale, RQ, Periodic, Cosine, Linear, Poly, Constant };

enum Kind { SquaredDistance, InnerProduct, SinSquares, Differences };

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
    double weight[TileDims], frequency[TileDims];
};

// What the stage holds: columns base … base+7 of a feature, or nothing.
struct Staged {
    int feature, base;
};

DEVICE const int *instruction(const int *prog, int c) { return prog + prog[HCodeAt] + c * InstrWords; }
DEVICE const int *featureOf(const int *prog, int f) { return prog + prog[HFeaturesAt] + f * FeatureWords; }

// stageDims brings columns base … base+7 of feature f to shared memory, with their
// weights, 1/θ² or for Differences 1/θ (1 without parameters), and the frequencies
// 1/θ of SinSquares. All threads call it.
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
        stage.weight[t] = 1.0 / (feature[FKind] == Differences ? rho : rho * rho);
        if (feature[FKind] == SinSquares) {
            stage.frequency[t] = 1.0 / theta[feature[FPeriod] + (feature[FPeriods] == 1 ? 0 : base + t)];
        }
    }
    barrier();
}

// What a column adds to a feature before it is weighted, and TSinePhase for the
// derivative by a period: with u = (x − y)/p,
//
//	TSquare (x − y)², TProduct xy, TSineSquare sin²(πu), TDifference x − y,
//	TSinePhase u·sin(2πu).
enum Term { TSquare, TProduct, TSineSquare, TDifference, TSinePhase };

template <int T> DEVICE double term(double x, double y, double frequency) {
    double d = x - y, u = d * frequency;
    if (T == TSquare) {
        return d * d;
    }
    if (T == TProduct) {
        return x * y;
    }
    if (T == TSineSquare) {
        double s = turn(u).sin;
        return s * s;
    }
    if (T == TSinePhase) {
        Turn t = turn(u);
        return 2.0 * u * (t.sin * t.cos);
    }
    return d;
}

// The coordinates of a thread's points in a staged column.
struct Coordinates {
    double row[RowsEach], col[ColsEach];
};

DEVICE Coordinates coordinates(const Stage &stage, int q) {
    Coordinates c;
    UNROLL for (int a = 0; a < RowsEach; a++) {
        c.row[a] = stage.row[q][tileX() + 32 * a];
    }
    UNROLL for (int b = 0; b < ColsEach; b++) {
        c.col[b] = stage.col[q][tileY() + 8 * b];
    }
    return c;
}

// addColumns adds the staged columns' part of a feature to s.
template <int T, bool Weighted> DEVICE void addColumns(const Stage &stage, int count, double (&s)[Pairs]) {
    for (int q = 0; q < count; q++) {
        Coordinates c = coordinates(stage, q);
        double weight = Weighted ? stage.weight[q] : 1.0, frequency = T == TSineSquare ? stage.frequency[q] : 0.0;
        EACH_PAIR(p) {
            if (T == TSquare && !Weighted) {
                double diff = c.row[p / ColsEach] - c.col[p % ColsEach];
                s[p] = __builtin_fma(diff, diff, s[p]);
            } else {
                s[p] = __builtin_fma(term<T>(c.row[p / ColsEach], c.col[p % ColsEach], frequency), weight, s[p]);
            }
        }
    }
}

// measure writes feature f of the thread's pairs to s; distances by differences of
// coordinates as the CPU does.
DEVICE void measure(Stage &stage, Staged &staged, const int *prog, const double *theta, const Tile &tile, int f, double (&s)[Pairs]) {
    const int *feature = featureOf(prog, f);
    int dims = feature[FCount], kind = feature[FKind];
    EACH_PAIR(p) {
        s[p] = 0.0;
    }
    for (int base = 0; base < dims; base += TileDims) {
        stageDims(stage, staged, prog, theta, tile, f, base);
        int count = (int)least(dims - base, TileDims);
        if (kind == SquaredDistance && feature[FParam] < 0) {
            addColumns<TSquare, false>(stage, count, s);
        } else if (kind == SquaredDistance) {
            addColumns<TSquare, true>(stage, count, s);
        } else if (kind == InnerProduct) {
            addColumns<TProduct, true>(stage, count, s);
        } else if (kind == SinSquares) {
            addColumns<TSineSquare, true>(stage, count, s);
        } else {
            addColumns<TDifference, true>(stage, count, s);
        }
    }
}

// leafScale is the factor from the feature of an isotropic leaf to the argument of
// its formula.
DEVICE double leafScale(const double *theta, const int *in) {
    double rho = in[IParam] < 0 ? 1.0 : theta[in[IParam]];
    return 1.0 / (in[IOp] == Cosine ? rho : rho * rho);
}

// scaledFeature writes s as a leaf's formula takes it.
DEVICE void scaledFeature(Stage &stage, Staged &staged, const int *prog, const double *theta, const Tile &tile, const int *in, double (&s)[Pairs]) {
    if (in[IFeature] < 0) {
        EACH_PAIR(p) {
            s[p] = 0.0;
        }
        return;
    }
    measure(stage, staged, prog, theta, tile, in[IFeature], s);
    if (in[IParam] >= 0) {
        double weight = leafScale(theta, in);
        EACH_PAIR(p) {
            s[p] *= weight;
        }
    }
}

// exponential is leaf for
//
//	rbf       e^{−t}, t = s/2                    slope −½ e^{−t}
//	periodic  e^{−t}, t = 2s                     −2 e^{−t}
//	matern12  e^{−t}, t = √s                     −½ e^{−t}/t, 0 at t = 0
//	matern32  (1 + t) e^{−t}, t = √(3s)          −3/2 e^{−t}
//	matern52  (1 + t + t²/3) e^{−t}, t = √(5s)   −5/6 (1 + t) e^{−t}
template <bool Gradient> DEVICE void exponential(int op, bool timesS, const double (&s)[Pairs], double (&value)[Pairs], double (&slope)[Pairs]) {
    double t[Pairs];
    if (op == RBF || op == Periodic) {
        double factor = op == RBF ? 0.5 : 2.0;
        EACH_PAIR(p) {
            t[p] = factor * s[p];
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
        double factor = op == Matern32 ? -1.5 : op == Matern52 ? -5.0 / 6.0 : op == Periodic ? -2.0 : -0.5;
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

// rational is leaf for rq: with t = s/(2α), (1 + t)^{−α}, slope −½ k/(1 + t), and
// shape αk(t/(1 + t) − log(1 + t)), the derivative by log α.
template <bool Gradient> DEVICE void rational(double alpha, bool timesS, const double (&s)[Pairs], double (&value)[Pairs], double (&slope)[Pairs], double (&shape)[Pairs]) {
    double factor = 0.5 / alpha;
    EACH_PAIR(p) {
        double t = factor * s[p], l = logOnePlus(t);
        double k = expNegative(-alpha * l);
        if (Gradient) {
            double r = 1.0 / (1.0 + t);
            slope[p] = -0.5 * k * r * (timesS ? s[p] : 1.0);
            shape[p] = alpha * k * (t * r - l);
        }
        value[p] = k;
    }
}

// polynomial is leaf for poly: (o + s)^d by multiplications, from the highest bit
// of d down, slope d(o + s)^{d−1}.
template <bool Gradient> DEVICE void polynomial(double offset, int degree, const double (&s)[Pairs], double (&value)[Pairs], double (&slope)[Pairs]) {
    double base[Pairs], power[Pairs]; // power = base^(degree−1)
    EACH_PAIR(p) {
        base[p] = offset + s[p];
        power[p] = 1.0;
    }
    for (int bit = 1 << 30; bit > 0; bit /= 2) {
        if (bit > degree - 1) {
            continue;
        }
        EACH_PAIR(p) {
            power[p] *= power[p];
        }
        if ((degree - 1) & bit) {
            EACH_PAIR(p) {
                power[p] *= base[p];
            }
        }
    }
    EACH_PAIR(p) {
        if (Gradient) {
            slope[p] = degree * power[p];
        }
        value[p] = power[p] * base[p];
    }
}

// wave is leaf for cosine: cos(2πs), slope −2π sin(2πs).
template <bool Gradient> DEVICE void wave(bool timesS, const double (&s)[Pairs], double (&value)[Pairs], double (&slope)[Pairs]) {
    EACH_PAIR(p) {
        Turn t = turn(s[p]);
        if (Gradient) {
            slope[p] = -4.0 * Pi * (t.sin * t.cos) * (timesS ? s[p] : 1.0);
        }
        value[p] = 1.0 - 2.0 * t.sin * t.sin;
    }
}

// timesS tells the leaves whose only parameter of the feature is their own IParam:
// what they need is s·k'(s).
DEVICE bool timesS(const int *in) { return in[IParam] >= 0 && in[IOp] != Periodic; }

// leaf writes the values k(s) and, with Gradient, the slopes dk/ds, or s·dk/ds if
// timesS says so; with Shape, that of RQ by its α, too, without Shape it knows no RQ
// and Poly. The formulas are those of package kernel: Rasmussen & Williams, Gaussian
// Processes for Machine Learning (2006), eq. 4.9, 4.14–4.19, 4.31 and table 4.1.
//
// What depends on the family is decided outside the loops over pairs, so that the
// computations of all pairs proceed together.
template <bool Gradient, bool Shape> DEVICE void leaf(const int *in, const double *theta, const double (&s)[Pairs], double (&value)[Pairs], double (&slope)[Pairs], double (&shape)[Pairs]) {
    int op = in[IOp];
    if (op < Add || op == Periodic) {
        exponential<Gradient>(op, timesS(in), s, value, slope);
    } else if (op == Cosine) {
        wave<Gradient>(timesS(in), s, value, slope);
    } else if (Shape && op == RQ) {
        rational<Gradient>(theta[in[IShape]], timesS(in), s, value, slope, shape);
    } else if (Shape && op == Poly) {
        polynomial<Gradient>(theta[in[IShape]], in[IDegree], s, value, slope);
    } else {
        EACH_PAIR(p) {
            if (Gradient) {
                slope[p] = 1.0;
            }
            value[p] = op == Linear ? s[p] : 1.0;
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
            double s[Pairs], none[Pairs];
            scaledFeature(stage, staged, prog, theta, tile, in, s);
            leaf<false, true>(in, theta, s, top, none, none);
        }
    }
}
