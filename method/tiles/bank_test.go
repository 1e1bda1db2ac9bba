package tiles

import (
	"context"
	"math"
	"sync"

	"gpfit/device"
	"gpfit/device/tiling"
	"gpfit/kernel"
)

// plain is a device whose banks compute by plain loops on row-major tiles. As a host it has lanes that share memory.
type plain struct {
	info device.Info
}

func (p plain) Info() device.Info { return p.info }
func (p plain) Close() error      { return nil }

func (p plain) TileSpace(n, d, order int) (tile, rest int64) {
	return 8 * int64(order) * int64(order), 8 * int64(n) * int64(d)
}

func (p plain) NewTileBank(_ context.Context, x *kernel.Points, order, slots int, memory []float64) (tiling.Bank, error) {
	if memory == nil || !p.info.Host {
		memory = make([]float64, slots*order*order)
	}
	for i := range memory { // whatever is not set must not count
		memory[i] = math.NaN()
	}
	return &plainBank{x: x, order: order, lanes: max(1, p.info.Threads), memory: memory}, nil
}

type plainBank struct {
	x      *kernel.Points
	order  int
	lanes  int
	memory []float64
	bound  tiling.Binding
	mu     sync.Mutex
}

func (b *plainBank) slot(s int) []float64 { return b.memory[s*b.order*b.order:][:b.order*b.order] }
func (b *plainBank) Lanes() int           { return b.lanes }

func (b *plainBank) Bind(t tiling.Binding) error {
	b.bound = t
	return nil
}

func (b *plainBank) evaluator() *kernel.Evaluator {
	e := kernel.NewEvaluator(b.bound.Program)
	e.Bind(b.bound.Theta)
	return e
}

func (b *plainBank) Fill(_, dst, i, j int) error {
	e, t, n := b.evaluator(), b.slot(dst), b.order
	for r := range n {
		for c := range n {
			row, column := i*n+r, j*n+c
			v := 0.0
			if row < b.x.N && column < b.x.N {
				one := []float64{0}
				e.Row(one, b.x, row, b.x, column, column+1)
				v = one[0]
			}
			if row == column {
				if row >= b.x.N {
					v = 1
				} else {
					v += b.bound.Noise[min(row, len(b.bound.Noise)-1)]
				}
			}
			if row < column {
				v = math.NaN()
			}
			t[r*n+c] = v
		}
	}
	return nil
}

func (b *plainBank) Cross(_, dst int, xs *kernel.Points, first, rows, j int) error {
	e, t, n := b.evaluator(), b.slot(dst), b.order
	for r := range rows {
		row := t[r*n : (r+1)*n]
		clear(row)
		last := min(b.x.N, (j+1)*n)
		e.Row(row, xs, first+r, b.x, j*n, last)
	}
	return nil
}

func (b *plainBank) Multiply(_ int, p tiling.Product) error {
	c, x, y, n := b.slot(p.C), b.slot(p.A), b.slot(p.B), b.order
	rows := p.Rows
	if rows == 0 {
		rows = n
	}
	for r := range rows {
		for s := range n {
			if p.Half == tiling.Lower && s > r || p.Half == tiling.Upper && s < r {
				c[r*n+s] = math.NaN()
				continue
			}
			k0 := 0
			if p.UpperA {
				k0 = r
			}
			if p.UpperB {
				k0 = max(k0, s)
			}
			sum := 0.0
			for k := k0; k < n; k++ {
				sum += x[r*n+k] * y[s*n+k]
			}
			switch p.Mode {
			case tiling.Replace:
				c[r*n+s] = sum
			case tiling.ReplaceNegative:
				c[r*n+s] = -sum
			case tiling.Add:
				c[r*n+s] += sum
			case tiling.Subtract:
				c[r*n+s] -= sum
			}
		}
	}
	return nil
}

func (b *plainBank) Factor(_, a int, diagonal []float64) (int, error) {
	t, n := b.slot(a), b.order
	for j := range n {
		for i := j; i < n; i++ {
			sum := t[i*n+j]
			for k := range j {
				sum -= t[i*n+k] * t[j*n+k]
			}
			if i == j {
				if !(sum > 0) {
					return j + 1, nil
				}
				diagonal[j] = math.Sqrt(sum)
				t[i*n+j] = diagonal[j]
			} else {
				t[i*n+j] = sum / t[j*n+j]
			}
		}
	}
	return 0, nil
}

func (b *plainBank) Solve(_, c, l, rows int) error {
	x, t, n := b.slot(c), b.slot(l), b.order
	if rows == 0 {
		rows = n
	}
	for r := range rows {
		for j := range n {
			sum := x[r*n+j]
			for k := range j {
				sum -= x[r*n+k] * t[j*n+k]
			}
			x[r*n+j] = sum / t[j*n+j]
		}
	}
	return nil
}

func (b *plainBank) Invert(_, dst, l int) error {
	u, n := b.slot(dst), b.order
	for i := range u {
		u[i] = 0
	}
	for i := range n {
		u[i*n+i] = 1
	}
	if err := b.Solve(0, dst, l, 0); err != nil {
		return err
	}
	for i := range n {
		for j := range i {
			u[i*n+j] = math.NaN()
		}
	}
	return nil
}

func (b *plainBank) Substitute(_ int, op tiling.Substitution, a int, x, y []float64, ld, m int) error {
	t, n := b.slot(a), b.order
	for q := range m {
		v := y[q*ld:][:n]
		for i := range n {
			switch op {
			case tiling.SubtractProduct:
				for k := range n {
					v[i] -= t[i*n+k] * x[q*ld+k]
				}
			case tiling.SubtractTransposed:
				for k := range n {
					v[i] -= t[k*n+i] * x[q*ld+k]
				}
			case tiling.Forward:
				for k := range i {
					v[i] -= t[i*n+k] * v[k]
				}
				v[i] /= t[i*n+i]
			case tiling.Backward:
				r := n - 1 - i
				for k := r + 1; k < n; k++ {
					v[r] -= t[k*n+r] * v[k]
				}
				v[r] /= t[r*n+r]
			}
		}
	}
	return nil
}

func (b *plainBank) Contract(_, s, i, j int, grad, diag []float64) error {
	e, t, n, adj := b.evaluator(), b.slot(s), b.order, b.bound.Adjoint
	for r := range n {
		for c := range n {
			row, column := i*n+r, j*n+c
			if row >= b.x.N || column >= b.x.N || row > column {
				continue
			}
			g := adj.Inv * t[r*n+c]
			for k, f := range adj.Outer {
				g += f * adj.Vectors[k*b.x.N+row] * adj.Vectors[k*b.x.N+column]
			}
			if row == column {
				diag[r] = g
			} else {
				g *= 2
			}
			e.RowGradient(grad, []float64{g}, b.x, row, b.x, column, column+1)
		}
	}
	return nil
}

func (b *plainBank) SquaredNorms(_, a, rows int, sums []float64) error {
	t, n := b.slot(a), b.order
	for r := range rows {
		for _, v := range t[r*n : (r+1)*n] {
			sums[r] += v * v
		}
	}
	return nil
}

func (b *plainBank) Load(_, dst int, tile []float64) error {
	copy(b.slot(dst), tile)
	return nil
}

func (b *plainBank) Store(_, src int, tile []float64) error {
	copy(tile, b.slot(src))
	return nil
}

func (b *plainBank) Copy(_, dst int, from tiling.Bank, src int) error {
	copy(b.slot(dst), from.(*plainBank).slot(src))
	return nil
}

func (b *plainBank) Read(_, src, rows int, dst []float64, ld int) error {
	for r := range rows {
		copy(dst[r*ld:][:b.order], b.slot(src)[r*b.order:])
	}
	return nil
}

func (b *plainBank) Write(_, dst, rows int, src []float64, ld int) error {
	for r := range rows {
		copy(b.slot(dst)[r*b.order:][:b.order], src[r*ld:])
	}
	return nil
}

func (b *plainBank) Wait(int) error { return nil }

func (b *plainBank) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.memory = nil
	return nil
}
