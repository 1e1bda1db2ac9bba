// Instructions that compute: arithmetic, comparisons, selections, predicates.
#include "ptx_arithmetic.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace ptx {

namespace {

#define BINARY(Name, expression)                                                                                       \
    struct Name {                                                                                                      \
        template <class T> static auto of(T a, T b) { return expression; }                                             \
    }
#define UNARY(Name, expression)                                                                                        \
    struct Name {                                                                                                      \
        template <class T> static auto of(T a) { return expression; }                                                  \
    }
BINARY(Add, a + b);
BINARY(Sub, a - b);
BINARY(Mul, a *b);
BINARY(And, a &b);
BINARY(Or, a | b);
BINARY(Xor, a ^ b);
BINARY(Divide, a / b);
UNARY(Not, ~a);
UNARY(NotPred, a ^ 1);
UNARY(Move, a);
UNARY(Neg, -a);
UNARY(Abs, a < 0 ? -a : a);
UNARY(AbsF, std::fabs(a));
UNARY(Sqrt, std::sqrt(a));
UNARY(Reciprocal, 1 / a);

// As on a device, a zero divisor yields all ones, and the remainder is the dividend.
struct DivideInt {
    template <class T> static T of(T a, T b) {
        if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
            return -a;
        }
        return b == 0 ? static_cast<T>(-1) : a / b;
    }
};
struct Remainder {
    template <class T> static T of(T a, T b) {
        if (b == 0 || (std::is_signed_v<T> && b == static_cast<T>(-1))) {
            return b == 0 ? a : 0;
        }
        return a % b;
    }
};

u64 bitsOf(double a) {
    u64 v;
    memcpy(&v, &a, 8);
    return v;
}
double floatOf(u64 v) {
    double a;
    memcpy(&a, &v, 8);
    return a;
}

// The minimum and the maximum prefer a number to a NaN and order −0 below +0.
struct Min {
    template <class T> static T of(T a, T b) {
        if constexpr (std::is_floating_point_v<T>) {
            T equal = floatOf(bitsOf(a) | bitsOf(b));
            return a != a ? b : b != b ? a : a < b ? a : b < a ? b : equal;
        } else {
            return a < b ? a : b;
        }
    }
};
struct Max {
    template <class T> static T of(T a, T b) {
        if constexpr (std::is_floating_point_v<T>) {
            T equal = floatOf(bitsOf(a) & bitsOf(b));
            return a != a ? b : b != b ? a : a > b ? a : b > a ? b : equal;
        } else {
            return a > b ? a : b;
        }
    }
};
struct CopySign { // the magnitude of b with the sign of a
    static double of(double a, double b) { return std::copysign(b, a); }
};

struct High {
    template <class T> static T of(T a, T b) {
        using Wide = std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, i64, u64>,
                                        std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>;
        return static_cast<T>((static_cast<Wide>(a) * static_cast<Wide>(b)) >> (8 * sizeof(T)));
    }
};
template <class W> struct MulWide {
    template <class T> static W of(T a, T b) { return static_cast<W>(a) * static_cast<W>(b); }
};
template <class W> struct MadWide {
    template <class T> static W of(T a, T b, W c) { return static_cast<W>(a) * static_cast<W>(b) + c; }
};
struct MadLow {
    template <class T> static T of(T a, T b, T c) { return a * b + c; }
};
struct Fma {
    static double of(double a, double b, double c) { return __builtin_fma(a, b, c); }
    static float of(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
};

// A shift by the width or more clears all bits, or fills them with the sign bit.
struct ShiftLeft {
    template <class T> static T of(T a, u32 n) {
        constexpr u32 width = 8 * sizeof(T);
        return n < width ? a << (n & (width - 1)) : 0;
    }
};
struct ShiftRight {
    template <class T> static T of(T a, u32 n) {
        constexpr u32 width = 8 * sizeof(T);
        return a >> (n < width ? n : width - 1) >> (std::is_signed_v<T> || n < width ? 0 : 1);
    }
};

struct Select {
    template <class T> static T of(T a, T b, u8 p) { return p ? a : b; }
};
struct SelectBySign {
    template <class T, class C> static T of(T a, T b, C c) { return c >= 0 ? a : b; }
};

BINARY(Eq, a == b);
BINARY(Ne, !(a == b) & (a == a) & (b == b));
BINARY(Lt, a < b);
BINARY(Le, a <= b);
BINARY(Gt, a > b);
BINARY(Ge, a >= b);
BINARY(Equ, (a == b) | (a != a) | (b != b));
BINARY(Neu, !(a == b));
BINARY(Ltu, !(a >= b));
BINARY(Leu, !(a > b));
BINARY(Gtu, !(a <= b));
BINARY(Geu, !(a < b));
BINARY(Num, (a == a) & (b == b));
BINARY(Nan, (a != a) | (b != b));

// The signatures for a type T: a result and one to three operands of its kind.
template <class T> const char *letters(int n) {
    static const char *const f64[] = {"", "", "DD", "DDD", "DDDD"}, *const f32[] = {"", "", "HH", "HHH", "HHHH"};
    static const char *const wide[] = {"", "", "QQ", "QQQ", "QQQQ"}, *const narrow[] = {"", "", "WW", "WWW", "WWWW"};
    if (std::is_floating_point_v<T>) {
        return sizeof(T) == 8 ? f64[n] : f32[n];
    }
    return sizeof(T) == 8 ? wide[n] : narrow[n];
}

template <class Op, class T> Opcode unary() { return {op1<Op, T, T>, letters<T>(2)}; }
template <class Op, class T> Opcode binary() { return {op2<Op, T, T, T>, letters<T>(3)}; }
template <class Op, class T> Opcode ternary() { return {op3<Op, T, T, T, T>, letters<T>(4)}; }

template <class Op, class T> Opcode compare() {
    const char *s = std::is_floating_point_v<T> ? "PDD" : sizeof(T) == 8 ? "PQQ" : "PWW";
    return {op2<Op, u8, T, T>, s};
}

void addFloats(Opcodes &t) {
    using T = double;
    for (std::string rounding : {"", ".rn"}) {
        t["add" + rounding + ".f64"] = binary<Add, T>();
        t["sub" + rounding + ".f64"] = binary<Sub, T>();
        t["mul" + rounding + ".f64"] = binary<Mul, T>();
    }
    t["fma.rn.f64"] = t["mad.rn.f64"] = ternary<Fma, T>();
    t["div.rn.f64"] = binary<Divide, T>();
    t["sqrt.rn.f64"] = unary<Sqrt, T>();
    t["rcp.rn.f64"] = unary<Reciprocal, T>();
    t["neg.f64"] = unary<Neg, T>();
    t["abs.f64"] = unary<AbsF, T>();
    t["min.f64"] = binary<Min, T>();
    t["max.f64"] = binary<Max, T>();
    t["copysign.f64"] = binary<CopySign, T>();
    t["mov.f64"] = unary<Move, T>();
    t["mov.f32"] = unary<Move, float>();
    t["selp.f64"] = {op3<Select, T, T, T, u8>, "DDDP"};
    t["selp.f32"] = {op3<Select, float, float, float, u8>, "HHHP"};
    t["slct.f64.s32"] = {op3<SelectBySign, T, T, T, i32>, "DDDW"};
}

// addInts adds the instructions that exist for s32, u32, s64 and u64.
template <class T, class W> void addInts(Opcodes &t, const std::string &type) {
    t["add." + type] = binary<Add, T>();
    t["sub." + type] = binary<Sub, T>();
    t["mul.lo." + type] = binary<Mul, T>();
    t["mul.hi." + type] = binary<High, T>();
    t["mad.lo." + type] = ternary<MadLow, T>();
    t["div." + type] = binary<DivideInt, T>();
    t["rem." + type] = binary<Remainder, T>();
    t["min." + type] = binary<Min, T>();
    t["max." + type] = binary<Max, T>();
    t["mov." + type] = unary<Move, T>();
    t["shr." + type] = {op2<ShiftRight, T, T, u32>, sizeof(T) == 8 ? "QQW" : "WWW"};
    t["selp." + type] = {op3<Select, T, T, T, u8>, sizeof(T) == 8 ? "QQQP" : "WWWP"};
    if (std::is_signed_v<T>) {
        t["neg." + type] = unary<Neg, T>();
        t["abs." + type] = unary<Abs, T>();
    }
    if constexpr (sizeof(T) == 4) {
        t["mul.wide." + type] = {op2<MulWide<W>, W, T, T>, "QWW"};
        t["mad.wide." + type] = {op3<MadWide<W>, W, T, T, W>, "QWWQ"};
    }
}

template <class T> void addBits(Opcodes &t, const std::string &type) {
    bool wide = sizeof(T) == 8;
    const char *two = wide ? "BB" : "bb", *three = wide ? "BBB" : "bbb";
    t["and." + type] = {op2<And, T, T, T>, three};
    t["or." + type] = {op2<Or, T, T, T>, three};
    t["xor." + type] = {op2<Xor, T, T, T>, three};
    t["not." + type] = {op1<Not, T, T>, two};
    t["mov." + type] = {op1<Move, T, T>, two};
    t["shl." + type] = {op2<ShiftLeft, T, T, u32>, wide ? "BBW" : "bbW"};
    t["shr." + type] = {op2<ShiftRight, T, T, u32>, wide ? "BBW" : "bbW"};
    t["selp." + type] = {op3<Select, T, T, T, u8>, wide ? "BBBP" : "bbbP"};
    t["setp.eq." + type] = {op2<Eq, u8, T, T>, wide ? "PBB" : "Pbb"};
    t["setp.ne." + type] = {op2<Neu, u8, T, T>, wide ? "PBB" : "Pbb"};
}

template <class T> void addComparisons(Opcodes &t, const std::string &type) {
    t["setp.eq." + type] = compare<Eq, T>();
    t["setp.ne." + type] = compare<Ne, T>();
    t["setp.lt." + type] = compare<Lt, T>();
    t["setp.le." + type] = compare<Le, T>();
    t["setp.gt." + type] = compare<Gt, T>();
    t["setp.ge." + type] = compare<Ge, T>();
}

void addUnordered(Opcodes &t) {
    t["setp.equ.f64"] = compare<Equ, double>();
    t["setp.neu.f64"] = compare<Neu, double>();
    t["setp.ltu.f64"] = compare<Ltu, double>();
    t["setp.leu.f64"] = compare<Leu, double>();
    t["setp.gtu.f64"] = compare<Gtu, double>();
    t["setp.geu.f64"] = compare<Geu, double>();
    t["setp.num.f64"] = compare<Num, double>();
    t["setp.nan.f64"] = compare<Nan, double>();
}

} // namespace

void addArithmetic(Opcodes &t) {
    addFloats(t);
    addInts<i32, i64>(t, "s32");
    addInts<u32, u64>(t, "u32");
    addInts<i64, i64>(t, "s64");
    addInts<u64, u64>(t, "u64");
    addBits<u32>(t, "b32");
    addBits<u64>(t, "b64");
    addComparisons<double>(t, "f64");
    addComparisons<i32>(t, "s32");
    addComparisons<u32>(t, "u32");
    addComparisons<i64>(t, "s64");
    addComparisons<u64>(t, "u64");
    addUnordered(t);
    t["and.pred"] = {op2<And, u8, u8, u8>, "PPP"};
    t["or.pred"] = {op2<Or, u8, u8, u8>, "PPP"};
    t["xor.pred"] = {op2<Xor, u8, u8, u8>, "PPP"};
    t["not.pred"] = {op1<NotPred, u8, u8>, "PP"};
    t["mov.pred"] = {op1<Move, u8, u8>, "PP"};
}

} // namespace ptx
