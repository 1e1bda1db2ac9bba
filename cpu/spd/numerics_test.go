package spd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gpfit/internal/isa"
	"gpfit/internal/testcheck"
)

// emulated reports whether -short goes with an emulated processor, on which a product of
// order 400 takes a second.
func emulated() bool { return testing.Short() && os.Getenv("GPFIT_EMULATED") != "" }

// brief reports whether -short goes with the race detector or an emulated processor. Both
// slow the reference down more than tenfold and have little to find in a larger size.
func brief() bool { return testing.Short() && raceEnabled || emulated() }

// rbf is the matrix exp(−|xᵢ−xⱼ|²/2ρ²) of n points of [0, 1] with jitter added to its diagonal: it
// has a low numerical rank, so its factor is as ill-conditioned as the jitter allows.
func rbf(n int, rho, jitter float64) *mat.SymDense {
	rng := rand.New(rand.NewPCG(1, 5))
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.Float64()
	}
	s := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			r := (x[i] - x[j]) / rho
			s.SetSym(i, j, math.Exp(-r*r/2))
		}
		s.SetSym(i, i, 1+jitter)
	}
	return s
}

// A precise sum has twice the precision of float64: products by FMA, sums by Knuth's TwoSum.
// In float64, the rounding of a residual would hide it.
type precise struct{ sum, low float64 }

func (p *precise) add(x, y float64) {
	product := float64(x * y)
	p.low += math.FMA(x, y, -product)
	next := p.sum + product
	part := next - p.sum
	p.low += (p.sum - (next - part)) + (product - part)
	p.sum = next
}

// dotPrecise returns x·y − z.
func dotPrecise(x, y []float64, z float64) float64 {
	p := precise{sum: -z}
	for i, v := range x {
		p.add(v, y[i])
	}
	return p.sum + p.low
}

// residuals are backward errors of a factor, an inverse and solutions, in units of the
// roundoff: ‖L·Lᵀ − Σ‖/‖Σ‖, ‖Σ·X − I‖/‖Σ‖‖X‖ and ‖Σ·x − b‖/‖Σ‖‖x‖ in Frobenius norms. The
// inverse's error is of some of its columns.
type residuals struct{ factor, inverse, equations float64 }

func (r residuals) String() string {
	return fmt.Sprintf("factor %.2f, inverse %.2f, equations %.2f", r.factor, r.inverse, r.equations)
}

// measure returns the residuals; solutions and right-hand sides are columns.
func measure(s mat.Symmetric, triangle mat.Triangular, inv mat.Symmetric, solved, b mat.Matrix) residuals {
	n := s.SymmetricDim()
	sigma, l, inverse := mat.DenseCopyOf(s), mat.DenseCopyOf(triangle), mat.DenseCopyOf(inv)
	x, sides := mat.DenseCopyOf(solved.T()), mat.DenseCopyOf(b.T())
	norm := mat.Norm(sigma, 2) * unit
	squares := 0.0
	for i := range n {
		for j := range i + 1 {
			r := dotPrecise(l.RawRowView(i)[:j+1], l.RawRowView(j)[:j+1], sigma.At(i, j))
			if squares += r * r; j < i {
				squares += r * r
			}
		}
	}
	r := residuals{factor: math.Sqrt(squares) / norm}
	// columns returns the residual of Σ·x − b for some rows of x and b.
	columns := func(x, b *mat.Dense, step int) float64 {
		above, below := 0.0, 0.0
		for j := 0; j < x.RawMatrix().Rows; j += step {
			for i := range n {
				r := dotPrecise(sigma.RawRowView(i), x.RawRowView(j), b.At(j, i))
				above += r * r
			}
			below += dot(x.RawRowView(j), x.RawRowView(j))
		}
		return math.Sqrt(above/below) / norm
	}
	unity := mat.NewDense(n, n, nil)
	for i := range n {
		unity.Set(i, i, 1)
	}
	r.inverse, r.equations = columns(inverse, unity, 9), columns(x, sides, 1)
	return r
}

// sides returns right-hand sides, one per column.
func sides(n, count int) *mat.Dense {
	rng := rand.New(rand.NewPCG(8, 1))
	b := mat.NewDense(n, count, nil)
	for i := range n {
		for j := range count {
			b.Set(i, j, rng.NormFloat64())
		}
	}
	return b
}

func gonumResiduals(t *testing.T, s *mat.SymDense, b *mat.Dense) residuals {
	var chol mat.Cholesky
	if !chol.Factorize(s) {
		t.Fatal("gonum finds no factor")
	}
	var l mat.TriDense
	chol.LTo(&l)
	var inverse mat.SymDense
	var x mat.Dense
	// The errors report the condition.
	_ = chol.InverseTo(&inverse)
	_ = chol.SolveTo(&x, b)
	return measure(s, &l, &inverse, &x, b)
}

// ourResiduals computes with an engine.
func ourResiduals(t *testing.T, e *Engine, s *mat.SymDense, b *mat.Dense) residuals {
	n, count := b.Dims()
	ctx := t.Context()
	m := e.New(n)
	whole, lower := mat.DenseCopyOf(s), make([][]float64, n)
	for i := range n {
		lower[i] = whole.RawRowView(i)[:i+1]
	}
	factor(t, m, lower, 0)
	rows := mat.NewDense(count, n, nil)
	rows.Copy(b.T())
	testcheck.Do(t, m.SolveEquations(ctx, rows.RawMatrix().Data, count))
	l := mat.NewTriDense(n, mat.Lower, nil)
	row := make([]float64, n)
	for i := range n {
		m.FactorRow(i, row[:i+1])
		for j := range i + 1 {
			l.SetTri(i, j, row[j])
		}
	}
	testcheck.Do(t, m.Invert(ctx, nil))
	inverse := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			inverse.SetSym(i, j, m.InverseElement(i, j))
		}
	}
	return measure(s, l, inverse, rows.T(), b)
}

// TestIllConditioned compares the backward errors for covariance matrices of condition 1e12
// to 1e14 with the errors of gonum's routines. An element of the factor is one sum of up to
// 288 products, which all round like the largest partial sum: a random walk of √288·0.29 ≈ 5
// units. gonum subtracts 64 products at a time from what is left, which is small.
func TestIllConditioned(t *testing.T) {
	const walk = 8
	n := 400
	if brief() {
		n = 100
	}
	for _, jitter := range []float64{1e-10, 1e-11, 1e-12} {
		s, b := rbf(n, 0.3, jitter), sides(n, 13)
		want := gonumResiduals(t, s, b)
		t.Logf("jitter %g: gonum: %v", jitter, want)
		for _, v := range isa.Supported() {
			got := ourResiduals(t, newEngine(t, v, 2), s, b)
			t.Logf("jitter %g: %s: %v", jitter, v, got)
			if got.factor > want.factor+walk || got.inverse > 2*want.inverse+walk || got.equations > 2*want.equations+1 {
				t.Errorf("jitter %g: %s has the backward errors %v, gonum %v", jitter, v, got, want)
			}
		}
	}
}

// naiveMinor factors by the definition and returns the order of the first leading minor
// that is not positive.
func naiveMinor(rows [][]float64) int {
	l := make([][]float64, len(rows))
	for i := range rows {
		l[i] = make([]float64, i+1)
		for j := range i + 1 {
			s := rows[i][j]
			for k := range j {
				s -= l[i][k] * l[j][k]
			}
			if j < i {
				l[i][j] = s / l[j][j]
			} else if s > 0 {
				l[i][i] = math.Sqrt(s)
			} else {
				return i + 1
			}
		}
	}
	return 0
}

// TestMinors tests the reported minor of matrices that are not positive definite, and
// that the matrix can be used afterwards.
func TestMinors(t *testing.T) {
	sizes := []int{1, 9, 50, 150, 311}
	if emulated() {
		sizes = sizes[:3]
	}
	for _, v := range isa.Supported() {
		for _, threads := range []int{1, 3} {
			e := newEngine(t, v, threads)
			for _, n := range sizes {
				rng := newReproducible(n)
				good := rng.definite(n)
				m := e.New(n)
				for i := 0; i < n; i += 1 + n/7 {
					for _, spoil := range []func(rows [][]float64, i int){negative, small, notANumber} {
						bad := rng.definite(n)
						spoil(bad, i)
						negative(bad, min(n-1, i+20)) // only the first one counts
						want := naiveMinor(bad)
						setTriangle(m, bad, 0)
						if minor, err := m.Factor(t.Context(), 0, nil); minor != want || err != nil {
							t.Fatalf("%s, %d threads, n=%d, row %d: minor %d, %v, want %d", v, threads, n, i, minor, err, want)
						}
					}
				}
				factor(t, m, good, 0)
			}
		}
	}
}

func negative(rows [][]float64, i int) { rows[i][i] = -1 }

// small makes row i nearly the previous row.
func small(rows [][]float64, i int) {
	if i == 0 {
		rows[0][0] = 0
		return
	}
	copy(rows[i], rows[i-1])
	rows[i][i-1] = rows[i-1][i-1]
	rows[i][i] = 0.99 * rows[i-1][i-1]
}

func notANumber(rows [][]float64, i int) { rows[i][i/2] = math.NaN() }
