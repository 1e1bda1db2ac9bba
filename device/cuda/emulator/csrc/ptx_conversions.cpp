// Instructions that convert: cvt, cvta.
#include "ptx_arithmetic.h"

#include <cmath>
#include <limits>

namespace ptx {

namespace {

template <class D> struct To {
    template <class A> static D of(A a) { return static_cast<D>(a); }
};

struct Nearest {
    static double of(double a) { return std::nearbyint(a); } // to even
};
struct Zero {
    static double of(double a) { return std::trunc(a); }
};
struct Down {
    static double of(double a) { return std::floor(a); }
};
struct Up {
    static double of(double a) { return std::ceil(a); }
};

// ToInt rounds and clamps to the range; a NaN yields the highest bit.
template <class Round, class D> struct ToInt {
    static D of(double a) {
        constexpr double low = static_cast<double>(std::numeric_limits<D>::min());
        constexpr double high = sizeof(D) == 8 ? (std::is_signed_v<D> ? 0x1p63 : 0x1p64) : static_cast<double>(std::numeric_limits<D>::max());
        double r = Round::of(a);
        if (a != a) {
            return static_cast<D>(D(1) << (8 * sizeof(D) - 1));
        }
        if (r <= low) {
            return std::numeric_limits<D>::min();
        }
        return r >= high ? std::numeric_limits<D>::max() : static_cast<D>(r);
    }
};

template <class D, class A> void integer(Opcodes &t, const std::string &d, const std::string &a) {
    const char *s = sizeof(D) == 8 ? (sizeof(A) == 8 ? "QQ" : "QW") : (sizeof(A) == 8 ? "WQ" : "WW");
    t["cvt." + d + "." + a] = {op1<To<D>, D, A>, s};
}

template <class D> void fromIntegers(Opcodes &t, const std::string &d) {
    integer<D, i32>(t, d, "s32");
    integer<D, u32>(t, d, "u32");
    integer<D, i64>(t, d, "s64");
    integer<D, u64>(t, d, "u64");
}

template <class Round> void rounded(Opcodes &t, const std::string &mode) {
    t["cvt." + mode + ".f64.f64"] = {op1<Round, double, double>, "DD"};
    t["cvt." + mode + ".s32.f64"] = {op1<ToInt<Round, i32>, i32, double>, "WD"};
    t["cvt." + mode + ".u32.f64"] = {op1<ToInt<Round, u32>, u32, double>, "WD"};
    t["cvt." + mode + ".s64.f64"] = {op1<ToInt<Round, i64>, i64, double>, "QD"};
    t["cvt." + mode + ".u64.f64"] = {op1<ToInt<Round, u64>, u64, double>, "QD"};
}

// A generic address is an address in a space with the tag of the space.
template <u64 Tag> struct Tagged {
    static u64 of(u64 a) { return a + Tag; }
};
template <u64 Tag> struct Untagged {
    static u64 of(u64 a) { return a - Tag; }
};

template <u64 Tag> void space(Opcodes &t, const std::string &name) {
    t["cvta." + name + ".u64"] = {op1<Tagged<Tag>, u64, u64>, "QQ"};
    t["cvta.to." + name + ".u64"] = {op1<Untagged<Tag>, u64, u64>, "QQ"};
}

} // namespace

void addConversions(Opcodes &t) {
    fromIntegers<i32>(t, "s32");
    fromIntegers<u32>(t, "u32");
    fromIntegers<i64>(t, "s64");
    fromIntegers<u64>(t, "u64");
    t["cvt.rn.f64.s32"] = {op1<To<double>, double, i32>, "DW"};
    t["cvt.rn.f64.u32"] = {op1<To<double>, double, u32>, "DW"};
    t["cvt.rn.f64.s64"] = {op1<To<double>, double, i64>, "DQ"};
    t["cvt.rn.f64.u64"] = {op1<To<double>, double, u64>, "DQ"};
    t["cvt.f64.f32"] = {op1<To<double>, double, float>, "DH"};
    t["cvt.rn.f32.f64"] = {op1<To<float>, float, double>, "HD"};
    rounded<Nearest>(t, "rni");
    rounded<Zero>(t, "rzi");
    rounded<Down>(t, "rmi");
    rounded<Up>(t, "rpi");
    space<0>(t, "global");
    space<0>(t, "const");
    space<SharedTag>(t, "shared");
    space<LocalTag>(t, "local");
}

} // namespace ptx
