// The parser of PTX: instructions.
#include "ptx_clock.h"
#include "ptx_parser.h"

#include <cstring>

namespace ptx {

const Opcodes &opcodes() {
    static const Opcodes all = [] {
        Opcodes t;
        addArithmetic(t);
        addConversions(t);
        t["shfl.sync.down.b32"] = {shuffleDown, "bbWWW"};
        t["shfl.sync.up.b32"] = {shuffleUp, "bbWWW"};
        t["shfl.sync.bfly.b32"] = {shuffleButterfly, "bbWWW"};
        t["shfl.sync.idx.b32"] = {shuffleIndex, "bbWWW"};
        t["trap"] = {trap, "", 0};
        return t;
    }();
    return all;
}

void Parser::unknown(std::string_view opcode) const { fail("unknown instruction: " + std::string(opcode)); }

Operand Parser::registerNamed(std::string_view name) {
    const Symbol *s = find(name);
    if (s == nullptr) {
        for (i32 k = 0; k < SpecialCount; k++) {
            if (name == specialNames[k]) {
                Symbol made{Symbol::Register, static_cast<i32>(kernel->registers.size()), 0, Space::Generic};
                kernel->registers.push_back({4, 'i', k});
                scopes[1].symbols.emplace(name, made);
                s = find(name);
            }
        }
    }
    if (s == nullptr || s->kind != Symbol::Register) {
        fail("unknown symbol " + std::string(name));
    }
    Operand o;
    o.reg = s->index;
    return o;
}

// operand reads a register, a pair r|p, an address, a vector, a number, the address of
// a variable or a label.
Written Parser::operand() {
    if (peek().is("[")) {
        return address();
    }
    if (peek().is("{")) {
        return vector();
    }
    Written w{};
    if (peek().type != Tok::Word) {
        bool negative = accept("-");
        Token t = take();
        if (t.type != Tok::Integer && t.type != Tok::Float64 && t.type != Tok::Float32) {
            fail("syntax error: an operand is expected at " + std::string(t.text));
        }
        u64 sign = t.type == Tok::Float64 ? u64(1) << 63 : u64(1) << 31;
        w.literal = t.type;
        w.operand.value = !negative ? t.value : t.type == Tok::Integer ? -t.value : t.value ^ sign;
        return w;
    }
    w.name = take().text;
    const Symbol *s = find(w.name);
    if (w.name == "WARP_SZ" && s == nullptr) {
        w.operand.value = 32;
    } else if (s != nullptr && s->kind == Symbol::Variable) {
        w.operand.value = s->address;
        w.space = s->space;
        w.operand.value += accept("+") ? integer() : 0;
    } else if (s == nullptr && w.name[0] != '%') {
        w.kind = Written::Name;
    } else {
        w.kind = Written::Register;
        w.operand = registerNamed(w.name);
        if (accept("|")) {
            w.pair = true;
            w.elements = {w.operand, registerNamed(name())};
        }
    }
    return w;
}

// address reads [r], [r+n], [variable+n] or [n].
Written Parser::address() {
    expect("[");
    Written w = operand();
    if (w.kind == Written::Vector || w.kind == Written::Name || w.pair) {
        fail("syntax error in an address");
    }
    if (accept("+")) {
        w.offset = static_cast<i64>(integer());
    } else if (peek().is("-")) {
        w.offset = static_cast<i64>(integer());
    }
    expect("]");
    w.kind = Written::Address;
    return w;
}

Written Parser::vector() {
    Written w{};
    w.kind = Written::Vector;
    expect("{");
    do {
        Written e = operand();
        if (e.kind != Written::Register && e.kind != Written::Value) {
            fail("syntax error in a vector");
        }
        w.elements.push_back(e.operand);
    } while (accept(","));
    expect("}");
    return w;
}

void Parser::instruction() {
    line = peek().line;
    Instr in;
    in.line = line;
    if (accept("@")) {
        in.guardNot = accept("!");
        in.guard = registerNamed(name());
        if (kernel->registers[in.guard.reg].kind != 'p') {
            fail("the guard is not a predicate");
        }
    }
    if (peek().type != Tok::Word) {
        fail("syntax error at " + std::string(peek().text));
    }
    std::string_view opcode = take().text;
    std::vector<Written> ops;
    if (!peek().is(";")) {
        do {
            ops.push_back(operand());
        } while (accept(","));
    }
    expect(";");
    decode(in, opcode, ops);
    price(in, opcode);
    kernel->code.push_back(in);
    line = 0;
}

// put adds an operand and checks it against its letter in the signature.
void Parser::put(Instr &in, const Operand &o, Tok literal, char letter) {
    u8 bytes = strchr("DQB", letter) != nullptr ? 8 : letter == 'P' ? 1 : 4;
    char kind = strchr("DH", letter) != nullptr ? 'f' : strchr("QW", letter) != nullptr ? 'i' : letter == 'P' ? 'p' : 'b';
    Operand out = o;
    if (o.immediate()) {
        Tok float_ = bytes == 8 ? Tok::Float64 : Tok::Float32;
        if (in.operands < in.written || (kind == 'f' && literal != float_) || (kind != 'f' && literal != Tok::Integer && (kind != 'b' || literal != float_))) {
            fail("a constant of another type");
        }
        if (kind == 'p') {
            out.value = o.value != 0;
        }
    } else {
        const Register &r = kernel->registers[o.reg];
        bool same = r.kind == kind || (kind != 'p' && r.kind != 'p' && (r.kind == 'b' || kind == 'b'));
        if (r.size != bytes || !same || (r.special >= 0 && in.operands < in.written)) {
            fail("a register of another type");
        }
    }
    if (in.operands == MaxOperands) {
        fail("too many operands");
    }
    in.op[in.operands++] = out;
}

void Parser::put(Instr &in, const Written &w, char letter) {
    if ((w.kind != Written::Register && w.kind != Written::Value) || w.pair || (w.kind == Written::Value && w.space == Space::Param)) {
        fail("an operand of another kind");
    }
    put(in, w.operand, w.literal, letter);
}

void Parser::decode(Instr &in, std::string_view opcode, std::vector<Written> &ops) {
    if (decodeFlow(in, opcode, ops) || decodeAccess(in, opcode, ops) || decodeSpecial(in, opcode, ops)) {
        return;
    }
    auto it = opcodes().find(std::string(opcode));
    if (it == opcodes().end()) {
        unknown(opcode);
    }
    const Opcode &o = it->second;
    if (strlen(o.signature) != ops.size()) {
        fail(std::to_string(ops.size()) + " operands of " + std::string(opcode));
    }
    in.run = o.run;
    in.written = static_cast<u8>(o.written);
    for (size_t k = 0; k < ops.size(); k++) {
        put(in, ops[k], o.signature[k]);
    }
}

bool Parser::decodeFlow(Instr &in, std::string_view opcode, std::vector<Written> &ops) {
    size_t operands = 0;
    if (opcode == "bra" || opcode == "bra.uni") {
        in.flow = Flow::Branch;
        operands = 1;
        if (ops.size() == 1 && ops[0].kind != Written::Name) {
            fail("the branch has no label");
        }
        if (ops.size() == 1) {
            scopes.back().branches.emplace_back(kernel->code.size(), ops[0].name);
        }
    } else if (opcode == "bar.sync" || opcode == "barrier.sync") {
        in.flow = Flow::Barrier;
        operands = 1;
        if (ops.size() == 1 && (ops[0].kind != Written::Value || ops[0].operand.value != 0)) {
            fail("only barrier 0 is known");
        }
    } else if (opcode == "ret" || opcode == "exit") {
        in.flow = Flow::Exit;
    } else {
        return false;
    }
    if (ops.size() != operands) {
        fail(std::to_string(ops.size()) + " operands of " + std::string(opcode));
    }
    return true;
}

void Parser::addAddress(Instr &in, const Written &w, Space space) {
    if (w.kind != Written::Address) {
        fail("the operand is not an address");
    }
    if ((space == Space::Param) != (w.space == Space::Param) || (w.space != Space::Generic && w.space != space)) {
        fail("an address in another space");
    }
    const bool isRegister = !w.operand.immediate();
    in.narrowAddress = isRegister && kernel->registers[w.operand.reg].size == 4;
    put(in, w.operand, w.literal, in.narrowAddress ? 'W' : 'Q');
    in.offset = w.offset;
}

// decodeAccess reads ld and st with a space, a type and modifiers that have no effect
// here.
bool Parser::decodeAccess(Instr &in, std::string_view opcode, std::vector<Written> &ops) {
    static const std::map<std::string_view, Space> spaces = {
        {"global", Space::Global}, {"const", Space::Global}, {"shared", Space::Shared}, {"local", Space::Local}, {"param", Space::Param}};
    static const std::string_view ignored[] = {"nc", "ca", "cg", "cs", "cv", "wb", "wt", "lu", "volatile"};
    if (opcode.substr(0, 3) != "ld." && opcode.substr(0, 3) != "st.") {
        return false;
    }
    Access a{};
    a.store = opcode[0] == 's';
    char kind = 0;
    for (size_t from = 3; from <= opcode.size();) {
        size_t to = std::min(opcode.find('.', from), opcode.size());
        std::string_view part = opcode.substr(from, to - from);
        from = to + 1;
        bool skip = false;
        for (auto s : ignored) {
            skip |= part == s;
        }
        if (skip) {
            continue;
        }
        if (auto it = spaces.find(part); it != spaces.end() && kind == 0 && !(a.store && part == "const")) {
            a.space = it->second;
        } else if (part == "v2" || part == "v4") {
            in.vector = static_cast<u8>(part[1] - '0');
        } else if (part.size() >= 2 && kind == 0 && strchr("fbus", part[0]) != nullptr) {
            static const std::map<std::string_view, u32> sizes = {{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}};
            auto size = sizes.find(part.substr(1));
            kind = part[0];
            a.size = size != sizes.end() && (kind != 'f' || size->second >= 4) ? size->second : 0;
            a.isSigned = kind == 's';
        } else {
            unknown(opcode);
        }
    }
    if (kind == 0 || a.size == 0 || a.size * in.vector > 16) {
        unknown(opcode);
    }
    if (ops.size() != 2) {
        fail(std::to_string(ops.size()) + " operands of " + std::string(opcode));
    }
    Written &where = ops[a.store ? 0 : 1], &what = ops[a.store ? 1 : 0];
    if (what.kind != (in.vector > 1 ? Written::Vector : what.kind == Written::Value ? Written::Value : Written::Register) ||
        (in.vector > 1 && what.elements.size() != in.vector)) {
        fail("an operand of another kind");
    }
    if (in.vector == 1) {
        what.elements = {what.operand};
    }
    in.written = a.store ? 0 : in.vector;
    if (a.store) {
        addAddress(in, where, a.space);
    }
    a.registerSize = a.size;
    for (const Operand &o : what.elements) {
        u8 size = o.immediate() ? static_cast<u8>(std::max(a.size, 4u)) : kernel->registers[o.reg].size;
        if (size < a.size || (size > a.size && kind == 'f') || (&o != &what.elements[0] && size != a.registerSize)) {
            fail("a register of another type");
        }
        a.registerSize = size;
        put(in, o, what.literal, kind == 'f' ? (size == 8 ? 'D' : 'H') : kind == 'b' ? (size == 8 ? 'B' : 'b') : size == 8 ? 'Q' : 'W');
    }
    if (!a.store) {
        addAddress(in, where, a.space);
    }
    if (a.space == Space::Shared || a.space == Space::Generic) {
        u32 shift = a.size == 8 ? 3 : a.size == 4 ? 2 : a.size == 2 ? 1 : 0;
        kernel->accessShift = std::min(kernel->accessShift, shift);
    }
    in.run = accessHandler(a);
    if (in.run == nullptr) {
        unknown(opcode);
    }
    return true;
}

// decodeSpecial reads instructions with vectors or pairs.
bool Parser::decodeSpecial(Instr &in, std::string_view opcode, std::vector<Written> &ops) {
    if (opcode == "mov.b64" && ops.size() == 2 && (ops[0].kind == Written::Vector || ops[1].kind == Written::Vector)) {
        bool packs = ops[1].kind == Written::Vector;
        in.written = packs ? 1 : 2;
        in.run = packs ? pack : unpack;
        for (int k = 0; k < 2; k++) {
            if (ops[k].kind != Written::Vector) {
                put(in, ops[k], 'B');
                continue;
            }
            if (ops[k].elements.size() != 2) {
                fail("a vector of another size");
            }
            put(in, ops[k].elements[0], Tok::Integer, 'b');
            put(in, ops[k].elements[1], Tok::Integer, 'b');
        }
        return true;
    }
    if (opcode == "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64" && ops.size() == 4) {
        in.written = 2;
        in.run = multiplyMatrices;
        for (size_t k = 0; k < 4; k++) {
            if (ops[k].kind != Written::Vector || ops[k].elements.size() != (k % 3 == 0 ? 2 : 1)) {
                fail("a vector of another size");
            }
            for (const Operand &o : ops[k].elements) {
                put(in, o, Tok::Float64, 'D');
            }
        }
        return true;
    }
    auto it = opcodes().find(std::string(opcode));
    if (it == opcodes().end() || opcode.substr(0, 5) != "shfl." || ops.size() != 5 || !ops[0].pair) {
        return false;
    }
    in.run = it->second.run;
    in.written = 2;
    put(in, ops[0].elements[0], Tok::Integer, 'b');
    put(in, ops[0].elements[1], Tok::Integer, 'P');
    for (int k = 1; k < 5; k++) {
        put(in, ops[k], k == 1 ? 'b' : 'W');
    }
    return true;
}

} // namespace ptx
