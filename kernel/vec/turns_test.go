package vec

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// Error bounds: for log(1 + t) and sin²(πu) in units in the last place, for cosines
// and sines absolute.
const (
	maxLogULP  = 1.0
	maxSinULP  = 5.0
	maxTurnAbs = 1.2e-15
)

func bigFloat(x float64) *big.Float { return new(big.Float).SetPrec(bigPrec).SetFloat64(x) }

// bigSinTurns and bigCosTurns return sin(2πu) and cos(2πu) by the series after
// subtracting the nearest integer from u.
func bigSinTurns(u float64) *big.Float { return bigSeries(u, 1) }

func bigCosTurns(u float64) *big.Float { return bigSeries(u, 0) }

func bigSeries(u float64, first int) *big.Float {
	x := bigFloat(u - math.RoundToEven(u)) // exact
	x.Mul(x, bigFloat(2))
	return bigSine(x.Mul(x, bigPi), first)
}

// bigSine returns sin x (first = 1) or cos x (first = 0) by the series.
func bigSine(x *big.Float, first int) *big.Float {
	term := bigFloat(1)
	if first == 1 {
		term.Set(x)
	}
	square := new(big.Float).SetPrec(bigPrec).Mul(x, x)
	sum := new(big.Float).SetPrec(bigPrec).Set(term)
	for k := first + 1; k < 90; k += 2 {
		term.Mul(term, square)
		term.Quo(term, bigFloat(float64(k*(k+1))))
		term.Neg(term)
		sum.Add(sum, term)
	}
	return sum
}

// bigLog1p returns log(1 + t): next to a float64 approximation a of it,
// log(1 + t) = a + log(1 + δ) with 1 + δ = (1 + t)·e^−a.
func bigLog1p(t float64) *big.Float {
	if t < 1e-20 { // 1 + t would take too many bits: t − t²/2 + t³/3
		x := bigFloat(t)
		sq := new(big.Float).SetPrec(bigPrec).Mul(x, x)
		cube := new(big.Float).SetPrec(bigPrec).Mul(sq, x)
		sum := new(big.Float).SetPrec(bigPrec).Sub(x, sq.Quo(sq, bigFloat(2)))
		return sum.Add(sum, cube.Quo(cube, bigFloat(3)))
	}
	return bigLogNear(new(big.Float).SetPrec(bigPrec).Add(bigFloat(1), bigFloat(t)), math.Log1p(t))
}

// bigLogNear returns log x, of which a is an approximation.
func bigLogNear(x *big.Float, a float64) *big.Float {
	d := new(big.Float).SetPrec(bigPrec).Mul(x, bigExp(-a))
	d.Sub(d, bigFloat(1))
	// log(1 + δ) = δ − δ²/2 + δ³/3, δ about 1e-16.
	sq := new(big.Float).SetPrec(bigPrec).Mul(d, d)
	cube := new(big.Float).SetPrec(bigPrec).Mul(sq, d)
	sum := new(big.Float).SetPrec(bigPrec).Add(bigFloat(a), d)
	sum.Sub(sum, sq.Quo(sq, bigFloat(2)))
	return sum.Add(sum, cube.Quo(cube, bigFloat(3)))
}

// turnPoints are numbers of turns of every size: next to multiples of 1/4,
// beyond 2⁵² where all are whole, tiny and huge.
func turnPoints() []float64 {
	rng := rand.New(rand.NewPCG(31, 1))
	points := []float64{0, 0.25, 0.5, 0.75, 1, 1e15, 1e15 + 0.25, 1e15 + 0.5, 0x1p52, 0x1p53 + 2, 1e300, math.MaxFloat64, 5e-324, 1e-300}
	count := long(300, 800)
	for range count {
		points = append(points, rng.Float64(), 40*rng.Float64(), math.Exp(80*rng.Float64()-40),
			float64(rng.IntN(4000))/4+1e-12*rng.NormFloat64(), math.Ldexp(rng.Float64(), rng.IntN(60)))
	}
	for _, p := range points {
		points = append(points, -p)
	}
	return points
}

func TestTurnErrors(t *testing.T) {
	points := turnPoints()
	sin, cos, square := make([]*big.Float, len(points)), make([]*big.Float, len(points)), make([]*big.Float, len(points))
	for j, u := range points {
		sin[j], cos[j] = bigSinTurns(u), bigCosTurns(u)
		// sin²(πu): sin(2π·u/2), where halving is exact except for the smallest numbers.
		half := bigSinTurns(math.Ldexp(u-math.RoundToEven(u), -1))
		square[j] = half.Mul(half, half)
	}
	far := func(got float64, want *big.Float) float64 {
		d, _ := new(big.Float).Sub(bigFloat(got), want).Float64()
		return math.Abs(d)
	}
	forVariants(t, func(t *testing.T) {
		n := len(points)
		k, k2, s, sq := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		Cosine(k, points, 1, 1)
		CosineSine(k2, s, points, 1, 1)
		SinSquares(sq, []float64{0}, nil, []float64{1}, points, n, []int{0})
		alone, cosine, beside := make([]float64, n), make([]float64, n), make([]float64, n)
		Sine(alone, points, 0.9, 1.5)
		CosineSine(cosine, beside, points, 0.9, 1.5)
		worst, worstULP := 0.0, 0.0
		for j, u := range points {
			if alone[j] != beside[j] {
				t.Fatalf("1.5·sin(2π·0.9·%v) is %v alone, %v with the cosine", u, alone[j], beside[j])
			}
			if k[j] != k2[j] {
				t.Fatalf("cos(2π·%v) is %v alone, %v with the sine", u, k[j], k2[j])
			}
			worst = max(worst, far(k[j], cos[j]), far(s[j], sin[j]), far(SinTurns(u), sin[j]))
			if small, _ := square[j].Float64(); small < 1e-290 { // the square of a tiny sine
				if !(sq[j] <= 1e-289) {
					t.Fatalf("sin²(π·%v) = %v", u, sq[j])
				}
				continue
			}
			worstULP = max(worstULP, ulps(sq[j], square[j]))
		}
		if worst > maxTurnAbs || worstULP > maxSinULP {
			t.Errorf("errors %.3g of sines and cosines, %.3g units of squared sines; want %.3g, %.3g", worst, worstULP, maxTurnAbs, maxSinULP)
		}
		t.Logf("largest error of cos(2πu) and sin(2πu) %.3g, of sin²(πu) %.3g units", worst, worstULP)
	})
}

// TestTurnRows checks every length and surroundings.
func TestTurnRows(t *testing.T) {
	lengths(t, func(d data, n int) {
		src, s := d.normal(n), d.positive(n)
		k, k2, sine := d.output(n), d.output(n), d.output(n)
		Cosine(k, src, 0.7, 3)
		CosineSine(k2, sine, src, 0.7, 3)
		absolute := func(j int) float64 { return 4 * eps * 3 * (1 + 2*math.Pi*math.Abs(src[j])) }
		cos := func(j int) float64 { return 3 * math.Cos(2*math.Pi*0.7*src[j]) }
		d.near("Cosine", k, cos, absolute)
		d.near("CosineSine", k2, cos, absolute)
		d.near("CosineSine, sine", sine, func(j int) float64 { return 3 * math.Sin(2*math.Pi*0.7*src[j]) }, absolute)
		l := d.output(n)
		Log1p(l, s, 0.3)
		log := func(j int) float64 { return math.Log1p(0.3 * s[j]) }
		d.near("Log1p", l, log, func(j int) float64 { return 3 * eps * log(j) })
		Cosine(src, src, 0, 3) // in place
		d.near("Cosine in place", src, func(int) float64 { return 3 }, func(int) float64 { return 0 })
	})
}

// TestColumnSums tests the functions that sum over columns.
func TestColumnSums(t *testing.T) {
	lengths(t, func(d data, n int) {
		for _, dims := range []int{0, 1, 2, 3, 7, 8, 26}[:2+n%6] {
			f := d.positive(dims)
			for _, c := range []struct {
				name   string
				points func(n, dims int) (x, w, y []float64, stride int, index []int)
				run    func(dst, x, w, y []float64, stride int, index []int)
				term   func(q int, x, y float64) float64
			}{
				{"SquaredDistances", d.points, SquaredDistances, func(_ int, x, y float64) float64 { return (x - y) * (x - y) }},
				{"InnerProducts", d.points, InnerProducts, func(_ int, x, y float64) float64 { return x * y }},
				{"Differences", d.points, Differences, func(_ int, x, y float64) float64 { return x - y }},
				{"Mismatches", d.levels, Mismatches, func(_ int, x, y float64) float64 { return mismatch(x, y) }},
				{"SinSquares", d.points, func(dst, x, w, y []float64, stride int, index []int) { SinSquares(dst, x, w, f, y, stride, index) },
					func(q int, x, y float64) float64 {
						s := math.Sin(math.Pi * (f[q] * (x - y)))
						return s * s
					}},
			} {
				x, w, y, stride, index := c.points(n, dims)
				for _, weights := range [][]float64{nil, w} {
					sum := func(term func(q int, x, y float64) float64) func(j int) float64 {
						return func(j int) float64 {
							sum := 0.0
							for q, c := range index {
								sum += weight(weights, q) * term(q, x[q], y[c*stride+j])
							}
							return sum
						}
					}
					size := sum(func(q int, x, y float64) float64 { return float64(dims+3) * eps * math.Abs(c.term(q, x, y)) })
					switch c.name {
					case "Mismatches": // the columns are in the order of the index
						size = func(int) float64 { return 0 }
					case "SinSquares": // the reference multiplies by π before it reduces
						size = sum(func(q int, x, y float64) float64 {
							return float64(dims+3)*eps*c.term(q, x, y) + 4*eps*math.Pi*f[q]*(math.Abs(x)+math.Abs(y))
						})
					}
					dst := d.output(n)
					c.run(dst, x, weights, y, stride, index)
					d.near(fmt.Sprintf("%s, %d columns", c.name, dims), dst, sum(c.term), size)
				}
			}
		}
	})
}

func TestSinSquaresSlope(t *testing.T) {
	lengths(t, func(d data, n int) {
		for _, dims := range []int{0, 1, 3, 8} {
			x, f, y, stride, index := d.points(n, dims)
			want, got, sine := d.output(n), d.output(n), d.output(n)
			SinSquares(want, x, nil, f, y, stride, index)
			SinSquaresSlope(got, sine, x, f, y, stride, index)
			d.near("SinSquaresSlope", got, func(j int) float64 { return want[j] }, func(int) float64 { return 0 })
			terms := func(j int) (sum, size float64) {
				for q, c := range index {
					u := f[q] * (x[q] - y[c*stride+j])
					sum += u * math.Sin(2*math.Pi*u)
					size += math.Abs(u) * (1 + math.Abs(u))
				}
				return sum, size
			}
			d.near("SinSquaresSlope, sine", sine, func(j int) float64 { sum, _ := terms(j); return sum },
				func(j int) float64 { _, size := terms(j); return 30 * eps * size })
		}
	})
}

func TestSinSums(t *testing.T) {
	lengths(t, func(d data, n int) {
		x, f, y, stride, index := d.points(n, 3)
		w, squares, sines := d.normal(n), d.output(3), d.output(3)
		SinSums(squares, sines, x, f, w, y, stride, index)
		for q, c := range index {
			square, sine, size := 0.0, 0.0, 0.0
			for j, v := range w {
				u := f[q] * (x[q] - y[c*stride+j])
				s, t := math.Sincos(math.Pi * u)
				square += v * s * s
				sine += v * u * 2 * s * t
				size += math.Abs(v) * (1 + math.Abs(u)) * (1 + math.Abs(u))
			}
			if tol := float64(n+20) * eps * size; math.Abs(squares[q]-square) > tol || math.Abs(sines[q]-sine) > tol {
				t.Fatalf("length %d: sums %v, %v, want %v, %v", n, squares[q], sines[q], square, sine)
			}
		}
	})
}

// TestTurnsNonFinite puts NaN and infinity into every lane in turn and checks that
// the result is NaN there and nowhere else.
func TestTurnsNonFinite(t *testing.T) {
	forVariants(t, func(t *testing.T) {
		for n := 1; n < 21; n++ {
			for bad := range n {
				for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
					src := make([]float64, n)
					src[bad] = v
					rows := map[string][]float64{}
					for _, name := range []string{"cosine", "sine", "squares", "squares beside", "sines", "differences", "products", "logarithm"} {
						rows[name] = make([]float64, n)
					}
					CosineSine(rows["cosine"], rows["sine"], src, 1, 1)
					SinSquares(rows["squares"], []float64{1}, nil, []float64{2}, src, n, []int{0})
					SinSquaresSlope(rows["squares beside"], rows["sines"], []float64{1}, []float64{2}, src, n, []int{0})
					Differences(rows["differences"], []float64{1}, []float64{2}, src, n, []int{0})
					InnerProducts(rows["products"], []float64{1}, nil, src, n, []int{0})
					Log1p(rows["logarithm"], src, 1)
					for name, row := range rows {
						for j, got := range row {
							if finite := got-got == 0; finite != (j != bad) {
								t.Fatalf("%s with %v at %d of %d: element %d is %v", name, v, bad, n, j, got)
							}
						}
					}
				}
			}
		}
	})
}
