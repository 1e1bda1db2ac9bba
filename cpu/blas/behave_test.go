package blas

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gonum.org/v1/gonum/blas"
)

// TestPanics makes each argument invalid in turn and checks that the routines panic
// exactly when gonum's do.
func TestPanics(t *testing.T) {
	type args struct {
		side          blas.Side
		ul            blas.Uplo
		tA, tB        blas.Transpose
		d             blas.Diag
		m, n, k       int
		la, lb, lc    int // lengths of the slices
		lda, ldb, ldc int
		alpha, beta   float64
	}
	base := args{blas.Left, blas.Lower, blas.NoTrans, blas.NoTrans, blas.NonUnit, 5, 5, 5, 25, 25, 25, 5, 5, 5, 1, 1}
	changes := map[string]func(a *args){
		"nothing": func(a *args) {},
		"side":    func(a *args) { a.side = 'x' }, "uplo": func(a *args) { a.ul = 'x' },
		"tA": func(a *args) { a.tA = 'x' }, "tB": func(a *args) { a.tB = 'x' }, "diag": func(a *args) { a.d = 'x' },
		"m<0": func(a *args) { a.m = -1 }, "n<0": func(a *args) { a.n = -1 }, "k<0": func(a *args) { a.k = -1 },
		"m=0": func(a *args) { a.m = 0 }, "n=0": func(a *args) { a.n = 0 }, "k=0": func(a *args) { a.k = 0 },
		"m=0, no slices":  func(a *args) { a.m, a.la, a.lb, a.lc = 0, 0, 0, 0 },
		"alpha=0, a nil":  func(a *args) { a.alpha, a.la = 0, 0 },
		"lda":             func(a *args) { a.lda = 4 },
		"ldb":             func(a *args) { a.ldb = 4 },
		"ldc":             func(a *args) { a.ldc = 4 },
		"lda=0":           func(a *args) { a.lda = 0 },
		"short a":         func(a *args) { a.la = 24 },
		"short b":         func(a *args) { a.lb = 24 },
		"short c":         func(a *args) { a.lc = 24 },
		"transposed":      func(a *args) { a.tA, a.tB = blas.Trans, blas.ConjTrans },
		"transposed, lda": func(a *args) { a.tA, a.m, a.k, a.lda = blas.Trans, 5, 3, 4 },
		"right":           func(a *args) { a.side = blas.Right },
		"right, m=7":      func(a *args) { a.side, a.m = blas.Right, 7 },
	}
	routines := map[string]func(impl blas.Float64Level3, a args){
		"Dgemm": func(impl blas.Float64Level3, a args) {
			impl.Dgemm(a.tA, a.tB, a.m, a.n, a.k, a.alpha, make([]float64, a.la), a.lda, make([]float64, a.lb), a.ldb, a.beta, make([]float64, a.lc), a.ldc)
		},
		"Dsymm": func(impl blas.Float64Level3, a args) {
			impl.Dsymm(a.side, a.ul, a.m, a.n, a.alpha, make([]float64, a.la), a.lda, make([]float64, a.lb), a.ldb, a.beta, make([]float64, a.lc), a.ldc)
		},
		"Dsyrk": func(impl blas.Float64Level3, a args) {
			impl.Dsyrk(a.ul, a.tA, a.n, a.k, a.alpha, make([]float64, a.la), a.lda, a.beta, make([]float64, a.lc), a.ldc)
		},
		"Dtrmm": func(impl blas.Float64Level3, a args) {
			impl.Dtrmm(a.side, a.ul, a.tA, a.d, a.m, a.n, a.alpha, make([]float64, a.la), a.lda, make([]float64, a.lb), a.ldb)
		},
		"Dtrsm": func(impl blas.Float64Level3, a args) {
			impl.Dtrsm(a.side, a.ul, a.tA, a.d, a.m, a.n, a.alpha, make([]float64, a.la), a.lda, make([]float64, a.lb), a.ldb)
		},
	}
	variants(t, false, func(t *testing.T, impl *Implementation) {
		for name, call := range routines {
			for what, change := range changes {
				a := base
				change(&a)
				want := recovered(func() { call(reference, a) })
				if got := recovered(func() { call(impl, a) }); got != want {
					t.Errorf("%s with wrong %s: panic %v, want %v", name, what, got, want)
				}
			}
		}
	})
}

func recovered(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

// TestNotFinite puts NaN and Inf among small integers. Every element must be NaN,
// Inf or a number exactly as in the explicit sum.
func TestNotFinite(t *testing.T) {
	variants(t, true, func(t *testing.T, impl *Implementation) {
		rng := rand.New(rand.NewPCG(9, 10))
		integer := func(m matrix) matrix {
			for i := range m.rows {
				for j := range m.cols {
					m.set(i, j, float64(rng.IntN(5)-2))
				}
			}
			return m
		}
		for _, size := range [][3]int{{5, 6, 7}, {30, 50, 60}, {97, 101, 99}} {
			for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				m, n, k := size[0], size[1], size[2]
				a, b, c := integer(newMatrix(rng, m, k, 0)), integer(newMatrix(rng, k, n, 0)), integer(newMatrix(rng, m, n, 0))
				a.set(m/2, k/3, x)
				b.set(k/2, n-1, x)
				c.set(m-1, 0, x)
				want := c.clone()
				for i := range m {
					for j := range n {
						sum := c.at(i, j)
						for p := range k {
							sum += a.at(i, p) * b.at(p, j)
						}
						want.set(i, j, sum)
					}
				}
				impl.Dgemm(blas.NoTrans, blas.NoTrans, m, n, k, 1, a.data(), a.ld, b.data(), b.ld, 1, c.data(), c.ld)
				compare(t, fmt.Sprintf("Dgemm with %v, %v", x, size), c, want, c.abs(), 0)

				// A NaN in one equation of a solve does not spread.
				tri := newMatrix(rng, k, k, 0)
				for i := range k {
					for j := range k {
						tri.set(i, j, 0.5/float64(k))
					}
					tri.set(i, i, 1)
				}
				for _, side := range sides {
					rows, cols := m, k
					if side == blas.Left {
						rows, cols = k, m
					}
					r := newMatrix(rng, rows, cols, 0)
					r.set(rows/2, cols/2, x)
					impl.Dtrsm(side, blas.Lower, blas.NoTrans, blas.NonUnit, rows, cols, 1, tri.data(), tri.ld, r.data(), r.ld)
					for i := range rows {
						for j := range cols {
							same := i == rows/2
							if side == blas.Left {
								same = j == cols/2
							}
							if v := r.at(i, j); !same && (math.IsNaN(v) || math.IsInf(v, 0)) {
								t.Fatalf("Dtrsm, side %c: %v at (%d, %d) from (%d, %d)", side, v, i, j, rows/2, cols/2)
							}
						}
					}
				}
			}
		}
	})
}

// everything calls every routine and returns all results.
func everything(impl *Implementation, n int) []float64 {
	rng := rand.New(rand.NewPCG(11, uint64(n)))
	var out []float64
	random := func() []float64 {
		s := make([]float64, n*n)
		for i := range s {
			s[i] = rng.Float64() / float64(n)
		}
		for i := range n {
			s[i*n+i] += 1
		}
		return s
	}
	a, b := random(), random()
	for _, side := range sides {
		for _, ul := range uplos {
			c := slices.Clone(b)
			impl.Dtrsm(side, ul, blas.Trans, blas.NonUnit, n, n, 0.9, a, n, c, n)
			impl.Dtrmm(side, ul, blas.NoTrans, blas.Unit, n, n, 0.9, a, n, c, n)
			impl.Dsymm(side, ul, n, n, 0.9, a, n, b, n, 1, c, n)
			out = append(out, c...)
		}
	}
	c := slices.Clone(b)
	impl.Dsyrk(blas.Lower, blas.NoTrans, n, n, 1, a, n, 0.5, c, n)
	impl.Dsyrk(blas.Upper, blas.Trans, n, n, 1, a, n, 0.5, c, n)
	impl.Dgemm(blas.Trans, blas.Trans, n, n, n, 1, a, n, b, n, 1, c, n)
	return append(out, c...)
}

func sameBits(t *testing.T, what string, got, want []float64) {
	t.Helper()
	for i := range want {
		if math.Float64bits(got[i]) != math.Float64bits(want[i]) {
			t.Fatalf("%s: element %d is %v, was %v", what, i, got[i], want[i])
		}
	}
}

// TestDeterminism repeats a computation, also with other numbers of threads, and
// checks that the bits are the same.
func TestDeterminism(t *testing.T) {
	variants(t, false, func(t *testing.T, impl *Implementation) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(5))
		for _, n := range upTo(130, 20, 130, 301) {
			impl.SetThreads(1)
			want := everything(impl, n)
			for _, threads := range []int{1, 2, 3, 5, 5, 5} {
				impl.SetThreads(threads)
				sameBits(t, fmt.Sprintf("n=%d, %d threads", n, threads), everything(impl, n), want)
			}
		}
	})
}

// TestConcurrent calls one Implementation from many goroutines.
func TestConcurrent(t *testing.T) {
	variants(t, false, func(t *testing.T, impl *Implementation) {
		sizes := upTo(150, 30, 150, 211)
		want := make([][]float64, len(sizes))
		for i, n := range sizes {
			want[i] = everything(impl, n)
		}
		var wg sync.WaitGroup
		for g := range 9 {
			wg.Go(func() {
				for range 3 {
					i := g % len(sizes)
					sameBits(t, fmt.Sprintf("goroutine %d", g), everything(impl, sizes[i]), want[i])
				}
			})
		}
		wg.Wait()
	})
}

// TestOneProcessor lets several threads share one processor.
func TestOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	variants(t, false, func(t *testing.T, impl *Implementation) {
		want := everything(impl, 300)
		// A call uses no more threads than processors; force it.
		j := impl.e.pool.acquire(3)
		j.e = impl.e
		n := 300
		a, c, d := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
		for i := range a {
			a[i] = float64(i % 7)
		}
		v := rowMajor(a, n)
		j.addProduct(product{a: v, b: v, c: c, ldc: n, m: n, n: n, k: n, alpha: 1})
		impl.e.finish(j)
		impl.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, a, n, a, n, 0, d, n)
		sameBits(t, "three threads on one processor", c, d)
		sameBits(t, "again", everything(impl, 300), want)
	})
}

// TestBroken lets an item of a program panic on some thread, while others wait for it. The
// call must panic, too, and later calls must work.
func TestBroken(t *testing.T) {
	variants(t, false, func(t *testing.T, impl *Implementation) {
		want := everything(impl, 150)
		for _, threads := range []int{1, 3} {
			for range 20 {
				j := impl.e.pool.acquire(threads)
				if j.pooled != (threads > 1) {
					t.Fatal("an idle pool is busy")
				}
				j.e = impl.e
				const n = 300
				v := rowMajor(make([]float64, n*n), n)
				j.add(phase{kind: solvePhase, op: 7, items: 1})
				j.addProduct(product{a: v, b: v, c: make([]float64, n*n), ldc: n, m: n, n: n, k: n, alpha: 1})
				if _, ok := recovered(func() { impl.e.finish(j) }).(runtime.Error); !ok {
					t.Fatal("no panic although there is no solve 7")
				}
			}
		}
		sameBits(t, "after panics", everything(impl, 150), want)
	})
}

// TestAllocations checks that a call allocates nothing once the buffers exist.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool drops at random under the race detector")
	}
	variants(t, false, func(t *testing.T, impl *Implementation) {
		for _, n := range upTo(50, 10, 50, 200) {
			a, b, c := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
			for i := range a {
				a[i], b[i] = 1, 1
			}
			work := func() {
				impl.Dgemm(blas.NoTrans, blas.Trans, n, n, n, 1, a, n, b, n, 0, c, n)
				impl.Dsyrk(blas.Lower, blas.Trans, n, n, 1, a, n, 0, c, n)
				impl.Dtrmm(blas.Left, blas.Lower, blas.Trans, blas.Unit, n, n, 0, a, n, c, n)
				impl.Dtrmm(blas.Right, blas.Lower, blas.Trans, blas.Unit, n, n, 1, a, n, c, n)
				impl.Dtrsm(blas.Right, blas.Lower, blas.Trans, blas.NonUnit, n, n, 1, a, n, c, n)
			}
			if allocs := testing.AllocsPerRun(10, work); allocs != 0 {
				t.Errorf("n=%d, one thread: %v allocations", n, allocs)
			}
			// AllocsPerRun sets GOMAXPROCS to 1, so count explicitly with threads.
			work()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for range 100 {
				work()
			}
			runtime.ReadMemStats(&after)
			if allocs := after.Mallocs - before.Mallocs; allocs > 50 {
				t.Errorf("n=%d: %d allocations in 100 runs", n, allocs)
			}
		}
	})
}

// TestWorkersEnd checks that the workers of an unreferenced Implementation end.
func TestWorkersEnd(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, v := range Variants() {
		impl, err := New(Options{Variant: v, Threads: 4})
		if err != nil {
			t.Fatal(err)
		}
		everything(impl, 150)
	}
	for deadline := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
}

func TestNew(t *testing.T) {
	t.Setenv(EnvVariant, "")
	impl, err := New(Options{})
	if err != nil || impl.Variant() != Variants()[0] || impl.Threads() != runtime.GOMAXPROCS(0) {
		t.Errorf("New: %v, %s, %d threads", err, impl.Variant(), impl.Threads())
	}
	impl.SetThreads(0)
	if impl.Threads() != 1 {
		t.Errorf("SetThreads(0): %d threads", impl.Threads())
	}
	if _, err := New(Options{Variant: "sse9"}); err == nil || !strings.Contains(err.Error(), "unknown variant") {
		t.Errorf("unknown variant: %v", err)
	}
	if _, err := New(Options{Threads: -1}); err == nil {
		t.Error("negative threads: no error")
	}
	t.Setenv(EnvVariant, Generic)
	if impl, err = New(Options{}); err != nil || impl.Variant() != Generic {
		t.Errorf("%s=%s: %v", EnvVariant, Generic, err)
	}
	if best := Variants()[0]; best != Generic {
		if impl, err = New(Options{Variant: best}); err != nil || impl.Variant() != best {
			t.Errorf("Options.Variant does not override the environment: %v", err)
		}
	}
	t.Setenv(EnvVariant, "AVX512")
	if _, err = New(Options{}); err == nil || !strings.Contains(err.Error(), EnvVariant) {
		t.Errorf("%s=AVX512: %v", EnvVariant, err)
	}
}
