package vec

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gpfit/internal/guardedmem"
	"gpfit/internal/isa"
)

const eps = 0x1p-52

// data places rows next to inaccessible memory, if the system supports that
// (guard_test.go), and at every alignment.
type data struct {
	t   *testing.T
	rng *rand.Rand
	row func(n int) []float64
}

// fill returns a row of n numbers from f.
func (d data) fill(n int, f func() float64) []float64 {
	r := d.row(n)
	for j := range r {
		r[j] = f()
	}
	return r
}

func (d data) normal(n int) []float64 { return d.fill(n, d.rng.NormFloat64) }

func (d data) positive(n int) []float64 {
	return d.fill(n, func() float64 { return math.Exp(2 * d.rng.NormFloat64()) })
}

// output returns a row of n numbers that differ from any result.
func (d data) output(n int) []float64 { return d.fill(n, func() float64 { return -12345 }) }

// near reports elements of got that differ from want by more than tol, given for each.
func (d data) near(what string, got []float64, want, tol func(j int) float64) {
	d.t.Helper()
	for j, v := range got {
		if w := want(j); !(math.Abs(v-w) <= tol(j)) {
			d.t.Fatalf("%s, length %d: element %d is %v, want %v within %v", what, len(got), j, v, w, tol(j))
		}
	}
}

// lengths runs f for every length up to 80 and every seventh up to 200, or each of these if
// GPFIT_LONG is set, with rows at the end and at the beginning of accessible memory, and with
// rows inside it between numbers that must not change. A block has 64 numbers at most.
func lengths(t *testing.T, f func(d data, n int)) {
	step := long(7, 1)
	forVariants(t, func(t *testing.T) {
		for n := range 201 {
			if n > 80 && n%step != 0 {
				continue
			}
			for _, place := range placements {
				d := data{t: t, rng: rand.New(rand.NewPCG(uint64(n), 5))}
				allocate, check := place(t)
				d.row = allocate
				f(d, n)
				check()
			}
		}
	})
}

// A placement allocates rows and, at the end, checks their surroundings.
type placement func(t *testing.T) (row func(n int) []float64, check func())

var placements = []placement{canaries}

func init() {
	for _, atEnd := range guardedmem.Ends {
		placements = append(placements, func(t *testing.T) (func(int) []float64, func()) { return guardedmem.Numbers(t, atEnd) })
	}
}

// canaries places rows between numbers, each at another alignment.
func canaries(t *testing.T) (func(n int) []float64, func()) {
	const margin, mark = 24, 98765.4321
	var all [][]float64
	var sizes []int
	row := func(n int) []float64 {
		buf := make([]float64, n+2*margin+8)
		for j := range buf {
			buf[j] = mark
		}
		off := margin + len(all)%8
		all, sizes = append(all, buf), append(sizes, n)
		return buf[off : off+n : off+n]
	}
	return row, func() {
		t.Helper()
		for k, buf := range all {
			for j, v := range buf {
				if off := margin + k%8; (j < off || j >= off+sizes[k]) && v != mark {
					t.Fatalf("row %d of length %d: element %d was written", k, sizes[k], j-off)
				}
			}
		}
	}
}

var rootCases = []struct {
	c    float64
	p, q [3]float64
}{
	{1, [3]float64{2, 0, 0}, [3]float64{-1, 0, 0}},
	{3, [3]float64{1, 1, 0}, [3]float64{0, -1.5, 0}},
	{5, [3]float64{1, 1, 1.0 / 3}, [3]float64{0, -5.0 / 6, -5.0 / 6}},
	{0.3, [3]float64{1, 2, 3}, [3]float64{4, 5, 6}},
}

func TestRootDecay(t *testing.T) {
	lengths(t, func(d data, n int) {
		s := d.positive(n)
		for j := range s {
			if j%7 == 3 {
				s[j] = 0
			}
		}
		for _, c := range rootCases {
			root := func(j int) float64 { return math.Sqrt(c.c * s[j]) }
			value := func(j int) float64 {
				t := root(j)
				return (c.p[0] + c.p[1]*t + c.p[2]*t*t) * math.Exp(-t)
			}
			slope := func(j int) float64 {
				t := root(j)
				v := c.q[1] + c.q[2]*t
				if t > 0 {
					v += c.q[0] / t
				}
				return v * math.Exp(-t)
			}
			tol := func(f func(int) float64) func(int) float64 {
				return func(j int) float64 { return 8 * eps * math.Abs(f(j)) }
			}
			k, k2, sl := d.output(n), d.output(n), d.output(n)
			RootDecay(k, s, c.c, c.p)
			RootDecaySlope(k2, sl, s, c.c, c.p, c.q)
			d.near("RootDecay", k, value, tol(value))
			d.near("RootDecaySlope", sl, slope, tol(slope))
			for j := range k {
				if k[j] != k2[j] {
					t.Fatalf("length %d: value %v alone, %v with the slope", n, k[j], k2[j])
				}
				if s[j] == 0 && (k[j] != c.p[0] || sl[j] != c.q[1]) {
					t.Fatalf("at s = 0: value %v and slope %v, want %v and %v", k[j], sl[j], c.p[0], c.q[1])
				}
			}
		}
	})
}

// points returns d columns of n numbers, a stride apart, and a point.
func (d data) points(n, dims int) (x, w, y []float64, stride int, index []int) {
	stride = n + 3
	y = d.normal(max(0, (dims+1)*stride-3))
	for q := range dims { // columns 1 … dims in a shuffled order
		index = append(index, 1+(q*5+dims/2)%dims)
	}
	if dims%5 == 0 { // (5q mod dims) would repeat
		for q := range index {
			index[q] = 1 + q
		}
	}
	return d.normal(dims), d.positive(dims), y, stride, index
}

// TestColumnTotals tests the functions that sum over each column.
func TestColumnTotals(t *testing.T) {
	lengths(t, func(d data, n int) {
		for _, dims := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17}[:5+n%9] { // groups of every size
			w, sums := d.normal(n), d.output(dims)
			for _, c := range []struct {
				name   string
				points func(n, dims int) (x, w, y []float64, stride int, index []int)
				run    func(sums, x, w, y []float64, stride int, index []int)
				term   func(x, y float64) float64
			}{
				{"WeightedSquares", d.points, WeightedSquares, func(x, y float64) float64 { return (x - y) * (x - y) }},
				{"WeightedMismatches", d.levels, WeightedMismatches, mismatch},
			} {
				x, _, y, stride, index := c.points(n, dims)
				c.run(sums, x, w, y, stride, index)
				sum := func(f func(float64) float64) func(q int) float64 {
					return func(q int) float64 {
						sum := 0.0
						for j, v := range w {
							sum += f(v * c.term(x[q], y[index[q]*stride+j]))
						}
						return sum
					}
				}
				size := sum(math.Abs)
				d.near(c.name, sums, sum(func(v float64) float64 { return v }), func(q int) float64 { return float64(n+4) * eps * size(q) })
				// A column's sum does not depend on the others.
				for q := range index {
					one := []float64{0}
					c.run(one, x[q:], w, y, stride, index[q:q+1])
					if one[0] != sums[q] {
						t.Fatalf("%s: column %d of %d alone: %v, with the others %v", c.name, q, dims, one[0], sums[q])
					}
				}
			}
		}
	})
}

// levels returns d columns of n small integers and a point.
func (d data) levels(n, dims int) (x, w, y []float64, stride int, index []int) {
	x, w, y, stride, index = d.points(n, dims)
	for _, row := range [][]float64{x, y} {
		for j := range row {
			row[j] = float64(d.rng.IntN(3))
		}
	}
	return x, w, y, stride, index
}

func mismatch(x, y float64) float64 {
	if x == y {
		return 0
	}
	return 1
}

func TestDots(t *testing.T) {
	lengths(t, func(d data, n int) {
		a, b, c := d.normal(n), d.normal(n), d.normal(n)
		sum1, abs1, sum2, abs2, sum3, abs3 := 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
		for j := range a {
			sum1, abs1 = sum1+a[j], abs1+math.Abs(a[j])
			sum2, abs2 = sum2+a[j]*b[j], abs2+math.Abs(a[j]*b[j])
			sum3, abs3 = sum3+a[j]*b[j]*c[j], abs3+math.Abs(a[j]*b[j]*c[j])
		}
		if got := Sum(a); math.Abs(got-sum1) > float64(n+2)*eps*abs1 || Sum(a) != got {
			t.Fatalf("length %d: sums %v and %v, want %v", n, got, Sum(a), sum1)
		}
		got2, got3 := Dot(a, b), TripleDot(a, b, c)
		if math.Abs(got2-sum2) > float64(n+2)*eps*abs2 || math.Abs(got3-sum3) > float64(n+2)*eps*abs3 {
			t.Fatalf("length %d: sums %v and %v, want %v and %v", n, got2, got3, sum2, sum3)
		}
		if Dot(a, b) != got2 || TripleDot(a, b, c) != got3 {
			t.Fatalf("length %d: another result the second time", n)
		}
	})
}

func TestElementwise(t *testing.T) {
	lengths(t, func(d data, n int) {
		a, b, dst := d.normal(n), d.normal(n), d.output(n)
		exactly := func(int) float64 { return 0 }
		Mul(dst, a, b)
		d.near("Mul", dst, func(j int) float64 { return a[j] * b[j] }, exactly)
		Scale(dst, a, 0.3)
		d.near("Scale", dst, func(j int) float64 { return 0.3 * a[j] }, exactly)
		combined := func(j int) float64 { return 0.3*a[j] - 0.7*b[j] }
		Combine(dst, a, b, 0.3, -0.7)
		d.near("Combine", dst, combined, func(j int) float64 { return eps * (math.Abs(a[j]) + math.Abs(b[j])) })
		copy(dst, a)
		Combine(dst, dst, b, 0.3, -0.7)
		d.near("Combine in place", dst, combined, func(j int) float64 { return eps * (math.Abs(a[j]) + math.Abs(b[j])) })
		copy(dst, a)
		Mul(dst, dst, b)
		d.near("Mul in place", dst, func(j int) float64 { return a[j] * b[j] }, exactly)
	})
}

// TestNonFinite puts NaN and Inf into every lane in turn. They must reach exactly
// the results that depend on them by the formulas.
func TestNonFinite(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	same := func(a, b float64) bool { return a == b || a != a && b != b }
	forVariants(t, func(t *testing.T) {
		for n := 1; n < 21; n++ {
			ones := make([]float64, n)
			for j := range ones {
				ones[j] = 1
			}
			for bad := range n {
				row := append([]float64(nil), ones...)
				k, slope := make([]float64, n), make([]float64, n)
				c := rootCases[3]
				for _, v := range []float64{inf, nan, 1e300} {
					row[bad] = v
					RootDecaySlope(k, slope, row, c.c, c.p, c.q)
					for j := range row {
						if j != bad && k[j] != k[(bad+1)%n] || j == bad && v == v && (k[j] != 0 || slope[j] != 0) || j == bad && v != v && (k[j] == k[j] || slope[j] == slope[j]) {
							t.Fatalf("s = %v at %d of %d: value %v, slope %v at %d", v, bad, n, k[j], slope[j], j)
						}
					}
				}
				row[bad] = inf
				if Log1p(k, row, 1); k[bad] != inf {
					t.Fatalf("log(1 + Inf) at %d of %d: %v", bad, n, k[bad])
				}
				if got := Dot(row, ones); got != inf || Sum(row) != inf {
					t.Fatalf("Dot and Sum with Inf at %d of %d: %v, %v", bad, n, got, Sum(row))
				}
				sums := []float64{0, 0}
				WeightedSquares(sums, []float64{inf, 1}, ones, append(row, ones...), n, []int{1, 0})
				if sums[0] != inf || sums[1] != inf {
					t.Fatalf("WeightedSquares with Inf at %d of %d: %v", bad, n, sums)
				}
				row[bad] = nan
				if !same(Sum(row), nan) || !same(Dot(row, ones), nan) || !same(TripleDot(ones, ones, row), nan) {
					t.Fatalf("sums with NaN at %d of %d: %v, %v, %v", bad, n, Sum(row), Dot(row, ones), TripleDot(ones, ones, row))
				}
				Mul(k, row, ones)
				Combine(slope, ones, row, 1, 1)
				for j := range k {
					if j == bad != (k[j] != k[j]) || j == bad != (slope[j] != slope[j]) {
						t.Fatalf("Mul and Combine with NaN at %d of %d: element %d is %v, %v", bad, n, j, k[j], slope[j])
					}
				}
				SquaredDistances(k, []float64{1}, nil, row, n, []int{0})
				for j, v := range k {
					if j == bad != (v != v) {
						t.Fatalf("SquaredDistances with NaN at %d of %d: element %d is %v", bad, n, j, v)
					}
				}
			}
		}
	})
}

// TestBounds checks that rows that are too short cause a panic before any memory access.
func TestBounds(t *testing.T) {
	short, long := make([]float64, 3, 20), make([]float64, 4, 20)
	p := [3]float64{1}
	forVariants(t, func(t *testing.T) {
		calls := map[string]func(){
			"RootDecay":                func() { RootDecay(short, long, 1, p) },
			"RootDecaySlope":           func() { RootDecaySlope(long, short, long, 1, p, p) },
			"SquaredDistances point":   func() { SquaredDistances(long[:1], short[:1], nil, long, 1, []int{0, 1}) },
			"SquaredDistances weights": func() { SquaredDistances(long[:1], long, short[:1], long, 1, []int{0, 1}) },
			"SquaredDistances columns": func() { SquaredDistances(short[:2], short, nil, long, 2, []int{0, 2}) },
			"SquaredDistances index":   func() { SquaredDistances(short[:2], short, nil, long, 2, []int{-1}) },
			"ExpDistances columns":     func() { ExpDistances(short[:2], short, nil, long, 2, []int{0, 2}, 1, 1) },
			"ExpDistancesTimes by":     func() { ExpDistancesTimes(long, short, long, nil, long, 1, []int{0}, 1) },
			"InnerProducts point":      func() { InnerProducts(long[:1], short[:1], nil, long, 1, []int{0, 1}) },
			"Differences columns":      func() { Differences(short[:2], short, nil, long, 2, []int{0, 2}) },
			"SinSquares frequencies":   func() { SinSquares(long[:1], long, nil, short[:1], long, 1, []int{0, 1}) },
			"SinSquaresSlope":          func() { SinSquaresSlope(long, short, long, long, long, 1, []int{0}) },
			"SinSums columns":          func() { SinSums(long, long, long, long, long, long, 1, []int{1}) },
			"SinSums sines":            func() { SinSums(long, short[:1], long, long, long[:1], long, 1, []int{0, 1}) },
			"Log1p":                    func() { Log1p(short, long, 1) },
			"Cosine":                   func() { Cosine(short, long, 1, 1) },
			"CosineSine":               func() { CosineSine(long, short, long, 1, 1) },
			"WeightedSquares columns":  func() { WeightedSquares(long, long, long, long, 1, []int{1}) },
			"WeightedSquares sums":     func() { WeightedSquares(short[:1], long, long[:1], long, 1, []int{0, 1}) },
			"Dot":                      func() { Dot(long, short) },
			"TripleDot":                func() { TripleDot(long, long, short) },
			"Mul":                      func() { Mul(short, long, long) },
			"Scale":                    func() { Scale(short, long, 1) },
			"Combine":                  func() { Combine(long, long, short, 1, 1) },
			"Polynomial coefficients":  func() { Polynomial(nil, nil, short[:0]) },
			"Mismatches point":         func() { Mismatches(long[:1], short[:1], nil, long, 1, []int{0, 1}) },
			"Mismatches weights":       func() { Mismatches(long[:1], long, short[:1], long, 1, []int{0, 1}) },
			"Mismatches columns":       func() { Mismatches(short[:2], short, nil, long, 2, []int{0, 2}) },
			"WeightedMismatches":       func() { WeightedMismatches(long, long, long, long, 1, []int{1}) },
			"WeightedMismatches sums":  func() { WeightedMismatches(short[:1], long, long[:1], long, 1, []int{0, 1}) },
		}
		for _, f := range functionsWith(1) {
			calls[f.name] = func() { f.run(short, long) }
		}
		for name, call := range calls {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s took a row that is too short", name)
					}
				}()
				call()
			}()
		}
	})
}

// TestChoose checks that the variants without routines here, and errors, give the generic one.
func TestChoose(t *testing.T) {
	for v, want := range map[isa.Variant]isa.Variant{avx512: avx512, avx2: avx2, isa.NEON: generic, generic: generic} {
		if got := choose(v, nil); got != want {
			t.Errorf("choose(%v) = %v, want %v", v, got, want)
		}
	}
	if got := choose(avx2, errors.New("unknown")); got != generic {
		t.Errorf("after an error: %v", got)
	}
}
