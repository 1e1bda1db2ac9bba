// Modules and launches for the emulated libcuda.so.1, in C; see emu.h.
#include "ptx_block.h"

extern "C" {
#include "emu.h"
}

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

namespace {

using namespace ptx;

std::mutex lock; // guards the variables below
std::vector<std::unique_ptr<Worker>> idle;
std::map<std::string, std::shared_ptr<Module>> known; // keyed by their texts

std::unique_ptr<Worker> takeWorker() {
    std::lock_guard<std::mutex> hold(lock);
    if (idle.empty()) {
        return std::make_unique<Worker>();
    }
    auto w = std::move(idle.back());
    idle.pop_back();
    return w;
}

void giveWorker(std::unique_ptr<Worker> w) {
    std::lock_guard<std::mutex> hold(lock);
    idle.push_back(std::move(w));
}

// load parses a text, or returns the module of an equal text. A module with writable
// variables is parsed again every time.
std::shared_ptr<Module> load(const std::string &text) {
    std::lock_guard<std::mutex> hold(lock);
    auto &m = known[text];
    if (m == nullptr) {
        auto fresh = parse(text);
        if (fresh->writable) {
            return fresh;
        }
        m = fresh;
    }
    return m;
}

// A Job is a launch that several host threads execute.
struct Job {
    const Launch &launch;
    std::atomic<u64> next{0};
    std::atomic<bool> stopped{false};
    std::mutex lock;
    int code = 0;

    void work();
    void report(const Fault &f, const Instr &in, u64 block);
};

void Job::report(const Fault &f, const Instr &in, u64 block) {
    std::lock_guard<std::mutex> hold(lock);
    stopped = true;
    if (code != 0) {
        return;
    }
    code = f.code;
    if (!f.misuse) {
        return;
    }
    const auto &lines = *launch.kernel->lines;
    size_t line = static_cast<size_t>(in.line);
    std::string text = line >= 1 && line <= lines.size() ? lines[line - 1] : "";
    std::string who = f.thread < 0 ? "" : ", thread " + std::to_string(f.thread);
    std::string what = "kernel " + launch.kernel->name + ", PTX line " + std::to_string(line) + " (" + text + "), block " +
                       std::to_string(block) + who + ": " + f.what;
    pthread_mutex_lock(&emu_lock);
    emu_violation(what.c_str());
    pthread_mutex_unlock(&emu_lock);
}

void Job::work() {
    auto w = takeWorker();
    w->begin(launch);
    for (u64 b; !stopped && (b = next.fetch_add(1)) < launch.blocks();) {
        try {
            w->run(b);
        } catch (const Fault &f) {
            report(f, w->instruction(), b);
            return; // without returning the worker, whose state is incomplete
        }
    }
    giveWorker(std::move(w));
}

// runAll distributes the blocks of a launch over the processor's threads.
int runAll(const Launch &launch) {
    Job job{launch};
    u64 count = std::min<u64>(std::max(1u, std::thread::hardware_concurrency()), std::min<u64>(8, (launch.blocks() + 3) / 4));
    // Signals go to the caller's threads, because new threads inherit a mask of all
    // signals.
    std::vector<std::thread> others;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    for (u64 k = 1; k < count; k++) {
        others.emplace_back([&] { job.work(); });
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    job.work();
    for (auto &t : others) {
        t.join();
    }
    return job.code;
}

// accepts returns whether a kernel may be launched with this configuration.
bool accepts(const Kernel &k, const Launch &l) {
    bool as = k.required[0] == 0 || std::equal(l.block, l.block + 3, k.required);
    return as && static_cast<u32>(l.threads()) <= k.maxThreads && k.sharedBytes + l.dynamicShared <= 48 << 10;
}

std::vector<Extent> allocations(const Module &m) {
    std::vector<Extent> all;
    size_t n = 0;
    struct extent *list = emu_extents(&n);
    for (size_t i = 0; i < n; i++) {
        all.push_back({reinterpret_cast<u64>(list[i].base), list[i].size});
    }
    free(list);
    for (const auto &v : m.variables) {
        all.push_back({reinterpret_cast<u64>(v.data.get()), v.bytes});
    }
    std::sort(all.begin(), all.end(), [](const Extent &a, const Extent &b) { return a.base < b.base; });
    return all;
}

Launch launchOf(const Module &m, const void *kernel, const unsigned grid[3], const unsigned block[3], unsigned shared, void **params) {
    const Kernel &k = *static_cast<const Kernel *>(kernel);
    Launch l{&k, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, std::vector<u8>(k.paramBytes), {}};
    for (size_t i = 0; i < k.params.size(); i++) {
        memcpy(l.params.data() + k.params[i].offset, params[i], k.params[i].size);
    }
    l.extents = allocations(m);
    return l;
}

} // namespace

struct emu_ptx {
    std::shared_ptr<Module> module;
};

extern "C" struct emu_ptx *emu_ptx_load(const char *text, char *log, size_t size) {
    try {
        return new emu_ptx{load(text)};
    } catch (const Error &e) {
        if (log != nullptr && size > 0) {
            snprintf(log, size, "ptxas: line %d: error: %s", e.line, e.what.c_str());
        }
        return nullptr;
    }
}

extern "C" void emu_ptx_unload(struct emu_ptx *m) { delete m; }

extern "C" const void *emu_ptx_kernel(const struct emu_ptx *m, const char *name) {
    auto it = m->module->kernels.find(name);
    return it == m->module->kernels.end() ? nullptr : &it->second;
}

extern "C" int emu_ptx_static_shared(const void *kernel) { return static_cast<int>(static_cast<const Kernel *>(kernel)->sharedBytes); }

extern "C" int emu_ptx_params(const void *kernel, int *sizes) {
    const auto &params = static_cast<const Kernel *>(kernel)->params;
    for (size_t i = 0; sizes != nullptr && i < params.size(); i++) {
        sizes[i] = static_cast<int>(params[i].size);
    }
    return static_cast<int>(params.size());
}

extern "C" int emu_ptx_accepts(const void *kernel, const unsigned grid[3], const unsigned block[3], unsigned shared) {
    const Kernel &k = *static_cast<const Kernel *>(kernel);
    return accepts(k, Launch{&k, {grid[0], grid[1], grid[2]}, {block[0], block[1], block[2]}, shared, {}, {}});
}

extern "C" int emu_ptx_launch(const struct emu_ptx *m, const void *kernel, const unsigned grid[3], const unsigned block[3], unsigned shared, void **params) {
    Launch l = launchOf(*m->module, kernel, grid, block, shared, params);
    return accepts(*l.kernel, l) ? runAll(l) : INVALID_VALUE;
}

extern "C" int emu_ptx_timed(const struct emu_ptx *m, const void *kernel, const unsigned grid[3], const unsigned block[3], unsigned shared, void **params,
                             int64_t means[3]) {
    Launch l = launchOf(*m->module, kernel, grid, block, shared, params);
    if (!accepts(*l.kernel, l)) {
        return INVALID_VALUE;
    }
    auto w = takeWorker();
    w->begin(l);
    const u64 count = std::min<u64>(l.blocks(), l.blocks() > 1000 ? 31 : 7);
    std::fill_n(means, 3, 0);
    for (u64 k = 0; k < count; k++) {
        // Their numbers are spread by the golden ratio, because rows of tiles repeat.
        const u64 block = ((2 * k + 1) * 0x4f1bbcdcbfa53e0bull >> 32) * l.blocks() >> 32;
        try {
            const Cycles c = w->timed(block);
            means[0] += static_cast<int64_t>(c.block / count);
            means[1] += static_cast<int64_t>(c.issue / count);
            means[2] += static_cast<int64_t>(c.stored / count);
        } catch (const Fault &f) {
            Job job{l};
            job.report(f, w->instruction(), block);
            return f.code;
        }
    }
    giveWorker(std::move(w));
    return 0;
}
