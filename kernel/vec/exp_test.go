package vec

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"gpfit/internal/isa"
	"gpfit/internal/testcheck"
)

// maxULP bounds the error of e^x in units in the last place of the exact value.
const maxULP = 1.1

const bigPrec = 200

// long returns a number of cases, more of them if GPFIT_LONG is set.
func long(brief, full int) int {
	if testcheck.Long() {
		return full
	}
	return brief
}

// π and ln 2, from tables.
var (
	bigPi  = fromTable("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
	bigLn2 = fromTable("0.693147180559945309417232121458176568075500134360255254120680009493393621969694716")
)

func fromTable(digits string) *big.Float {
	x, _ := new(big.Float).SetPrec(bigPrec).SetString(digits)
	return x
}

// bigExp returns eˣ to far more digits than a float64 holds: eˣ = 2ⁿ·(eʳ)^256
// with r = (x − n·ln 2)/256 and the series for eʳ.
func bigExp(x float64) *big.Float {
	n := math.Round(x / math.Ln2)
	f := func() *big.Float { return new(big.Float).SetPrec(bigPrec) }
	r := f().SetFloat64(x)
	r.Sub(r, f().Mul(bigLn2, f().SetFloat64(n)))
	r.SetMantExp(r, -8)
	sum, term := f().SetInt64(1), f().SetInt64(1)
	for k := int64(1); k <= 18; k++ {
		term.Mul(term, r)
		term.Quo(term, f().SetInt64(k))
		sum.Add(sum, term)
	}
	for range 8 {
		sum.Mul(sum, sum)
	}
	return sum.SetMantExp(sum, int(n))
}

// ulps returns |got − want| in units in the last place that a float64 next to want has.
func ulps(got float64, want *big.Float) float64 {
	if math.IsInf(got, 0) || math.IsNaN(got) || want.Sign() == 0 && got != 0 {
		return math.Inf(1)
	}
	e := max(want.MantExp(nil)-53, -1074)
	diff := new(big.Float).SetPrec(bigPrec).SetFloat64(got)
	diff.Sub(diff, want)
	out, _ := diff.SetMantExp(diff, -e).Float64()
	return math.Abs(out)
}

// forVariants runs f once with every variant in use.
func forVariants(t *testing.T, f func(t *testing.T)) {
	eachVariant(func(name string) { t.Run(name, f) })
}

// eachVariant calls f with the name of each variant while it is in use.
func eachVariant(f func(name string)) {
	defer func(v isa.Variant) { active = v }(active)
	for _, v := range isa.Supported() {
		if active = choose(v, nil); active == v {
			f(v.String())
		}
	}
}

// TestBig compares the functions in high precision with numbers from tables.
func TestBig(t *testing.T) {
	for _, c := range []struct {
		got  *big.Float
		want string
	}{
		{bigExp(1), "2.7182818284590452353602874713526624977572"},
		{bigExp(-745), "2.8223507304719370763534400820597826208244e-324"},
		{bigExp(0.0625), "1.0644944589178594295633905946428896731008"},
		{bigLog(2), "0.69314718055994530941723212145817656807550013436026"},
		{bigLog(0x1p-1074), "-744.44007192138126231410729844608163411309158433"},
		{bigLog1p(1), "0.69314718055994530941723212145817656807550013436026"},
		{bigLog1p(0x1p-30), "9.313225741817976469000627485243784799077905107616073198e-10"},
		{bigTanh(1), "0.76159415595576488811945828260479359041276859725794"},
		{bigArcsine(bigFloat(0.5)), "0.52359877559829887307710723054658381403286156656252"},
		{bigArcsine(bigFloat(1)), "1.5707963267948966192313216916397514420985846996876"},
		{bigArcsine(bigFloat(-0.75)), "-0.848062078981481008052944338998418080073366213263"},
		{bigSinTurns(0.125), "0.70710678118654752440084436210484903928483593768847"},
		{bigCosTurns(1e9 + 0.375), "-0.70710678118654752440084436210484903928483593768847"},
	} {
		want := fromTable(c.want)
		diff := new(big.Float).Sub(c.got, want)
		if diff.Quo(diff, want); diff.Abs(diff).Cmp(big.NewFloat(1e-36)) > 0 {
			t.Errorf("%.45g, want %s", c.got, c.want)
		}
	}
}

// expPoints returns arguments all over the range, dense near 0, at the edges of the reductions (odd
// multiples of ln 2/32), near overflow and among the subnormal results.
func expPoints() []float64 {
	rng := rand.New(rand.NewPCG(11, 12))
	var x []float64
	count := long(500, 8000)
	for range count {
		x = append(x,
			-745*rng.Float64(), 709.7*rng.Float64(), 2*rng.Float64()-1,
			-math.Exp(40*rng.Float64()-38), math.Exp(36*rng.Float64()-36), -708-38*rng.Float64())
		edge := float64(2*rng.IntN(20000)-20000+1) * math.Ln2 / 32
		x = append(x, min(edge+1e-9*rng.NormFloat64(), 709))
	}
	for i := -1074; i <= 1023; i++ {
		v := float64(i) * math.Ln2
		x = append(x, v, math.Nextafter(v, 0), math.Nextafter(v, math.Inf(-1)))
	}
	for i := range 60 {
		v := math.Ldexp(1, -i)
		x = append(x, v, -v, math.Nextafter(v, 1), -math.Nextafter(v, 1))
	}
	return append(x, 709.782712893384, 709.78271, -745.1332191019411, -745.13, -744.5, -708.3964185322641, -708.4)
}

func TestExpSpecial(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	forVariants(t, func(t *testing.T) {
		for _, c := range []struct{ x, want float64 }{
			{0, 1}, {math.Copysign(0, -1), 1}, {-inf, 0}, {inf, inf}, {nan, nan},
			{1e300, inf}, {-1e300, 0}, {709.7827128933841, inf},
			{-745.1332191019411, 5e-324}, {-745.1332191019412, 0}, {-750, 0}, {-749.9, 0}, {710, inf}, {720, inf},
			{1e-320, 1}, {-1e-320, 1}, {-1e-17, 1},
		} {
			// Test each value in every lane, next to ordinary values.
			for n := 1; n <= 17; n++ {
				x, got := make([]float64, n), make([]float64, n)
				for i := range n {
					clear(x)
					x[i] = c.x
					ExpScaled(got, x, 1, 1)
					for j, v := range got {
						want := 1.0
						if j == i {
							want = c.want
						}
						if v != want && !(v != v && want != want) {
							t.Fatalf("exp(%v) at %d of %d: element %d is %v, want %v", c.x, i, n, j, v, want)
						}
					}
				}
			}
		}
	})
}
