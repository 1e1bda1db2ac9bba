package cuda

import (
	"slices"

	"gpfit/device"
	"gpfit/device/cuda/kernels"
	"gpfit/device/tiling"
	"gpfit/kernel"
)

// Bind implements [tiling.Bank].
func (b *tileBank) Bind(to tiling.Binding) error {
	return b.do(func() {
		n := b.x.N
		b.bound = tiling.Binding{}
		b.check(device.CheckNoise(to.Noise, n))
		if !b.program.bind(&b.queue, &b.memory, b.x, to.Program, to.Theta) {
			return
		}
		b.upload(b.noise.at, to.Noise)
		if adj := to.Adjoint; adj != nil {
			if len(adj.Vectors) != n*len(adj.Outer) {
				b.fail(argumentf("an adjoint of %d vectors with %d numbers for %d points", len(adj.Outer), len(adj.Vectors), n))
			}
			if b.err != nil || !b.program.bindGradient(&b.queue, &b.memory, to.Theta) {
				return
			}
			b.need(&b.memory, &b.adjoint, int64(n+1)*int64(len(adj.Outer)))
			b.upload(b.adjoint.at, adj.Vectors)
			b.upload(b.adjoint.at.Offset(8*int64(len(adj.Vectors))), adj.Outer)
		}
		if b.err == nil {
			b.bound, b.bound.Theta = to, slices.Clone(to.Theta)
		}
	})
}

// evaluate queues work that evaluates what is bound, in a slot.
func (b *tileBank) evaluate(use tileUse, ready bool, call func()) error {
	return b.work(computing, []tileUse{use}, func() {
		if b.bound.Program == nil || !ready {
			b.fail(device.ErrStage)
			return
		}
		call()
	})
}

// checkBlocks fails unless i and j are blocks of points.
func checkBlocks(b *tileBank, i, j int) bool {
	if last := (int64(b.x.N) - 1) / b.order; min(i, j) < 0 || int64(max(i, j)) > last {
		b.fail(argumentf("tile (%d, %d) of blocks to %d", i, j, last))
	}
	return b.err == nil
}

// Fill implements [tiling.Bank].
func (b *tileBank) Fill(_, dst, i, j int) error {
	return b.evaluate(tileUse{dst, true}, true, func() {
		if !checkBlocks(b, i, j) {
			return
		}
		a, rows, cols := b.at(dst), b.block(int64(i)), b.block(int64(j))
		if rows.N < b.order {
			b.clear(a.A, a.LD*b.order)
		}
		if i != j {
			b.run(kernels.Cross(b.program.value.Function, rows, cols, 0, cols.N, a))
			return
		}
		noise := kernels.Vector{A: b.noise.at, N: 1}
		if len(b.bound.Noise) > 1 {
			noise = kernels.Vector{A: b.noise.at.Offset(8 * int64(i) * b.order), N: rows.N}
		}
		b.run(kernels.Fill(b.program.value.Function, rows, a, noise, 0, rows.N))
		b.run(kernels.SetDiagonal(a.At(rows.N, rows.N), kernels.Vector{A: b.ones.at, N: b.order - rows.N}, false))
	})
}

// Cross implements [tiling.Bank].
func (b *tileBank) Cross(_, dst int, xs *kernel.Points, first, rows, j int) error {
	return b.evaluate(tileUse{dst, true}, true, func() {
		end := first + int(b.rows(rows))
		if xs.D != b.x.D || first < 0 || end > xs.N {
			b.fail(argumentf("points %d to %d of %d, with %d columns", first, end, xs.N, xs.D))
		}
		if !checkBlocks(b, j, j) {
			return
		}
		test, cols, a := kernels.Points{X: b.test.at, N: int64(end - first)}, b.block(int64(j)), b.at(dst)
		for c := range xs.D {
			b.upload(test.X.Offset(8*int64(c)*test.N), xs.Column(c)[first:end])
		}
		if cols.N < b.order {
			b.clear(a.At(0, cols.N).A, a.LD*(b.order-cols.N))
		}
		b.run(kernels.Cross(b.program.value.Function, test, cols, 0, cols.N, a))
	})
}

// Contract implements [tiling.Bank].
func (b *tileBank) Contract(_, s, i, j int, grad, diag []float64) error {
	return b.evaluate(tileUse{s, false}, b.bound.Adjoint != nil, func() {
		f, adj, n := &b.program.gradient, b.bound.Adjoint, int64(b.x.N)
		rows, cols := int64(i)*b.order, int64(j)*b.order
		points := min(n, cols+b.order) - cols
		if !checkBlocks(b, i, j) || i > j || len(grad) != len(b.bound.Theta) || (i == j) != (diag != nil) || diag != nil && int64(len(diag)) < points {
			b.fail(argumentf("block (%d, %d) of an adjoint, gradient of %d and diagonal of %d numbers", i, j, len(grad), len(diag)))
			return
		}
		count := int64(len(adj.Outer))
		on := kernels.Adjoint{Inv: adj.Inv, Inverse: b.at(s), Vectors: b.adjoint.at, Outer: b.adjoint.at.Offset(8 * n * count), Count: count}
		b.run(kernels.ContractTile(f.Function, kernels.Points{X: b.xs.at, N: n}, on, rows, min(n, rows+b.order), cols, cols+points,
			b.vector.at, b.program.sums.at, b.program.work, false)...)
		sums := make([]float64, f.Rows())
		b.receive(sums, b.program.sums.at)
		if diag != nil {
			b.receive(diag[:points], b.vector.at)
		}
		if b.wait(); b.err == nil {
			f.Assemble(grad, b.bound.Theta, f.values, sums)
		}
	})
}
