// A model of the time that a block takes; see ptx_clock.h.
#include "ptx_clock.h"

#include <algorithm>

namespace ptx {

namespace {

constexpr int WarpSize = 32, Schedulers = 4;
constexpr u64 BarrierLatency = 12;

// Latency is from the issue of an instruction to the use of its result, issue the time for which it occupies the
// scheduler. An instruction that holds is a routine in the machine's code: its warp issues nothing meanwhile.
struct Price {
    u16 latency;
    u8 issue;
    bool hold;
};

constexpr Price Integer{4, 1, false}, Wide{4, 2, false}, Multiply64{8, 4, false}, Float64{4, 2, false}, Shared{23, 2, false}, Global{200, 2, false},
    Divide{60, 22, true}, Matrices{33, 16, false}, Root{70, 22, true}, DivideInteger{60, 16, true};

bool ends(std::string_view s, std::string_view end) { return s.size() >= end.size() && s.substr(s.size() - end.size()) == end; }

bool begins(std::string_view s, std::string_view begin) { return s.substr(0, begin.size()) == begin; }

Price priceOf(const Instr &in, std::string_view o) {
    const bool float64 = ends(o, ".f64"), wide = ends(o, "64");
    if (in.flow == Flow::Barrier || begins(o, "ld.param")) {
        return Integer;
    }
    if (in.flow != Flow::Next || begins(o, "st.")) {
        return Wide;
    }
    if (begins(o, "ld.shared") || begins(o, "ld.local") || begins(o, "shfl.")) {
        return Shared;
    }
    if (begins(o, "ld.")) {
        return Global;
    }
    if (begins(o, "mma.")) { // half the rate that an H100 has for wider products
        return Matrices;
    }
    if (begins(o, "div.") || begins(o, "rcp.") || begins(o, "rem.")) {
        return float64 ? Divide : DivideInteger;
    }
    if (begins(o, "sqrt.")) {
        return Root;
    }
    for (std::string_view name : {"add.", "sub.", "mul.", "fma.", "setp.", "neg.", "abs."}) {
        if (float64 && begins(o, name)) {
            return Float64;
        }
    }
    if (wide && !float64) {
        return begins(o, "mul.") || begins(o, "mad.") ? Multiply64 : Wide;
    }
    return Integer;
}

} // namespace

void price(Instr &in, std::string_view opcode) {
    const Price p = priceOf(in, opcode);
    in.latency = p.latency;
    in.issue = p.issue;
    in.hold = p.hold;
    in.stores = begins(opcode, "st.global");
}

void Clock::begin(const Kernel &k, int threads) {
    const size_t warps = static_cast<size_t>(threads + WarpSize - 1) / WarpSize;
    *this = Clock();
    kernel = &k;
    traces.resize(warps);
    ready.assign(warps, std::vector<u64>(k.registers.size()));
    at.assign(warps, 0);
}

void Clock::issued(i32 where, const u8 *active, int lo, int hi) {
    for (int w = lo / WarpSize; w * WarpSize < hi; w++) {
        const u8 *from = active + std::max(w * WarpSize, lo), *to = active + std::min((w + 1) * WarpSize, hi);
        const auto count = std::count(from, to, 1);
        if (count > 0) {
            traces[static_cast<size_t>(w)].push_back(where);
        }
        if (kernel->code[static_cast<size_t>(where)].stores) {
            sum.stored += static_cast<u64>(count) * 8;
        }
    }
}

// earliest returns when a warp can issue its next instruction.
u64 Clock::earliest(size_t w) const {
    const Instr &in = kernel->code[static_cast<size_t>(traces[w][position[w]])];
    u64 t = std::max(at[w], schedulers[w % Schedulers]);
    for (int k = in.written; k < in.operands; k++) {
        if (!in.op[k].immediate()) {
            t = std::max(t, ready[w][static_cast<size_t>(in.op[k].reg)]);
        }
    }
    return in.guarded() ? std::max(t, ready[w][static_cast<size_t>(in.guard.reg)]) : t;
}

void Clock::step(size_t w, u64 t) {
    const Instr &in = kernel->code[static_cast<size_t>(traces[w][position[w]++])];
    for (int k = 0; k < in.written; k++) {
        ready[w][static_cast<size_t>(in.op[k].reg)] = t + std::max<u64>(in.latency, in.issue);
    }
    at[w] = t + (in.hold ? in.latency : in.issue);
    schedulers[w % Schedulers] = t + (in.hold ? 2 : in.issue);
    last = std::max(last, at[w]);
    sum.issue += in.issue;
}

void Clock::barrier() {
    position.assign(traces.size(), 0);
    std::fill(at.begin(), at.end(), now);
    std::fill_n(schedulers, Schedulers, now);
    last = now;
    for (;;) {
        size_t first = traces.size();
        u64 least = 0;
        for (size_t w = 0; w < traces.size(); w++) {
            if (position[w] < traces[w].size()) {
                const u64 t = earliest(w);
                if (first == traces.size() || t < least) {
                    first = w;
                    least = t;
                }
            }
        }
        if (first == traces.size()) {
            break;
        }
        step(first, least);
    }
    now = last + BarrierLatency;
    for (auto &t : traces) {
        t.clear();
    }
}

Cycles Clock::end() {
    barrier();
    sum.block = now;
    return sum;
}

} // namespace ptx
