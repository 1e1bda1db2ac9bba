package vec

// The exponential: with k a multiple of 1/16 next to x·log₂e and
// r = x − k·ln 2, so that |r| ≤ ln 2/32,
//
//	eˣ = 2^⌊k⌋ · 2^(k−⌊k⌋) · (1 + r + r²·q(r)),
//
// the middle factor from a table (P. T. P. Tang, Table-driven implementation
// of the exponential function in IEEE floating-point arithmetic, ACM TOMS 15,
// 1989). AVX2, where a look-up is dear, takes k a multiple of 1 and a longer q.
// The polynomials minimise the largest relative error of the last factor; they
// were computed by the exchange algorithm of Remez in 60 digits and rounded.
const (
	log2E = 0x1.71547652b82fep+0
	// ln2Hi + ln2Lo is ln 2 to 90 bits; k·ln2Hi is exact for |k| < 2¹¹.
	ln2Hi = 0x1.62e42fefap-1
	ln2Lo = 0x1.cf79abc9e3b3ap-40
	// Adding one of these leaves a multiple of 1/16, or of 1, next to a number
	// below 2³² in the last bits of the sum.
	magic16 = 0x1.8p48
	magic1  = 0x1.8p52
	// Below expMin, e^x rounds to 0; above expMax it overflows.
	expMin = -750
	expMax = 720
	// From rootMax on, a polynomial of degree 2 with moderate coefficients
	// times e^−t rounds to 0.
	rootMax = 800
)

// expSmall holds q for |r| ≤ ln 2/32: relative error 2e-20. One degree less
// would leave 1.2e-17, a tenth of a unit in the last place.
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
