package spd

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"gpfit/internal/isa"
	"gpfit/internal/testcheck"
)

// factored returns a matrix with its factor. Its memory was full of NaNs before.
func factored(t testing.TB, e *Engine, rows [][]float64) *Symmetric {
	m := e.New(len(rows))
	pollute(m)
	factor(t, m, rows, 0)
	return m
}

// factor writes Σ from row from on and factors it.
func factor(t testing.TB, m *Symmetric, rows [][]float64, from int) {
	t.Helper()
	setTriangle(m, rows, from)
	if minor, err := m.Factor(context.Background(), from, nil); minor != 0 || err != nil {
		t.Fatalf("%s, %d threads, n=%d, from row %d: minor %d, %v", m.set, m.Threads(), m.n, from, minor, err)
	}
}

// pollute fills a matrix with NaNs.
func pollute(m *Symmetric) {
	for _, s := range [][]float64{m.a, m.tiles, m.diagonal} {
		for i := range s {
			s[i] = math.NaN()
		}
	}
}

// everything returns the factor and the inverse.
func everything(t testing.TB, m *Symmetric) []float64 {
	out := lowerFactor(m)
	testcheck.Do(t, m.Invert(context.Background(), nil))
	return append(out, upperInverse(m)...)
}

// TestFactorRows copies a factor by rows to a matrix with other contents.
func TestFactorRows(t *testing.T) {
	for _, v := range isa.Supported() {
		e := newEngine(t, v, 2)
		for _, n := range []int{1, 7, 8, 61, 150} {
			m, copied := factored(t, e, newReproducible(n).definite(n)), e.New(n)
			pollute(copied)
			row := make([]float64, n)
			for i := range n {
				m.FactorRow(i, row[:i+1])
				copied.SetFactorRow(i, row[:i+1])
				if m.FactorDiagonal()[i] != row[i] {
					t.Fatalf("%s, n=%d: diagonal %d is %v, not %v", v, n, i, m.FactorDiagonal()[i], row[i])
				}
			}
			if !slices.Equal(everything(t, copied), everything(t, m)) {
				t.Errorf("%s, n=%d: the copied factor has another inverse", v, n)
			}
		}
	}
}

// TestFactorFrom replaces the last rows of Σ, also after an inversion.
func TestFactorFrom(t *testing.T) {
	n := 311
	if emulated() {
		n = 101
	}
	for _, v := range isa.Supported() {
		e := newEngine(t, v, 2)
		rng := newReproducible(n)
		rows := rng.definite(n)
		m := factored(t, e, rows)
		for _, from := range []int{n - 1, n - 9, 96, 50, 24, 17, 1} {
			for i := from; i < n; i++ {
				copy(rows[i], rng.numbers(i, n))
			}
			factor(t, m, rows, from)
			if !slices.Equal(everything(t, m), everything(t, factored(t, e, rows))) {
				t.Errorf("%s: the factor from row %d on differs from a new one", v, from)
			}
		}
		negative(rows, n-3)
		setTriangle(m, rows, n-5)
		if minor, err := m.Factor(t.Context(), n-5, nil); minor != n-2 || err != nil {
			t.Errorf("%s: minor %d, %v, want %d", v, minor, err, n-2)
		}
	}
}

// cancelling returns a context, a report that cancels it after a number of tasks, and a
// function that returns whether it has done so.
func cancelling(tasks int) (ctx context.Context, report func(flops float64), done func() bool) {
	ctx, cancel := context.WithCancel(context.Background())
	report = func(float64) {
		if tasks--; tasks <= 0 {
			cancel()
		}
	}
	return ctx, report, func() bool { return ctx.Err() != nil }
}

// TestCancellation cancels operations in the middle and uses the matrix again.
func TestCancellation(t *testing.T) {
	n := 311
	if emulated() {
		n = 150
	}
	for _, v := range isa.Supported() {
		for _, threads := range []int{1, 3} {
			e := newEngine(t, v, threads)
			rows := newReproducible(n).definite(n)
			want := everything(t, factored(t, e, rows))
			m := e.New(n)
			check := func(name string, err error, done bool) {
				t.Helper()
				if done != errors.Is(err, context.Canceled) || err != nil && !done {
					t.Errorf("%s, %d threads: %s: %v, cancelled: %v", v, threads, name, err, done)
				}
			}
			for tasks := 1; tasks < 40; tasks += 3 {
				setTriangle(m, rows, 0)
				ctx, report, done := cancelling(tasks)
				_, err := m.Factor(ctx, 0, report)
				check("Factor", err, done())
				factor(t, m, rows, 0)
				ctx, report, done = cancelling(tasks)
				check("Invert", m.Invert(ctx, report), done())
			}
			factor(t, m, rows, 0)
			cancelSolutions(m, check)
			if !slices.Equal(everything(t, m), want) {
				t.Errorf("%s, %d threads: other results after cancellations", v, threads)
			}
		}
	}
}

// cancelSolutions tests the operations on a factor with a cancelled context.
func cancelSolutions(m *Symmetric, check func(name string, err error, done bool)) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	b := make([]float64, m.n)
	check("SolveEquations", m.SolveEquations(ctx, b, 1), true)
	q, r := m.NewRowBlock(16), m.NewRowBlock(16)
	check("ScaledInverse", q.ScaledInverse(ctx, 0, 16, nil), true)
	q.i0, q.i1 = 0, 16
	check("MultiplyInverse", r.MultiplyInverse(ctx, q, nil), true)
	check("MultiplyBlock", r.MultiplyBlock(ctx, q, 0, 1, []float64{1}), true)
}

// TestReports tests that the reported operations are about as many as the formulas give.
func TestReports(t *testing.T) {
	const n = 311
	for _, threads := range []int{1, 2} {
		e := newEngine(t, isa.Supported()[0], threads)
		m := e.New(n)
		setTriangle(m, newReproducible(n).definite(n), 0)
		total := 0.0
		report := func(flops float64) { total += flops }
		if minor, err := m.Factor(t.Context(), 0, report); minor != 0 || err != nil {
			t.Fatal(minor, err)
		}
		testcheck.Do(t, m.Invert(t.Context(), report))
		if cube := float64(n * n * n); !(0.9*cube < total && total < 1.25*cube) {
			t.Errorf("%d threads: %.3g operations reported, n³ is %.3g", threads, total, cube)
		}
	}
}

// TestBusyTeam tests that an operation does its work alone if another one has the team.
func TestBusyTeam(t *testing.T) {
	const n = 150
	rows := newReproducible(n).definite(n)
	for _, v := range isa.Supported() {
		e := newEngine(t, v, 3)
		want := everything(t, factored(t, e, rows))
		if !e.team.TryAcquire() {
			t.Fatal("the team is busy")
		}
		got := everything(t, factored(t, e, rows))
		e.team.Release()
		if !slices.Equal(got, want) {
			t.Errorf("%s: other results with a busy team", v)
		}
	}
}

// TestLargeEquations tests that the threads that share large equations compute the bits of
// one thread. The factor is bidiagonal, because only its size matters.
func TestLargeEquations(t *testing.T) {
	if emulated() {
		t.Skip("takes too long in an emulator")
	}
	const n, count = parallelOrder + serialOrder + 77, 5
	rng := newReproducible(n)
	factor := rng.numbers(n, 1)
	right := rng.numbers(n*count, 1)
	for _, v := range isa.Supported() {
		var want []float64
		for _, threads := range []int{1, 2, 3} {
			m := newEngine(t, v, threads).New(n)
			row := make([]float64, n)
			for i := range n {
				clear(row)
				for j := max(0, i-1); j < i; j++ {
					row[j] = factor[i]
				}
				row[i] = 1 + factor[i]/2
				m.SetFactorRow(i, row[:i+1])
			}
			b := slices.Clone(right)
			testcheck.Do(t, m.SolveEquations(t.Context(), b, count))
			if want == nil {
				want = b
			} else if !slices.Equal(b, want) {
				t.Errorf("%s: other bits with %d threads", v, threads)
			}
			checkBidiagonal(t, v, factor, right, b)
		}
	}
}

// checkBidiagonal checks L·Lᵀ·x = b for the factor of TestLargeEquations.
func checkBidiagonal(t *testing.T, v isa.Variant, factor, b, x []float64) {
	t.Helper()
	n := len(factor)
	for s := 0; s < len(b); s += n {
		y := make([]float64, n)
		for i := range y { // y = Lᵀ·x
			y[i] = (1 + factor[i]/2) * x[s+i]
			if i+1 < n {
				y[i] += factor[i+1] * x[s+i+1]
			}
		}
		for i := range y {
			sum := (1 + factor[i]/2) * y[i]
			if i > 0 {
				sum += factor[i] * y[i-1]
			}
			if !(math.Abs(sum-b[s+i]) <= 1e-13) {
				t.Fatalf("%s: equation %d of side %d leaves %v", v, i, s/n, sum-b[s+i])
			}
		}
	}
}

// TestPanic tests that a panic in a report reaches the caller and leaves the team to others.
func TestPanic(t *testing.T) {
	const n = 150
	rows := newReproducible(n).definite(n)
	for _, v := range isa.Supported() {
		e := newEngine(t, v, 3)
		m := e.New(n)
		setTriangle(m, rows, 0)
		func() {
			defer func() {
				if p := recover(); p != "report" {
					t.Errorf("%s: recovered %v", v, p)
				}
			}()
			_, _ = m.Factor(t.Context(), 0, func(float64) { panic("report") })
		}()
		if !e.team.TryAcquire() {
			t.Fatalf("%s: the team is still reserved after a panic", v)
		}
		e.team.Release()
		factor(t, m, rows, 0)
	}
}
