package cuda

import (
	"context"
	"errors"
	"fmt"

	"gpfit/device"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/multi"
	"gpfit/device/part"
	"gpfit/kernel"
)

var (
	_ part.Device = (*Device)(nil)
	_ part.Device = typical{}
)

// Joins implements [part.Device].
func (d *Device) Joins() (libraries string, err error) { return Driver{}.Joins() }

// Joins names the libraries with which cards of several processes compute together, or says what is missing.
func (Driver) Joins() (libraries string, err error) {
	l, err := multi.Load()
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("NCCL %s, cuBLASMp %s, cuSOLVERMp", l.NCCL, l.BLAS), nil
}

// PartPlan implements [part.Device].
func (d *Device) PartPlan(n, columns int, s part.Shape) device.Plan {
	return partPlan(d.Plan(n, columns), s)
}

// partPlan returns the plan of the largest part of a matrix, for the plan of the whole on one card. The memory for the libraries
// is a guess: a panel, and three times as much as on one card. One card alone takes no less than the whole, so that nobody gets
// the method mpi who has not asked for it.
func partPlan(whole device.Plan, s part.Shape) device.Plan {
	n, columns := whole.N, whole.D
	rows, cols := s.Largest(n)
	width, sides := panelOf(s, n), int64(sideColumns)
	points := int64(n+rows+cols)*int64(columns) + int64(width/s.Cols*columns)
	numbers := leadingDim(int64(rows))*(int64(cols)+3*int64(width/s.Cols)+sides) + points + 6*int64(n)
	bytes := 8*numbers + 3*reserve
	if s.Rows*s.Cols == 1 {
		bytes = max(8*numbers+reserve, whole.DeviceBytes())
	}
	plan := device.MatrixPlan(n, columns, whole.Needs[0].Device, bytes)
	plan.FlopRate = whole.FlopRate * float64(s.Rows*s.Cols)
	return plan.With(device.Need{Bytes: 8 * int64(n) * int64(2*columns+8), What: "points and vectors"})
}

// panelOf returns the number of columns of U and of Σ⁻¹ that exist at a time: a few per cent of n, and the same number of blocks
// on each card of a row, so that a panel and the columns of Σ that it belongs to have their blocks on the same cards.
func panelOf(s part.Shape, n int) int {
	const panels = 64
	unit := s.Block * s.Cols
	return unit * max(1, n/panels/unit)
}

// card is a device that has joined others.
type card struct {
	dev  *Device
	grid *multi.Grid
	rank part.Rank
}

// Join implements [part.Device].
func (d *Device) Join(r part.Rank) (part.Card, error) {
	l, err := multi.Load()
	if err != nil {
		return nil, err
	}
	var id []byte
	if r.Number == 0 {
		if id, err = l.ID(); err != nil {
			return nil, err
		}
	}
	g, err := l.Join(d.gpu.stream, r.Broadcast(id), r.Number, r.Rows, r.Shape.Cols)
	if err != nil {
		return nil, d.gpu.translate(err, device.Plan{})
	}
	return &card{d, g, r}, nil
}

// Close implements [part.Card].
func (c *card) Close() error { return c.grid.Close() }

// cardPart implements [part.Part]. The matrix holds L on and below the diagonal; a contraction writes U = L⁻ᵀ above it.
type cardPart struct {
	queue
	*card
	x *kernel.Points
	// rows and cols are the places of the part.
	rows, cols part.Axis
	memory     memory
	program    program
	// sigma, panel, diagonal and sides hold matrices: Σ, a panel of its columns, the diagonal blocks of L of the order of a
	// panel meanwhile, one below the other, and right-hand sides.
	sigma, panel, diagonal, sides             buffer
	matrix, panels, diagonals, columns        *multi.Matrix
	width                                     int64
	xs, xRows, xCols, blocks, test            buffer
	noise, ones, vector, adjoint, diagonalSum buffer
	plan                                      device.Plan
}

// NewPart implements [part.Card].
func (c *card) NewPart(ctx context.Context, x *kernel.Points) (part.Part, error) {
	if err := errors.Join(ctx.Err(), device.CheckInputs(x)); err != nil {
		return nil, err
	}
	rows, cols := c.rank.Axes(x.N, x.N)
	p := &cardPart{card: c, x: x, rows: rows, cols: cols, memory: memory{gpu: c.dev.gpu}, width: int64(panelOf(c.rank.Shape, x.N))}
	p.plan = c.dev.PartPlan(x.N, x.D, c.rank.Shape)
	p.queue = queue{gpu: c.dev.gpu, ctx: context.Background(), meter: &device.Meter{}, limit: defaultSizes.gemm}
	if err := p.allocate(); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return p, nil
}

// local returns the numbers of rows and columns of this rank.
func (p *cardPart) local() (rows, cols int64) {
	return int64(p.rows.Count(p.x.N)), int64(p.cols.Count(p.x.N))
}

// panelColumns returns the columns of a panel of m columns that the rank has.
func (p *cardPart) panelColumns(m int64) part.Axis {
	_, cols := p.rank.Axes(p.x.N, int(m))
	return cols
}

// allocate allocates the memory, copies the points and describes the matrices.
func (p *cardPart) allocate() error {
	n, d := int64(p.x.N), int64(p.x.D)
	rows, cols := p.local()
	stride := leadingDim(max(1, rows))
	wide := int64(p.panelColumns(p.width).Count(int(p.width)))
	return p.do(func() {
		for _, b := range []struct {
			to    *buffer
			count int64
		}{
			{&p.sigma, stride * cols}, {&p.panel, stride * wide}, {&p.diagonal, stride * wide}, {&p.sides, stride * sideColumns},
			{&p.xs, n * d}, {&p.blocks, n * d}, {&p.xRows, rows * d}, {&p.xCols, cols * d}, {&p.test, wide * d},
			{&p.noise, n}, {&p.ones, int64(p.rank.Block)}, {&p.vector, max(wide, int64(p.rank.Block))}, {&p.diagonalSum, n},
		} {
			p.need(&p.memory, b.to, b.count)
		}
		p.upload(p.xs.at, p.x.X)
		p.upload(p.xRows.at, p.x.Pick(p.rows.Globals()).X)
		p.upload(p.xCols.at, p.x.Pick(p.cols.Globals()).X)
		p.upload(p.ones.at, repeated(1, int64(p.rank.Block)))
		for first := int64(0); first < n; first += int64(p.rank.Block) {
			to := p.block(first)
			p.run(kernels.Copy(kernels.Matrix{A: p.xs.at.Offset(8 * first), LD: n}, kernels.Matrix{A: to.X, LD: to.N}, to.N, d, false))
		}
		for _, m := range []struct {
			to      **multi.Matrix
			columns int64
			at      buffer
		}{{&p.matrix, n, p.sigma}, {&p.panels, p.width, p.panel}, {&p.diagonals, p.width, p.diagonal}, {&p.columns, sideColumns, p.sides}} {
			p.then(func() (err error) {
				*m.to, err = p.grid.Describe(n, m.columns, int64(p.rank.Block), kernels.Matrix{A: m.at.at, LD: stride})
				return err
			})
		}
		p.wait()
	})
}

// block returns the points of the block of Σ that begins with a point.
func (p *cardPart) block(first int64) kernels.Points {
	return kernels.Points{X: p.blocks.at.Offset(8 * first * int64(p.x.D)), N: min(int64(p.rank.Block), int64(p.x.N)-first)}
}

// do runs calls of the queue.
func (p *cardPart) do(call func()) error { return p.perform(p.plan, call) }

// Close implements [part.Part].
func (p *cardPart) Close() error {
	var errs []error
	for _, m := range []*multi.Matrix{p.matrix, p.panels, p.diagonals, p.columns} {
		errs = append(errs, m.Forget())
	}
	return p.gpu.translate(errors.Join(append(errs, p.memory.free())...), p.plan)
}

// eachDiagonal calls f for the blocks on the diagonal that the rank has, from column first to last of Σ: their first point and
// number of points, and their place among the rank's rows and columns.
func (p *cardPart) eachDiagonal(first, last int64, f func(at, count, row, col int64)) {
	order := int64(p.rank.Block)
	for at := first; at < last && p.err == nil; at += order {
		end := min(at+order, last)
		row, col := p.rows.Count(int(at)), p.cols.Count(int(at))
		if p.rows.Count(int(end)) > row && p.cols.Count(int(end)) > col {
			f(at, end-at, int64(row), int64(col))
		}
	}
}

// eachPanel does the work of each panel, of the w columns from column k on, and says after each that it is done.
func (p *cardPart) eachPanel(done part.Progress, work func(k, w int64) (flops float64)) (stopped bool, err error) {
	n := int64(p.x.N)
	for k := int64(0); k < n; k += p.width {
		flops := 0.0
		if err := p.do(func() {
			flops = work(k, min(p.width, n-k))
			p.then(p.grid.Settle)
		}); err != nil {
			return false, err
		}
		if done(flops) {
			return true, nil
		}
	}
	return false, nil
}
