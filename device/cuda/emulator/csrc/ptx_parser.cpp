// The parser of PTX: tokens and declarations.
#include "ptx_parser.h"

#include <algorithm>
#include <cstring>

namespace ptx {

const char *const specialNames[SpecialCount] = {"%tid.x",    "%tid.y",    "%tid.z",    "%ntid.x",  "%ntid.y",
                                                "%ntid.z",   "%ctaid.x",  "%ctaid.y",  "%ctaid.z", "%nctaid.x",
                                                "%nctaid.y", "%nctaid.z", "%laneid", "%warpid",  "%dynamic_smem_size"};

Parser::Parser(const std::string &text) : tokens(tokenize(text)) {
    for (size_t from = 0; from <= text.size();) {
        size_t to = std::min(text.find('\n', from), text.size());
        size_t first = std::min(text.find_first_not_of(" \t", from), to);
        lines->push_back(text.substr(first, to - first));
        from = to + 1;
    }
}

const Token &Parser::peek(size_t k) const { return tokens[std::min(at + k, tokens.size() - 1)]; }

const Token &Parser::take() { return at + 1 < tokens.size() ? tokens[at++] : tokens[at]; }

bool Parser::accept(std::string_view s) {
    bool yes = peek().is(s);
    at += yes;
    return yes;
}

void Parser::fail(const std::string &what) const { throw Error{line > 0 ? line : peek().line, what}; }

void Parser::expect(std::string_view s) {
    if (!accept(s)) {
        fail("syntax error: " + std::string(s) + " is expected at " + std::string(peek().text));
    }
}

std::string_view Parser::name() {
    if (peek().type != Tok::Word || peek().text[0] == '.') {
        fail("syntax error: a name is expected at " + std::string(peek().text));
    }
    return take().text;
}

u64 Parser::integer() {
    bool negative = accept("-");
    if (peek().type != Tok::Integer) {
        fail("syntax error: an integer is expected at " + std::string(peek().text));
    }
    u64 v = take().value;
    return negative ? -v : v;
}

const Symbol *Parser::find(std::string_view name) const {
    for (auto s = scopes.rbegin(); s != scopes.rend(); ++s) {
        if (auto it = s->symbols.find(name); it != s->symbols.end()) {
            return &it->second;
        }
    }
    return nullptr;
}

void Parser::declare(std::string_view name, const Symbol &s) {
    if (!scopes.back().symbols.emplace(name, s).second) {
        fail("duplicate definition of " + std::string(name));
    }
}

// header reads the directives with which every module begins.
void Parser::header() {
    if (!accept(".version")) {
        fail("syntax error: missing .version directive");
    }
    take();
    expect(".target");
    do {
        name();
    } while (accept(","));
    if (accept(".address_size") && integer() != 64) {
        fail("only 64-bit addresses are known");
    }
}

std::shared_ptr<Module> Parser::run() {
    header();
    while (peek().type != Tok::End) {
        declaration();
    }
    return module;
}

void Parser::declaration() {
    bool external = false;
    while (accept(".visible") || accept(".weak") || peek().is(".extern")) {
        external |= accept(".extern");
    }
    for (const char *space : {".global", ".const", ".shared"}) {
        if (accept(space)) {
            return variable(space, external);
        }
    }
    if (!accept(".entry")) {
        fail("syntax error: unknown declaration " + std::string(peek().text));
    }
    entry();
}

void Parser::entry() {
    std::string called(name());
    auto [it, added] = module->kernels.try_emplace(called);
    if (!added) {
        fail("duplicate definition of " + called);
    }
    kernel = &it->second;
    kernel->name = called;
    kernel->lines = lines;
    kernel->sharedBytes = static_cast<u32>(sharedTop);
    scopes.emplace_back();
    if (accept("(") && !accept(")")) {
        do {
            parameter();
        } while (accept(","));
        expect(")");
    }
    limits();
    expect("{");
    body();
    kernel->code.emplace_back(); // the end
    kernel->code.back().flow = Flow::Exit;
    kernel->code.back().line = tokens[at - 1].line;
    close();
    layOut(*kernel);
    kernel = nullptr;
}

void Parser::parameter() {
    expect(".param");
    u32 alignment = align();
    Type t = type();
    if (accept(".ptr")) {
        accept(".global");
        align();
    }
    std::string_view called = name();
    alignment = std::max(alignment, t.bytes);
    u64 count = elements();
    u32 offset = (kernel->paramBytes + alignment - 1) / alignment * alignment;
    u32 bytes = static_cast<u32>(t.bytes * count);
    kernel->params.push_back({std::string(called), offset, bytes});
    kernel->paramBytes = offset + bytes;
    declare(called, {Symbol::Variable, -1, offset, Space::Param});
}

// limits reads the directives before the body.
void Parser::limits() {
    while (!peek().is("{")) {
        std::string_view what = take().text;
        u64 v[3] = {1, 1, 1};
        int n = 0;
        do {
            v[n++] = integer();
        } while (n < 3 && accept(","));
        if (what == ".maxntid") {
            kernel->maxThreads = static_cast<u32>(v[0] * v[1] * v[2]);
        } else if (what == ".reqntid") {
            std::copy(v, v + 3, kernel->required);
        } else if (what != ".minnctapersm" && what != ".maxnctapersm" && what != ".maxnreg") {
            fail("unknown directive " + std::string(what));
        }
    }
}

Parser::Type Parser::type() {
    static const std::map<std::string_view, Type> types = {
        {".f64", {8, 'f'}}, {".f32", {4, 'f'}}, {".b64", {8, 'b'}}, {".b32", {4, 'b'}}, {".b16", {2, 'b'}}, {".b8", {1, 'b'}},
        {".u64", {8, 'i'}}, {".u32", {4, 'i'}}, {".u16", {2, 'i'}}, {".u8", {1, 'i'}},  {".s64", {8, 'i'}}, {".s32", {4, 'i'}},
        {".s16", {2, 'i'}}, {".s8", {1, 'i'}},  {".pred", {1, 'p'}}};
    auto it = types.find(peek().text);
    if (it == types.end()) {
        fail("syntax error: a type is expected at " + std::string(peek().text));
    }
    take();
    return it->second;
}

// registers reads a .reg declaration: names, or a prefix and a count.
void Parser::registers() {
    Type t = type();
    if (t.bytes < 4 && t.kind != 'p') {
        fail("16-bit registers are not known");
    }
    do {
        std::string_view called = name();
        u64 count = 1;
        bool many = accept("<");
        if (many) {
            count = integer();
            expect(">");
        }
        for (u64 k = 0; k < count; k++) {
            static std::map<std::string, bool> names; // views may refer to these names
            std::string_view full = called;
            if (many) {
                full = names.emplace(std::string(called) + std::to_string(k), true).first->first;
            }
            declare(full, {Symbol::Register, static_cast<i32>(kernel->registers.size()), 0, Space::Generic});
            kernel->registers.push_back({static_cast<u8>(t.bytes), t.kind});
        }
    } while (accept(","));
    expect(";");
}

u32 Parser::align() {
    u64 n = accept(".align") ? integer() : 1;
    if (n == 0 || n > 256 || (n & (n - 1)) != 0) {
        fail("the alignment is not a power of two");
    }
    return static_cast<u32>(n);
}

// elements reads the sizes of an array and returns their product, 0 for [].
u64 Parser::elements() {
    u64 count = 1;
    while (accept("[")) {
        count *= peek().is("]") ? 0 : integer();
        expect("]");
    }
    return count;
}

void Parser::variable(std::string_view space, bool external) {
    u32 alignment = align();
    Type t = type();
    alignment = std::max(alignment, t.bytes);
    do {
        std::string_view called = name();
        bool array = peek().is("[");
        u64 count = elements();
        if (external != (array && count == 0) || (external && space != ".shared")) {
            fail("a variable without size, or defined elsewhere: " + std::string(called));
        }
        u64 where = place(space, alignment, t.bytes * count);
        Space s = space == ".shared" ? Space::Shared : space == ".local" ? Space::Local : Space::Global;
        declare(called, {Symbol::Variable, -1, where, s});
        if (accept("=")) {
            if (s != Space::Global) {
                fail("only variables of .global and .const have values");
            }
            initialize(reinterpret_cast<u8 *>(where), t, count);
        }
    } while (accept(","));
    expect(";");
}

// place returns a variable's address in its space.
u64 Parser::place(std::string_view space, u32 alignment, u64 bytes) {
    if (space == ".global" || space == ".const") {
        u64 words = (bytes + 7) / 8;
        module->variables.push_back({std::make_unique<u64[]>(words), bytes});
        module->writable |= space == ".global";
        return reinterpret_cast<u64>(module->variables.back().data.get());
    }
    bool shared = space == ".shared";
    u64 top = kernel == nullptr ? sharedTop : shared ? kernel->sharedBytes : kernel->localBytes;
    u64 from = (top + alignment - 1) / alignment * alignment;
    top = from + bytes;
    if (top > (shared ? 48 << 10 : 512 << 10)) {
        fail(std::string("too much ") + (shared ? "shared" : "local") + " memory");
    }
    if (kernel == nullptr) {
        sharedTop = top;
    } else {
        (shared ? kernel->sharedBytes : kernel->localBytes) = static_cast<u32>(top);
    }
    return (shared ? SharedBase : LocalBase) + from;
}

void Parser::initialize(u8 *to, Type t, u64 count) {
    bool braces = accept("{");
    for (u64 k = 0; k < count && !peek().is("}"); k++) {
        bool negative = accept("-");
        Token v = take();
        if (v.type != (t.kind != 'f' ? Tok::Integer : t.bytes == 8 ? Tok::Float64 : Tok::Float32)) {
            fail("a value of another type: " + std::string(v.text));
        }
        u64 bits = !negative ? v.value : t.kind == 'f' ? v.value ^ u64(1) << (8 * t.bytes - 1) : -v.value;
        memcpy(to + k * t.bytes, &bits, t.bytes);
        if (!braces || !accept(",")) {
            break;
        }
    }
    if (braces) {
        expect("}");
    }
}

// body reads statements up to the closing brace.
void Parser::body() {
    while (!accept("}")) {
        if (peek().type == Tok::End) {
            fail("syntax error: a brace is not closed");
        }
        statement();
    }
}

// close ends a scope. Branches to labels that are not in it move to the enclosing
// scope.
void Parser::close() {
    Scope inner = std::move(scopes.back());
    scopes.pop_back();
    for (auto &[index, label] : inner.branches) {
        auto it = inner.labels.find(label);
        if (it != inner.labels.end()) {
            kernel->code[index].target = it->second;
        } else if (scopes.size() > 1) {
            scopes.back().branches.emplace_back(index, label);
        } else {
            line = kernel->code[index].line;
            fail("unknown label " + std::string(label));
        }
    }
}

void Parser::statement() {
    if (accept("{")) {
        scopes.emplace_back();
        body();
        close();
    } else if (accept(".reg")) {
        registers();
    } else if (peek().is(".shared") || peek().is(".local")) {
        variable(take().text, false);
    } else if (peek().type == Tok::Word && peek(1).is(":")) {
        if (!scopes.back().labels.emplace(name(), static_cast<i32>(kernel->code.size())).second) {
            fail("duplicate label");
        }
        take();
    } else if (!accept(";")) {
        instruction();
    }
}

std::shared_ptr<Module> parse(const std::string &text) { return Parser(text).run(); }

} // namespace ptx
