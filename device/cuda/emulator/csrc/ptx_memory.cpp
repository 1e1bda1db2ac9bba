// Loads and stores. Every access is checked: it must be aligned and within its memory,
// must not read the block's own memory before it is written, and must not race with
// another thread in shared memory.
#include "ptx_frame.h"

#include <algorithm>

namespace ptx {

void Shadow::resize(size_t granules) {
    if (written.size() < granules) {
        written.assign(granules, 0);
        read.assign(granules, 0);
        first = interval = 1;
    }
}

void Shadow::startBlock() {
    if (interval >= Last / 2) {
        std::fill(written.begin(), written.end(), 0);
        std::fill(read.begin(), read.end(), 0);
        interval = 0;
    }
    first = ++interval;
}

void Shadow::barrier() {
    if (interval == Last) { // forget the time, but not the fact
        for (u32 &w : written) {
            w = w >= begin() ? u32(1) << Shift : 0;
        }
        std::fill(read.begin(), read.end(), 0);
        first = interval = 1;
    }
    interval++;
}

namespace {

std::string hex(u64 v) {
    char s[32];
    snprintf(s, sizeof s, "0x%llx", static_cast<unsigned long long>(v));
    return s;
}

std::string number(u64 v) { return std::to_string(v); }

// A Range spans the addresses of the active threads.
struct Range {
    u64 least, most, bits;
    bool uniform() const { return least == most; }
};

// findAddresses computes the address of every active thread; the others are undefined.
Range findAddresses(Frame &f, const Operand &base, bool narrow, i64 offset) {
    u64 *out = f.address;
    const int lo = f.lo, hi = f.hi;
    const u64 add = static_cast<u64>(offset) + (base.immediate() ? base.value : 0);
    if (base.immediate()) {
        LANES for (int i = lo; i < hi; i++) { out[i] = add; }
        return {add, add, add};
    }
    if (narrow) {
        const u32 *a = f.row<u32>(base);
        LANES for (int i = lo; i < hi; i++) { out[i] = a[i] + add; }
    } else {
        const u64 *a = f.row<u64>(base);
        LANES for (int i = lo; i < hi; i++) { out[i] = a[i] + add; }
    }
    u64 least = ~u64(0), most = 0, bits = 0;
    if (f.mask == nullptr) {
        LANES for (int i = lo; i < hi; i++) {
            least = std::min(least, out[i]);
            most = std::max(most, out[i]);
            bits |= out[i];
        }
        return {least, most, bits};
    }
    const u8 *m = f.mask;
    LANES for (int i = lo; i < hi; i++) {
        least = m[i] && out[i] < least ? out[i] : least;
        most = m[i] && out[i] > most ? out[i] : most;
        bits |= m[i] ? out[i] : 0;
    }
    return {least, most, bits};
}

// blame throws a fault for the first active thread for which wrong holds.
template <class Wrong, class What> void blame(const Frame &f, int code, Wrong wrong, What what) {
    for (int t = f.lo; t < f.hi; t++) {
        if (f.on(t) && wrong(f.address[t])) {
            throw Fault{code, what(f.address[t]), t};
        }
    }
}

void requireAligned(const Frame &f, const Range &r, u32 bytes) {
    if ((r.bits & (bytes - 1)) != 0) {
        blame(f, Misaligned, [=](u64 a) { return (a & (bytes - 1)) != 0; },
              [=](u64 a) { return "address " + hex(a) + " is not a multiple of " + number(bytes); });
    }
}

// requireWithin checks addresses of shared or local memory.
void requireWithin(const Frame &f, const Range &r, u64 base, u64 size, u32 bytes, const char *space) {
    if (r.least >= base && r.most + bytes <= base + size) {
        return;
    }
    blame(f, IllegalAddress, [=](u64 a) { return a < base || a + bytes > base + size; },
          [=](u64 a) { return "byte " + std::to_string(static_cast<i64>(a - base)) + " of " + number(size) + " bytes of " + space + " memory"; });
}

bool inside(const Extent &e, u64 a, u32 bytes) { return a - e.base < e.size && e.size - (a - e.base) >= bytes; }

const Extent *findExtent(const Frame &f, u64 a, u32 bytes) {
    const auto &all = *f.extents;
    auto next = std::upper_bound(all.begin(), all.end(), a, [](u64 v, const Extent &e) { return v < e.base; });
    return next != all.begin() && inside(next[-1], a, bytes) ? &next[-1] : nullptr;
}

// requireAllocated requires every access to lie in one allocation. If both ends of the
// range lie in the same allocation, all accesses do.
void requireAllocated(Frame &f, const Range &r, u32 bytes) {
    if (!inside(f.last, r.least, bytes)) {
        const Extent *e = findExtent(f, r.least, bytes);
        f.last = e != nullptr ? *e : Extent{0, 0};
    }
    if (inside(f.last, r.least, bytes) && inside(f.last, r.most, bytes)) {
        return;
    }
    blame(f, IllegalAddress, [&](u64 a) { return findExtent(f, a, bytes) == nullptr; },
          [](u64 a) { return "address " + hex(a) + " is outside every allocation"; });
}

std::string byteOf(u64 granule, const Frame &f) { return "byte " + number(granule << f.kernel->accessShift) + " of shared memory"; }

[[noreturn]] void race(const Frame &f, u32 stamp, u64 granule, int t, const char *did, const char *does) {
    u32 other = stamp & ((1 << Shadow::Shift) - 1);
    std::string who = other == Shadow::Many ? "several threads have" : "thread " + number(other) + " has";
    throw Fault{LaunchFailure, std::string("race: it ") + does + " " + byteOf(granule, f) + ", which " + who + " " + did + " since the last barrier", t};
}

// checkRead checks that a granule was written, and if by another thread, before the
// last barrier.
inline void checkRead(const Frame &f, u32 w, u64 g, int t) {
    const Shadow &s = f.shadow;
    if (w < s.begin()) {
        throw Fault{LaunchFailure, byteOf(g, f) + " is read but was never written", t};
    }
    if (w >= s.now() && w != s.now() + static_cast<u32>(t)) {
        race(f, w, g, t, "written", "reads");
    }
}

void noteReads(Frame &f, const Range &r, u32 bytes, u64 base) {
    Shadow &s = f.shadow;
    const int shift = static_cast<int>(f.kernel->accessShift);
    const u32 granules = std::max(1u, bytes >> shift), now = s.now(), many = now + Shadow::Many;
    u32 *read = s.read.data();
    const u32 *written = s.written.data();
    for (u32 k = 0; k < granules; k++) {
        if (r.uniform() && f.active > 1) {
            u64 g = ((r.least - base) >> shift) + k;
            u32 w = written[g];
            for (int t = f.lo; (w < s.begin() || w >= now) && t < f.hi; t++) {
                if (f.on(t)) {
                    checkRead(f, w, g, t);
                }
            }
            read[g] = many;
            continue;
        }
        const u32 begin = s.begin();
        for (int t = f.lo; t < f.hi; t++) {
            if (!f.on(t)) {
                continue;
            }
            u64 g = ((f.address[t] - base) >> shift) + k;
            u32 w = written[g], before = read[g], me = now + static_cast<u32>(t);
            if (w - begin >= now - begin) {
                checkRead(f, w, g, t);
            }
            read[g] = before >= now && before != me ? many : me;
        }
    }
}

void noteWrites(Frame &f, u32 bytes, u64 base) {
    Shadow &s = f.shadow;
    const int shift = static_cast<int>(f.kernel->accessShift);
    const u32 granules = std::max(1u, bytes >> shift), now = s.now();
    for (u32 k = 0; k < granules; k++) {
        for (int t = f.lo; t < f.hi; t++) {
            if (!f.on(t)) {
                continue;
            }
            u64 g = ((f.address[t] - base) >> shift) + k;
            u32 me = now + static_cast<u32>(t), w = s.written[g], r = s.read[g];
            if (w >= now && w != me) {
                race(f, w, g, t, "written", "writes");
            }
            if (r >= now && r != me) {
                race(f, r, g, t, "read", "writes");
            }
            s.written[g] = me;
        }
    }
}

// A Transfer moves a value of type T between memory and a row of D; loads extend it.
template <class T, class D, bool Store, class At> void transfer(Frame &f, const Operand &o, At at) {
    if constexpr (Store) {
        const D *d = f.source<D>(o, 0);
        for (int t = f.lo; t < f.hi; t++) {
            if (f.on(t)) {
                T v = static_cast<T>(d[t]);
                memcpy(at(t), &v, sizeof v);
            }
        }
    } else {
        auto get = [=](int t) {
            T v;
            memcpy(&v, at(t), sizeof v);
            return static_cast<D>(v);
        };
        D *d = f.row<D>(o);
        if (f.mask == nullptr) {
            const int lo = f.lo, hi = f.hi;
            LANES for (int t = lo; t < hi; t++) { d[t] = get(t); }
            return;
        }
        for (int t = f.lo; t < f.hi; t++) {
            if (f.mask[t]) {
                d[t] = get(t);
            }
        }
    }
}

// broadcast loads a value that all threads read from one address.
template <class T, class D> void broadcast(Frame &f, const Operand &o, const void *from) {
    T v;
    memcpy(&v, from, sizeof v);
    const D d = static_cast<D>(v);
    each(f, f.row<D>(o), [=](int) { return d; });
}

const Operand &element(const Instr &in, bool store, u32 k) { return in.op[store ? 1 + k : k]; }

template <class T, class D, bool Store> void moveAll(Frame &f, const Instr &in, const Range &r, u8 *memory, u64 base) {
    const u64 *address = f.address;
    for (u32 k = 0; k < in.vector; k++) {
        u8 *from = memory + k * sizeof(T);
        if constexpr (!Store) {
            if (r.uniform()) {
                broadcast<T, D>(f, in.op[k], from + (r.least - base));
                continue;
            }
        }
        transfer<T, D, Store>(f, element(in, Store, k), [=](int t) { return from + (address[t] - base); });
    }
}

template <class T, class D, bool Store> void global(Frame &f, const Instr &in, const Range &r) {
    const u32 bytes = sizeof(T) * in.vector;
    requireAligned(f, r, bytes);
    requireAllocated(f, r, bytes);
    if (Store && f.dry) {
        return;
    }
    moveAll<T, D, Store>(f, in, r, nullptr, 0);
}

template <class T, class D, bool Store> void shared(Frame &f, const Instr &in, const Range &r, u64 base) {
    const u32 bytes = sizeof(T) * in.vector;
    requireAligned(f, r, bytes);
    requireWithin(f, r, base, f.sharedBytes, bytes, "shared");
    if constexpr (Store) {
        noteWrites(f, bytes, base);
    } else {
        noteReads(f, r, bytes, base);
    }
    moveAll<T, D, Store>(f, in, r, f.shared, base);
}

// In local memory, equal addresses of neighbouring threads are neighbours: each word of
// 8 bytes has one location per thread.
template <class T, class D, bool Store> void localElement(Frame &f, const Operand &o, u64 base) {
    const u64 *address = f.address;
    const u64 pitch = f.pitch;
    auto place = [=](int t) { return ((address[t] - base) >> 3) * pitch + static_cast<u64>(t); };
    auto bits = [=](int t) { return static_cast<u8>(((1u << sizeof(T)) - 1) << ((address[t] - base) & 7)); };
    for (int t = f.lo; t < f.hi; t++) {
        if (!f.on(t)) {
            continue;
        }
        u8 &written = f.localWritten[place(t)];
        if (Store) {
            written |= bits(t);
        } else if ((written & bits(t)) != bits(t)) {
            throw Fault{LaunchFailure, "byte " + number(address[t] - base) + " of local memory is read but was never written", t};
        }
    }
    u8 *memory = f.local;
    transfer<T, D, Store>(f, o, [=](int t) { return memory + place(t) * 8 + ((address[t] - base) & 7); });
}

template <class T, class D, bool Store> void local(Frame &f, const Instr &in, const Range &r, u64 base) {
    const u32 bytes = sizeof(T) * in.vector;
    requireAligned(f, r, bytes);
    requireWithin(f, r, base, f.kernel->localBytes, bytes, "local");
    for (u32 k = 0; k < in.vector; k++) {
        localElement<T, D, Store>(f, element(in, Store, k), base - k * sizeof(T));
    }
}

template <class T, class D, bool Store> void inSpace(Frame &f, const Instr &in, const Range &r, u64 tag) {
    switch (tag) {
    case SharedTag: return shared<T, D, Store>(f, in, r, SharedBase + SharedTag);
    case LocalTag: return local<T, D, Store>(f, in, r, LocalBase + LocalTag);
    default: return global<T, D, Store>(f, in, r);
    }
}

// generic selects spaces by the tags of addresses and handles one space after the
// other.
template <class T, class D, bool Store> void generic(Frame &f, const Instr &in, const Range &r) {
    if ((r.least & TagMask) == (r.most & TagMask)) {
        return inSpace<T, D, Store>(f, in, r, r.least & TagMask);
    }
    const u8 *mask = f.mask;
    const int active = f.active;
    for (u64 tag : {u64(0), SharedTag, LocalTag}) {
        u8 own[MaxThreads];
        Range part{~u64(0), 0, 0};
        f.active = 0;
        for (int t = f.lo; t < f.hi; t++) {
            u64 a = f.address[t];
            own[t] = (mask == nullptr || mask[t]) && (a & TagMask) == tag;
            if (own[t]) {
                part = {std::min(part.least, a), std::max(part.most, a), part.bits | a};
                f.active++;
            }
        }
        f.mask = own;
        if (f.active > 0) {
            inSpace<T, D, Store>(f, in, part, tag);
        }
    }
    f.mask = mask;
    f.active = active;
}

// access handles ld (whose last operand is the address) and st (whose first operand is
// the address).
template <Space S, class T, class D, bool Store> void access(Frame &f, const Instr &in) {
    const Operand &base = in.op[Store ? 0 : in.vector];
    if constexpr (S == Space::Param) {
        for (u32 k = 0; k < in.vector; k++) {
            broadcast<T, D>(f, in.op[k], f.params + base.value + in.offset + k * sizeof(T));
        }
        return;
    } else {
        Range r = findAddresses(f, base, in.narrowAddress, in.offset);
        if constexpr (S == Space::Shared) {
            shared<T, D, Store>(f, in, r, SharedBase);
        } else if constexpr (S == Space::Local) {
            local<T, D, Store>(f, in, r, LocalBase);
        } else if constexpr (S == Space::Global) {
            global<T, D, Store>(f, in, r);
        } else {
            generic<T, D, Store>(f, in, r);
        }
    }
}

template <Space S, class T, class D> Handler withKind(const Access &a) {
    return a.store ? access<S, T, D, true> : access<S, T, D, false>;
}

template <Space S, class T> Handler withRegister(const Access &a) {
    if (a.registerSize == 8) {
        return withKind<S, T, u64>(a);
    }
    if constexpr (sizeof(T) < 8) {
        return a.registerSize == 4 ? withKind<S, T, u32>(a) : nullptr;
    }
    return nullptr;
}

template <Space S> Handler withType(const Access &a) {
    switch (a.size) {
    case 1: return a.isSigned ? withRegister<S, int8_t>(a) : withRegister<S, u8>(a);
    case 2: return a.isSigned ? withRegister<S, int16_t>(a) : withRegister<S, uint16_t>(a);
    case 4: return a.isSigned ? withRegister<S, i32>(a) : withRegister<S, u32>(a);
    case 8: return withRegister<S, u64>(a);
    }
    return nullptr;
}

} // namespace

Handler accessHandler(const Access &a) {
    switch (a.space) {
    case Space::Generic: return withType<Space::Generic>(a);
    case Space::Global: return withType<Space::Global>(a);
    case Space::Shared: return withType<Space::Shared>(a);
    case Space::Local: return withType<Space::Local>(a);
    case Space::Param: return a.store ? nullptr : withType<Space::Param>(a);
    }
    return nullptr;
}

} // namespace ptx
