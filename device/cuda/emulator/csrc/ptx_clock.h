// A model of the time that a block takes on a multiprocessor.
#pragma once
#include "ptx.h"

namespace ptx {

// What a model says of a block: the cycles from its begin to its end, alone on a multiprocessor, the cycles for which
// its instructions occupy the four schedulers, summed over them, and the bytes that it stores in global memory.
struct Cycles {
    u64 block = 0, issue = 0, stored = 0;
};

// price sets what an instruction costs.
void price(Instr &in, std::string_view opcode);

// A Clock follows the warps of a block. Each warp issues in order, an instruction once its operands are there and its
// scheduler is free. Latencies are those published for Ampere and Hopper. A clock is a model, not a measurement.
class Clock {
  public:
    void begin(const Kernel &k, int threads);
    // issued notes an instruction of the active threads lo … hi−1.
    void issued(i32 at, const u8 *active, int lo, int hi);
    // barrier lets all warps wait for the last.
    void barrier();
    Cycles end();

  private:
    u64 earliest(size_t warp) const;
    void step(size_t warp, u64 now);

    const Kernel *kernel = nullptr;
    std::vector<std::vector<i32>> traces;
    std::vector<std::vector<u64>> ready; // of each warp's registers
    std::vector<u64> at;                 // when a warp may issue again
    std::vector<size_t> position;
    u64 schedulers[4] = {}, now = 0, last = 0;
    Cycles sum;
};

} // namespace ptx
