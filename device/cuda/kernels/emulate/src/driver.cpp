// Runs launches that it reads from standard input and writes buffers to standard
// output: for tests of the kernels from Go without a foreign-function call. All
// numbers are little-endian, 8 bytes:
//
//	buffers
//	  size, offset, length, data[length]    contents, zeros around offset … +length
//	  offset, length                        what to write back
//	launches
//	  length, name
//	  gx gy gz bx by bz shared parameters
//	  each: buffer + 1 and byte offset of a pointer; or 0 and a value
//
// Every buffer ends at an unreadable page: an access beyond it ends the process.
// Pages are taken when touched, so that a buffer may be larger than the memory.
// Exit status 3: a buffer could not be mapped.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

extern "C" int gpfit_emu_launch(const char *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void **);

namespace {

void readAll(void *dst, size_t n) {
    if (fread(dst, 1, n, stdin) != n) {
        fprintf(stderr, "gpfit emulator: request cut short\n");
        exit(2);
    }
}

int64_t number() {
    int64_t v;
    readAll(&v, sizeof v);
    return v;
}

struct Buffer {
    char *data;
    int64_t backOffset, backLength;
};

Buffer readBuffer() {
    size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    size_t size = static_cast<size_t>(number()), whole = (size + page - 1) / page * page;
    auto *base = static_cast<char *>(mmap(nullptr, whole + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (base == MAP_FAILED || mprotect(base + page, whole, PROT_READ | PROT_WRITE) != 0) {
        perror("gpfit emulator: mmap");
        exit(3);
    }
    Buffer b;
    b.data = base + page + whole - size;
    int64_t offset = number(), length = number();
    readAll(b.data + offset, static_cast<size_t>(length));
    b.backOffset = number();
    b.backLength = number();
    return b;
}

} // namespace

int main() {
    std::vector<Buffer> buffers;
    for (int64_t k = number(); k > 0; k--) {
        buffers.push_back(readBuffer());
    }
    for (int64_t k = number(); k > 0; k--) {
        std::string name(static_cast<size_t>(number()), 0);
        readAll(name.data(), name.size());
        unsigned g[7];
        for (auto &v : g) {
            v = static_cast<unsigned>(number());
        }
        std::vector<int64_t> values(static_cast<size_t>(number()));
        std::vector<void *> params;
        for (auto &v : values) {
            int64_t buffer = number();
            v = number();
            if (buffer > 0) {
                v += reinterpret_cast<int64_t>(buffers.at(static_cast<size_t>(buffer - 1)).data);
            }
            params.push_back(&v);
        }
        int rc = gpfit_emu_launch(name.c_str(), g[0], g[1], g[2], g[3], g[4], g[5], g[6], params.data());
        if (rc != 0) {
            fprintf(stderr, "gpfit emulator: launch of %s: %d\n", name.c_str(), rc);
            return 1;
        }
    }
    for (auto &b : buffers) {
        fwrite(b.data + b.backOffset, 1, static_cast<size_t>(b.backLength), stdout);
    }
    return fflush(stdout) == 0 ? 0 : 1;
}
