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
