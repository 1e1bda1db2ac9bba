// Bits of numbers, and the logarithm, without any library.
#pragma once
#include "platform.h"

DEVICE i64 bitsOf(double x) { return __builtin_bit_cast(i64, x); }
DEVICE double fromBits(i64 b) { return __builtin_bit_cast(double, b); }
DEVICE bool isFinite(double x) { return ((bitsOf(x) >> 52) & 0x7ff) != 0x7ff; }

// logPositive returns log x within 1 ulp, −∞ for 0, and NaN for x < 0.
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
