// Runs the kernels on the CPU. Blocks are spread over the processor's threads;
// the threads of a block are fibres that take turns from barrier to barrier, in
// ascending order or, with GPFIT_EMULATOR_ORDER=reverse, descending: results that
// differ show a missing barrier. A barrier that only some threads of a block
// reach ends the process.
#include <algorithm>
#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <thread>
#include <tuple>
#include <ucontext.h>
#include <utility>
#include <vector>

#include "gpfit.cu"

namespace {

constexpr size_t StackBytes = 64 << 10;

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

enum State { Ready, Waiting, Done };

struct Worker;

struct Fibre {
    ucontext_t start;
    jmp_buf resume;
    bool started = false;
    State state = Ready;
};

// A Worker runs blocks one after the other, on whatever thread holds it. Its
// fibres live on from block to block: starting one is dear.
struct Worker {
    Call call = nullptr;
    void **params = nullptr;
    i64 block = 0, blocks = 0;
    int current = 0;
    jmp_buf back;
    std::vector<Fibre> fibres{static_cast<size_t>(Threads)};
    std::unique_ptr<char[]> stacks{new char[StackBytes * Threads]};
    alignas(64) char shared[SharedBytes];

    void runBlock(i64 index, bool reverse);
    void resume(int index);
    // pause hands over from a fibre to runBlock.
    void pause(State state);
};

thread_local Worker *active;

// The body of every fibre. It must not look at active, which a compiler may
// believe never changes within a function.
void fibreMain(unsigned low, unsigned high) {
    auto *w = reinterpret_cast<Worker *>(static_cast<unsigned long>(high) << 32 | low);
    for (;;) {
        w->call(w->params);
        w->pause(Done);
    }
}

void Worker::pause(State state) {
    Fibre &f = fibres[current];
    f.state = state;
    if (_setjmp(f.resume) == 0) {
        _longjmp(back, 1);
    }
}

void Worker::resume(int index) {
    Fibre &f = fibres[index];
    current = index;
    if (_setjmp(back) != 0) {
        return;
    }
    if (f.started) {
        _longjmp(f.resume, 1);
    }
    f.started = true;
    getcontext(&f.start);
    f.start.uc_stack.ss_sp = stacks.get() + StackBytes * index;
    f.start.uc_stack.ss_size = StackBytes;
    f.start.uc_link = nullptr;
    auto self = reinterpret_cast<unsigned long>(this);
    makecontext(&f.start, reinterpret_cast<void (*)()>(fibreMain), 2, static_cast<unsigned>(self), static_cast<unsigned>(self >> 32));
    setcontext(&f.start);
}

void Worker::runBlock(i64 index, bool reverse) {
    block = index;
    memset(shared, 0xff, sizeof shared); // NaN
    for (;;) {
        int done = 0;
        for (int t = 0; t < Threads; t++) {
            int which = reverse ? Threads - 1 - t : t;
            resume(which);
            done += fibres[which].state == Done;
        }
        if (done == Threads) {
            return;
        }
        if (done > 0) {
            fprintf(stderr, "gpfit emulator: %d of %d threads of block %lld ended before a barrier\n", done, Threads, index);
            abort();
        }
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
void barrier() { active->pause(Waiting); }
void *shared() { return active->shared; }
} // namespace emulator

// gpfit_emu_launch runs a kernel to its end; params[i] points to its i-th 8-byte
// parameter. It returns 0, or 1 for an unknown name, or 2 for a grid or block
// that no kernel here can run with. It may be called from several threads.
extern "C" int gpfit_emu_launch(const char *name, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes, void **params) {
    Call call = nullptr;
    for (auto &entry : table) {
        if (strcmp(entry.name, name) == 0) {
            call = entry.call;
        }
    }
    if (call == nullptr) {
        return 1;
    }
    if (gx == 0 || gx > 0x7fffffff || gy != 1 || gz != 1 || bx != Threads || by != 1 || bz != 1 || shared_bytes != 0) {
        return 2;
    }
    const char *order = getenv("GPFIT_EMULATOR_ORDER");
    bool reverse = order != nullptr && strcmp(order, "reverse") == 0;
    std::atomic<i64> next{0};
    auto work = [&] {
        auto w = takeWorker();
        w->call = call;
        w->params = params;
        w->blocks = gx;
        active = w.get();
        for (i64 b; (b = next.fetch_add(1)) < static_cast<i64>(gx);) {
            w->runBlock(b, reverse);
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
