package vec

import "math"

// expConst holds the constants for the assembly, each repeated over the lanes of an
// AVX2 vector. The order must match internal/gen/exp.go.
var expConst [99][4]float64

func init() {
	scalars := []float64{
		log2E, ln2Hi, ln2Lo, magic16, magic1, 1, expMin, expMax, rootMax,
		math.Float64frombits(1023), // added to an exponent of 2, as an integer
	}
	scalars = append(scalars, expSmall[:]...)
	scalars = append(scalars, expLarge[:]...)
	scalars = append(scalars, sinTurn[:]...)
	scalars = append(scalars, cosTurn[:]...)
	scalars = append(scalars, logPoly[:]...)
	scalars = append(scalars, 2, 0.5, math.MaxFloat64, 0x1p52+1023)
	for _, bits := range []uint64{
		oneBits - halfRootBits, halfRootBits, 1<<52 - 1,
		0x433 << 52, // as the upper bits of an integer below 2⁵², it adds 2⁵²
	} {
		scalars = append(scalars, math.Float64frombits(bits))
	}
	scalars = append(scalars, smallestNormal, upFactor, upPower, math.Inf(-1), math.NaN(), math.Float64frombits(1<<63-1))
	scalars = append(scalars, atanhPoly[:]...)
	scalars = append(scalars, third, thirdLo, -0x1p-20, 0x1p-20, math.Inf(1))
	scalars = append(scalars, tanhTop[:]...)
	scalars = append(scalars, tanhBottom[:]...)
	scalars = append(scalars, tanhSmall, tanhOne, -2)
	scalars = append(scalars, arcsineTop[:]...)
	scalars = append(scalars, arcsineBottom[:]...)
	scalars = append(scalars, quarterTurn, quarterTurnLo)
	for i, c := range scalars {
		expConst[i] = [4]float64{c, c, c, c}
	}
}

// expLarge holds q for |r| ≤ ln 2/2, with a relative error of 1.1e-17.
var expLarge = [10]float64{
	0x1.000000000000ap-1, 0x1.55555555554f9p-3, 0x1.555555555083ep-5, 0x1.1111111127d0fp-7, 0x1.6c16c18438afcp-10,
	0x1.a01a012a0efd2p-13, 0x1.a01999e265350p-16, 0x1.71df25b39220cp-19, 0x1.28ad9b83c1163p-22, 0x1.ad7f3e1102a20p-26,
}
