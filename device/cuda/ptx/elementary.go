package ptx

import (
	"math"
	"slices"

	"gpfit/kernel/oplist"
)

// expPolynomial are the coefficients of (eʳ − 1 − r)/r² for |r| ≤ ½ ln 2, highest
// first: 1/2, 1/6 and a fit that minimizes the relative error of eʳ, 6.2e-18.
var expPolynomial = []float64{
	0x1.ada71bb20750ep-26, 0x1.289c0005e391cp-22, 0x1.71dee944309afp-19, 0x1.a019af048b04ap-16, 0x1.a01a015a5e626p-13,
	0x1.6c16c17b6c8e8p-10, 0x1.1111111119571p-7, 0x1.55555555536c5p-5, 0x1.5555555555555p-3, 0.5,
}

// reduced returns m and r for x = m·ln 2 + r with |r| ≤ ½ ln 2, with ln 2 in two parts (Cody &
// Waite, Software Manual for the Elementary Functions, 1980, ch. 6). whole is m, in 32 bits. The
// bias 3·2⁵¹ leaves round(x/ln 2) in the low word. The bias and the parts of ln 2 come from fdlibm.
func reduced(w *arithmetic, x vec) (whole, r vec) {
	const bias = 0x1.8p52
	shifted := w.fma(x, 0x1.71547652b82fep+0, bias)
	m := w.sub(shifted, bias)
	r = w.fma(m, -0x1.62e42fee00000p-1, x)
	return w.each("cvt.u32.u64", w.each("mov.b64", shifted)), w.fma(m, -0x1.a39ef35793c76p-33, r)
}

// power2 returns 2^m for integers −1022 ≤ m ≤ 1023; its result for other m must not be used.
func power2(w *arithmetic, m vec) vec {
	high := w.each("shl.b32", w.each("add.s32", m, "1023"), "20")
	out := make(vec, len(m))
	for p := range m {
		out[p] = w.reg('d')
		w.put("mov.b64 %s, {%s, %s}", out[p], "0", high[p])
	}
	return out
}

// leastExp is the least argument whose exponential does not count as 0; below it,
// results approach the subnormal numbers.
const leastExp = -708

// expRaw returns eˣ for −708 ≤ x ≤ 709, within 1 ulp and exactly 1 at 0, NaN for NaN,
// and any number for other x.
func (w *arithmetic) expRaw(x vec) vec {
	m, r := reduced(w, x)
	p := w.polynomial(r, append(expPolynomial[:len(expPolynomial):len(expPolynomial)], 1, 1)...)
	return w.mul(p, power2(w, m))
}

// expNegative returns eˣ for x ≤ 0, and 0 below −708.
func (w *arithmetic) expNegative(x vec) vec {
	small := w.is("lt", x, float64(leastExp))
	return w.choose(0.0, w.expRaw(x), small)
}

// exp returns eˣ·(1+c) for any x and small c, correctly if it overflows and nearly so
// if it is subnormal; c may be nil.
func (w *arithmetic) exp(x, c vec) vec {
	x = w.choose(710.0, x, w.is("gt", x, 710.0))
	x = w.choose(-750.0, x, w.is("lt", x, -750.0))
	m, r := reduced(w, x)
	if c != nil {
		r = w.add(r, c)
	}
	p := w.polynomial(r, append(expPolynomial[:len(expPolynomial):len(expPolynomial)], 1, 1)...)
	half := w.each("shr.s32", m, "1")
	return w.mul(w.mul(p, power2(w, half)), power2(w, w.each("sub.s32", m, half)))
}

// logParts returns the parts of log x = high + (f − low) for 0 < x < ∞; its result for
// other x must not be used.
//
// It uses x = 2ᵐ(1+f), √½ < 1+f ≤ √2, s = f/(2+f), log(1+f) = f − (f²/2 − s(f²/2 +
// R(s²))): __ieee754_log of fdlibm (Sun Microsystems, 1993), coefficients Lg1 … Lg7.
func logParts(w *arithmetic, x vec) (high, f, low vec) {
	subnormal := w.is("lt", x, 0x1p-1022)
	x = w.choose(w.mul(x, 0x1p54), x, subnormal)
	bits := w.each("mov.b64", x)
	top := w.each("cvt.u32.u64", w.each("shr.u64", bits, "32"))
	// A mantissa above √2 is treated as one below 1.
	top = w.each("add.s32", top, "0x95f62") // 2²⁰ − the first bits of √2
	m := w.each("sub.s32", w.each("shr.u32", top, "20"), w.each("selp.b32", "1077", "1023", subnormal))
	top = w.each("add.s32", w.each("and.b32", top, "0xfffff"), "0x3fe6a09e")
	y := make(vec, len(x))
	for p := range x {
		y[p] = w.reg('d')
		w.put("mov.b64 %s, {%s, %s}", y[p], w.do("cvt.u32.u64", bits[p]), top[p])
	}
	f = w.sub(y, 1.0)
	s := w.each("div.rn.f64", f, w.add(f, 2.0))
	z, half := w.mul(s, s), w.mul(w.mul(f, 0.5), f)
	r := w.mul(z, w.polynomial(z, 1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01,
		2.222219843214978396e-01, 2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01))
	exponent := w.each("cvt.rn.f64.s32", m)
	low = w.sub(half, w.fma(s, w.add(half, r), w.mul(exponent, 1.90821492927058770002e-10)))
	return w.mul(exponent, 6.93147180369123816490e-01), f, low
}

// log returns log x within 1 ulp, −∞ for 0, and NaN for x < 0.
func (w *arithmetic) log(x vec) vec {
	high, f, low := logParts(w, x)
	out := w.sub(high, w.sub(low, f))
	out = w.choose(math.Inf(-1), out, w.is("eq", x, 0.0))
	// Arguments that are not below ∞, which are ∞ and NaN, are their own result.
	out = w.choose(out, x, w.is("lt", x, math.Inf(1)))
	return w.choose(math.NaN(), out, w.is("lt", x, 0.0))
}

// logOnePlus returns log(1 + t) for t ≥ 0 within 2 ulp: the logarithm of the rounded
// sum, plus the rounding error of the sum divided by the sum.
func logOnePlus(w *arithmetic, t vec) vec {
	u := w.add(t, 1.0)
	high, f, low := logParts(w, u)
	back := w.sub(u, t)
	lost := w.add(w.sub(t, w.sub(u, back)), w.sub(1.0, back))
	out := w.add(w.sub(high, w.sub(low, f)), w.each("div.rn.f64", lost, u))
	return w.choose(out, u, w.is("lt", u, math.Inf(1)))
}

// powerOf returns a^b for a ≥ 0 and the same b for all pairs: e^(b·log a), with the logarithm and
// the product in two parts each, so that |b·log a| does not multiply the error.
func powerOf(w *arithmetic, a vec, b string) vec {
	high, f, low := logParts(w, a)
	sum := w.add(high, f)
	lost := w.sub(f, w.sub(sum, high)) // |high| ≥ |f|, or high is 0
	l := w.sub(sum, low)
	rest := w.add(w.sub(w.sub(sum, l), low), lost)
	l = w.choose(math.Inf(-1), l, w.is("eq", a, 0.0))
	l = w.choose(l, a, w.is("lt", a, math.Inf(1)))
	l = w.choose(math.NaN(), l, w.is("lt", a, 0.0))
	h := w.mul(l, b)
	c := w.fma(l, b, w.neg(h))
	c = w.fma(rest, b, c)
	finite := w.is("lt", w.each("abs.f64", h), math.Inf(1))
	out := w.exp(h, w.choose(c, 0.0, finite))
	return w.choose(1.0, out, w.each("setp.eq.f64", slices.Repeat(vec{b}, len(a)), 0.0))
}

// turn returns sin πu and, if cosine is set, cos πu, up to a common sign, which cancels
// in their squares and in their product. u − round(u) is exact. The polynomials in its
// square, with their errors, are kernel/vec's.
func (w *arithmetic) turn(u vec, cosine bool) (sin, cos vec) {
	r := w.sub(u, w.each("cvt.rni.f64.f64", u))
	z := w.mul(r, r)
	sin = w.mul(r, w.polynomial(z, 0x1.9d462020fcc78p-21, -0x1.6f7acdb8f6580p-16, 0x1.e8f3675ee37ddp-12, -0x1.e3074dfaf87afp-8,
		0x1.5078348551854p-4, -0x1.32d2cce627c86p-1, 0x1.466bc6775aa7dp+1, -0x1.4abbce625be52p+2, 0x1.921fb54442d18p+1))
	if cosine {
		cos = w.polynomial(z, 0x1.179a329ef4140p-18, -0x1.b6a6feabe52e9p-14, 0x1.f9d2c1f3b2167p-10, -0x1.a6d1f12b0bef2p-6,
			0x1.e1f5068620bcbp-3, -0x1.55d3c7e3c9051p+0, 0x1.03c1f081b5a9fp+2, -0x1.3bd3cc9be45dep+2, 1)
	}
	return sin, cos
}

// tanhOf returns tanh a within 4 ulp. With E = e^(−2|a|) − 1, which keeps its digits near
// 0, it is −E/(2 + E) with the sign of a.
func tanhOf(w *arithmetic, a vec) vec {
	x := w.mul(w.each("abs.f64", a), -2.0)
	x = w.choose(float64(leastExp), x, w.is("lt", x, float64(leastExp)))
	m, r := reduced(w, x)
	q := w.fma(w.mul(r, r), w.polynomial(r, expPolynomial...), r)
	scale := power2(w, m)
	e := w.fma(q, scale, w.sub(scale, 1.0))
	t := w.each("div.rn.f64", e, w.add(e, 2.0)) // tanh(−|a|)
	return w.choose(t, w.neg(t), w.is("lt", a, 0.0))
}

// arcsineOf returns arcsin a within 3 ulp, NaN outside [−1, 1]. For |a| ≥ ½ it is π/2 − 2
// arcsin √((1 − |a|)/2): __ieee754_asin of fdlibm, coefficients pS0 … qS4.
func arcsineOf(w *arithmetic, a vec) vec {
	size := w.each("abs.f64", a)
	small := w.is("lt", size, 0.5)
	z := w.choose(w.mul(a, a), w.fma(size, -0.5, 0.5), small)
	s := w.choose(size, w.each("sqrt.rn.f64", z), small)
	p := w.polynomial(z, 3.47933107596021167570e-05, 7.91534994289814532176e-04, -4.00555345006794114027e-02,
		2.01212532134862925881e-01, -3.25565818622400915405e-01, 1.66666666666666657415e-01)
	q := w.polynomial(z, 7.70381505559019352791e-02, -6.88283971605453293030e-01, 2.02094576023350569471e+00, -2.40339491173441421878e+00, 1)
	t := w.fma(s, w.each("div.rn.f64", w.mul(z, p), q), s)
	far := w.add(w.fma(t, -2.0, 1.57079632679489655800e+00), 6.12323399573676603587e-17)
	t = w.choose(t, far, small)
	return w.choose(w.neg(t), t, w.is("lt", a, 0.0))
}

// erfOf returns erf a within 4 ulp. For |a| < 1 it is a·P(a²). Up to 6, where it rounds to 1, it is 1 −
// e^(−a²)·Q(s) with s = 14.4/(|a| + 3) − 2.6, from −1 at 6 to 1 at 1. P and Q interpolate at the
// Chebyshev points, with errors of 8e-18 of P and 1e-17 in the result.
func erfOf(w *arithmetic, a vec) vec {
	size := w.each("abs.f64", a)
	near := w.mul(size, w.polynomial(w.mul(a, a), -0x1.ac9585a44fe29p-31, 0x1.d76af6ca49787p-27, -0x1.5c131500d3f88p-23,
		0x1.b981d78881a5dp-20, -0x1.f4ca838adb73bp-17, 0x1.f9a2be4f731a1p-14, -0x1.c02db0665e53dp-11, 0x1.565bccfa44156p-8,
		-0x1.b82ce31203772p-6, 0x1.ce2f21a040f66p-4, -0x1.812746b0379c1p-2, 0x1.20dd750429b6dp+0))
	capped := w.choose(6.0, size, w.is("gt", size, 6.0))
	s := w.fma(w.each("rcp.rn.f64", w.add(capped, 3.0)), 14.4, -2.6)
	q := w.polynomial(s, -0x1.a96e3796db3b5p-38, -0x1.034f29d25988bp-32, 0x1.220fc67b62cb2p-32, 0x1.849dbc4cd42d5p-27,
		0x1.3712b03ce1662p-28, -0x1.297bf276e7215p-21, -0x1.458d85315fea3p-19, 0x1.4838eb8e21270p-16, 0x1.5bb5fdef5d014p-12,
		0x1.44f7ff174720cp-9, 0x1.a0959cca86054p-7, 0x1.972131b56af70p-5, 0x1.3c21b61aee88ap-3, 0x1.a9f324d321d57p-3)
	far := w.fma(w.neg(q), w.expRaw(w.mul(capped, w.neg(capped))), 1.0)
	out := w.choose(near, far, w.is("lt", size, 1.0))
	return w.choose(w.neg(out), out, w.is("lt", a, 0.0))
}

// sincOf returns the Sinc of order n as [oplist.SincOf] does, from sine and cosine of half the angle.
func sincOf(w *arithmetic, a vec, n int) vec {
	z := w.mul(a, a)
	near := w.polynomial(z, oplist.SincSeries(n)...)
	sin, cos := w.turn(w.mul(a, 1/(2*math.Pi)), true)
	before := w.fma(w.mul(sin, -2.0), sin, 1.0)
	out := w.each("div.rn.f64", w.mul(w.mul(sin, 2.0), cos), a)
	for k := range n {
		out, before = w.each("div.rn.f64", w.sub(w.mul(out, float64(2*k+1)), before), z), out
	}
	out = w.choose(0.0, out, w.is("eq", w.each("abs.f64", a), math.Inf(1)))
	return w.choose(near, out, w.is("le", z, oplist.SincNear(n)))
}
