// Declarations that the kernels need from CUDA, which clang compiles without any CUDA
// files.
//
// Every kernel runs in blocks of Threads threads on a one-dimensional grid, and every
// parameter is a pointer, an i64 or a double: 8 bytes. Indices into matrices are i64
// throughout, because n² exceeds 2³¹ from n = 46,341 on.
#pragma once

typedef long long i64;

constexpr int Threads = 256;

#define KERNEL extern "C" __attribute__((global, launch_bounds(256, 2))) void
#define DEVICE static inline __attribute__((device, always_inline))
// One object in the shared memory of a block.
#define SHARED(type, name) static __attribute__((shared)) type name

DEVICE int thread() { return __nvvm_read_ptx_sreg_tid_x(); }
DEVICE i64 block() { return (unsigned)__nvvm_read_ptx_sreg_ctaid_x(); }
DEVICE i64 blocks() { return (unsigned)__nvvm_read_ptx_sreg_nctaid_x(); }
// All threads of the block wait for one another.
DEVICE void barrier() { __syncthreads(); }

// The loads before it come before the operations after it.
DEVICE void loaded() { asm volatile("" ::: "memory"); }

DEVICE i64 least(i64 a, i64 b) { return a < b ? a : b; }
DEVICE i64 tilesOf(i64 n, i64 size) { return (n + size - 1) / size; }

// The index of element (i, j) of a column-major matrix.
DEVICE i64 at(i64 i, i64 j, i64 ld) { return i + j * ld; }
