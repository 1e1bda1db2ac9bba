// The parser of PTX. ptx_parser.cpp contains declarations, ptx_decode.cpp instructions.
#pragma once
#include "ptx_lexer.h"

namespace ptx {

struct Symbol {
    enum { Register, Variable } kind;
    i32 index; // of the register
    u64 address;
    Space space;
};

// A Written operand is an operand as it appears in the text.
struct Written {
    enum { Value, Register, Address, Vector, Name } kind;
    Operand operand;               // of a value, register or address
    std::vector<Operand> elements; // of a vector, or a register and its predicate
    i64 offset = 0;
    Tok literal = Tok::Integer; // of a value
    bool pair = false;
    Space space = Space::Generic; // of a variable in an address
    std::string_view name;
};

class Parser {
  public:
    explicit Parser(const std::string &text);
    std::shared_ptr<Module> run();

  private:
    // A Scope is a block in braces. It keeps branches until their labels are known.
    struct Scope {
        std::map<std::string_view, Symbol> symbols;
        std::map<std::string_view, i32> labels;
        std::vector<std::pair<size_t, std::string_view>> branches;
    };
    struct Type {
        u32 bytes;
        char kind; // the kind of a Register
    };

    // Tokens.
    const Token &peek(size_t k = 0) const;
    const Token &take();
    bool accept(std::string_view s);
    void expect(std::string_view s);
    std::string_view name();
    u64 integer();
    [[noreturn]] void fail(const std::string &what) const;

    // Declarations.
    void header();
    void declaration();
    void entry();
    void parameter();
    void limits();
    Type type();
    void registers();
    void variable(std::string_view space, bool external);
    u32 align();
    u64 elements();
    u64 place(std::string_view space, u32 align, u64 bytes);
    void initialize(u8 *to, Type t, u64 count);
    void declare(std::string_view name, const Symbol &s);
    const Symbol *find(std::string_view name) const;
    void body();
    void close();
    void statement();

    // Instructions.
    void instruction();
    Written operand();
    Written address();
    Written vector();
    Operand registerNamed(std::string_view name);
    void decode(Instr &in, std::string_view opcode, std::vector<Written> &ops);
    bool decodeFlow(Instr &in, std::string_view opcode, std::vector<Written> &ops);
    bool decodeAccess(Instr &in, std::string_view opcode, std::vector<Written> &ops);
    bool decodeSpecial(Instr &in, std::string_view opcode, std::vector<Written> &ops);
    void addAddress(Instr &in, const Written &w, Space space);
    void put(Instr &in, const Written &w, char letter);
    void put(Instr &in, const Operand &o, Tok literal, char letter);
    [[noreturn]] void unknown(std::string_view opcode) const;

    std::vector<Token> tokens;
    size_t at = 0;
    int line = 0; // of the instruction being decoded
    std::shared_ptr<Module> module = std::make_shared<Module>();
    std::shared_ptr<std::vector<std::string>> lines = std::make_shared<std::vector<std::string>>();
    Kernel *kernel = nullptr;
    std::vector<Scope> scopes{1};
    u64 sharedTop = 0; // of variables of the module
};

const Opcodes &opcodes();

} // namespace ptx
