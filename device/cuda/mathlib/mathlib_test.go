package mathlib_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/emulator"
	"gpfit/device/cuda/mathlib"
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m, emulator.Config{Memory: 256 << 20})) }

// tolerance bounds the difference of two ways to sum a few hundred terms of
// order one.
const tolerance = 1e-11

// bench is a handle on the emulated device.
type bench struct {
	t *testing.T
	d *driver.Device
	s *driver.Stream
	h *mathlib.Handle
	r *rand.Rand
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func setup(t *testing.T) *bench {
	t.Helper()
	emulator.Check(t)
	lib, err := mathlib.Load()
	must(t, err)
	d, err := driver.Open(0)
	must(t, err)
	s, err := d.NewStream()
	must(t, err)
	h, err := lib.New(s)
	must(t, err)
	t.Cleanup(func() { must(t, h.Close(), h.Close(), s.Destroy(), d.Close()) })
	return &bench{t, d, s, h, rand.New(rand.NewPCG(1, 2))}
}

// matrix is column-major on the device, with a leading dimension above its rows.
type matrix struct {
	b              *bench
	p              driver.Ptr
	rows, cols, ld int64
	host           []float64
}

func (b *bench) matrix(rows, cols int64, value func(i, j int64) float64) *matrix {
	m := &matrix{b: b, rows: rows, cols: cols, ld: rows + 3}
	m.host = make([]float64, m.ld*cols)
	for i := range m.host {
		m.host[i] = math.NaN()
	}
	for j := range cols {
		for i := range rows {
			m.host[i+j*m.ld] = value(i, j)
		}
	}
	p, err := b.d.Alloc(int64(len(m.host)) * 8)
	must(b.t, err, driver.CopyToDevice(b.s, p, m.host))
	b.t.Cleanup(func() { must(b.t, b.d.Free(p)) })
	m.p = p
	return m
}

func (b *bench) random(rows, cols int64) *matrix {
	return b.matrix(rows, cols, func(i, j int64) float64 { return b.r.Float64() - 0.5 })
}

// triangle is well conditioned, with NaN in the other triangle, and on the
// diagonal if that is not to be read.
func (b *bench) triangle(n int64, uplo mathlib.Uplo, diag mathlib.Diag) *matrix {
	return b.matrix(n, n, func(i, j int64) float64 {
		switch {
		case i == j && diag == mathlib.Unit, i < j && uplo == mathlib.Lower, i > j && uplo == mathlib.Upper:
			return math.NaN()
		case i == j:
			return 1 + b.r.Float64()
		}
		return (b.r.Float64() - 0.5) / float64(n)
	})
}

// spd is symmetric positive definite, with NaN in the other triangle.
func (b *bench) spd(n int64, uplo mathlib.Uplo) *matrix {
	return b.matrix(n, n, func(i, j int64) float64 {
		if i < j && uplo == mathlib.Lower || i > j && uplo == mathlib.Upper {
			return math.NaN()
		}
		v := math.Exp(-math.Abs(float64(i-j)) / 10)
		if i == j {
			v += 0.1
		}
		return v
	})
}

// dense returns what the host has as gonum's matrix, the other triangle and a
// unit diagonal filled in.
func (m *matrix) dense(fill func(i, j int64) (from func(a *matrix) float64)) *mat.Dense {
	d := mat.NewDense(int(m.rows), int(m.cols), nil)
	for j := range m.cols {
		for i := range m.rows {
			v := m.host[i+j*m.ld]
			if fill != nil {
				if from := fill(i, j); from != nil {
					v = from(m)
				}
			}
			d.Set(int(i), int(j), v)
		}
	}
	return d
}

func (m *matrix) symmetric(uplo mathlib.Uplo) *mat.Dense {
	return m.dense(func(i, j int64) func(*matrix) float64 {
		if i < j && uplo == mathlib.Lower || i > j && uplo == mathlib.Upper {
			return func(a *matrix) float64 { return a.host[j+i*a.ld] }
		}
		return nil
	})
}

func (m *matrix) triangular(uplo mathlib.Uplo, diag mathlib.Diag) *mat.Dense {
	return m.dense(func(i, j int64) func(*matrix) float64 {
		switch {
		case i == j && diag == mathlib.Unit:
			return func(*matrix) float64 { return 1 }
		case i < j && uplo == mathlib.Lower, i > j && uplo == mathlib.Upper:
			return func(*matrix) float64 { return 0 }
		}
		return nil
	})
}

// expect compares the device with want where keep says so, and elsewhere with
// what was there before.
func (m *matrix) expect(what string, want mat.Matrix, keep func(i, j int64) bool) {
	m.b.t.Helper()
	got := make([]float64, len(m.host))
	must(m.b.t, driver.CopyToHost(m.b.s, got, m.p))
	for j := range m.cols {
		for i := range m.ld {
			g, w := got[i+j*m.ld], m.host[i+j*m.ld]
			inside := i < m.rows && (keep == nil || keep(i, j))
			if inside {
				w = want.At(int(i), int(j))
			}
			if math.IsNaN(w) && math.IsNaN(g) {
				continue
			}
			if !(math.Abs(g-w) <= tolerance*(1+math.Abs(w))) {
				m.b.t.Fatalf("%s: element (%d, %d) is %v, want %v (inside: %v)", what, i, j, g, w, inside)
			}
		}
	}
	copy(m.host, got)
}

func inTriangle(uplo mathlib.Uplo) func(i, j int64) bool {
	return func(i, j int64) bool { return i >= j && uplo == mathlib.Lower || i <= j && uplo == mathlib.Upper }
}

func op(t mathlib.Transpose, m *mat.Dense) mat.Matrix {
	if t == mathlib.Trans {
		return m.T()
	}
	return m
}

// linear returns alpha·a·b + beta·c.
func linear(alpha float64, a, b mat.Matrix, beta float64, c mat.Matrix) *mat.Dense {
	var p mat.Dense
	p.Mul(a, b)
	p.Scale(alpha, &p)
	if c != nil && beta != 0 {
		var q mat.Dense
		q.Scale(beta, c)
		p.Add(&p, &q)
	}
	return &p
}

var (
	transposes = []mathlib.Transpose{mathlib.NoTrans, mathlib.Trans}
	uplos      = []mathlib.Uplo{mathlib.Lower, mathlib.Upper}
	sides      = []mathlib.Side{mathlib.Left, mathlib.Right}
	diags      = []mathlib.Diag{mathlib.NonUnit, mathlib.Unit}
	sizes      = []int64{1, 2, 63, 64, 65, 130}
)

func TestGemm(t *testing.T) {
	b := setup(t)
	for _, size := range [][3]int64{{1, 1, 1}, {5, 3, 4}, {64, 65, 63}, {300, 17, 131}} {
		m, n, k := size[0], size[1], size[2]
		for _, ta := range transposes {
			for _, tb := range transposes {
				shape := func(t mathlib.Transpose, r, c int64) *matrix {
					if t == mathlib.Trans {
						r, c = c, r
					}
					return b.random(r, c)
				}
				x, y, c := shape(ta, m, k), shape(tb, k, n), b.random(m, n)
				for _, beta := range []float64{1, 0, -0.5} {
					want := linear(2, op(ta, x.dense(nil)), op(tb, y.dense(nil)), beta, c.dense(nil))
					must(t, b.h.Gemm(ta, tb, m, n, k, 2, x.p, x.ld, y.p, y.ld, beta, c.p, c.ld))
					c.expect(fmt.Sprintf("gemm %v %d%d beta %v", size, ta, tb, beta), want, nil)
				}
			}
		}
	}
}

func TestSyrkAndSymm(t *testing.T) {
	b := setup(t)
	for _, n := range sizes {
		for _, uplo := range uplos {
			c := b.spd(n, uplo)
			for _, trans := range transposes {
				rows, cols := n, int64(37)
				if trans == mathlib.Trans {
					rows, cols = cols, rows
				}
				a := b.random(rows, cols)
				o := op(trans, a.dense(nil))
				want := linear(-1, o, o.T(), 2, c.symmetric(uplo))
				must(t, b.h.Syrk(uplo, trans, n, 37, -1, a.p, a.ld, 2, c.p, c.ld))
				c.expect(fmt.Sprintf("syrk %d %d %d", n, uplo, trans), want, inTriangle(uplo))
			}
			for _, side := range sides {
				rows, cols := n, int64(5)
				if side == mathlib.Right {
					rows, cols = cols, rows
				}
				x, y := b.random(rows, cols), b.random(rows, cols)
				var want *mat.Dense
				if side == mathlib.Left {
					want = linear(0.5, c.symmetric(uplo), x.dense(nil), 1, y.dense(nil))
				} else {
					want = linear(0.5, x.dense(nil), c.symmetric(uplo), 1, y.dense(nil))
				}
				must(t, b.h.Symm(side, uplo, rows, cols, 0.5, c.p, c.ld, x.p, x.ld, 1, y.p, y.ld))
				y.expect(fmt.Sprintf("symm %d %d %d", n, uplo, side), want, nil)
			}
		}
	}
}

func TestTrmmAndTrsm(t *testing.T) {
	b := setup(t)
	for _, n := range sizes {
		for _, uplo := range uplos {
			for _, diag := range diags {
				a := b.triangle(n, uplo, diag)
				for _, side := range sides {
					for _, trans := range transposes {
						what := fmt.Sprintf("n %d uplo %d diag %d side %d trans %d", n, uplo, diag, side, trans)
						rows, cols := n, int64(7)
						if side == mathlib.Right {
							rows, cols = cols, rows
						}
						x, y := b.random(rows, cols), b.random(rows, cols)
						o, before := op(trans, a.triangular(uplo, diag)), x.dense(nil)
						product := func(m *mat.Dense) *mat.Dense {
							if side == mathlib.Left {
								return linear(3, o, m, 0, nil)
							}
							return linear(3, m, o, 0, nil)
						}
						must(t, b.h.Trmm(side, uplo, trans, diag, rows, cols, 3, a.p, a.ld, x.p, x.ld, y.p, y.ld))
						y.expect("trmm "+what, product(before), nil)
						must(t, b.h.Trsm(side, uplo, trans, diag, rows, cols, 1.0/3, a.p, a.ld, y.p, y.ld))
						y.expect("trsm "+what, before, nil)
						must(t, b.h.Trmm(side, uplo, trans, diag, rows, cols, 3, a.p, a.ld, x.p, x.ld, x.p, x.ld))
						x.expect("trmm in place "+what, product(before), nil)
					}
				}
			}
		}
	}
}

func TestVectors(t *testing.T) {
	b := setup(t)
	const m, n = 70, 41
	a := b.random(m, n)
	for _, trans := range transposes {
		rows, cols := int64(m), int64(n)
		if trans == mathlib.Trans {
			rows, cols = cols, rows
		}
		x, y := b.random(cols, 1), b.random(rows, 1)
		want := linear(2, op(trans, a.dense(nil)), x.dense(nil), -1, y.dense(nil))
		must(t, b.h.Gemv(trans, m, n, 2, a.p, a.ld, x.p, 1, -1, y.p, 1))
		y.expect("gemv", want, nil)
	}
	for _, uplo := range uplos {
		s, l := b.spd(n, uplo), b.triangle(n, uplo, mathlib.NonUnit)
		x, y := b.random(n, 1), b.random(n, 1)
		want := linear(1, s.symmetric(uplo), x.dense(nil), 0.5, y.dense(nil))
		must(t, b.h.Symv(uplo, n, 1, s.p, s.ld, x.p, 1, 0.5, y.p, 1))
		y.expect("symv", want, nil)
		for _, trans := range transposes {
			before := x.dense(nil)
			var z mat.Dense
			must(t, z.Solve(op(trans, l.triangular(uplo, mathlib.NonUnit)), before))
			must(t, b.h.Trsv(uplo, trans, mathlib.NonUnit, n, l.p, l.ld, x.p, 1))
			x.expect("trsv", &z, nil)
		}
	}
	x, y := b.random(n, 1), b.random(n, 1)
	dot, err := b.h.Dot(n, x.p, 1, y.p, 1)
	if want := mat.Dot(x.dense(nil).ColView(0), y.dense(nil).ColView(0)); err != nil || math.Abs(dot-want) > tolerance {
		t.Errorf("dot %v, %v, want %v", dot, err, want)
	}
	must(t, b.h.Axpy(n, -2, x.p, 1, y.p, 1), b.h.Scal(n, 3, y.p, 1))
	var want mat.Dense
	want.Scale(-2, x.dense(nil))
	want.Add(&want, y.dense(nil))
	want.Scale(3, &want)
	y.expect("axpy, scal", &want, nil)
	must(t, b.h.SetWorkspace(a.p, 1024), b.h.SetWorkspace(0, 0), b.h.SetStream(b.d.DefaultStream()), b.h.SetStream(b.s))
	if b.h.Stream() != b.s {
		t.Error("stream")
	}
}

// factor runs Potrf with a workspace of its own.
func (b *bench) factor(uplo mathlib.Uplo, a *matrix) (int, error) {
	size, err := b.h.PotrfSize(uplo, a.rows, a.p, a.ld)
	must(b.t, err)
	work, err := b.d.Alloc(max(size.Device, 1))
	must(b.t, err)
	info, err := b.h.Potrf(uplo, a.rows, a.p, a.ld, work, size)
	return info, errors.Join(err, b.d.Free(work))
}

func (b *bench) invert(uplo mathlib.Uplo, diag mathlib.Diag, a *matrix) (int, error) {
	size, err := b.h.TrtriSize(uplo, diag, a.rows, a.p, a.ld)
	must(b.t, err)
	work, err := b.d.Alloc(max(size.Device, 1))
	must(b.t, err)
	info, err := b.h.Trtri(uplo, diag, a.rows, a.p, a.ld, work, size)
	return info, errors.Join(err, b.d.Free(work))
}

func TestPotrfAndTrtri(t *testing.T) {
	b := setup(t)
	for _, n := range sizes {
		for _, uplo := range uplos {
			a := b.spd(n, uplo)
			var chol mat.Cholesky
			if !chol.Factorize(mat.NewSymDense(int(n), a.symmetric(uplo).RawMatrix().Data)) {
				t.Fatal("not positive definite")
			}
			var l, u mat.TriDense
			chol.LTo(&l)
			chol.UTo(&u)
			want := map[mathlib.Uplo]mat.Matrix{mathlib.Lower: &l, mathlib.Upper: &u}[uplo]
			if info, err := b.factor(uplo, a); info != 0 || err != nil {
				t.Fatalf("n %d: info %d, %v", n, info, err)
			}
			a.expect("potrf", want, inTriangle(uplo))
			for _, diag := range diags {
				a := b.triangle(n, uplo, diag)
				var inv mat.Dense
				must(t, inv.Inverse(a.triangular(uplo, diag)))
				if info, err := b.invert(uplo, diag, a); info != 0 || err != nil {
					t.Fatalf("n %d: info %d, %v", n, info, err)
				}
				a.expect("trtri", &inv, func(i, j int64) bool { return inTriangle(uplo)(i, j) && (i != j || diag == mathlib.NonUnit) })
			}
		}
	}
}

func TestInfo(t *testing.T) {
	b := setup(t)
	for _, uplo := range uplos {
		for _, minor := range []int64{1, 64, 65, 100} {
			a := b.matrix(100, 100, func(i, j int64) float64 {
				switch {
				case i != j:
					return 0
				case i == minor-1:
					return -1
				}
				return 1
			})
			if info, err := b.factor(uplo, a); info != int(minor) || err != nil {
				t.Errorf("potrf: info %d, %v, want %d", info, err, minor)
			}
			z := b.matrix(100, 100, func(i, j int64) float64 {
				if i == j && i != minor-1 {
					return 1
				}
				return 0
			})
			if info, err := b.invert(uplo, mathlib.NonUnit, z); info != int(minor) || err != nil {
				t.Errorf("trtri: info %d, %v, want %d", info, err, minor)
			}
		}
		nan := b.matrix(3, 3, func(i, j int64) float64 { return math.NaN() })
		if info, err := b.factor(uplo, nan); info != 1 || err != nil {
			t.Errorf("potrf of NaN: info %d, %v", info, err)
		}
	}
}

func TestVersions(t *testing.T) {
	emulator.Need(t)
	lib, err := mathlib.Load()
	must(t, err)
	if lib.Toolkit.Major != 12 || len(lib.Toolkit.Files) != 5 || lib.BLAS != "12.0.0" || lib.Solver != "11.0.0" ||
		!strings.Contains(lib.Toolkit.Place, "GPFIT_CUDA_LIB=") {
		t.Errorf("%+v", lib)
	}
}
