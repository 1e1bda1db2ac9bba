package devicetest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// Tests of what tiles have to do with points, and of whole evaluations.

// tiledProblems returns problems with several kernels, whose last blocks are not full, or the only one.
func tiledProblems(t testing.TB) (problems []*problem, orders []int) {
	t.Helper()
	for i, text := range []string{
		"rbf", "matern52(ard)", "rbf(ard) + matern32*matern12(dims=1)", "rq(ard) + linear(dims=0)*cosine(dims=1)", "periodic(ard)*rbf(dims=1) + constant", formulaText,
	} {
		order := []int{64, 8, 200}[i%3]
		p := newProblem(t, text, 2*min(order, 64)+11, 3, uint64(i)+40)
		if i%2 == 0 {
			p.noise = floats.Span(make([]float64, p.x.N), 0.01, 0.4)
		}
		problems, orders = append(problems, p), append(orders, order)
	}
	return problems, orders
}

// eachTiled runs a test for several problems, each with a bank of the given slots, bound to an adjoint.
func (s tileSuite) eachTiled(t *testing.T, slots int, adj *device.Adjoint, test func(t *testing.T, b testedTiles, p *problem)) {
	problems, orders := tiledProblems(t)
	for i, p := range problems {
		t.Run(p.prog.Text, func(t *testing.T) {
			b := s.bank(t, p.x, orders[i], slots)
			testcheck.Do(t, b.bind(p, adj))
			test(t, b, p)
		})
	}
}

func (b testedTiles) bind(p *problem, adj *device.Adjoint) error {
	return b.Bind(tiling.Binding{Program: p.prog, Theta: p.theta, Noise: p.noise, Adjoint: adj})
}

// sideOf returns the number of blocks of n points.
func sideOf(n, order int) int { return (n + order - 1) / order }

// block returns the tile (i, j) of a matrix, with zeros beyond it.
func (b testedTiles) block(m mat.Matrix, i, j int) *mat.Dense {
	out := mat.NewDense(b.order, b.order, nil)
	rows, columns := m.Dims()
	for r := range min(b.order, rows-i*b.order) {
		for c := range min(b.order, columns-j*b.order) {
			out.Set(r, c, m.At(i*b.order+r, j*b.order+c))
		}
	}
	return out
}

// testTileCovariances fills tiles.
func testTileCovariances(t *testing.T, s tileSuite) {
	s.eachTiled(t, 1, nil, func(t *testing.T, b testedTiles, p *problem) {
		r, n := newReference(t, p), p.x.N
		xs := randomPoints(b.rng, 20, p.x.D)
		cross := mat.DenseCopyOf(r.cross(xs).T())
		for i := range sideOf(n, b.order) {
			for j := range i + 1 {
				want, meant := b.block(r.sigma, i, j), elements(whole)
				if i == j {
					meant = lower
					for k := max(0, n-i*b.order); k < b.order; k++ {
						want.Set(k, k, 1)
					}
				}
				b.write(0, with(want, math.NaN(), whole))
				testcheck.Do(t, b.Fill(0, 0, i, j), b.Wait(0))
				compareTiles(t, fmt.Sprintf("Σ in tile (%d, %d)", i, j), b.read(0), want, meant, vectorTolerance)
			}
			const first = 3
			for _, rows := range []int{8, 5} {
				testcheck.Do(t, b.Cross(0, 0, xs, first, rows, i), b.Wait(0))
				want := b.block(cross.Slice(first, first+rows, 0, n), 0, i)
				compareTiles(t, fmt.Sprintf("K* in column %d of tiles", i), b.read(0), want, firstRows(rows), vectorTolerance)
			}
		}
	})
}

// testTileContract contracts adjoints of every shape.
func testTileContract(t *testing.T, s tileSuite) {
	s.eachTiled(t, 1, nil, func(t *testing.T, b testedTiles, p *problem) {
		r, n := newReference(t, p), p.x.N
		for k, adj := range contractions(rand.New(rand.NewPCG(41, 1)), n) {
			testcheck.Do(t, b.bind(p, &adj))
			grad, diag := slices.Repeat([]float64{1}, len(p.theta)), make([]float64, n)
			for i := range sideOf(n, b.order) {
				for j := i; j < sideOf(n, b.order); j++ {
					b.contractBlock(r, i, j, grad, diag)
				}
			}
			want, scale, wantDiag := r.contract(adj)
			for q := range want {
				if want[q]++; !(math.Abs(grad[q]-want[q]) <= vectorTolerance*(1+scale[q])) {
					t.Errorf("adjoint %d: derivative by %s is %v, want %v", k, p.prog.Names()[q], grad[q], want[q])
				}
			}
			compare(t, fmt.Sprintf("adjoint %d: diagonal", k), diag, wantDiag, vectorTolerance)
		}
	})
}

// contractBlock contracts block (i, j), in the first and in the last lane.
func (b testedTiles) contractBlock(r *reference, i, j int, grad, diag []float64) {
	b.t.Helper()
	block := b.block(&r.inverse, i, j)
	var own []float64
	if i == j {
		block, own = with(block, math.NaN(), below), diag[i*b.order:min((i+1)*b.order, len(diag))]
	}
	b.write(0, block)
	last := b.Lanes() - 1
	again, ownAgain := slices.Clone(grad), slices.Clone(own)
	testcheck.Do(b.t, b.Contract(0, 0, i, j, grad, own), b.Contract(last, 0, i, j, again, ownAgain))
	if !slices.Equal(again, grad) || !slices.Equal(ownAgain, own) {
		b.t.Errorf("block (%d, %d) has other bits in lane %d", i, j, last)
	}
}

// tiledEvaluation evaluates a problem in one lane of a bank, with some of its slots. Its methods do nothing after an error.
type tiledEvaluation struct {
	testedTiles
	p          *problem
	lane, side int
	// slots has the slots of the lower half, first L and then U_ji for L_ij. spare are others.
	slots [][]int
	spare []int
	err   error
	outcome
	reduction []float64
}

// evaluationSlots returns the number of slots for n points.
func evaluationSlots(n, order int) int {
	side := sideOf(n, order)
	return side*(side+1)/2 + side + 1
}

// evaluation returns an evaluation that uses the slots from first on.
func (b testedTiles) evaluation(p *problem, lane, first int) *tiledEvaluation {
	e := &tiledEvaluation{testedTiles: b, p: p, lane: lane, side: sideOf(p.x.N, b.order)}
	for i := range e.side {
		e.slots = append(e.slots, nil)
		for range i + 1 {
			e.slots[i] = append(e.slots[i], first)
			first++
		}
	}
	for range e.side + 1 {
		e.spare = append(e.spare, first)
		first++
	}
	return e
}

// do makes calls until one fails.
func (e *tiledEvaluation) do(calls ...func() error) {
	for _, call := range calls {
		if e.err == nil {
			e.err = call()
		}
	}
}

func (e *tiledEvaluation) multiply(p tiling.Product) {
	e.do(func() error { return e.Multiply(e.lane, p) })
}

// factor computes L and log|Σ|.
func (e *tiledEvaluation) factor() {
	for j := range e.side {
		for i := j; i < e.side; i++ {
			c := e.slots[i][j]
			e.do(func() error { return e.Fill(e.lane, c, i, j) })
			half := tiling.Whole
			if i == j {
				half = tiling.Lower
			}
			for k := range j {
				e.multiply(tiling.Product{C: c, A: e.slots[i][k], B: e.slots[j][k], Mode: tiling.Subtract, Half: half})
			}
			if i > j {
				e.do(func() error { return e.Solve(e.lane, c, e.slots[j][j], 0) })
				continue
			}
			e.do(func() error { return e.factorDiagonal(c) })
		}
	}
}

func (e *tiledEvaluation) factorDiagonal(slot int) error {
	diagonal := make([]float64, e.order)
	minor, err := e.Factor(e.lane, slot, diagonal)
	if minor != 0 {
		return &device.NotPDError{Minor: minor, N: e.order}
	}
	for _, v := range diagonal {
		e.logDet += 2 * math.Log(v)
	}
	return err
}

// solve computes α.
func (e *tiledEvaluation) solve() {
	ld := e.side * e.order
	y := make([]float64, ld)
	copy(y, e.p.r)
	part := func(i int) []float64 { return y[i*e.order:][:e.order] }
	substitute := func(op tiling.Substitution, slot int, x, y []float64) {
		e.do(func() error { return e.Substitute(e.lane, op, slot, x, y, ld, 1) })
	}
	for j := range e.side {
		for k := range j {
			substitute(tiling.SubtractProduct, e.slots[j][k], part(k), part(j))
		}
		substitute(tiling.Forward, e.slots[j][j], nil, part(j))
	}
	for j := e.side - 1; j >= 0; j-- {
		for k := j + 1; k < e.side; k++ {
			substitute(tiling.SubtractTransposed, e.slots[k][j], part(k), part(j))
		}
		substitute(tiling.Backward, e.slots[j][j], nil, part(j))
	}
	e.alpha = y[:e.p.x.N]
}

// predict computes the reduction of the variance at rows points.
func (e *tiledEvaluation) predict(xs *kernel.Points, rows int) {
	e.reduction = make([]float64, rows)
	for j := range e.side {
		c := e.spare[j]
		e.do(func() error { return e.Cross(e.lane, c, xs, 0, rows, j) })
		for k := range j {
			e.multiply(tiling.Product{C: c, A: e.spare[k], B: e.slots[j][k], Mode: tiling.Subtract, Rows: rows})
		}
		e.do(
			func() error { return e.Solve(e.lane, c, e.slots[j][j], rows) },
			func() error { return e.SquaredNorms(e.lane, c, rows, e.reduction) })
	}
}

// invert replaces L by U = L⁻ᵀ.
func (e *tiledEvaluation) invert() {
	for i := range e.side {
		row := e.slots[i]
		for j := range i + 1 {
			c := e.spare[0]
			if j == i {
				e.do(func() error { return e.Invert(e.lane, c, row[i]) })
			}
			mode := tiling.ReplaceNegative
			for k := j; k < i; k++ {
				e.multiply(tiling.Product{C: c, A: e.slots[k][j], B: row[k], Mode: mode, UpperA: k == j})
				mode = tiling.Subtract
			}
			if j < i {
				e.do(func() error { return e.Solve(e.lane, c, row[i], 0) })
			}
			row[j], e.spare[0] = c, row[j]
		}
	}
}

// contract contracts the adjoint with the blocks of Σ⁻¹.
func (e *tiledEvaluation) contract() {
	e.grad, e.diag = make([]float64, len(e.p.theta)), make([]float64, e.p.x.N)
	for i := range e.side {
		for j := range i + 1 {
			c, mode, half := e.spare[0], tiling.Replace, tiling.Whole
			var diag []float64
			if i == j {
				half, diag = tiling.Upper, e.diag[i*e.order:min((i+1)*e.order, len(e.diag))]
			}
			for k := i; k < e.side; k++ {
				e.multiply(tiling.Product{C: c, A: e.slots[k][j], B: e.slots[k][i], Mode: mode, UpperA: k == i && i == j, UpperB: k == i, Half: half})
				mode = tiling.Add
			}
			e.do(func() error { return e.Contract(e.lane, c, j, i, e.grad, diag) })
		}
	}
}

// testTiledEvaluation evaluates likelihoods and predictions with the factor and the inverse in tiles.
func testTiledEvaluation(t *testing.T, s tileSuite) {
	for order, n := range map[int]int{8: 61, 64: 301, 200: 390, 304: 100} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			p := newProblem(t, "rbf(ard) + matern32", n, 3, 44)
			b := s.bank(t, p.x, order, evaluationSlots(n, order))
			testcheck.Do(t, b.bind(p, nil))
			rows := min(order, 13)
			e, r, xs := b.evaluation(p, 0, 0), newReference(t, p), randomPoints(b.rng, rows, 3)
			e.factor()
			e.solve()
			e.predict(xs, rows)
			e.invert()
			adj := likelihoodAdjoint(e.alpha)
			testcheck.Do(t, e.err, b.Wait(0), b.bind(p, &adj))
			e.contract()
			testcheck.Do(t, e.err)
			compareOutcome(t, e.outcome, r.outcome(t))
			_, covariance := r.predict(t, xs)
			for j, v := range e.reduction {
				if want := covariance.At(j, j); !(math.Abs(v-want) <= vectorTolerance*(1+want)) {
					t.Errorf("reduction %d of the variance is %v, want %v", j, v, want)
				}
			}
		})
	}
}

// testTileLanes evaluates in all lanes at once, up to three, and again in one of them, with the same bits.
func testTileLanes(t *testing.T, s tileSuite) {
	const order, n = 64, 150
	p := newProblem(t, "matern52(ard)", n, 2, 45)
	need := evaluationSlots(n, order)
	b := s.bank(t, p.x, order, 4*need)
	lanes := min(3, b.Lanes())
	adj := device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: p.r}
	testcheck.Do(t, b.bind(p, &adj))
	var evaluations []*tiledEvaluation
	for lane := range lanes {
		evaluations = append(evaluations, b.evaluation(p, lane, lane*need))
	}
	xs := randomPoints(b.rng, 30, 2)
	evaluate := func(e *tiledEvaluation) {
		e.factor()
		e.solve()
		e.predict(xs, 30)
		e.invert()
		e.contract()
		e.do(func() error { return e.Wait(e.lane) })
	}
	var group sync.WaitGroup
	for _, e := range evaluations {
		group.Go(func() { evaluate(e) })
	}
	group.Wait()
	again := b.evaluation(p, lanes-1, 3*need)
	evaluate(again)
	results := func(e *tiledEvaluation) []float64 {
		return slices.Concat([]float64{e.logDet}, e.alpha, e.grad, e.diag, e.reduction)
	}
	for _, e := range append(evaluations, again) {
		testcheck.Do(t, e.err)
		if !slices.Equal(results(e), results(again)) {
			t.Errorf("other bits in lane %d", e.lane)
		}
	}
}
