// Execution of blocks.
#pragma once
#include "ptx_clock.h"
#include "ptx_frame.h"

#include <atomic>

namespace ptx {

struct Launch {
    const Kernel *kernel;
    u32 grid[3], block[3], dynamicShared;
    std::vector<u8> params;
    std::vector<Extent> extents;
    u64 blocks() const { return u64(grid[0]) * grid[1] * grid[2]; }
    int threads() const { return static_cast<int>(block[0] * block[1] * block[2]); }
};

// A Worker runs blocks one after the other, on any host thread. All threads of a block
// that are at the same instruction execute it together. If they diverge, the threads
// that are least far in the text run first, until they meet the others.
class Worker {
  public:
    // begin prepares for the blocks of a launch.
    void begin(const Launch &l);
    // timed runs a block and returns what a Clock says of it. Stores to global memory have no effect.
    Cycles timed(u64 block);
    // run runs a block. It throws a Fault that instruction() caused.
    void run(u64 block);
    const Instr &instruction() const { return kernel->code[static_cast<size_t>(at)]; }

  private:
    void startBlock(u64 block);
    void special(Special s, u32 value);
    template <class F> void perThread(Special s, F value);
    bool step();
    u8 *guarded(const Instr &in);
    void execute(const Instr &in);
    bool branch(const Instr &in);
    bool leave(const Instr &in);
    void split(i32 next, const u8 *who);
    bool regroup();
    bool release();
    void activate(i32 pc);
    void barrier();

    const Kernel *kernel = nullptr;
    const Launch *launch = nullptr;
    Frame frame;
    Clock *clock = nullptr;
    std::unique_ptr<char[]> registerMemory;
    size_t registerCapacity = 0;
    std::vector<u64> shared, local;
    std::vector<u8> localWritten;
    // The location where each inactive thread continues: nowhere if it has ended, or
    // waits; then waits contains the location after its barrier.
    alignas(64) i32 places[MaxThreads], waits[MaxThreads];
    alignas(64) u8 active[MaxThreads], chosen[MaxThreads];
    i32 at = 0, meet = 0; // the active threads' instruction, and the first of the others
    int ended = 0;
    u64 jumps = 0;
};

} // namespace ptx
