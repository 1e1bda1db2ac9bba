// Splits PTX text into tokens and leaves out comments, .loc, .file, .pragma and
// strings.
#include "ptx_lexer.h"

#include <cstdlib>
#include <cstring>

namespace ptx {

namespace {

bool wordStart(char c) { return isalpha(static_cast<u8>(c)) || c == '_' || c == '$' || c == '%' || c == '.'; }
bool wordPart(char c) { return wordStart(c) || isdigit(static_cast<u8>(c)); }

struct Lexer {
    std::string_view s;
    size_t at = 0;
    int line = 1;
    std::vector<Token> out;

    char peek(size_t k = 0) const { return at + k < s.size() ? s[at + k] : '\0'; }
    void next() {
        line += s[at] == '\n';
        at++;
    }
    void skipTo(const char *end);
    bool skip();
    void word();
    void number();
    void run();
};

// skipTo skips to the end of the next occurrence of end, or to the end of the text.
void Lexer::skipTo(const char *end) {
    size_t to = s.find(end, at);
    to = to == s.npos ? s.size() : to + strlen(end);
    while (at < to) {
        next();
    }
}

// skip skips white space, a comment or a string.
bool Lexer::skip() {
    if (isspace(static_cast<u8>(peek()))) {
        next();
    } else if (peek() == '/' && peek(1) == '/') {
        at = std::min(s.find('\n', at), s.size());
    } else if (peek() == '/' && peek(1) == '*') {
        at += 2;
        skipTo("*/");
    } else if (peek() == '"') {
        at++;
        skipTo("\"");
    } else {
        return false;
    }
    return true;
}

void Lexer::word() {
    size_t from = at;
    do {
        at++;
    } while (wordPart(peek()));
    std::string_view text = s.substr(from, at - from);
    if (text == ".loc" || text == ".file") {
        at = std::min(s.find('\n', at), s.size());
    } else if (text == ".pragma") {
        skipTo(";");
    } else {
        out.push_back({Tok::Word, line, text});
    }
}

// number reads 0d and 0f with hexadecimal bits, decimal floats, and hexadecimal (0x),
// octal and decimal integers.
void Lexer::number() {
    size_t from = at;
    Tok type = Tok::Integer;
    char kind = static_cast<char>(tolower(peek(1)));
    if (peek() == '0' && (kind == 'd' || kind == 'f')) {
        type = kind == 'd' ? Tok::Float64 : Tok::Float32;
    }
    do {
        at++;
    } while (isalnum(static_cast<u8>(peek())) || peek() == '.' ||
             (strchr("+-", peek()) != nullptr && peek() != '\0' && tolower(s[at - 1]) == 'e' && kind != 'x' && type == Tok::Integer));
    std::string text(s.substr(from, at - from));
    Token t{type, line, s.substr(from, at - from)};
    char *end = nullptr;
    if (type != Tok::Integer) {
        t.value = strtoull(text.c_str() + 2, &end, 16);
        if (text.size() != (type == Tok::Float64 ? 18u : 10u)) {
            throw Error{line, "the number " + text + " has too many or too few digits"};
        }
    } else if (kind != 'x' && text.find_first_of(".eE") != text.npos) {
        double v = strtod(text.c_str(), &end);
        t.type = Tok::Float64;
        memcpy(&t.value, &v, 8);
    } else {
        t.value = strtoull(text.c_str(), &end, 0);
        end += *end == 'U';
    }
    if (*end != '\0') {
        throw Error{line, "syntax error in the number " + text};
    }
    out.push_back(t);
}

void Lexer::run() {
    while (at < s.size()) {
        if (skip()) {
            continue;
        }
        if (isdigit(static_cast<u8>(peek()))) {
            number();
        } else if (wordStart(peek())) {
            word();
        } else if (strchr("{}()[]<>,;:@!|+-=", peek()) != nullptr) {
            out.push_back({Tok::Punct, line, s.substr(at++, 1)});
        } else {
            throw Error{line, std::string("syntax error at '") + peek() + "'"};
        }
    }
    out.push_back({Tok::End, line, "end of the text"});
}

} // namespace

std::vector<Token> tokenize(std::string_view text) {
    Lexer l;
    l.s = text;
    l.run();
    return std::move(l.out);
}

} // namespace ptx
