package cuda

import (
	"math"

	"gpfit/internal/cuda/kernels"
	"gpfit/internal/cuda/mathlib"
)

// invertSpread is [invert] for a workspace that has room for U.
func invertSpread(w *Workspace, more float64) {
	leaf := w.sizes.panelWidth(w.n)
	if w.upper.bytes == 0 {
		w.need(&w.memory, &w.upper, w.n*leadingDim(w.n))
		w.clear(w.upper.at, w.n*leadingDim(w.n))
	}
	w.need(&w.memory, &w.blocks, leaf*leadingDim(w.n))
	if w.err != nil {
		return
	}
	s := spreading{n: w.n, leaf: leaf, a: w.matrix, u: w.columns(w.upper), blocks: w.columns(w.blocks)}
	if w.phases == nil {
		w.phases, w.diagonalOrder = s.phases(w.gpu.info.Multiprocessors)
	}
	order, flops := w.diagonalOrder, blocksFlops(w.n, w.sizes.leaf, leaf)
	for _, p := range w.phases {
		flops += p.flops()
	}
	w.Begin("gradient", flops+more)
	inverter{w, leaf, s.u, func(p pairs) mathlib.Strided { return p.of(w.matrix, 0, p.order) }}.invertBlocks()
	for _, p := range w.phases {
		w.phase(p)
	}
	count := w.n / order
	w.run(kernels.CopyEach(s.blocks, order, w.matrix, order*(w.matrix.LD+1), order, order, count, true))
	if at := count * order; at < w.n {
		w.run(kernels.Copy(s.blocks.At(at, 0), w.at(at, at), w.n-at, w.n-at, true))
	}
	w.run(kernels.GetDiagonal(w.matrix, w.diagonalInverse(), false), w.restoreDiagonal())
	if w.err == nil {
		w.stage = stageInverted
	}
}

// spreading is the inversion of a factor with U = L⁻ᵀ in a matrix of its own, which leaves more products independent of one another
// than [inverter] does: each phase has the products of a level. It takes a second matrix.
type spreading struct {
	n int64
	// leaf is the order of the diagonal blocks of U with which the phases begin, 4 times the unit of widths.
	leaf int64
	// a holds L below its diagonal, and Σ⁻¹ above it in the end; u holds U with zeros below its diagonal; blocks receives the diagonal
	// blocks of Σ⁻¹, one below the other.
	a, u, blocks kernels.Matrix
}

// fastest tries the widths. It returns the phase with the least sum of the time that it takes and twice the time that
// its operations would take on multiprocessors that are never idle, since operations take energy, too.
func (s spreading) fastest(multiprocessors int, phaseOf func(width int64) phase) (best phase, least float64) {
	least = math.Inf(1)
	for _, width := range s.widths() {
		p := phaseOf(width)
		time, work := p.waves(streams, multiprocessors)
		if sum := float64(time) + 2*float64(work)/float64(multiprocessors); sum < least {
			best, least = p, sum
		}
	}
	return best, least
}

// widths are the numbers of rows or columns of a product, among which each phase has a choice.
func (s spreading) widths() []int64 {
	unit := s.leaf / 4
	return []int64{unit, 2 * unit, 3 * unit, 4 * unit}
}

// phases returns the products that compute U from its diagonal blocks, level by level, and then Σ⁻¹, in the last phase,
// with diagonal blocks of the order diagonal.
func (s spreading) phases(multiprocessors int) (all []phase, diagonal int64) {
	levels := map[int][]block{}
	for d := s.divide(levels, 0, block{0, s.n}); d >= 0; d-- {
		for _, half := range []func(b block, height int64) phase{s.first, s.second} {
			p, _ := s.fastest(multiprocessors, func(height int64) (p phase) {
				for _, b := range levels[d] {
					p = append(p, half(b, height)...)
				}
				return p
			})
			all = append(all, p)
		}
	}
	var last phase
	least := math.Inf(1)
	for _, order := range s.widths() {
		if p, sum := s.fastest(multiprocessors, func(width int64) phase { return s.square(width, order) }); sum < least {
			last, least, diagonal = p, sum, order
		}
	}
	return append(all, last), diagonal
}

// block is a diagonal block of rows at … at+n−1.
type block struct{ at, n int64 }

// split returns the rows of the first half of a block: whole leaves.
func (s spreading) split(b block) int64 { return (b.n + 2*s.leaf - 1) / (2 * s.leaf) * s.leaf }

// divide lists the blocks with more than a leaf by their depth, and returns the largest depth.
func (s spreading) divide(levels map[int][]block, depth int, b block) int {
	if b.n <= s.leaf {
		return depth - 1
	}
	levels[depth] = append(levels[depth], b)
	half := s.split(b)
	return max(depth, s.divide(levels, depth+1, block{b.at, half}), s.divide(levels, depth+1, block{b.at + half, b.n - half}))
}

// first returns −U₁₁·L₂₁ᵀ for the halves of a block, by rows, to be written above L₂₁ᵀ's place in a.
func (s spreading) first(b block, height int64) (p phase) {
	half := s.split(b)
	end, rest := b.at+half, b.n-half
	for i := b.at; i < end; i += height {
		p = append(p, product{
			m: min(height, end-i), n: rest, k: end - i, alpha: -1, opB: transposed, a: s.u.At(i, i), b: s.a.At(end, i), c: s.a.At(i, end),
		})
	}
	return p
}

// second multiplies it by U₂₂, by columns.
func (s spreading) second(b block, height int64) (p phase) {
	half := s.split(b)
	from, end := b.at+half, b.at+b.n
	for j := from; j < end; j += height {
		cols := min(height, end-j)
		p = append(p, product{m: half, n: cols, k: j + cols - from, alpha: 1, opB: plain, a: s.a.At(b.at, from), b: s.u.At(from, j), c: s.u.At(b.at, j)})
	}
	return p
}

// square returns U·Uᵀ by columns: the blocks above the diagonal in a, and diagonal blocks of an order in blocks.
func (s spreading) square(width, order int64) (p phase) {
	add := func(i, j, rows, cols int64, c kernels.Matrix) {
		if rows > 0 {
			p = append(p, product{m: rows, n: cols, k: s.n - j, alpha: 1, opB: transposed, a: s.u.At(i, j), b: s.u.At(j, j), c: c})
		}
	}
	width = max(width, order) / order * order // whole diagonal blocks
	for j0 := int64(0); j0 < s.n; j0 += width {
		end := min(j0+width, s.n)
		add(0, j0, j0, end-j0, s.a.At(0, j0))
		for j := j0; j < end; j += order {
			cols := min(order, end-j)
			add(j0, j, j-j0, cols, s.a.At(j0, j))
			add(j, j, cols, cols, s.blocks.At(j, 0))
		}
	}
	return p
}
