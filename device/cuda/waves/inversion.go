package waves

import (
	"math"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/mathlib"
)

// Inversion is the inversion of a factor L of order N, Σ⁻¹ = U·Uᵀ, with U = L⁻ᵀ in a matrix of its own. That leaves more
// products independent of one another than an inversion in place.
type Inversion struct {
	N int64
	// Leaf is the order of the diagonal blocks of U with which the phases begin, 4 times the unit of widths.
	Leaf int64
	// A holds L below its diagonal, and Σ⁻¹ above it in the end. U holds U, with zeros below its diagonal. Blocks receives
	// the diagonal blocks of Σ⁻¹, one below the other.
	A, U, Blocks driver.Matrix
}

// fastest tries the widths. It returns the phase with the least sum of the time that it takes and twice the time that
// its operations would take on multiprocessors that are never idle, since operations take energy, too.
func (s Inversion) fastest(streams, multiprocessors int, phaseOf func(width int64) Phase) (best Phase, least float64) {
	least = math.Inf(1)
	for _, width := range s.widths() {
		p := phaseOf(width)
		time, work := p.Waves(streams, multiprocessors)
		if sum := float64(time) + 2*float64(work)/float64(multiprocessors); sum < least {
			best, least = p, sum
		}
	}
	return best, least
}

// widths are the numbers of rows or columns of a product, among which each phase has a choice.
func (s Inversion) widths() []int64 {
	unit := s.Leaf / 4
	return []int64{unit, 2 * unit, 3 * unit, 4 * unit}
}

// Phases returns the products that compute U from its diagonal blocks, level by level, and then Σ⁻¹, in the last phase,
// with diagonal blocks of the order diagonal.
func (s Inversion) Phases(streams, multiprocessors int) (all []Phase, diagonal int64) {
	levels := map[int][]part{}
	for d := s.divide(levels, 0, part{0, s.N}); d >= 0; d-- {
		for _, half := range []func(b part, height int64) Phase{s.first, s.second} {
			p, _ := s.fastest(streams, multiprocessors, func(height int64) (p Phase) {
				for _, b := range levels[d] {
					p = append(p, half(b, height)...)
				}
				return p
			})
			all = append(all, p)
		}
	}
	var last Phase
	least := math.Inf(1)
	for _, order := range s.widths() {
		if p, sum := s.fastest(streams, multiprocessors, func(width int64) Phase { return s.square(width, order) }); sum < least {
			last, least, diagonal = p, sum, order
		}
	}
	return append(all, last), diagonal
}

// part is a diagonal block of rows at … at+n−1.
type part struct{ at, n int64 }

// split returns the rows of the first half of a blocK: whole leaves.
func (s Inversion) split(b part) int64 { return (b.n + 2*s.Leaf - 1) / (2 * s.Leaf) * s.Leaf }

// divide lists the blocks with more than a leaf by their depth, and returns the largest depth.
func (s Inversion) divide(levels map[int][]part, depth int, b part) int {
	if b.n <= s.Leaf {
		return depth - 1
	}
	levels[depth] = append(levels[depth], b)
	half := s.split(b)
	return max(depth, s.divide(levels, depth+1, part{b.at, half}), s.divide(levels, depth+1, part{b.at + half, b.n - half}))
}

// first returns −U₁₁·L₂₁ᵀ for the halves of a block, by rows, to be written above L₂₁ᵀ's place in a.
func (s Inversion) first(b part, height int64) (p Phase) {
	half := s.split(b)
	end, rest := b.at+half, b.n-half
	for i := b.at; i < end; i += height {
		p = append(p, Gemm{
			M: min(height, end-i), N: rest, K: end - i, Alpha: -1, OpB: mathlib.Trans, A: s.U.At(i, i), B: s.A.At(end, i), C: s.A.At(i, end),
		})
	}
	return p
}

// second multiplies it by U₂₂, by columns.
func (s Inversion) second(b part, height int64) (p Phase) {
	half := s.split(b)
	from, end := b.at+half, b.at+b.n
	for j := from; j < end; j += height {
		cols := min(height, end-j)
		p = append(p, Gemm{M: half, N: cols, K: j + cols - from, Alpha: 1, OpB: mathlib.NoTrans, A: s.A.At(b.at, from), B: s.U.At(from, j), C: s.U.At(b.at, j)})
	}
	return p
}

// square returns U·Uᵀ by columns: the blocks above the diagonal in a, and diagonal blocks of an order in blocks.
func (s Inversion) square(width, order int64) (p Phase) {
	add := func(i, j, rows, cols int64, c driver.Matrix) {
		if rows > 0 {
			p = append(p, Gemm{M: rows, N: cols, K: s.N - j, Alpha: 1, OpB: mathlib.Trans, A: s.U.At(i, j), B: s.U.At(j, j), C: c})
		}
	}
	width = max(width, order) / order * order // whole diagonal blocks
	for j0 := int64(0); j0 < s.N; j0 += width {
		end := min(j0+width, s.N)
		add(0, j0, j0, end-j0, s.A.At(0, j0))
		for j := j0; j < end; j += order {
			cols := min(order, end-j)
			add(j0, j, j-j0, cols, s.A.At(j0, j))
			add(j, j, cols, cols, s.Blocks.At(j, 0))
		}
	}
	return p
}
