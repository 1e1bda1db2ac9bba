// A PTX module of the emulated device. It is decoded once; ptx_block.cpp executes it.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace ptx {

using i32 = int32_t;
using i64 = int64_t;
using u8 = uint8_t;
using u16 = uint16_t;
using u32 = uint32_t;
using u64 = uint64_t;

struct Frame;
struct Instr;
using Handler = void (*)(Frame &, const Instr &);

// The effect of an instruction on the order of execution.
enum class Flow : u8 { Next, Branch, Exit, Barrier };

// An Operand is a register, or a value known when the module is loaded. at is the
// offset of the register's row, in bytes per thread.
struct Operand {
    i32 reg = -1;
    u32 at = 0;
    u64 value = 0;
    bool immediate() const { return reg < 0; }
};

constexpr int MaxOperands = 6;

struct Instr {
    Handler run = nullptr;
    Flow flow = Flow::Next;
    bool guardNot = false;
    u8 written = 0, operands = 0; // the first written operands are outputs, the others inputs
    u8 vector = 1;                // elements of a load or store
    bool narrowAddress = false;   // the address has 32 bits
    i32 target = -1;              // for a branch
    i32 line = 0;
    Operand guard; // a predicate, or an immediate if there is no guard
    Operand op[MaxOperands];
    i64 offset = 0; // for an address
    u16 latency = 0; // what a Clock takes for it
    u8 issue = 0;
    bool hold = false, stores = false;
    bool guarded() const { return !guard.immediate(); }
};

// A Register belongs to a name. It has a size in bytes (1 for a predicate) and a
// declared kind: float ('f'), integer ('i'), bits ('b') or predicate ('p').
struct Register {
    u8 size;
    char kind;
    i32 special = -1; // an index in specialNames
};

// These special registers, of 32 bits each, may be read by kernels.
enum Special { TidX, TidY, TidZ, NtidX, NtidY, NtidZ, CtaidX, CtaidY, CtaidZ, NctaidX, NctaidY, NctaidZ, LaneId, WarpId, DynamicShared, SpecialCount };
extern const char *const specialNames[SpecialCount];

struct Param {
    std::string name;
    u32 offset, size;
};

struct Kernel {
    std::string name;
    std::vector<Param> params;
    std::vector<Instr> code;
    std::vector<Register> registers;
    u32 paramBytes = 0, sharedBytes = 0, localBytes = 0;
    u32 maxThreads = 1024;
    u32 required[3] = {0, 0, 0}; // .reqntid
    u32 accessShift = 3;         // log2 of the narrowest access to shared memory
    // The layout of registers: bytes per thread, the location of each special register
    // (or −1), and the registers that may be read before they are written.
    u32 registerBytes = 0;
    i64 specials[SpecialCount];
    std::vector<Operand> unwritten;
    std::shared_ptr<const std::vector<std::string>> lines;
};

struct Module {
    std::map<std::string, Kernel> kernels;
    struct Variable {
        std::unique_ptr<u64[]> data;
        u64 bytes;
    };
    std::vector<Variable> variables; // .global and .const
    bool writable = false;           // whether some are .global
};

// Addresses of shared and local memory begin at different values other than 0; a
// generic address has a tag.
constexpr u64 SharedBase = 0x01000000, LocalBase = 0x02000000;
constexpr u64 SharedTag = u64(1) << 60, LocalTag = u64(2) << 60, TagMask = u64(7) << 60;

struct Error {
    int line;
    std::string what;
};

// parse throws an Error for invalid text.
std::shared_ptr<Module> parse(const std::string &text);

// layOut assigns locations to registers. Registers that are never live at the same time
// share one.
void layOut(Kernel &k);

// The instructions without control flow, by their full names. The signature has a
// letter per operand, outputs first: D f64, Q and W integers of 64 and 32 bits, B and b
// any 64 and 32 bits, H f32, P a predicate.
struct Opcode {
    Handler run;
    const char *signature;
    int written = 1;
};
using Opcodes = std::map<std::string, Opcode>;
void addArithmetic(Opcodes &);
void addConversions(Opcodes &);

// The loads and stores, by space and type; nullptr if the combination does not exist.
enum class Space : u8 { Generic, Global, Shared, Local, Param };
struct Access {
    Space space;
    bool store, isSigned;
    u32 size, registerSize;
};
Handler accessHandler(const Access &a);
void shuffleDown(Frame &, const Instr &);
void shuffleUp(Frame &, const Instr &);
void shuffleButterfly(Frame &, const Instr &);
void shuffleIndex(Frame &, const Instr &);
void multiplyMatrices(Frame &, const Instr &);
void pack(Frame &, const Instr &);
void unpack(Frame &, const Instr &);
void trap(Frame &, const Instr &);

} // namespace ptx
