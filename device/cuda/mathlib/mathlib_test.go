package mathlib_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/emulator"
	"gpfit/device/cuda/mathlib"
	"gpfit/internal/testcheck"
)

func TestMain(m *testing.M) { os.Exit(emulator.Main(m, emulator.Config{Memory: 256 << 20})) }

// tolerance limits the difference between two ways to sum a few hundred terms of order one.
const tolerance = 1e-11

// bench is a handle on the emulated device.
type bench struct {
	t *testing.T
	d *driver.Device
	s *driver.Stream
	h *mathlib.Handle
	r *rand.Rand
}

// setup checks the memory at the end of the test.
func setup(t *testing.T) *bench {
	t.Helper()
	emulator.Check(t)
	return unchecked(t)
}

func unchecked(t *testing.T) *bench {
	t.Helper()
	emulator.Need(t)
	lib := testcheck.Get(mathlib.Load())(t)
	d := testcheck.Get(driver.Open(0))(t)
	s := testcheck.Get(d.NewStream())(t)
	h := testcheck.Get(lib.New(s, mathlib.Native))(t)
	t.Cleanup(func() { testcheck.Do(t, h.Close(), h.Close(), s.Destroy(), d.Close()) })
	return &bench{t, d, s, h, rand.New(rand.NewPCG(1, 2))}
}

// matrix is a column-major matrix on the device, with a leading dimension above its number of rows.
type matrix struct {
	driver.Matrix
	b          *bench
	rows, cols int64
	host       []float64
}

func (b *bench) matrix(rows, cols int64, value func(i, j int64) float64) *matrix {
	m := &matrix{b: b, rows: rows, cols: cols, Matrix: driver.Matrix{LD: rows + 3}}
	m.host = make([]float64, m.LD*cols)
	for i := range m.host {
		m.host[i] = math.NaN()
	}
	for j := range cols {
		for i := range rows {
			m.host[i+j*m.LD] = value(i, j)
		}
	}
	p, err := b.d.Alloc(int64(len(m.host)) * 8)
	testcheck.Do(b.t, err, driver.CopyToDevice(b.s, p, m.host))
	b.t.Cleanup(func() { testcheck.Do(b.t, b.d.Free(p)) })
	m.A = p
	return m
}

func (b *bench) random(rows, cols int64) *matrix {
	return b.matrix(rows, cols, func(i, j int64) float64 { return b.r.Float64() - 0.5 })
}

// part reports whether an element of a matrix is read and written.
type part func(i, j int64) bool

func all(i, j int64) bool   { return true }
func lower(i, j int64) bool { return i >= j }
func upper(i, j int64) bool { return i <= j }

// triangle returns a well-conditioned triangle, with NaN in the other triangle.
func (b *bench) triangle(n int64, in part) *matrix {
	return b.matrix(n, n, func(i, j int64) float64 {
		switch {
		case !in(i, j):
			return math.NaN()
		case i == j:
			return 1 + b.r.Float64()
		}
		return (b.r.Float64() - 0.5) / float64(n)
	})
}

// spd returns a symmetric positive definite matrix, with NaN in the other triangle.
func (b *bench) spd(n int64, in part) *matrix {
	return b.matrix(n, n, func(i, j int64) float64 {
		if !in(i, j) {
			return math.NaN()
		}
		v := math.Exp(-math.Abs(float64(i-j)) / 10)
		if i == j {
			v += 0.1
		}
		return v
	})
}

// dense returns the host's copy as gonum's matrix; other returns the value for an
// element that is not in the part.
func (m *matrix) dense(in part, other func(i, j int64) float64) *mat.Dense {
	d := mat.NewDense(int(m.rows), int(m.cols), nil)
	for j := range m.cols {
		for i := range m.rows {
			v := m.host[i+j*m.LD]
			if !in(i, j) {
				v = other(i, j)
			}
			d.Set(int(i), int(j), v)
		}
	}
	return d
}

func (m *matrix) full() *mat.Dense { return m.dense(all, nil) }

func (m *matrix) symmetric(in part) *mat.Dense {
	return m.dense(in, func(i, j int64) float64 { return m.host[j+i*m.LD] })
}

func (m *matrix) triangular(in part) *mat.Dense {
	return m.dense(in, func(i, j int64) float64 { return 0 })
}

// expect compares a part of the device's matrix with want, and the rest with its values
// before the call.
func (m *matrix) expect(what string, want mat.Matrix, in part) {
	m.b.t.Helper()
	got := make([]float64, len(m.host))
	testcheck.Do(m.b.t, driver.CopyToHost(m.b.s, got, m.A))
	for j := range m.cols {
		for i := range m.LD {
			g, w := got[i+j*m.LD], m.host[i+j*m.LD]
			inside := i < m.rows && in(i, j)
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
	sides      = []mathlib.Side{mathlib.Left, mathlib.Right}
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
					want := linear(2, op(ta, x.full()), op(tb, y.full()), beta, c.full())
					testcheck.Do(t, b.h.Gemm(ta, tb, m, n, k, 2, x.Matrix, y.Matrix, beta, c.Matrix))
					c.expect(fmt.Sprintf("gemm %v %d%d beta %v", size, ta, tb, beta), want, all)
				}
			}
		}
	}
}

func TestSymm(t *testing.T) {
	b := setup(t)
	for _, n := range sizes {
		a, x := b.spd(n, upper), b.random(n, 5)
		y := b.matrix(n, 5, func(i, j int64) float64 { return math.NaN() })
		testcheck.Do(t, b.h.Symm(n, 5, a.Matrix, x.Matrix, y.Matrix))
		y.expect(fmt.Sprintf("symm %d", n), linear(1, a.symmetric(upper), x.full(), 0, nil), all)
	}
}

// TestGemmBatched multiplies blocks along the diagonals of larger matrices, whose strides
// are not multiples of their columns.
func TestGemmBatched(t *testing.T) {
	b := setup(t)
	const count, m, n, k, side = 3, 17, 9, 12, 70
	for _, ta := range transposes {
		for _, tb := range transposes {
			x, y, c := b.random(side, side), b.random(side, side), b.random(side, side)
			along := func(m *matrix, step int64) mathlib.Strided {
				return mathlib.Strided{Matrix: m.Matrix, Stride: step * (m.LD + 1)}
			}
			want := c.full()
			for i := range count {
				block := func(m *mat.Dense, step, rows, cols int) *mat.Dense {
					return m.Slice(i*step, i*step+rows, i*step, i*step+cols).(*mat.Dense)
				}
				shape := func(t mathlib.Transpose, m *mat.Dense, step, r, c int) *mat.Dense {
					if t == mathlib.Trans {
						r, c = c, r
					}
					return block(m, step, r, c)
				}
				part := block(want, 22, m, n)
				part.Copy(linear(2, op(ta, shape(ta, x.full(), 20, m, k)), op(tb, shape(tb, y.full(), 21, k, n)), -1, mat.DenseCopyOf(part)))
			}
			testcheck.Do(t, b.h.GemmBatched(ta, tb, m, n, k, 2, along(x, 20), along(y, 21), -1, along(c, 22), count))
			c.expect(fmt.Sprintf("batched gemm %d%d", ta, tb), want, all)
		}
	}
}

func TestTrsm(t *testing.T) {
	b := setup(t)
	for _, n := range sizes {
		l := b.triangle(n, lower)
		for _, side := range sides {
			for _, trans := range transposes {
				rows, cols := n, int64(7)
				if side == mathlib.Right {
					rows, cols = cols, rows
				}
				y := b.random(rows, cols)
				before := y.full()
				testcheck.Do(t, b.h.Trsm(side, trans, rows, cols, l.Matrix, y.Matrix))
				got := make([]float64, len(y.host))
				testcheck.Do(t, driver.CopyToHost(b.s, got, y.A))
				copy(y.host, got)
				left, right := op(trans, l.triangular(lower)), mat.Matrix(y.full())
				if side == mathlib.Right {
					left, right = right, left
				}
				back := linear(1, left, right, 0, nil)
				if !mat.EqualApprox(back, before, tolerance) {
					t.Fatalf("trsm n %d side %d trans %d: the solution does not solve", n, side, trans)
				}
			}
		}
	}
}

func TestPotrf(t *testing.T) {
	b := setup(t)
	for _, n := range sizes {
		a := b.spd(n, lower)
		var chol mat.Cholesky
		if !chol.Factorize(mat.NewSymDense(int(n), a.symmetric(lower).RawMatrix().Data)) {
			t.Fatal("not positive definite")
		}
		var l mat.TriDense
		chol.LTo(&l)
		if minor, err := b.h.Potrf(n, a.Matrix); minor != 0 || err != nil {
			t.Fatalf("n %d: minor %d, %v", n, minor, err)
		}
		a.expect("potrf", &l, lower)
	}
}

func TestInfo(t *testing.T) {
	b := setup(t)
	for _, minor := range []int64{1, 64, 65, 100} {
		diagonal := func(at float64) *matrix {
			return b.matrix(100, 100, func(i, j int64) float64 {
				switch {
				case i != j:
					return 0
				case i == minor-1:
					return at
				}
				return 1
			})
		}
		if info, err := b.h.Potrf(100, diagonal(-1).Matrix); info != int(minor) || err != nil {
			t.Errorf("potrf: minor %d, %v, want %d", info, err, minor)
		}
	}
	nan := b.matrix(3, 3, func(i, j int64) float64 { return math.NaN() })
	if info, err := b.h.Potrf(3, nan.Matrix); info != 1 || err != nil {
		t.Errorf("potrf of NaN: minor %d, %v", info, err)
	}
}

func TestVersions(t *testing.T) {
	emulator.Need(t)
	lib := testcheck.Get(mathlib.Load())(t)
	if lib.Toolkit.Major != 12 || len(lib.Toolkit.Files) != 5 || lib.BLAS != "12.0.0" || lib.Solver != "11.0.0" ||
		!strings.Contains(lib.Toolkit.Place, "GPFIT_CUDA_LIB=") {
		t.Errorf("%+v", lib)
	}
}

func TestToolkits(t *testing.T) {
	home := t.TempDir()
	conda := func(kit string) []string { return []string{"HOME=" + home, kit} }
	p := emulator.Build(t)
	in := func(parts ...string) string { return filepath.Join(append([]string{p.Root}, parts...)...) }
	cases := []struct {
		name  string
		cfg   emulator.Config
		major int
		words string // words of the place or of the error
	}{
		{"toolkit12", emulator.Config{}, 12, "GPFIT_CUDA_LIB="},
		{"toolkit13", emulator.Config{Toolkit: emulator.CUDA13, DriverVersion: 13000}, 13, "GPFIT_CUDA_LIB="},
		{"wheels12", emulator.Config{Toolkit: emulator.Wheels12}, 12, "GPFIT_CUDA_LIB="},
		{"wheels13", emulator.Config{Toolkit: emulator.Wheels13, DriverVersion: 13000}, 13, "GPFIT_CUDA_LIB="},
		{"folder", emulator.Config{Toolkit: emulator.NoToolkit, Env: []string{"GPFIT_CUDA_LIB=" + in("cuda12/lib64")}}, 12, "GPFIT_CUDA_LIB="},
		{"home", emulator.Config{Toolkit: emulator.NoToolkit, Env: []string{"CUDA_HOME=" + in("cuda12")}}, 12, "CUDA_HOME="},
		{"path", emulator.Config{Toolkit: emulator.NoToolkit, Env: []string{"CUDA_PATH=" + in("cuda12")}}, 12, "CUDA_PATH="},
		{"loader", emulator.Config{Toolkit: emulator.NoToolkit, Env: []string{"LD_LIBRARY_PATH=" + in("cuda12/lib64")}}, 12, "the loader's path"},
		{"conda", emulator.Config{Toolkit: emulator.NoToolkit, Env: conda("CONDA_PREFIX=" + in("wheels12"))}, 12, "CONDA_PREFIX="},
		{"venv", emulator.Config{Toolkit: emulator.NoToolkit, Env: []string{"VIRTUAL_ENV=" + venv(t, in("wheels12", "nvidia"))}}, 12, "site-packages"},
		{"loader wheels", emulator.Config{Toolkit: emulator.NoToolkit, Env: []string{"LD_LIBRARY_PATH=" + strings.Join([]string{
			in("wheels12/nvidia/cublas/lib"), in("wheels12/nvidia/cusolver/lib"), in("wheels12/nvidia/cusparse/lib"), in("wheels12/nvidia/nvjitlink/lib")}, ":")}}, 12, "the loader's path"},
		// The loader's path mixes toolkits, CUDA_HOME does not.
		{"second choice", emulator.Config{Toolkit: emulator.NoToolkit, Env: []string{
			"LD_LIBRARY_PATH=" + in("mixed/lib64"), "CUDA_HOME=" + in("cuda12")}}, 12, "CUDA_HOME="},

		{"driver12", emulator.Config{Toolkit: emulator.CUDA13}, 0, "CUDA 13 needs a driver for CUDA 13.0 or later, but this one supports 12.4"},
		{"mixed", emulator.Config{Toolkit: emulator.Mixed}, 0, "mixes toolkits: libcublas.so.12 belongs to CUDA 12, libcusolver.so.12 to CUDA 13"},
		{"mixedsparse", emulator.Config{Toolkit: emulator.MixedSparse}, 0, "needs libnvJitLink.so.13, which is not beside it"},
		{"incomplete", emulator.Config{Toolkit: emulator.Incomplete}, 0, "libcublas.so.12 exists but libcusolver.so.11 does not"},
		{"lacking", emulator.Config{Toolkit: emulator.Lacking}, 0, "the libraries lack cublasCreate_v2, "},
		{"empty", emulator.Config{Toolkit: emulator.NoToolkit, Env: []string{"GPFIT_CUDA_LIB=" + in("driver")}}, 0, "no CUDA 12 or 13 toolkit was found (nothing in GPFIT_CUDA_LIB="},
		{"loader mixed", emulator.Config{Toolkit: emulator.NoToolkit, Env: []string{"LD_LIBRARY_PATH=" + in("incomplete/lib64") + ":" + in("12")}}, 0, "it mixes toolkits: " + in("12")},
		{"no driver", emulator.Config{NoDriver: true}, 0, "cannot be opened"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.major == 0 && c.cfg.Toolkit == emulator.NoToolkit {
				c.cfg.Env = append(c.cfg.Env, "HOME="+home)
			}
			if emulator.Rerun(t, c.cfg) {
				return
			}
			lib, err := mathlib.Load()
			if c.major == 0 {
				if err == nil && c.name == "loader mixed" {
					t.Skipf("SKIPPED: this machine has a toolkit: %s", lib.Toolkit.Place)
				}
				if err == nil || !strings.Contains(err.Error(), c.words) {
					t.Errorf("error %v, want %q", err, c.words)
				}
				return
			}
			if err != nil || lib.Toolkit.Major != c.major || !strings.Contains(lib.Toolkit.Place, c.words) {
				t.Fatalf("%+v, %v", lib, err)
			}
			kit, err := mathlib.Find(driver.Detect().DriverVersion)
			if err != nil || kit.Place != lib.Toolkit.Place {
				t.Errorf("%+v, %v", kit, err)
			}
			b := setup(t)
			nine := b.matrix(1, 1, func(_, _ int64) float64 { return 9 })
			if minor, err := b.h.Potrf(1, nine.Matrix); minor != 0 || err != nil {
				t.Errorf("%v, %v", minor, err)
			}
			nine.expect("the factor of 9", mat.NewDense(1, 1, []float64{3}), all)
		})
	}
}

// venv creates a Python environment whose site-packages contain the wheels.
func venv(t *testing.T, wheels string) string {
	t.Helper()
	dir := t.TempDir()
	site := filepath.Join(dir, "lib", "python3.11", "site-packages")
	testcheck.Do(t, os.MkdirAll(site, 0o755), os.Symlink(wheels, filepath.Join(site, "nvidia")))
	return dir
}
