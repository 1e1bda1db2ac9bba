// The state on which an instruction operates: the running block and its active threads.
#pragma once
#include "ptx.h"

#include <cstring>
#include <string>

// Rows of registers are either identical or disjoint, so that loops over threads can be
// vectorized.
#ifdef __clang__
#define LANES _Pragma("clang loop vectorize(assume_safety)")
#else
#define LANES _Pragma("GCC ivdep")
#endif

namespace ptx {

constexpr int MaxThreads = 1024;

// A Fault ends a launch with a CUDA code.
struct Fault {
    int code;
    std::string what;
    int thread; // −1 for the whole block
    bool misuse = true;
};

enum { IllegalAddress = 700, LaunchTimeout = 702, Misaligned = 716, LaunchFailure = 719 };

struct Extent {
    u64 base, size;
};

// Shadow records the use of a block's shared memory. For every granule, which has the
// size of the narrowest access, it holds who wrote and read it last. A stamp combines
// the number of a barrier interval, in the upper bits, with the number of a thread.
struct Shadow {
    static constexpr u32 Shift = 11, Many = 1 << 10, Last = (u32(1) << (32 - Shift)) - 1;
    std::vector<u32> written, read;
    u32 first = 1, interval = 1; // the first interval of this block, and the current one
    u32 now() const { return interval << Shift; }
    u32 begin() const { return first << Shift; }
    void resize(size_t granules);
    void startBlock();
    void barrier();
};

// A Frame is a block in execution. Every register has a row of pitch elements. The
// elements from lo to hi belong to active threads, or with a mask those of them whose
// mask is 1.
struct Frame {
    const Kernel *kernel = nullptr;
    char *registers = nullptr;
    size_t pitch = 0;
    int threads = 0;
    int lo = 0, hi = 0, active = 0;
    bool dry = false; // stores to global memory have no effect
    const u8 *mask = nullptr;
    // Memory.
    const std::vector<Extent> *extents = nullptr; // sorted
    Extent last{0, 0};
    const u8 *params = nullptr;
    u8 *shared = nullptr;
    u32 sharedBytes = 0;
    Shadow shadow;
    u8 *local = nullptr;        // 8 bytes of every thread in turn
    u8 *localWritten = nullptr; // one bit per byte
    alignas(64) u64 address[MaxThreads];
    alignas(64) u64 scratch[3][MaxThreads];

    template <class T> T *row(const Operand &o) const { return reinterpret_cast<T *>(registers + o.at * pitch); }
    // source returns a row with an operand's values; an immediate's row is scratch.
    template <class T> const T *source(const Operand &o, int k) {
        if (!o.immediate()) {
            return row<T>(o);
        }
        T *fill = reinterpret_cast<T *>(scratch[k]);
        T v = valueOf<T>(o);
        for (int i = lo, end = hi; i < end; i++) {
            fill[i] = v;
        }
        return fill;
    }
    template <class T> static T valueOf(const Operand &o) {
        T v;
        memcpy(&v, &o.value, sizeof v);
        return v;
    }
    bool on(int t) const { return mask == nullptr || mask[t] != 0; }
};

// each sets d[i] = fn(i) for the active threads i.
template <class D, class F> inline void each(const Frame &f, D *d, F fn) {
    const int lo = f.lo, hi = f.hi;
    const u8 *m = f.mask;
    if (m == nullptr) {
        LANES for (int i = lo; i < hi; i++) { d[i] = fn(i); }
    } else {
        LANES for (int i = lo; i < hi; i++) { d[i] = m[i] ? fn(i) : d[i]; }
    }
}

} // namespace ptx
