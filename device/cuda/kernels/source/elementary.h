// exp, log, sqrt, sine and cosine without a library.
#pragma once
#include "platform.h"

DEVICE i64 bitsOf(double x) { return __builtin_bit_cast(i64, x); }
DEVICE double fromBits(i64 b) { return __builtin_bit_cast(double, b); }
DEVICE bool isFinite(double x) { return ((bitsOf(x) >> 52) & 0x7ff) != 0x7ff; }
DEVICE double squareRoot(double x) { return __builtin_sqrt(x); }

// expNegative returns eˣ for x ≤ 0, within 1 ulp on [−708, 0]; exactly 1 at 0; 0
// below −708 (where results near the subnormals begin); NaN for NaN.
//
// x = m·ln 2 + r with |r| ≤ ½ ln 2, ln 2 in two parts (Cody & Waite, Software
// Manual for the Elementary Functions, 1980, ch. 6), eʳ by its Taylor
// polynomial of degree 13 (remainder < 5e-18), the exponent put in by its bits.
// The parts of ln 2 and the bias 3·2⁵¹, which leaves round(x/ln 2) in the low
// word, are those of fdlibm.
DEVICE double expNegative(double x) {
    const double bias = 0x1.8p52;
    double shifted = __builtin_fma(x, 0x1.71547652b82fep+0, bias);
    double m = shifted - bias;
    double r = __builtin_fma(m, -0x1.62e42fee00000p-1, x);
    r = __builtin_fma(m, -0x1.a39ef35793c76p-33, r);
    double p = 1.0 / 6227020800.0;
    p = __builtin_fma(p, r, 1.0 / 479001600.0);
    p = __builtin_fma(p, r, 1.0 / 39916800.0);
    p = __builtin_fma(p, r, 1.0 / 3628800.0);
    p = __builtin_fma(p, r, 1.0 / 362880.0);
    p = __builtin_fma(p, r, 1.0 / 40320.0);
    p = __builtin_fma(p, r, 1.0 / 5040.0);
    p = __builtin_fma(p, r, 1.0 / 720.0);
    p = __builtin_fma(p, r, 1.0 / 120.0);
    p = __builtin_fma(p, r, 1.0 / 24.0);
    p = __builtin_fma(p, r, 1.0 / 6.0);
    p = __builtin_fma(p, r, 0.5);
    p = __builtin_fma(p, r, 1.0);
    p = __builtin_fma(p, r, 1.0);
    i64 exponent = (i64)(int)bitsOf(shifted);
    double e = p * fromBits((i64)((unsigned long long)(exponent + 1023) << 52));
    if (x >= -708.0) {
        return e;
    }
    return x < -708.0 ? 0.0 : x;
}

// logPositive returns log x within 1 ulp; −∞ for 0, NaN for x < 0.
//
// x = 2ᵐ(1+f), √½ < 1+f ≤ √2, s = f/(2+f), log(1+f) = f − (f²/2 − s(f²/2 + R(s²))):
// __ieee754_log of fdlibm (Sun Microsystems, 1993), coefficients Lg1 … Lg7.
DEVICE double logPositive(double x) {
    if (!(x > 0.0)) {
        return x == 0.0 ? -__builtin_inf() : __builtin_nan("");
    }
    if (!isFinite(x)) {
        return x;
    }
    i64 m = 0;
    if (x < 0x1p-1022) {
        x *= 0x1p54;
        m = -54;
    }
    i64 bits = bitsOf(x);
    m += (bits >> 52) - 1023;
    double y = fromBits((bits & 0xfffffffffffffLL) | 0x3ff0000000000000LL);
    if (y > 0x1.6a09e667f3bcdp+0) {
        y *= 0.5;
        m++;
    }
    double f = y - 1.0, s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
    double r = 1.479819860511658591e-01;
    r = __builtin_fma(r, z, 1.531383769920937332e-01);
    r = __builtin_fma(r, z, 1.818357216161805012e-01);
    r = __builtin_fma(r, z, 2.222219843214978396e-01);
    r = __builtin_fma(r, z, 2.857142874366239149e-01);
    r = __builtin_fma(r, z, 3.999999999940941908e-01);
    r = __builtin_fma(r, z, 6.666666666666735130e-01);
    r *= z;
    double dm = (double)m;
    return dm * 6.93147180369123816490e-01 - ((half - (s * (half + r) + dm * 1.90821492927058770002e-10)) - f);
}

// logOnePlus returns log(1 + t) for t ≥ 0 within 2 ulp: the logarithm of the rounded
// sum, and what rounding lost of it, divided by it.
DEVICE double logOnePlus(double t) {
    double u = 1.0 + t, l = logPositive(u);
    double back = u - t, lost = (t - (u - back)) + (1.0 - back);
    return isFinite(u) ? l + lost / u : u;
}

struct Turn {
    double sin, cos;
};

// turn returns sin πu and cos πu, up to a sign that they share, which their squares
// and their product do not have. u − round(u) is exact. The polynomials in its
// square and their errors are those of package internal/vec.
DEVICE Turn turn(double u) {
    double r = u - __builtin_rint(u), z = r * r;
    double s = 0x1.9d462020fcc78p-21, c = 0x1.179a329ef4140p-18;
    s = __builtin_fma(s, z, -0x1.6f7acdb8f6580p-16);
    s = __builtin_fma(s, z, 0x1.e8f3675ee37ddp-12);
    s = __builtin_fma(s, z, -0x1.e3074dfaf87afp-8);
    s = __builtin_fma(s, z, 0x1.5078348551854p-4);
    s = __builtin_fma(s, z, -0x1.32d2cce627c86p-1);
    s = __builtin_fma(s, z, 0x1.466bc6775aa7dp+1);
    s = __builtin_fma(s, z, -0x1.4abbce625be52p+2);
    s = __builtin_fma(s, z, 0x1.921fb54442d18p+1);
    c = __builtin_fma(c, z, -0x1.b6a6feabe52e9p-14);
    c = __builtin_fma(c, z, 0x1.f9d2c1f3b2167p-10);
    c = __builtin_fma(c, z, -0x1.a6d1f12b0bef2p-6);
    c = __builtin_fma(c, z, 0x1.e1f5068620bcbp-3);
    c = __builtin_fma(c, z, -0x1.55d3c7e3c9051p+0);
    c = __builtin_fma(c, z, 0x1.03c1f081b5a9fp+2);
    c = __builtin_fma(c, z, -0x1.3bd3cc9be45dep+2);
    return {r * s, __builtin_fma(c, z, 1.0)};
}

constexpr double Pi = 0x1.921fb54442d18p+1;
