package cuda

import (
	"math"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// grid is a matrix in tiles on some banks, which copy from each other what they need.
type grid struct {
	*job
	t     testing.TB
	order int
	tiles int
	banks []*tileBank
	at    map[[2]int]tilePlace
	// free are free slots and turn counts copies, by banks.
	free [][]int
	turn []int
}

// tilePlace is where a tile is.
type tilePlace struct{ bank, slot int }

// scratch is the number of slots for copies.
const scratch = 6

func newGrid(t testing.TB, j *job, order int, on ...*Device) *grid {
	g := &grid{job: j, t: t, order: order, tiles: (j.x.N + order - 1) / order, at: map[[2]int]tilePlace{}, turn: make([]int, len(on))}
	slots := g.tiles*(g.tiles+1)/2 + g.tiles + 2
	for _, b := range on {
		g.banks = append(g.banks, bankOn(t, b, j.x, order, scratch+slots, nil))
		var free []int
		for s := range slots {
			free = append(free, scratch+s)
		}
		g.free = append(g.free, free)
	}
	return g
}

// take returns a free slot on the bank of tile (i, j).
func (g *grid) take(i, j int) tilePlace {
	k := (i + 2*j) % len(g.banks)
	slot := g.free[k][0]
	g.free[k] = g.free[k][1:]
	return tilePlace{k, slot}
}

func (g *grid) release(p tilePlace) { g.free[p.bank] = append(g.free[p.bank], p.slot) }

// on returns a slot of a bank with a tile.
func (g *grid) on(bank, i, j int) int {
	p := g.at[[2]int{i, j}]
	if p.bank == bank {
		return p.slot
	}
	slot := g.turn[bank] % scratch
	g.turn[bank]++
	testcheck.Do(g.t, g.banks[bank].Copy(0, slot, g.banks[p.bank], p.slot))
	return slot
}

// product is a product for a tile at p.
func (g *grid) product(p tilePlace, a, b [2]int, more tiling.Product) {
	more.C, more.A, more.B = p.slot, g.on(p.bank, a[0], a[1]), g.on(p.bank, b[0], b[1])
	testcheck.Do(g.t, g.banks[p.bank].Multiply(0, more))
}

func (g *grid) bind(adj *device.Adjoint) {
	for _, b := range g.banks {
		testcheck.Do(g.t, b.Bind(tiling.Binding{Program: g.prog, Theta: g.theta, Noise: g.noise, Adjoint: adj}))
	}
}

// factor computes L and returns log|Σ|.
func (g *grid) factor() (logDet float64) {
	g.bind(nil)
	diagonal := make([]float64, g.order)
	for j := range g.tiles {
		for i := j; i < g.tiles; i++ {
			p := g.take(i, j)
			b := g.banks[p.bank]
			testcheck.Do(g.t, b.Fill(0, p.slot, i, j))
			half := tiling.Whole
			if i == j {
				half = tiling.Lower
			}
			for k := range j {
				g.product(p, [2]int{i, k}, [2]int{j, k}, tiling.Product{Mode: tiling.Subtract, Half: half})
			}
			g.at[[2]int{i, j}] = p
			if i > j {
				testcheck.Do(g.t, b.Solve(0, p.slot, g.on(p.bank, j, j), 0))
				continue
			}
			if minor := testcheck.Get(b.Factor(0, p.slot, diagonal))(g.t); minor != 0 {
				g.t.Fatalf("minor %d", minor)
			}
			for _, v := range diagonal {
				logDet += 2 * math.Log(v)
			}
		}
	}
	return logDet
}

// solve returns Σ⁻¹ times m vectors.
func (g *grid) solve(b []float64, m int) []float64 {
	ld := g.tiles * g.order
	y := make([]float64, ld*m)
	for k := range m {
		copy(y[k*ld:], b[k*g.x.N:][:g.x.N])
	}
	step := func(op tiling.Substitution, i, j, in, out int) {
		p := g.at[[2]int{i, j}]
		testcheck.Do(g.t, g.banks[p.bank].Substitute(0, op, p.slot, y[in*g.order:], y[out*g.order:], ld, m))
	}
	for i := range g.tiles {
		for k := range i {
			step(tiling.SubtractProduct, i, k, k, i)
		}
		step(tiling.Forward, i, i, i, i)
	}
	for i := g.tiles - 1; i >= 0; i-- {
		for k := i + 1; k < g.tiles; k++ {
			step(tiling.SubtractTransposed, k, i, k, i)
		}
		step(tiling.Backward, i, i, i, i)
	}
	var out []float64
	for k := range m {
		out = append(out, y[k*ld:][:g.x.N]...)
	}
	return out
}

// reduction returns the reductions of the variances at xs.
func (g *grid) reduction(xs *kernel.Points) []float64 {
	sums, bank := make([]float64, xs.N), 0
	b, rows := g.banks[bank], min(g.order, xs.N)
	var w []int
	for range g.tiles {
		w, g.free[bank] = append(w, g.free[bank][0]), g.free[bank][1:]
	}
	for first := 0; first < xs.N; first += rows {
		m := min(rows, xs.N-first)
		for j := range g.tiles {
			testcheck.Do(g.t, b.Cross(0, w[j], xs, first, m, j))
			for k := range j {
				testcheck.Do(g.t, b.Multiply(0, tiling.Product{C: w[j], A: w[k], B: g.on(bank, j, k), Mode: tiling.Subtract, Rows: m}))
			}
			testcheck.Do(g.t, b.Solve(0, w[j], g.on(bank, j, j), m))
			testcheck.Do(g.t, b.SquaredNorms(0, w[j], m, sums[first:first+m]))
		}
	}
	for _, slot := range w {
		g.release(tilePlace{bank, slot})
	}
	return sums
}

// invert replaces L by U = L⁻ᵀ: tile (j, i) takes the place of tile (i, j).
func (g *grid) invert() {
	for i := range g.tiles {
		for j := range i {
			p := g.take(i, j)
			for k := j; k < i; k++ {
				mode := tiling.Subtract
				if k == j {
					mode = tiling.ReplaceNegative
				}
				g.product(p, [2]int{j, k}, [2]int{i, k}, tiling.Product{Mode: mode, UpperA: k == j})
			}
			testcheck.Do(g.t, g.banks[p.bank].Solve(0, p.slot, g.on(p.bank, i, i), 0))
			g.release(g.at[[2]int{i, j}])
			g.at[[2]int{j, i}] = p
		}
		p, l := g.take(i, i), g.at[[2]int{i, i}]
		testcheck.Do(g.t, g.banks[p.bank].Invert(0, p.slot, g.on(p.bank, i, i)))
		g.release(l)
		g.at[[2]int{i, i}] = p
	}
}

// contract contracts an adjoint.
func (g *grid) contract(adj device.Adjoint) (grad, diag []float64) {
	g.bind(&adj)
	grad, diag = make([]float64, len(g.theta)), make([]float64, g.x.N)
	for i := range g.tiles {
		for j := range i + 1 {
			p := g.take(i, j)
			part, half := []float64(nil), tiling.Whole
			if i == j {
				part, half = diag[i*g.order:], tiling.Upper
			}
			for k := i; k < g.tiles; k++ {
				mode := tiling.Add
				if k == i {
					mode = tiling.Replace
				}
				g.product(p, [2]int{j, k}, [2]int{i, k}, tiling.Product{Mode: mode, UpperA: k == j, UpperB: k == i, Half: half})
			}
			testcheck.Do(g.t, g.banks[p.bank].Contract(0, p.slot, j, i, grad, part))
			g.release(p)
		}
	}
	return grad, diag
}

// evaluate does all of this.
func (g *grid) evaluate() (out []float64) {
	out = append(out, g.factor())
	alpha := g.solve(g.y, 1)
	out = slices.Concat(out, alpha, g.solve(g.many, len(g.many)/g.x.N), g.reduction(g.xs))
	g.invert()
	grad, diag := g.contract(testAdjoint(alpha, g.y, nil))
	return slices.Concat(out, grad, diag)
}

// dense returns the same results by the method dense.
func (j *job) dense(t testing.TB, b *Device) (out []float64) {
	ctx, ws := t.Context(), j.workspace(t, b)
	testcheck.Do(t, ws.Form(ctx, j.prog, j.theta, j.noise))
	logDet, _, err := ws.LogDet()
	testcheck.Do(t, err)
	alpha, many, mean, reduction := slices.Clone(j.y), slices.Clone(j.many), make([]float64, j.xs.N), make([]float64, j.xs.N)
	testcheck.Do(t, ws.Solve(ctx, alpha, 1))
	testcheck.Do(t, ws.Solve(ctx, many, len(many)/j.x.N))
	testcheck.Do(t, ws.Predict(ctx, j.prog, j.theta, alpha, j.xs, mean, reduction))
	grad, diag := make([]float64, len(j.theta)), make([]float64, j.x.N)
	testcheck.Do(t, ws.Contract(ctx, testAdjoint(alpha, j.y, nil), j.prog, j.theta, grad, diag))
	return slices.Concat([]float64{logDet}, alpha, many, reduction, grad, diag)
}

func wantNear(t testing.TB, what string, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d results, want %d", what, len(got), len(want))
	}
	for i, v := range got {
		if !(math.Abs(v-want[i]) <= 1e-10*(1+math.Abs(want[i]))) {
			t.Fatalf("%s: result %d is %v, want %v", what, i, v, want[i])
		}
	}
}
