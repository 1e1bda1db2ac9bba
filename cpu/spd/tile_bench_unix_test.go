//go:build unix

package spd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"gpfit/internal/testcheck"
)

// BenchmarkTiles reports GFLOP/s of operations on tiles, on one thread. The operands of products are among more tiles
// than the caches hold.
func BenchmarkTiles(b *testing.B) {
	e := testcheck.Get(Open(1))(b)
	for _, order := range []int{96, 192, 288, 576} {
		t := e.NewTiles(order)
		cube := float64(order) * float64(order) * float64(order)
		count := max(4, 1<<26/(order*order))
		tiles := randomTiles(order, count)
		diagonal, sigma := make([]float64, order), definiteTile(t)
		l := Memory(order * order)
		copy(l, sigma)
		if t.Factor(l, diagonal) != 0 {
			b.Fatal("not positive definite")
		}
		c := Memory(order * order)
		run := func(name string, flops float64, prepare, work func(i int)) {
			b.Run(fmt.Sprintf("order=%d/%s", order, name), func(b *testing.B) {
				for i := range b.N {
					if prepare != nil {
						b.StopTimer()
						prepare(i)
						b.StartTimer()
					}
					work(i)
				}
				b.ReportMetric(flops*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "GFLOP/s")
			})
		}
		at := func(i int) []float64 { return tiles[i%count] }
		product := Multiplication{C: c, Add: true, Negative: true, Rows: order}
		multiply := func(p Multiplication, a, b func(i int) []float64) func(i int) {
			return func(i int) {
				p.A, p.B = a(i), b(i)
				t.Multiply(p)
			}
		}
		here := func(k int) func(int) []float64 { return func(int) []float64 { return tiles[k] } }
		run("product", 2*cube, nil, multiply(product, func(i int) []float64 { return at(2 * i) }, func(i int) []float64 { return at(2*i + 1) }))
		run("product-of-cached", 2*cube, nil, multiply(product, here(0), here(1)))
		half := product
		half.Lower = true
		run("product-half", cube, nil, multiply(half, here(0), here(1)))
		upper := product
		upper.UpperA = true
		run("product-upper-a", cube, nil, multiply(upper, here(0), here(1)))
		upper.UpperA, upper.UpperB = false, true
		run("product-upper-b", cube, nil, multiply(upper, here(0), here(1)))
		upper.UpperA, upper.Upper = true, true
		run("product-upper-half", cube/3, nil, multiply(upper, here(0), here(1)))
		run("solve", cube, func(i int) { copy(c, tiles[0]) }, func(int) { t.Solve(c, l, order) })
		run("factor", cube/3, func(int) { copy(c, sigma) }, func(int) { t.Factor(c, diagonal) })
		run("invert", cube/3, nil, func(int) { t.Invert(c, l) })
	}
}

func randomTiles(order, count int) [][]float64 {
	rng := rand.New(rand.NewPCG(1, 2))
	memory := Memory(count * order * order)
	for i := range memory {
		memory[i] = rng.Float64() / float64(order)
	}
	return testcheck.Slice(count, func(i int) []float64 { return memory[i*order*order : (i+1)*order*order] })
}

// definiteTile returns a positive definite tile.
func definiteTile(t *Tiles) []float64 {
	tile := randomTiles(t.order, 1)[0]
	for i := range t.order {
		m := t.of(tile)
		tile[m.index(i, i)] += 2
	}
	return tile
}

// BenchmarkTiledInverse compares the times of a factor and an inverse by tiles and by a Symmetric, for n of GPFIT_TILES_N,
// or 4,000, on -cpu threads, by the processor time. They alternate in each pass.
func BenchmarkTiledInverse(b *testing.B) {
	n := 4000
	if s := os.Getenv("GPFIT_TILES_N"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	threads := runtime.GOMAXPROCS(0)
	e := testcheck.Get(Open(threads))(b)
	m := e.New(n)
	rows := newReproducible(n)
	row := rows.numbers(n*e.lanes, n)
	flops := float64(n) * float64(n) * float64(n)
	best := map[int]time.Duration{}
	measure := func(order int, f func()) {
		start := processorTime(b)
		f()
		if d := processorTime(b) - start; best[order] == 0 || d < best[order] {
			best[order] = d
		}
	}
	orders := []int{96, 144, 192, 288, 576}
	if n >= 8000 {
		orders = orders[2:]
	}
	for range b.N {
		for i := 0; i < n; i += e.lanes {
			m.SetRows(i, 0, min(n, i+e.lanes), row, n)
			for r := range min(e.lanes, n-i) {
				m.a[m.index(i+r, i+r)] = 2
			}
		}
		measure(0, func() {
			if minor, _ := m.Factor(context.Background(), 0, nil); minor != 0 {
				b.Fatal(minor)
			}
			testcheck.Do(b, m.Invert(context.Background(), nil))
		})
		for _, order := range orders {
			t := newTiled(e, n, order, threads)
			t.fill(row, n)
			measure(order, t.evaluate)
		}
	}
	b.ReportMetric(flops/float64(best[0].Nanoseconds()), "GFLOP/s-symmetric")
	for _, order := range orders {
		b.ReportMetric(float64(best[0])/float64(best[order]), fmt.Sprintf("speed-%d", order))
	}
}

// tiled is a symmetric matrix in tiles, whose threads take the tiles of an operation one after the other.
type tiled struct {
	arithmetic  []*Tiles
	order, side int
	tiles       [][]float64
	out         [][]float64
	done        []atomic.Int32
}

func newTiled(e *Engine, n, order, threads int) *tiled {
	side := (n + order - 1) / order
	t := &tiled{order: order, side: side, done: make([]atomic.Int32, side*side)}
	memory := Memory((side*side + threads) * order * order)
	for i := range side*side + threads {
		tile := memory[i*order*order : (i+1)*order*order]
		if i < side*side {
			t.tiles = append(t.tiles, tile)
		} else {
			t.out = append(t.out, tile)
			t.arithmetic = append(t.arithmetic, e.NewTiles(order))
		}
	}
	return t
}

func (t *tiled) at(i, j int) []float64 { return t.tiles[i*t.side+j] }

func (t *tiled) fill(row []float64, stride int) {
	a := t.arithmetic[0]
	for i := range t.side {
		for j := range i + 1 {
			for r := 0; r < t.order; r += a.lanes {
				a.SetRows(t.at(i, j), r, 0, t.order, row, stride)
				for q := r; i == j && q < r+a.lanes; q++ {
					m := a.of(t.at(i, j))
					m.a[m.index(q, q)] = 2
				}
			}
		}
	}
}

// each calls f for all tiles of the lower half by columns, or by rows from the first or to the last.
func (t *tiled) each(list [][2]int, f func(worker, i, j int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for worker := range t.arithmetic {
		group.Go(func() {
			for {
				k := int(next.Add(1)) - 1
				if k >= len(list) {
					return
				}
				f(worker, list[k][0], list[k][1])
				t.done[list[k][0]*t.side+list[k][1]].Add(1)
			}
		})
	}
	group.Wait()
}

func (t *tiled) await(i, j int, count int32) {
	for t.done[i*t.side+j].Load() < count {
		runtime.Gosched()
	}
}

func (t *tiled) evaluate() {
	var columns, rows [][2]int
	for j := range t.side {
		for i := j; i < t.side; i++ {
			columns = append(columns, [2]int{i, j})
		}
		for i := range j + 1 {
			rows = append(rows, [2]int{j, i})
		}
	}
	t.each(columns, func(worker, i, j int) {
		a := t.arithmetic[worker]
		for k := range j {
			t.await(i, k, 1)
			t.await(j, k, 1)
			a.Multiply(Multiplication{C: t.at(i, j), A: t.at(i, k), B: t.at(j, k), Negative: true, Add: true, Rows: t.order, Lower: i == j})
		}
		if i == j {
			a.Factor(t.at(i, i), make([]float64, t.order))
			return
		}
		t.await(j, j, 1)
		a.Solve(t.at(i, j), t.at(j, j), t.order)
	})
	// U_ji takes the upper half of the matrix.
	t.each(rows, func(worker, i, j int) {
		a, c := t.arithmetic[worker], t.out[worker]
		if i == j {
			a.Invert(c, t.at(i, i))
			t.await(i, i, 1)
			for k := range i {
				t.await(i, k, 2)
			}
			copy(t.at(i, i), c)
			return
		}
		for k := j; k < i; k++ {
			u := t.at(j, k)
			t.await(k, j, 2)
			a.Multiply(Multiplication{C: t.at(j, i), A: u, B: t.at(i, k), Negative: true, Add: k > j, Rows: t.order, UpperA: k == j})
		}
		a.Solve(t.at(j, i), t.at(i, i), t.order)
	})
	t.each(rows, func(worker, i, j int) {
		a, c := t.arithmetic[worker], t.out[worker]
		for k := i; k < t.side; k++ {
			a.Multiply(Multiplication{C: c, A: t.at(j, k), B: t.at(i, k), Add: k > i, Rows: t.order, UpperA: i == j && k == i, UpperB: k == i, Upper: i == j})
		}
	})
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	testcheck.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
