// Emulated libcuda.so.1: our kernels, compiled for the CPU. Blocks are spread over
// the processor's threads; the threads of a block are fibres that take turns from
// barrier to barrier, in ascending or in descending order: results that differ show
// a missing barrier. A barrier that only some threads of a block reach ends the
// process.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <ucontext.h>
#include <utility>
#include <vector>

#include "gpfit.cu"

namespace {

// No power of two, so that the tops of the stacks do not share a set of the cache.
constexpr size_t StackBytes = (64 << 10) + 704;

// Compilers must make no assumption on what such a function leaves of registers.
#ifdef __clang__
#define OPAQUE noinline
#else
#define OPAQUE noipa
#endif

// Where to go on in a function that waits: for __builtin_setjmp, which is several
// times as fast as the library's and needs the jump in a function of its own.
using Place = void *[5];
__attribute__((OPAQUE, noreturn)) void go(void **place) { __builtin_longjmp(place, 1); }

using Call = void (*)(void **);

// Bind makes a Call of a kernel: params[i] points to the i-th 8-byte value.
template <auto F> struct Bind;
template <class... Args, void (*F)(Args...)> struct Bind<F> {
    static_assert(((sizeof(Args) == 8) && ...), "parameters are 8-byte values");
    template <size_t... I> static void apply(void **params, std::index_sequence<I...>) {
        F(*static_cast<Args *>(params[I])...);
    }
    static void call(void **params) { apply(params, std::index_sequence_for<Args...>{}); }
};

#define ENTRY(name) {#name, Bind<name>::call}
const struct {
    const char *name;
    Call call;
} table[] = {
    ENTRY(gpfit_fill),     ENTRY(gpfit_cross),    ENTRY(gpfit_multiply), ENTRY(gpfit_contract), ENTRY(gpfit_contractone),
    ENTRY(gpfit_reduce),   ENTRY(gpfit_logdiag),  ENTRY(gpfit_firstbad), ENTRY(gpfit_colsumsq), ENTRY(gpfit_getdiag),
    ENTRY(gpfit_setdiag),  ENTRY(gpfit_set),      ENTRY(gpfit_copy),     ENTRY(gpfit_mirror),   ENTRY(gpfit_symcols),
    ENTRY(gpfit_readrows), ENTRY(gpfit_writerows),
};

// A Fibre is a thread of a block: where it goes on, if it was started.
struct Fibre {
    Place resume;
    bool started = false;
};

// A Worker runs blocks one after the other, on whatever thread holds it. Its
// fibres live on from block to block: starting one is dear.
struct Worker {
    Call call = nullptr;
    void **params = nullptr;
    i64 block = 0, blocks = 0;
    bool reverse = false;
    // Of this round: the number of fibres that had their turn, which of them has it
    // now, and how many ended.
    int turns = 0, current = 0, ended = 0;
    Place back;
    std::vector<Fibre> fibres{static_cast<size_t>(Threads)};
    std::unique_ptr<char[]> stacks{new char[StackBytes * Threads]};
    alignas(64) char shared[SharedBytes];

    void runBlock(i64 index);
    // A round takes every fibre to its next barrier, or to its end.
    __attribute__((OPAQUE)) void round();
    // next hands over to the next fibre of the round, after the last to round.
    __attribute__((OPAQUE, noreturn)) void next();
    // pause waits, in a fibre, for the next round.
    __attribute__((OPAQUE)) void pause();
};

thread_local Worker *active;

// The body of every fibre. It must not look at active, which a compiler may
// believe never changes within a function.
void fibreMain(unsigned low, unsigned high) {
    auto *w = reinterpret_cast<Worker *>(static_cast<unsigned long>(high) << 32 | low);
    for (;;) {
        w->call(w->params);
        w->ended++;
        w->pause();
    }
}

void Worker::round() {
    turns = ended = 0;
    if (__builtin_setjmp(back) == 0) {
        next();
    }
}

void Worker::next() {
    if (turns == Threads) {
        go(back);
    }
    current = reverse ? Threads - 1 - turns : turns;
    turns++;
    Fibre &f = fibres[static_cast<size_t>(current)];
    if (f.started) {
        go(f.resume);
    }
    f.started = true;
    ucontext_t start;
    getcontext(&start);
    start.uc_stack.ss_sp = stacks.get() + StackBytes * static_cast<size_t>(current);
    start.uc_stack.ss_size = StackBytes;
    start.uc_link = nullptr;
    auto self = reinterpret_cast<unsigned long>(this);
    makecontext(&start, reinterpret_cast<void (*)()>(fibreMain), 2, static_cast<unsigned>(self), static_cast<unsigned>(self >> 32));
    setcontext(&start);
    abort();
}

void Worker::pause() {
    if (__builtin_setjmp(fibres[static_cast<size_t>(current)].resume) == 0) {
        next();
    }
}

void Worker::runBlock(i64 index) {
    block = index;
    memset(shared, 0xff, sizeof shared); // NaN
    do {
        round();
    } while (ended == 0);
    if (ended < Threads) {
        fprintf(stderr, "gpfit emulator: %d of %d threads of block %lld ended before a barrier\n", ended, Threads, index);
        abort();
    }
}

std::mutex idleLock;
std::vector<std::unique_ptr<Worker>> idle;

std::unique_ptr<Worker> takeWorker() {
    std::lock_guard<std::mutex> hold(idleLock);
    if (idle.empty()) {
        return std::make_unique<Worker>();
    }
    auto w = std::move(idle.back());
    idle.pop_back();
    return w;
}

void giveWorker(std::unique_ptr<Worker> w) {
    std::lock_guard<std::mutex> hold(idleLock);
    idle.push_back(std::move(w));
}

} // namespace

namespace emulator {
int thread() { return active->current; }
i64 block() { return active->block; }
i64 blocks() { return active->blocks; }
void barrier() { active->pause(); }
void *shared() { return active->shared; }
} // namespace emulator

// See emu.h. It may be called from several threads.
extern "C" int emu_run_kernel(const char *name, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes, int reverse, void **params) {
    Call call = nullptr;
    for (auto &entry : table) {
        if (strcmp(entry.name, name) == 0) {
            call = entry.call;
        }
    }
    if (call == nullptr) {
        return 500; // CUDA_ERROR_NOT_FOUND
    }
    if (gx == 0 || gx > 0x7fffffff || gy != 1 || gz != 1 || bx != Threads || by != 1 || bz != 1 || shared_bytes != 0) {
        return 1; // CUDA_ERROR_INVALID_VALUE
    }
    std::atomic<i64> next{0};
    auto work = [&] {
        auto w = takeWorker();
        w->call = call;
        w->params = params;
        w->blocks = gx;
        w->reverse = reverse != 0;
        active = w.get();
        for (i64 b; (b = next.fetch_add(1)) < static_cast<i64>(gx);) {
            w->runBlock(b);
        }
        active = nullptr;
        giveWorker(std::move(w));
    };
    unsigned count = std::min(std::max(1u, std::thread::hardware_concurrency()), std::min(8u, (gx + 3) / 4));
    // Signals are for the caller's threads: new ones inherit a mask of all.
    std::vector<std::thread> others;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (unsigned k = 1; k < count; k++) {
        others.emplace_back(work);
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    work();
    for (auto &t : others) {
        t.join();
    }
    return 0;
}
