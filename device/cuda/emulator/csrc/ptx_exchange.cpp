// Instructions that move data between registers without arithmetic: shfl.sync, mov of
// vectors, trap.
#include "ptx_frame.h"

namespace ptx {

namespace {

enum class Mode { Down, Up, Butterfly, Index };

constexpr u32 Lanes = 32;

struct Source {
    u32 lane;
    bool valid;
};

// sourceOf returns the lane that a lane reads, according to the definition of
// shfl.sync.
template <Mode M> Source sourceOf(u32 lane, u32 b, u32 c) {
    const u32 clamp = c & 31, segment = c >> 8 & 31, least = lane & segment;
    const u32 most = least | (clamp & ~segment);
    b &= 31;
    i32 j = 0;
    switch (M) {
    case Mode::Down: j = static_cast<i32>(lane + b); break;
    case Mode::Up: j = static_cast<i32>(lane) - static_cast<i32>(b); break;
    case Mode::Butterfly: j = static_cast<i32>(lane ^ b); break;
    case Mode::Index: j = static_cast<i32>(least | (b & ~segment)); break;
    }
    bool valid = M == Mode::Up ? j >= static_cast<i32>(most) : j <= static_cast<i32>(most);
    return {valid ? static_cast<u32>(j) : lane, valid};
}

// requireMembers checks that exactly the lanes of a warp in the mask take part.
void requireMembers(const Frame &f, int t, u32 members) {
    const int warp = t - t % static_cast<int>(Lanes);
    for (int k = 0; k < static_cast<int>(Lanes); k++) {
        int other = warp + k;
        bool there = other >= f.lo && other < f.hi && f.on(other), named = members >> k & 1;
        if (named && !there && other < f.threads) {
            throw Fault{LaunchFailure, "a warp waits for thread " + std::to_string(other) + ", which does not come", t};
        }
        if (!named && other == t) {
            throw Fault{LaunchFailure, "shfl.sync in a thread that its mask does not name", t};
        }
    }
}

template <Mode M> void shuffle(Frame &f, const Instr &in) {
    const bool predicate = in.written == 2;
    const Operand *from = in.op + in.written;
    u32 *a = reinterpret_cast<u32 *>(f.address); // the destination may overwrite it
    const u32 *b = f.source<u32>(from[1], 0), *c = f.source<u32>(from[2], 1), *members = f.source<u32>(from[3], 2);
    const u32 *values = from[0].immediate() ? nullptr : f.row<u32>(from[0]);
    for (int t = f.lo; t < f.hi; t++) {
        a[t] = values != nullptr ? values[t] : static_cast<u32>(from[0].value);
    }
    u32 checked = 0;
    int warp = -1;
    for (int t = f.lo; t < f.hi; t++) {
        if (!f.on(t)) {
            continue;
        }
        if (t / static_cast<int>(Lanes) != warp || members[t] != checked) {
            requireMembers(f, t, members[t]);
            warp = t / static_cast<int>(Lanes);
            checked = members[t];
        }
        const u32 lane = static_cast<u32>(t) % Lanes;
        if (!(members[t] >> lane & 1)) {
            requireMembers(f, t, members[t]);
        }
        Source s = sourceOf<M>(lane, b[t], c[t]);
        int other = t - static_cast<int>(lane) + static_cast<int>(s.lane);
        if (other < f.lo || other >= f.hi || !f.on(other)) {
            throw Fault{LaunchFailure, "shfl.sync reads thread " + std::to_string(other) + ", which does not take part", t};
        }
        f.row<u32>(in.op[0])[t] = a[other];
        if (predicate) {
            f.row<u8>(in.op[1])[t] = s.valid;
        }
    }
}

} // namespace

void shuffleDown(Frame &f, const Instr &in) { shuffle<Mode::Down>(f, in); }
void shuffleUp(Frame &f, const Instr &in) { shuffle<Mode::Up>(f, in); }
void shuffleButterfly(Frame &f, const Instr &in) { shuffle<Mode::Butterfly>(f, in); }
void shuffleIndex(Frame &f, const Instr &in) { shuffle<Mode::Index>(f, in); }

// multiplyMatrices is mma.sync of float64: D = A·B + C for the 8×4 matrix A, the 4×8 matrix B and the 8×8 matrix C of a warp. The
// lane 4i+k has A_ik, B_ki, C_i,2k and C_i,2k+1.
void multiplyMatrices(Frame &f, const Instr &in) {
    constexpr int Depth = 4;
    const double *a = f.source<double>(in.op[2], 0), *b = f.source<double>(in.op[3], 1);
    double sums[2][MaxThreads];
    for (int t = f.lo; t < f.hi; t++) {
        if (!f.on(t)) {
            continue;
        }
        const int warp = t - t % static_cast<int>(Lanes), lane = t - warp;
        if (lane == 0 || t == f.lo || !f.on(t - 1)) {
            requireMembers(f, t, ~u32(0));
        }
        for (int k = 0; k < 2; k++) {
            const double *x = a + warp + lane / Depth * Depth, *y = b + warp + (lane % Depth * 2 + k) * Depth;
            sums[k][t] = f.row<double>(in.op[4 + k])[t];
            for (int j = 0; j < Depth; j++) {
                sums[k][t] = __builtin_fma(x[j], y[j], sums[k][t]);
            }
        }
    }
    each(f, f.row<double>(in.op[0]), [&](int i) { return sums[0][i]; });
    each(f, f.row<double>(in.op[1]), [&](int i) { return sums[1][i]; });
}

// pack is mov.b64 r, {lo, hi}.
void pack(Frame &f, const Instr &in) {
    const u32 *lo = f.source<u32>(in.op[1], 0), *hi = f.source<u32>(in.op[2], 1);
    each(f, f.row<u64>(in.op[0]), [=](int i) { return lo[i] | static_cast<u64>(hi[i]) << 32; });
}

// unpack is mov.b64 {lo, hi}, r.
void unpack(Frame &f, const Instr &in) {
    const u64 *r = f.source<u64>(in.op[2], 0);
    each(f, f.row<u32>(in.op[0]), [=](int i) { return static_cast<u32>(r[i]); });
    each(f, f.row<u32>(in.op[1]), [=](int i) { return static_cast<u32>(r[i] >> 32); });
}

void trap(Frame &f, const Instr &) {
    int t = f.lo;
    while (!f.on(t)) {
        t++;
    }
    throw Fault{LaunchFailure, "trap", t, false};
}

} // namespace ptx
