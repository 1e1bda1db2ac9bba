package spd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/internal/guardedmem"
	"gpfit/internal/isa"
)

// unit is the unit roundoff.
const unit = 0x1p-53

// guardNumbers is the number of guard values at an end of an operand.
const guardNumbers = 16

// A placement allocates the memory of operands, with guard values before and after each.
type placement struct {
	name          string
	before, after int
	begin         func(t *testing.T) (alloc func(n int) []float64, release func())
}

var placements = []placement{{"", guardNumbers, guardNumbers, func(*testing.T) (func(int) []float64, func()) {
	return func(n int) []float64 { return make([]float64, n) }, func() {}
}}}

func init() {
	for _, atEnd := range guardedmem.Ends {
		p := placement{"at the beginning of a page", 0, guardNumbers, func(t *testing.T) (func(int) []float64, func()) { return guardedmem.Numbers(t, atEnd) }}
		if atEnd {
			p.name, p.before, p.after = "at the end of a page", guardNumbers, 0
		}
		placements = append(placements, p)
	}
}

// A place makes operands for one call of a micro-kernel.
type place struct {
	placement
	alloc func(n int) []float64
	rng   *rand.Rand
}

// An operand is several arrays of numbers in memory, stride apart. All other numbers are
// guard values: NaNs, which would show in the results if a kernel computed with them.
type operand struct {
	mem, before                 []float64
	first, count, stride, width int
}

// operand returns count arrays of width numbers, pad numbers apart, that begin as random numbers.
func (p *place) operand(count, width, pad int) *operand {
	stride := width + pad
	o := &operand{first: p.before, count: count, stride: stride, width: width}
	o.mem = p.alloc(p.before + (count-1)*stride + width + p.after)
	for i := range o.mem {
		o.mem[i] = math.NaN()
	}
	for v := range count {
		for i := range o.array(v) {
			o.array(v)[i] = p.rng.NormFloat64()
		}
	}
	o.before = slices.Clone(o.mem)
	return o
}

// array returns an array.
func (o *operand) array(v int) []float64 { return o.mem[o.first+v*o.stride:][:o.width] }

// old returns an array as it was before the call.
func (o *operand) old(v int) []float64 { return o.before[o.first+v*o.stride:][:o.width] }

// p returns the address of the first number, or where it would be if there are none.
func (o *operand) p() *float64 {
	if o.width == 0 {
		return &o.mem[0]
	}
	return &o.mem[o.first]
}

// fill overwrites all arrays before the call.
func (o *operand) fill(value float64) {
	for v := range o.count {
		for i := range o.array(v) {
			o.array(v)[i] = value
		}
	}
	copy(o.before, o.mem)
}

// changed returns whether a number outside the arrays has changed.
func (o *operand) changed() bool {
	for i, x := range o.mem {
		inside := i >= o.first && (i-o.first)%o.stride < o.width
		if !inside && math.Float64bits(x) != math.Float64bits(o.before[i]) {
			return true
		}
	}
	return false
}

// written returns whether any number has changed.
func (o *operand) written() bool {
	return !slices.EqualFunc(o.mem, o.before, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// intact fails the test if one of the operands that a kernel reads has changed, or memory around
// the operands that it writes.
func intact(t *testing.T, name string, reads []*operand, writes ...*operand) {
	t.Helper()
	if slices.ContainsFunc(reads, (*operand).written) || slices.ContainsFunc(writes, (*operand).changed) {
		t.Fatalf("%s: other memory than the result changed", name)
	}
}

type operands = []*operand

// eachKernel calls f for all variants and placements.
func eachKernel(t *testing.T, f func(t *testing.T, ks kernels, p *place)) {
	for _, v := range isa.Supported() {
		t.Run(v.String(), func(t *testing.T) {
			for _, pl := range placements {
				alloc, release := pl.begin(t)
				p := &place{placement: pl, alloc: alloc, rng: rand.New(rand.NewPCG(3, 5))}
				f(t, kernelsOf(v), p)
				release()
			}
		})
	}
}

// columns returns numbers of columns: some around the unrolled loops, and a long one.
func (p *place) columns(first int) (ks []int) {
	for k := first; k <= 13; k++ {
		ks = append(ks, k)
	}
	return append(ks, 16, 31, 40)
}

// A sum is a value computed by the definition, with the sum of the magnitudes of its terms.
type sum struct{ value, magnitude float64 }

func (s *sum) add(x float64) {
	s.value += x
	s.magnitude += math.Abs(x)
}

// differs returns whether x is not the sum of these terms as computed. Both results of n
// operations differ from the exact one by at most n·unit times the magnitudes, to first order
// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., §3.1).
func (s sum) differs(x float64, n int) bool {
	return !(math.Abs(x-s.value) <= 2*float64(n+1)*unit*s.magnitude)
}

// addProducts adds a row of the panel b times a row of the panel a, each times sign.
func (s *sum) addProducts(b, a []float64, k, lanes, r, c int, sign float64) {
	for j := range k {
		s.add(sign * b[j*lanes+r] * a[j*lanes+c])
	}
}

func TestProductKernels(t *testing.T) {
	eachKernel(t, func(t *testing.T, ks kernels, p *place) {
		for _, k := range p.columns(1) {
			for nv := 1; nv <= group; nv++ {
				for mode := replace; mode <= subtract; mode++ {
					testProduct(t, ks, p, k, nv, mode)
				}
			}
		}
	})
}

func testProduct(t *testing.T, ks kernels, p *place, k, nv, mode int) {
	t.Helper()
	l := ks.lanes
	a, b, c := p.operand(1, k*l, 0), p.operand(nv, k*l, 7), p.operand(nv, l*l, 3+k)
	if mode == replace || mode == replaceNegative {
		c.fill(math.NaN())
	}
	ks.product(nv, k, a.p(), b.p(), b.stride, c.p(), c.stride, mode)
	name := fmt.Sprintf("k=%d, nv=%d, mode %d %s", k, nv, mode, p.name)
	intact(t, name, operands{a, b}, c)
	sign := 1.0
	if mode == replaceNegative || mode == subtract {
		sign = -1
	}
	for v := range nv {
		for i, got := range c.array(v) {
			var want sum
			if mode == add || mode == subtract {
				want.add(c.old(v)[i])
			}
			want.addProducts(b.array(v), a.array(0), k, l, i%l, i/l, sign)
			if want.differs(got, k+1) {
				t.Fatalf("%s: element %d of panel %d is %v, want %v", name, i, v, got, want.value)
			}
		}
	}
}

func TestSolveKernels(t *testing.T) {
	eachKernel(t, func(t *testing.T, ks kernels, p *place) {
		for _, k := range p.columns(0) {
			for nv := 1; nv <= group; nv++ {
				for fresh := range 2 {
					testSolve(t, ks, p, k, nv, fresh)
				}
			}
		}
	})
}

func testSolve(t *testing.T, ks kernels, p *place, k, nv, fresh int) {
	t.Helper()
	l := ks.lanes
	a, b, x, tri := p.operand(1, k*l, 0), p.operand(nv, k*l, 5), p.operand(nv, l*l, 1+k), p.operand(1, l*l, 0)
	for i := range tri.array(0) {
		if r, c := i%l, i/l; r < c {
			tri.array(0)[i] = math.NaN() // the kernel must not use this half
		} else if r == c {
			tri.array(0)[i] = 0.5 + p.rng.Float64()
		}
	}
	copy(tri.before, tri.mem)
	if fresh != 0 {
		x.fill(math.NaN())
	}
	ks.solve(nv, k, a.p(), b.p(), b.stride, tri.p(), x.p(), x.stride, fresh)
	name := fmt.Sprintf("k=%d, nv=%d, fresh %d %s", k, nv, fresh, p.name)
	intact(t, name, operands{a, b, tri}, x)
	// The equation for column c is Σ_i≤c X_ri·T_ci + Σ_k B_rk·A_ck − X_rc = 0. An element takes
	// k + c + 3 operations; their rounding bounds the residual for any condition of T.
	for v := range nv {
		for e := range l * l {
			r, c := e%l, e/l
			var zero sum
			zero.addProducts(b.array(v), a.array(0), k, l, r, c, 1)
			if fresh == 0 {
				zero.add(-x.old(v)[e])
			}
			for i := range c {
				zero.add(x.array(v)[i*l+r] * tri.array(0)[i*l+c])
			}
			zero.add(x.array(v)[e] / tri.array(0)[c*l+c])
			if zero.differs(0, k+c+3) {
				t.Fatalf("%s: element %d of panel %d leaves the residual %v", name, e, v, zero.value)
			}
		}
	}
}

// definite sets the tile d to a positive definite matrix plus the product of the panel x
// with itself. Above the diagonal are NaNs, which the kernels must not use.
func definite(d, x *operand, k, l int, rng *rand.Rand) {
	tile := d.array(0)
	for i := range tile {
		r, c := i%l, i/l
		var s sum
		s.addProducts(x.array(0), x.array(0), k, l, r, c, 1)
		switch {
		case r < c:
			tile[i] = math.NaN()
		case r == c:
			tile[i] = s.value + 2
		default:
			tile[i] = s.value + (rng.Float64()-0.5)/float64(l)
		}
	}
	copy(d.before, d.mem)
}

func TestCholeskyKernels(t *testing.T) {
	eachKernel(t, func(t *testing.T, ks kernels, p *place) {
		l := ks.lanes
		for _, k := range p.columns(0) {
			x, d, diagonal := p.operand(1, k*l, 0), p.operand(1, l*l, 0), p.operand(1, l, 0)
			definite(d, x, k, l, p.rng)
			if done := ks.cholesky(k, x.p(), d.p(), diagonal.p()); done != l {
				t.Fatalf("k=%d %s: %d columns done", k, p.name, done)
			}
			intact(t, fmt.Sprint("k=", k, p.name), operands{x}, d, diagonal)
			checkCholesky(t, k, l, x.array(0), d.old(0), d.array(0), diagonal.array(0))
		}
	})
}

// checkCholesky checks the residuals of L·Lᵀ + X·Xᵀ − D and the stored reciprocals.
func checkCholesky(t *testing.T, k, l int, x, before, tile, diagonal []float64) {
	t.Helper()
	factor := func(r, c int) float64 {
		if r == c {
			return diagonal[c]
		}
		return tile[c*l+r]
	}
	for e := range l * l {
		r, c := e%l, e/l
		if r < c {
			continue
		}
		var zero sum
		zero.add(-before[e])
		zero.addProducts(x, x, k, l, r, c, 1)
		for i := range c + 1 {
			zero.add(factor(r, i) * factor(c, i))
		}
		if zero.differs(0, k+c+4) {
			t.Fatalf("k=%d: element (%d, %d) leaves the residual %v", k, r, c, zero.value)
		}
	}
	for c, v := range diagonal {
		if tile[c*l+c] != 1/v {
			t.Fatalf("k=%d: the reciprocal of %v is %v", k, v, tile[c*l+c])
		}
	}
}

// TestFailingPivots tests that a pivot that is zero, negative or NaN ends the factorization
// at its column.
func TestFailingPivots(t *testing.T) {
	eachKernel(t, func(t *testing.T, ks kernels, p *place) {
		l := ks.lanes
		for _, k := range []int{0, 1, 6} {
			for column := range l {
				for _, pivot := range []float64{0, -1, math.Inf(-1), math.NaN()} {
					x, d, diagonal := p.operand(1, k*l, 0), p.operand(1, l*l, 0), p.operand(1, l, 0)
					for i := range x.array(0) {
						x.array(0)[i] = float64(p.rng.IntN(5)) // products are exact
					}
					copy(x.before, x.mem)
					definite(d, x, k, l, p.rng)
					for c := range column + 1 { // the row is zero before the pivot
						var s sum
						s.addProducts(x.array(0), x.array(0), k, l, column, c, 1)
						d.array(0)[c*l+column] = s.value
					}
					d.array(0)[column*l+column] += pivot
					if got := ks.cholesky(k, x.p(), d.p(), diagonal.p()); got != column {
						t.Fatalf("k=%d, pivot %v in column %d: %d columns done %s", k, pivot, column, got, p.name)
					}
					intact(t, fmt.Sprintf("k=%d, pivot %v in column %d %s", k, pivot, column, p.name), operands{x}, d, diagonal)
				}
			}
		}
	})
}

func TestTransposeKernels(t *testing.T) {
	eachKernel(t, func(t *testing.T, ks kernels, p *place) {
		l := ks.lanes
		for n := 1; n <= 6; n++ {
			rows, panel := p.operand(l, n*l, 5), p.operand(1, n*l*l, 0)
			ks.transposeTiles(n, rows.p(), rows.stride, l, panel.p(), l, l*l)
			checkTransposed(t, p, n, l, rows, panel, rows, panel)
			rows, panel = p.operand(l, n*l, 3), p.operand(1, n*l*l, 0)
			ks.transposeTiles(n, panel.p(), l, l*l, rows.p(), rows.stride, l)
			checkTransposed(t, p, n, l, rows, panel, panel, rows)
			// Tiles of different panels, transposed to one panel.
			column := p.operand(n, l*l, 9)
			panel = p.operand(1, n*l*l, 0)
			ks.transposeTiles(n, column.p(), l, column.stride, panel.p(), l, l*l)
			intact(t, p.name, operands{column}, panel)
			for i, x := range panel.array(0) {
				tile, r, c := i/(l*l), i/l%l, i%l
				if want := column.array(tile)[c*l+r]; x != want {
					t.Fatalf("%d tiles %s: element %d is %v, want %v", n, p.name, i, x, want)
				}
			}
		}
	})
}

// checkTransposed compares rows with a panel, and checks the memory of the source and
// around the destination.
func checkTransposed(t *testing.T, p *place, n, l int, rows, panel, src, dst *operand) {
	t.Helper()
	intact(t, p.name, operands{src}, dst)
	for r := range l {
		for j, x := range rows.array(r) {
			if y := panel.array(0)[j*l+r]; x != y {
				t.Fatalf("%d tiles %s: row %d, column %d: %v and %v", n, p.name, r, j, x, y)
			}
		}
	}
}

func TestSquareKernels(t *testing.T) {
	eachKernel(t, func(t *testing.T, ks kernels, p *place) {
		l := ks.lanes
		for n := 4; n <= 48; n += 4 {
			x, sums := p.operand(1, n*l, 0), p.operand(1, l, 0)
			ks.squares(n/4, x.p(), &sums.array(0)[0])
			intact(t, p.name, operands{x}, sums)
			for r, got := range sums.array(0) {
				var want sum
				want.addProducts(x.array(0), x.array(0), n, l, r, r, 1)
				if want.differs(got, n) {
					t.Fatalf("%d columns %s: sum %d is %v, want %v", n, p.name, r, got, want.value)
				}
			}
		}
	})
}

func TestVectorKernels(t *testing.T) {
	eachKernel(t, func(t *testing.T, ks kernels, p *place) {
		l := ks.lanes
		for k := l; k <= 48; k += l {
			// check compares y, from which the products of rows of the panel with x were subtracted.
			check := func(name string, panel, x, y *operand, at func(i, j int) int) {
				intact(t, name+p.name, operands{panel, x}, y)
				for i, got := range y.array(0) {
					want := sum{y.old(0)[i], math.Abs(y.old(0)[i])}
					for j, v := range x.array(0) {
						want.add(-panel.array(0)[at(i, j)] * v)
					}
					if want.differs(got, len(x.array(0))+1) {
						t.Fatalf("%s, %d columns %s: %v, want %v", name, k, p.name, got, want.value)
					}
				}
			}
			panel, long, short := p.operand(1, k*l, 0), p.operand(1, k, 0), p.operand(1, l, 0)
			ks.panelVector(k/4, panel.p(), long.p(), short.p())
			check("panelVector", panel, long, short, func(r, c int) int { return c*l + r })
			panel, long, short = p.operand(1, k*l, 0), p.operand(1, k, 0), p.operand(1, l, 0)
			ks.panelTransposedVector(k/l, panel.p(), short.p(), long.p())
			check("panelTransposedVector", panel, short, long, func(c, r int) int { return c*l + r })
		}
	})
}
