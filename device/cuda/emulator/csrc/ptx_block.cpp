// Execution of blocks; see ptx_block.h.
#include "ptx_block.h"

#include <algorithm>
#include <climits>

namespace ptx {

namespace {

constexpr i32 Nowhere = INT_MAX;
constexpr u64 MostJumps = u64(1) << 26; // backward, per block

constexpr u64 Garbage64 = 0xfff8deaddeadbeef; // a NaN
constexpr u32 Garbage32 = 0xffdeadbe;         // likewise

template <class T> void grow(std::vector<T> &v, size_t n) {
    if (v.size() < n) {
        v.resize(n);
    }
}

} // namespace

void Worker::special(Special s, u32 value) {
    perThread(s, [=](u32) { return value; });
}

template <class F> void Worker::perThread(Special s, F value) {
    if (kernel->specials[s] < 0) {
        return;
    }
    u32 *row = reinterpret_cast<u32 *>(frame.registers + static_cast<size_t>(kernel->specials[s]) * frame.pitch);
    for (int t = 0; t < frame.threads; t++) {
        row[t] = value(static_cast<u32>(t));
    }
}

void Worker::begin(const Launch &l) {
    launch = &l;
    kernel = frame.kernel = l.kernel;
    frame.threads = l.threads();
    frame.pitch = static_cast<size_t>(frame.threads + 63) / 64 * 64;
    size_t bytes = kernel->registerBytes * frame.pitch + 64;
    if (bytes > registerCapacity) {
        registerMemory.reset(new char[bytes]());
        registerCapacity = bytes;
    }
    frame.registers = registerMemory.get() + (64 - reinterpret_cast<size_t>(registerMemory.get()) % 64) % 64;
    frame.extents = &l.extents;
    frame.last = {0, 0};
    frame.params = l.params.data();
    frame.sharedBytes = kernel->sharedBytes + l.dynamicShared;
    grow(shared, frame.sharedBytes / 8 + 1);
    frame.shared = reinterpret_cast<u8 *>(shared.data());
    frame.shadow.resize((frame.sharedBytes >> kernel->accessShift) + 1);
    size_t words = (kernel->localBytes + 7) / 8;
    grow(local, words * frame.pitch);
    grow(localWritten, words * frame.pitch);
    frame.local = reinterpret_cast<u8 *>(local.data());
    frame.localWritten = localWritten.data();
    const u32 x = l.block[0], y = l.block[1];
    perThread(TidX, [=](u32 t) { return t % x; });
    perThread(TidY, [=](u32 t) { return t / x % y; });
    perThread(TidZ, [=](u32 t) { return t / x / y; });
    perThread(LaneId, [](u32 t) { return t % 32; });
    perThread(WarpId, [](u32 t) { return t / 32; });
    for (int k = 0; k < 3; k++) {
        special(static_cast<Special>(NtidX + k), l.block[k]);
        special(static_cast<Special>(NctaidX + k), l.grid[k]);
    }
    special(DynamicShared, l.dynamicShared);
}

// startBlock fills registers that may be read before they are written with garbage.
void Worker::startBlock(u64 block) {
    const u32 *g = launch->grid;
    special(CtaidX, static_cast<u32>(block % g[0]));
    special(CtaidY, static_cast<u32>(block / g[0] % g[1]));
    special(CtaidZ, static_cast<u32>(block / g[0] / g[1]));
    for (const Operand &o : kernel->unwritten) {
        u8 size = kernel->registers[static_cast<size_t>(o.reg)].size;
        for (int t = 0; t < frame.threads; t++) {
            if (size == 8) {
                frame.row<u64>(o)[t] = Garbage64;
            } else if (size == 4) {
                frame.row<u32>(o)[t] = Garbage32;
            } else {
                frame.row<u8>(o)[t] = t & 1;
            }
        }
    }
    frame.shadow.startBlock();
    std::fill_n(localWritten.data(), static_cast<size_t>(kernel->localBytes + 7) / 8 * frame.pitch, 0);
    std::fill_n(places, frame.threads, 0);
    std::fill_n(waits, frame.threads, Nowhere);
    ended = 0;
    jumps = 0;
    at = 0;
    activate(0);
}

// activate activates the threads at pc, which is the least location.
void Worker::activate(i32 pc) {
    at = pc;
    const int n = frame.threads;
    int count = 0;
    i32 others = Nowhere;
    LANES for (int t = 0; t < n; t++) {
        bool here = places[t] == pc;
        count += here;
        others = std::min(others, here ? Nowhere : places[t]);
    }
    LANES for (int t = 0; t < n; t++) { active[t] = places[t] == pc; }
    meet = others;
    const u8 *first = static_cast<const u8 *>(memchr(active, 1, static_cast<size_t>(n)));
    const u8 *last = static_cast<const u8 *>(memrchr(active, 1, static_cast<size_t>(n)));
    frame.lo = static_cast<int>(first - active);
    frame.hi = static_cast<int>(last - active) + 1;
    frame.active = count;
    frame.mask = count == frame.hi - frame.lo ? nullptr : active;
}

// regroup chooses the threads that run next, after the locations of the active threads
// were stored. It returns false when all threads have ended.
bool Worker::regroup() {
    const int n = frame.threads;
    i32 least = Nowhere;
    LANES for (int t = 0; t < n; t++) { least = std::min(least, places[t]); }
    if (least == Nowhere) {
        return ended < n && release();
    }
    activate(least);
    return true;
}

// release releases the threads that wait at a barrier, if all wait at the same one.
bool Worker::release() {
    int waiting = 0;
    while (waits[waiting] == Nowhere) {
        waiting++;
    }
    at = waits[waiting] - 1;
    if (ended > 0) {
        throw Fault{LaunchFailure, std::to_string(ended) + " threads ended before a barrier at which others wait", waiting};
    }
    for (int t = 0; t < frame.threads; t++) {
        if (waits[t] != waits[waiting]) {
            throw Fault{LaunchFailure, "thread " + std::to_string(t) + " waits at a different barrier, in line " + std::to_string(kernel->code[static_cast<size_t>(waits[t]) - 1].line), waiting};
        }
    }
    std::fill_n(places, frame.threads, at + 1);
    std::fill_n(waits, frame.threads, Nowhere);
    barrier();
    activate(at + 1);
    return true;
}

// guarded returns the active threads that execute an instruction: active itself for
// all, nullptr for none.
u8 *Worker::guarded(const Instr &in) {
    if (!in.guarded()) {
        return active;
    }
    const u8 *p = frame.row<u8>(in.guard), flip = in.guardNot;
    const u8 *on = active;
    int count = 0;
    const int lo = frame.lo, hi = frame.hi;
    LANES for (int t = lo; t < hi; t++) {
        chosen[t] = static_cast<u8>((p[t] ^ flip) & on[t]);
        count += chosen[t];
    }
    return count == frame.active ? active : count == 0 ? nullptr : chosen;
}

void Worker::execute(const Instr &in) {
    if (!in.guarded()) {
        return in.run(frame, in);
    }
    u8 *who = guarded(in);
    if (who == nullptr) {
        return;
    }
    if (who == active) {
        return in.run(frame, in);
    }
    const u8 *mask = frame.mask;
    const int lo = frame.lo, hi = frame.hi, count = frame.active;
    while (!who[frame.lo]) {
        frame.lo++;
    }
    while (!who[frame.hi - 1]) {
        frame.hi--;
    }
    frame.active = static_cast<int>(std::count(who + frame.lo, who + frame.hi, 1));
    frame.mask = who;
    in.run(frame, in);
    frame.mask = mask;
    frame.lo = lo;
    frame.hi = hi;
    frame.active = count;
}

// split stores the location where each active thread continues: other for the threads
// in who, the next instruction for the rest.
void Worker::split(i32 other, const u8 *who) {
    const int lo = frame.lo, hi = frame.hi;
    const i32 next = at + 1;
    const u8 *on = active;
    LANES for (int t = lo; t < hi; t++) {
        i32 place = who[t] ? other : next;
        places[t] = on[t] ? place : places[t];
    }
}

bool Worker::branch(const Instr &in) {
    if (in.target <= at && ++jumps > MostJumps) {
        throw Fault{LaunchTimeout, "the block does not end", -1};
    }
    const u8 *who = guarded(in);
    if (who == nullptr) {
        at++;
        return true;
    }
    if (who == active) {
        at = in.target;
        return true;
    }
    split(in.target, who);
    return regroup();
}

// leave handles the end of threads and barriers.
bool Worker::leave(const Instr &in) {
    const u8 *who = guarded(in);
    if (who == nullptr) {
        at++;
        return true;
    }
    if (in.flow == Flow::Barrier && who == active && frame.active == frame.threads) {
        barrier();
        at++;
        return true;
    }
    split(Nowhere, who);
    for (int t = frame.lo; t < frame.hi; t++) {
        if (active[t] && who[t]) {
            ended += in.flow == Flow::Exit;
            waits[t] = in.flow == Flow::Exit ? Nowhere : at + 1;
        }
    }
    return regroup();
}

// step executes one instruction of the active threads and returns whether any remain.
bool Worker::step() {
    const Instr &in = instruction();
    bool more = true;
    if (clock != nullptr) {
        clock->issued(at, active, frame.lo, frame.hi);
    }
    switch (in.flow) {
    case Flow::Next:
        execute(in);
        at++;
        break;
    case Flow::Branch: more = branch(in); break;
    case Flow::Exit:
    case Flow::Barrier: more = leave(in); break;
    }
    if (more && at >= meet) { // the others run first, or together with these
        split(at, active);
        more = regroup();
    }
    return more;
}

void Worker::run(u64 block) {
    startBlock(block);
    while (step()) {
    }
}

void Worker::barrier() {
    frame.shadow.barrier();
    if (clock != nullptr) {
        clock->barrier();
    }
}

Cycles Worker::timed(u64 block) {
    Clock c;
    c.begin(*kernel, frame.threads);
    clock = &c;
    frame.dry = true;
    run(block);
    clock = nullptr;
    frame.dry = false;
    return c.end();
}

} // namespace ptx
