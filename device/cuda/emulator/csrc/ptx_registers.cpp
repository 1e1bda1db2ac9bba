// Assigns locations to registers. PTX has an unlimited number of registers. Registers
// that are never live at the same time share a location, so that a block's registers
// stay in the cache.
#include "ptx.h"

#include <algorithm>
#include <climits>
#include <queue>

namespace ptx {

namespace {

using Bits = std::vector<u64>;
bool has(const Bits &b, i32 r) { return b[static_cast<size_t>(r) / 64] >> (r % 64) & 1; }
void set(Bits &b, i32 r) { b[static_cast<size_t>(r) / 64] |= u64(1) << (r % 64); }
void clear(Bits &b, i32 r) { b[static_cast<size_t>(r) / 64] &= ~(u64(1) << (r % 64)); }

// A Run is a sequence of instructions that is entered only at its beginning.
struct Run {
    i32 begin, end;
    std::vector<size_t> next;
    Bits in, out;
};

// An Interval extends from the first to the last instruction where a register is live.
struct Interval {
    i32 reg, begin = INT_MAX, end = -1;
    void touch(i32 at) {
        begin = std::min(begin, at);
        end = std::max(end, at);
    }
};

struct Layout {
    Kernel &k;
    std::vector<Run> runs;
    std::vector<Interval> intervals;

    void split();
    template <class Read, class Write> void visit(const Instr &in, Read read, Write write) const;
    bool update(Run &r);
    void findLive();
    void findIntervals();
    void assign(u8 size);
    void apply();
};

void Layout::split() {
    std::vector<bool> leads(k.code.size() + 1);
    leads[0] = true;
    for (size_t i = 0; i < k.code.size(); i++) {
        const Instr &in = k.code[i];
        if (in.flow == Flow::Branch || in.flow == Flow::Exit) {
            leads[i + 1] = true;
        }
        if (in.flow == Flow::Branch) {
            leads[static_cast<size_t>(in.target)] = true;
        }
    }
    std::vector<size_t> runOf(k.code.size());
    const size_t words = k.registers.size() / 64 + 1;
    for (size_t i = 0; i < k.code.size(); i++) {
        if (leads[i]) {
            runs.push_back({static_cast<i32>(i), 0, {}, Bits(words), Bits(words)});
        }
        runs.back().end = static_cast<i32>(i) + 1;
        runOf[i] = runs.size() - 1;
    }
    for (size_t r = 0; r < runs.size(); r++) {
        const Instr &last = k.code[static_cast<size_t>(runs[r].end) - 1];
        if (last.flow == Flow::Branch) {
            runs[r].next.push_back(runOf[static_cast<size_t>(last.target)]);
        }
        bool always = (last.flow == Flow::Branch || last.flow == Flow::Exit) && !last.guarded();
        if (!always && r + 1 < runs.size()) {
            runs[r].next.push_back(r + 1);
        }
    }
}

// visit calls write for the registers that an instruction writes (and whether every
// thread does) and then read for those that it reads.
template <class Read, class Write> void Layout::visit(const Instr &in, Read read, Write write) const {
    auto counts = [&](const Operand &o) { return !o.immediate() && k.registers[static_cast<size_t>(o.reg)].special < 0; };
    for (int i = 0; i < in.written; i++) {
        write(in.op[i].reg, !in.guarded());
    }
    for (int i = in.written; i < in.operands; i++) {
        if (counts(in.op[i])) {
            read(in.op[i].reg);
        }
    }
    if (in.guarded()) {
        read(in.guard.reg);
    }
}

// update computes the registers live at the beginning of a run from those at its end.
bool Layout::update(Run &r) {
    for (size_t n : r.next) {
        for (size_t w = 0; w < r.out.size(); w++) {
            r.out[w] |= runs[n].in[w];
        }
    }
    Bits live = r.out;
    for (i32 i = r.end; i-- > r.begin;) {
        visit(k.code[static_cast<size_t>(i)], [&](i32 reg) { set(live, reg); },
              [&](i32 reg, bool all) {
                  if (all) {
                      clear(live, reg);
                  }
              });
    }
    bool changed = live != r.in;
    r.in = std::move(live);
    return changed;
}

void Layout::findLive() {
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t r = runs.size(); r-- > 0;) {
            changed |= update(runs[r]);
        }
    }
}

void Layout::findIntervals() {
    const i32 count = static_cast<i32>(k.registers.size());
    for (i32 r = 0; r < count; r++) {
        intervals.push_back({r});
    }
    auto at = [&](i32 r) -> Interval & { return intervals[static_cast<size_t>(r)]; };
    for (const Run &run : runs) {
        for (i32 r = 0; r < count; r++) {
            if (has(run.in, r)) {
                at(r).touch(run.begin);
            }
            if (has(run.out, r)) {
                at(r).touch(run.end - 1);
            }
        }
        for (i32 i = run.begin; i < run.end; i++) {
            visit(k.code[static_cast<size_t>(i)], [&](i32 r) { at(r).touch(i); }, [&](i32 r, bool) { at(r).touch(i); });
        }
    }
    std::sort(intervals.begin(), intervals.end(), [](const Interval &a, const Interval &b) { return a.begin < b.begin; });
}

// assign assigns locations to the registers of one size. A result may take the location
// of an operand that is read for the last time, but not the location of another result.
void Layout::assign(u8 size) {
    using Held = std::pair<i32, const Interval *>; // the holder of a location, until the end of its interval
    std::priority_queue<Held, std::vector<Held>, std::greater<>> held;
    std::vector<u32> places(k.registers.size()), free;
    for (const Interval &v : intervals) {
        Register &r = k.registers[static_cast<size_t>(v.reg)];
        if (r.size != size || r.special >= 0 || v.end < 0) {
            continue;
        }
        while (!held.empty() && held.top().first <= v.begin && held.top().second->begin < v.begin) {
            free.push_back(places[static_cast<size_t>(held.top().second->reg)]);
            held.pop();
        }
        if (free.empty()) {
            free.push_back(k.registerBytes);
            k.registerBytes += size;
        }
        places[static_cast<size_t>(v.reg)] = free.back();
        free.pop_back();
        held.emplace(v.end, &v);
    }
    for (Instr &in : k.code) {
        for (int i = 0; i < in.operands; i++) {
            if (!in.op[i].immediate() && k.registers[static_cast<size_t>(in.op[i].reg)].size == size) {
                in.op[i].at = places[static_cast<size_t>(in.op[i].reg)];
            }
        }
        if (size == 1 && in.guarded()) {
            in.guard.at = places[static_cast<size_t>(in.guard.reg)];
        }
    }
    for (Operand &o : k.unwritten) {
        if (k.registers[static_cast<size_t>(o.reg)].size == size) {
            o.at = places[static_cast<size_t>(o.reg)];
        }
    }
}

// apply assigns locations to special registers, which are always live.
void Layout::apply() {
    std::fill(k.specials, k.specials + SpecialCount, -1);
    std::vector<u32> places(k.registers.size());
    for (size_t r = 0; r < k.registers.size(); r++) {
        if (k.registers[r].special >= 0) {
            places[r] = k.registerBytes;
            k.specials[k.registers[r].special] = k.registerBytes;
            k.registerBytes += 4;
        }
    }
    for (Instr &in : k.code) {
        for (int i = 0; i < in.operands; i++) {
            if (!in.op[i].immediate() && k.registers[static_cast<size_t>(in.op[i].reg)].special >= 0) {
                in.op[i].at = places[static_cast<size_t>(in.op[i].reg)];
            }
        }
    }
}

} // namespace

void layOut(Kernel &k) {
    Layout l{k, {}, {}};
    l.split();
    l.findLive();
    l.findIntervals();
    for (i32 r = 0; r < static_cast<i32>(k.registers.size()); r++) {
        if (has(l.runs[0].in, r)) {
            Operand o;
            o.reg = r;
            k.unwritten.push_back(o);
        }
    }
    for (u8 size : {8, 4, 1}) {
        l.assign(size);
    }
    l.apply();
}

} // namespace ptx
