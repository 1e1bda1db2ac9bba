package cuda

import (
	"cmp"
	"slices"

	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/mathlib"
)

// product is C = alpha·A·opB(B) + beta·C for an m×n matrix C, with k terms in each sum.
type product struct {
	m, n, k     int64
	alpha, beta float64
	opB         mathlib.Transpose
	a, b, c     kernels.Matrix
}

func (p product) flops() float64 { return 2 * float64(p.m) * float64(p.n) * float64(p.k) }

// phase is a set of products of which none needs another's result.
type phase []product

func (p phase) flops() (sum float64) {
	for _, one := range p {
		sum += one.flops()
	}
	return sum
}

// assign divides a phase among the streams, in the order in which each of them runs its part: the longest product first,
// each to the stream with the least work.
func (p phase) assign() (parts [streams]phase) {
	var work [streams]float64
	for _, one := range slices.SortedStableFunc(slices.Values(p), func(a, b product) int { return cmp.Compare(b.flops(), a.flops()) }) {
		least := 0
		for i, w := range work {
			if w < work[least] {
				least = i
			}
		}
		parts[least] = append(parts[least], one)
		work[least] += one.flops()
	}
	return parts
}

// updates returns the products that subtract the product of count columns of L, from column from on, from the lower triangle of
// the matrix a of order n, in its columns from at on. Each takes width columns, and reaches over the diagonal in them.
func updates(a kernels.Matrix, n, from, count, at, width int64) (p phase) {
	for j := at; j < n; j += width {
		p = append(p, product{m: n - j, n: min(width, n-j), k: count, alpha: -1, beta: 1, opB: transposed, a: a.At(j, from), b: a.At(j, from), c: a.At(j, j)})
	}
	return p
}

// inversionSpread is the inversion of a factor L of order n, Σ⁻¹ = U·Uᵀ, with U = L⁻ᵀ in a matrix of its own. That leaves more
// products independent of one another than an inversion in place.
type inversionSpread struct {
	n int64
	// leaf is the order of the diagonal blocks of U with which the phases begin.
	leaf int64
	// a holds L below its diagonal, and Σ⁻¹ above it in the end. u holds U, with zeros below its diagonal. blocks receives
	// the diagonal blocks of Σ⁻¹, one below the other.
	a, u, blocks kernels.Matrix
}

// width is the number of rows or columns of a product, and the order of the diagonal blocks of Σ⁻¹.
func (s inversionSpread) width() int64 { return s.leaf / 2 }

// phases returns the products that compute U from its diagonal blocks, level by level, and then Σ⁻¹, in the last phase.
func (s inversionSpread) phases() (all []phase) {
	levels := map[int][]part{}
	for d := s.divide(levels, 0, part{0, s.n}); d >= 0; d-- {
		var first, second phase
		for _, b := range levels[d] {
			first, second = append(first, s.first(b)...), append(second, s.second(b)...)
		}
		all = append(all, first, second)
	}
	return append(all, s.square())
}

// part is a diagonal block of rows at … at+n−1.
type part struct{ at, n int64 }

// split returns the rows of the first half of a block: whole leaves.
func (s inversionSpread) split(b part) int64 { return (b.n + 2*s.leaf - 1) / (2 * s.leaf) * s.leaf }

// divide lists the blocks with more than a leaf by their depth, and returns the largest depth.
func (s inversionSpread) divide(levels map[int][]part, depth int, b part) int {
	if b.n <= s.leaf {
		return depth - 1
	}
	levels[depth] = append(levels[depth], b)
	half := s.split(b)
	return max(depth, s.divide(levels, depth+1, part{b.at, half}), s.divide(levels, depth+1, part{b.at + half, b.n - half}))
}

// first returns −U₁₁·L₂₁ᵀ for the halves of a block, by rows, to be written above L₂₁ᵀ's place in a.
func (s inversionSpread) first(b part) (p phase) {
	half := s.split(b)
	end, rest := b.at+half, b.n-half
	for i := b.at; i < end; i += s.width() {
		p = append(p, product{m: min(s.width(), end-i), n: rest, k: end - i, alpha: -1, opB: transposed, a: s.u.At(i, i), b: s.a.At(end, i), c: s.a.At(i, end)})
	}
	return p
}

// second multiplies it by U₂₂, by columns.
func (s inversionSpread) second(b part) (p phase) {
	half := s.split(b)
	from, end := b.at+half, b.at+b.n
	for j := from; j < end; j += s.width() {
		cols := min(s.width(), end-j)
		p = append(p, product{m: half, n: cols, k: j + cols - from, alpha: 1, opB: plain, a: s.a.At(b.at, from), b: s.u.At(from, j), c: s.u.At(b.at, j)})
	}
	return p
}

// square returns U·Uᵀ by columns: the blocks above the diagonal in a, and the diagonal blocks in blocks.
func (s inversionSpread) square() (p phase) {
	add := func(i, j, rows, cols int64, c kernels.Matrix) {
		if rows > 0 {
			p = append(p, product{m: rows, n: cols, k: s.n - j, alpha: 1, opB: transposed, a: s.u.At(i, j), b: s.u.At(j, j), c: c})
		}
	}
	for j := int64(0); j < s.n; j += s.width() {
		cols := min(s.width(), s.n-j)
		add(0, j, j, cols, s.a.At(0, j))
		add(j, j, cols, cols, s.blocks.At(j, 0))
	}
	return p
}
