// The surroundings of the kernels on the CPU; see kernels.cpp.
#pragma once
#include <cmath>

#define KERNEL extern "C" void
#define DEVICE static inline
#define DEVICE_METHOD inline
#define UNROLL
// Shared memory is poisoned at the start of a block: on a GPU it holds anything.
#define SHARED(type, name)                                                       \
    static_assert(sizeof(type) <= SharedBytes, "too much shared memory");        \
    type &name = *static_cast<type *>(emulator::shared())

// Static shared memory that every device gives a block.
constexpr unsigned long SharedBytes = 48 << 10;

namespace emulator {
int thread();
i64 block();
i64 blocks();
void barrier();
void *shared();
} // namespace emulator

DEVICE int thread() { return emulator::thread(); }
DEVICE i64 block() { return emulator::block(); }
DEVICE i64 blocks() { return emulator::blocks(); }
DEVICE void barrier() { emulator::barrier(); }
