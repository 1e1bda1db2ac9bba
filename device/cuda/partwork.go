package cuda

import (
	"fmt"

	"gpfit/device"
	"gpfit/device/cuda/kernels"
	"gpfit/device/part"
	"gpfit/kernel"
)

// Form implements [part.Part]: panels of columns, each factored by cuSOLVERMp and subtracted from what is to its right.
func (p *cardPart) Form(prog *kernel.Program, theta, noise, d []float64, done part.Progress) (minor int, stopped bool, err error) {
	if err := p.do(func() { p.fill(prog, theta, noise) }); err != nil {
		return 0, false, err
	}
	n := int64(p.x.N)
	for k := int64(0); k < n; k += p.width {
		w := min(p.width, n-k)
		if err := p.do(func() { minor = p.factor(k, w) }); err != nil {
			return 0, false, err
		}
		if minor = int(p.rank.Largest(float64(minor))); minor > 0 {
			return int(k) + minor, false, nil
		}
		if err := p.do(func() { p.update(k, w) }); err != nil {
			return 0, false, err
		}
		if done((cube(n-k) - cube(n-k-w)) / 3) {
			return 0, true, nil
		}
	}
	return 0, false, p.do(func() {
		p.eachDiagonal(0, n, func(at, count, row, col int64) {
			p.run(kernels.GetDiagonal(p.matrix.Part.At(row, col), kernels.Vector{A: p.diagonalSum.at, N: count}, false))
			p.download(d[at:at+count], p.diagonalSum.at)
		})
	})
}

// factor factors the block of order w on the diagonal, and returns the order of its first leading minor that is not positive, as
// far as this rank knows.
func (p *cardPart) factor(k, w int64) (minor int) {
	p.then(func() (err error) {
		if minor, err = p.grid.Potrf(w, p.matrix.At(k, k)); err == nil && int64(minor) > w {
			err = fmt.Errorf("cuda: cuSOLVERMp reports minor %d of a block of order %d", minor, w)
		}
		return err
	})
	return minor
}

// update computes the columns of L below this block, and subtracts their products from the columns to their right.
func (p *cardPart) update(k, w int64) {
	rest := int64(p.x.N) - k - w
	if rest > 0 {
		p.then(func() error { return p.grid.Trsm(right, transposed, rest, w, p.matrix.At(k, k), p.matrix.At(k+w, k)) })
		p.then(func() error { return p.grid.Syrk(rest, w, p.matrix.At(k+w, k), p.matrix.At(k+w, k+w)) })
	}
	p.then(p.grid.Settle)
}

// fillColumns is the number of columns that one kernel fills.
const fillColumns = 8192

// fill writes K to the part, and then the blocks on the diagonal with the noise.
func (p *cardPart) fill(prog *kernel.Program, theta, noise []float64) {
	if !p.program.bind(&p.queue, &p.memory, p.x, prog, theta) {
		return
	}
	p.upload(p.noise.at, noise)
	rows, cols := p.local()
	for j := int64(0); j < cols && rows > 0; j += fillColumns {
		p.run(kernels.Cross(p.program.value.Function, kernels.Points{X: p.xRows.at, N: rows}, kernels.Points{X: p.xCols.at, N: cols}, j, min(j+fillColumns, cols), p.matrix.Part.At(0, j)))
	}
	p.eachDiagonal(0, int64(p.x.N), func(at, count, row, col int64) {
		v := kernels.Vector{A: p.noise.at, N: 1}
		if len(noise) > 1 {
			v = kernels.Vector{A: p.noise.at.Offset(8 * at), N: count}
		}
		p.run(kernels.Fill(p.program.value.Function, p.block(at), p.matrix.Part.At(row, col), v, 0, count))
	})
	p.wait()
}

// Solve implements [part.Part], for some right-hand sides at a time.
func (p *cardPart) Solve(op part.Operation, sides []float64) error {
	n := p.x.N
	for first := 0; first < len(sides); first += sideColumns * n {
		if err := p.do(func() { p.solve(op, sides[first:min(first+sideColumns*n, len(sides))]) }); err != nil {
			return err
		}
	}
	return nil
}

func (p *cardPart) solve(op part.Operation, sides []float64) {
	n, m := int64(p.x.N), int64(len(sides)/p.x.N)
	rows, _ := p.local()
	at, places := p.panelColumns(m).Globals(), p.rows.Globals()
	own := make([]float64, rows)
	for j, column := range at {
		for i, row := range places {
			own[i] = sides[column*p.x.N+row]
		}
		p.upload(p.columns.Part.At(0, int64(j)).A, own)
	}
	if op != part.Transposed {
		p.then(func() error { return p.grid.Trsm(left, plain, n, m, p.matrix.At(0, 0), p.columns.At(0, 0)) })
	}
	if op != part.Lower {
		p.then(func() error { return p.grid.Trsm(left, transposed, n, m, p.matrix.At(0, 0), p.columns.At(0, 0)) })
	}
	p.then(p.grid.Settle)
	clear(sides)
	for j, column := range at {
		p.download(own, p.columns.Part.At(0, int64(j)).A)
		for i, row := range places {
			sides[column*p.x.N+row] = own[i]
		}
	}
}

// Contract implements [part.Part]: panels of U = L⁻ᵀ by substitution, with which Σ⁻¹ = UUᵀ, then panels of Σ⁻¹ by products, each contracted
// at once.
func (p *cardPart) Contract(adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64, done part.Progress) (stopped bool, err error) {
	var on kernels.Adjoint
	if err := p.do(func() { on = p.bindAdjoint(adj, prog, theta) }); err != nil {
		return false, err
	}
	n := int64(p.x.N)
	stopped, err = p.eachPanel(done, func(k, w int64) float64 {
		p.invert(k, w)
		return float64(n-k) * float64(n-k) * float64(w)
	})
	if stopped || err != nil {
		return stopped, err
	}
	stopped, err = p.eachPanel(done, func(k, w int64) float64 {
		p.then(func() error {
			return p.grid.MultiplyTransposed(k+w, w, n-k, p.matrix.At(0, k), p.matrix.At(k, k), p.panels.At(0, 0))
		})
		p.contract(on, k, w)
		return 2 * float64(k+w) * float64(n-k) * float64(w)
	})
	if stopped || err != nil {
		return stopped, err
	}
	return false, p.do(func() {
		for k := int64(0); k < n; k += p.width {
			p.keepDiagonal(k, min(p.width, n-k), true)
		}
		sums, own := make([]float64, p.program.gradient.Rows()), make([]float64, n)
		p.receive(sums, p.program.sums.at)
		p.receive(own, p.diagonalSum.at)
		if p.wait(); p.err == nil {
			p.program.gradient.Assemble(grad, theta, p.program.gradient.values, sums)
			for i, v := range own {
				diag[i] += v
			}
		}
	})
}

// bindAdjoint copies an adjoint to the card and clears the results.
func (p *cardPart) bindAdjoint(adj device.Adjoint, prog *kernel.Program, theta []float64) kernels.Adjoint {
	if !p.program.bind(&p.queue, &p.memory, p.x, prog, theta) || !p.program.bindGradient(&p.queue, &p.memory, theta) {
		return kernels.Adjoint{}
	}
	n, count := int64(p.x.N), int64(len(adj.Outer))
	p.need(&p.memory, &p.adjoint, (n+1)*count)
	outer := p.adjoint.at.Offset(8 * n * count)
	p.upload(p.adjoint.at, adj.Vectors)
	p.upload(outer, adj.Outer)
	p.clear(p.program.sums.at, int64(p.program.gradient.Rows()))
	p.clear(p.diagonalSum.at, n)
	return kernels.Adjoint{Inv: adj.Inv, Vectors: p.adjoint.at, Outer: outer, Count: count}
}

// invert writes rows k … k+w−1 of U, from the diagonal on: the transpose of columns of L⁻¹. It keeps the block of L.
func (p *cardPart) invert(k, w int64) {
	n := int64(p.x.N)
	rows, _ := p.local()
	above, wide := int64(p.rows.Count(int(k))), int64(p.panelColumns(w).Count(int(w)))
	if rows > above {
		for j := range wide {
			p.clear(p.panels.Part.At(above, j).A, rows-above)
		}
	}
	shift := int64(p.cols.Count(int(k)))
	p.eachDiagonal(k, k+w, func(_, count, row, col int64) {
		p.run(kernels.SetDiagonal(p.panels.Part.At(row, col-shift), kernels.Vector{A: p.ones.at, N: count}, false))
	})
	p.then(func() error { return p.grid.Trsm(left, plain, n-k, w, p.matrix.At(k, k), p.panels.At(k, 0)) })
	p.keepDiagonal(k, w, false)
	p.then(func() error { return p.grid.Transpose(w, n-k, p.panels.At(k, 0), p.matrix.At(k, k)) })
}

// keepDiagonal copies the block of order w on the diagonal to diagonals, or back.
func (p *cardPart) keepDiagonal(k, w int64, back bool) {
	row, col := int64(p.rows.Count(int(k))), int64(p.cols.Count(int(k)))
	height, wide := int64(p.rows.Count(int(k+w)))-row, int64(p.cols.Count(int(k+w)))-col
	a, b := p.matrix.Part.At(row, col), p.diagonals.Part.At(row, 0)
	if back {
		a, b = b, a
	}
	p.run(kernels.Copy(a, b, height, wide, false))
}

// contract contracts the columns k … k+w−1 of Σ⁻¹, block by block.
func (p *cardPart) contract(on kernels.Adjoint, k, w int64) {
	order, n := int64(p.rank.Block), int64(p.x.N)
	shift := int64(p.cols.Count(int(k)))
	for j := k; j < k+w; j += order {
		col, next := int64(p.cols.Count(int(j))), min(j+order, k+w)
		if int64(p.cols.Count(int(next))) == col {
			continue
		}
		for i := int64(0); i <= j && p.err == nil; i += order {
			row, below := int64(p.rows.Count(int(i))), min(i+order, n)
			if int64(p.rows.Count(int(below))) == row {
				continue
			}
			on.Inverse = p.panels.Part.At(row, col-shift)
			p.run(kernels.ContractTile(p.program.gradient.Function, kernels.Points{X: p.xs.at, N: n}, on, i, below, j, next,
				p.diagonalSum.at.Offset(8*j), p.program.sums.at, p.program.work, true)...)
		}
	}
}

// PointsAtOnce implements [part.Part].
func (p *cardPart) PointsAtOnce() int { return int(p.width) }

// SquaredNorms implements [part.Part].
func (p *cardPart) SquaredNorms(prog *kernel.Program, theta []float64, xs *kernel.Points, first int, sums []float64) error {
	n, m := int64(p.x.N), int64(len(sums))
	rows, _ := p.local()
	places := p.panelColumns(m).Globals()
	count := int64(len(places))
	return p.do(func() {
		if !p.program.bind(&p.queue, &p.memory, p.x, prog, theta) {
			return
		}
		if count > 0 && rows > 0 {
			at := make([]int, count)
			for j, g := range places {
				at[j] = first + g
			}
			p.upload(p.test.at, xs.Pick(at).X)
			p.run(kernels.Cross(p.program.value.Function, kernels.Points{X: p.xRows.at, N: rows}, kernels.Points{X: p.test.at, N: count}, 0, count, p.panels.Part))
		}
		p.then(func() error { return p.grid.Trsm(left, plain, n, m, p.matrix.At(0, 0), p.panels.At(0, 0)) })
		own := make([]float64, count)
		p.run(kernels.ColumnSumSquares(p.panels.Part, rows, kernels.Vector{A: p.vector.at, N: count}))
		p.then(p.grid.Settle)
		p.download(own, p.vector.at)
		for j, v := range own {
			sums[places[j]] += v
		}
	})
}
