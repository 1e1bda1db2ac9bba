package vec

// The exponential. With k the multiple of 1/16 nearest to x·log₂e and r = x − k·ln
// 2, so that |r| ≤ ln 2/32,
//
//	eˣ = 2^⌊k⌋ · 2^(k−⌊k⌋) · (1 + r + r²·q(r)),
//
// where the middle factor comes from a table (P. T. P. Tang, Table-driven
// implementation of the exponential function in IEEE floating-point arithmetic, ACM
// TOMS 15, 1989). On AVX2, where a look-up is expensive, k is an integer and q is
// longer. The polynomials minimize the largest relative error of the last factor;
// the Remez exchange algorithm computed them in 60 digits, and they were rounded.
const (
	log2E = 0x1.71547652b82fep+0
	// ln2Hi + ln2Lo is ln 2 to 90 bits; k·ln2Hi is exact for |k| < 2¹¹.
	ln2Hi = 0x1.62e42fefap-1
	ln2Lo = 0x1.cf79abc9e3b3ap-40
	// Adding magic16 or magic1 to a number below 2³² rounds it to a multiple of
	// 1/16 or of 1 and leaves that multiple in the last bits of the sum.
	magic16 = 0x1.8p48
	magic1  = 0x1.8p52
	// Below expMin, e^x rounds to 0; above expMax it overflows.
	expMin = -750
	expMax = 720
	// From rootMax on, a polynomial of degree 2 with moderate coefficients times e^−t rounds to 0.
	rootMax = 800
)

// expSmall holds q for |r| ≤ ln 2/32, with a relative error of 2e-20. With one
// degree less the error would be 1.2e-17, a tenth of a unit in the last place.
var expSmall = [6]float64{
	0x1.0000000000004p-1, 0x1.5555555555545p-3, 0x1.555555547fc94p-5,
	0x1.111111125cac3p-7, 0x1.6c184149f885fp-10, 0x1.a01911b22e453p-13,
}

// expTable[i] is 2^(i/16).
var expTable = [16]float64{
	0x1.0000000000000p+0, 0x1.0b5586cf9890fp+0, 0x1.172b83c7d517bp+0, 0x1.2387a6e756238p+0,
	0x1.306fe0a31b715p+0, 0x1.3dea64c123422p+0, 0x1.4bfdad5362a27p+0, 0x1.5ab07dd485429p+0,
	0x1.6a09e667f3bcdp+0, 0x1.7a11473eb0187p+0, 0x1.8ace5422aa0dbp+0, 0x1.9c49182a3f090p+0,
	0x1.ae89f995ad3adp+0, 0x1.c199bdd85529cp+0, 0x1.d5818dcfba487p+0, 0x1.ea4afa2a490dap+0,
}

// Sine and cosine of πr for |r| ≤ ½, with z = r²:
//
//	sin(πr) = r·S(z),   cos(πr) = 1 + z·C(z).
//
// The relative error of S is below 4e-19, the error of z·C below 2e-17. Both
// interpolate at Chebyshev nodes and were computed in 60 digits and rounded.
var (
	sinTurn = [9]float64{
		0x1.921fb54442d18p+1, -0x1.4abbce625be52p+2, 0x1.466bc6775aa7dp+1, -0x1.32d2cce627c86p-1, 0x1.5078348551854p-4,
		-0x1.e3074dfaf87afp-8, 0x1.e8f3675ee37ddp-12, -0x1.6f7acdb8f6580p-16, 0x1.9d462020fcc78p-21,
	}
	cosTurn = [8]float64{
		-0x1.3bd3cc9be45dep+2, 0x1.03c1f081b5a9fp+2, -0x1.55d3c7e3c9051p+0, 0x1.e1f5068620bcbp-3,
		-0x1.a6d1f12b0bef2p-6, 0x1.f9d2c1f3b2167p-10, -0x1.b6a6feabe52e9p-14, 0x1.179a329ef4140p-18,
	}
)

// The logarithm of 1 + t. With u = 1 + t rounded, u = 2^e·m, √½ ≤ m < √2, f = m − 1
// and s = f/(2 + f),
//
//	log m = f − (f²/2 − s·(f²/2 + R(s²))),
//
// plus the rounding error of u, divided by u. R comes from FreeBSD's e_log.c (Sun
// Microsystems, 1993); its error is below 2⁻⁵⁸.
var logPoly = [7]float64{
	6.666666666666735130e-01, 3.999999999940941908e-01, 2.857142874366239149e-01, 2.222219843214978396e-01,
	1.818357216161805012e-01, 1.531383769920937332e-01, 1.479819860511658591e-01,
}

const (
	// Adding oneBits − halfRootBits to the bits of a number moves the boundaries of
	// its exponent from powers of 2 to √½ times powers of 2.
	halfRootBits = 0x3fe6a09e << 32
	oneBits      = 0x3ff << 52
	// The logarithm of a number x below smallestNormal is log(upFactor·x) − upPower·log 2.
	smallestNormal = 0x1p-1022
	upFactor       = 0x1p54
	upPower        = 54
)

// Waves is the number of waves that [TurnWaves] and [WaveSums] take at a time. Number k
// of row i is at Waves·i + k. Both have the same bits in every variant on amd64.
const Waves = 8

// Powers take the logarithm as a sum of two numbers: with s as above and z = s²,
//
//	log m = 2s·(1 + z·(1/3 + z·q(z))).
//
// q interpolates at Chebyshev nodes and was computed in 60 digits and rounded. The error of z²·q is
// below 2⁻⁷⁰. third + thirdLo is 1/3.
var atanhPoly = [8]float64{
	0x1.999999999999ap-3, 0x1.2492492492522p-3, 0x1.c71c71c6ea5acp-4, 0x1.745d177ad436ap-4,
	0x1.3b1395b82701ep-4, 0x1.1118cd67251c5p-4, 0x1.df7ba1f4809c3p-5, 0x1.e03a7acf07f85p-5,
}

const third, thirdLo = 0x1.5555555555555p-2, 0x1.5555555555555p-56

// The hyperbolic tangent of x ≥ 0 is 1 − 2/(e^2x + 1), and below tanhSmall x + x·z·P(z)/Q(z) with
// z = x². P and Q, from the highest power down, without Q's leading 1, come from Cephes (S. L.
// Moshier, 1984–1992), as in package math. From tanhOne/2 on it rounds to 1.
var (
	tanhTop    = [3]float64{-9.64399179425052238628e-1, -9.92877231001918586564e1, -1.61468768441708447952e3}
	tanhBottom = [3]float64{1.12811678491632931402e2, 2.23548839060100448583e3, 4.84406305325125486048e3}
)

const tanhSmall, tanhOne = 0.625, 50

// The arcsine of 0 ≤ s ≤ ½ is s + s·z·P(z)/Q(z) with z = s², and the arcsine of a larger x is
// π/2 − 2·arcsin √((1 − x)/2). P and Q come from FreeBSD's e_asin.c (Sun Microsystems, 1993).
// quarterTurn + quarterTurnLo is π/2.
var (
	arcsineTop = [6]float64{
		1.66666666666666657415e-01, -3.25565818622400915405e-01, 2.01212532134862925881e-01,
		-4.00555345006794114027e-02, 7.91534994289814532176e-04, 3.47933107596021167570e-05,
	}
	arcsineBottom = [5]float64{1, -2.40339491173441421878e+00, 2.02094576023350569471e+00, -6.88283971605453293030e-01, 7.70381505559019352791e-02}
)

const quarterTurn, quarterTurnLo = 0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54
