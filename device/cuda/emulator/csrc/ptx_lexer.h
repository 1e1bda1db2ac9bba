// Tokens of PTX text.
#pragma once
#include "ptx.h"

#include <string_view>

namespace ptx {

enum class Tok : u8 { End, Word, Integer, Float64, Float32, Punct };

// A Word is an opcode, directive, name or register, including its dots.
struct Token {
    Tok type;
    int line;
    std::string_view text;
    u64 value = 0; // for a number: an integer or the bits of a float
    bool is(std::string_view s) const { return text == s && (type == Tok::Word || type == Tok::Punct); }
};

std::vector<Token> tokenize(std::string_view text);

} // namespace ptx
