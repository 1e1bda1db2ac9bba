package kernels

import "slices"

// System is one of many systems of the same order n that [Systems] works on in lock step.
type System struct {
	// A is the matrix: Σ or L in the lower triangle, Σ⁻¹ strictly above it after [Systems.Invert].
	A Ptr
	// Panel has room for leadingDim × [MaxInvert] numbers.
	Panel Ptr
	// Diagonal receives the diagonal of Σ⁻¹ and Pivots the diagonal of L, n numbers each, in [Systems.Invert].
	Diagonal, Pivots Ptr
	// RHS is the right-hand side of [Systems.Solve] and then the solution, n numbers.
	RHS Ptr
	// Out receives two numbers: the order of the first minor that is not positive definite, 0 if there is
	// none, and Σ log L_ii.
	Out Ptr
}

// Words returns the addresses in the order in which the kernels read them.
func (p System) Words() []int64 {
	return []int64{int64(p.A), int64(p.Panel), int64(p.Diagonal), int64(p.Pivots), int64(p.RHS), int64(p.Out)}
}

// Systems is Count systems of order N, whose matrices have the leading dimension LD. Problems is the address of
// their [System.Words], one after the other. The results of a system do not depend on the others.
type Systems struct {
	Problems     Ptr
	Count, N, LD int64
}

// launch returns a launch with the given number of blocks for each system.
func (b Systems) launch(k *Kernel, each, o int64) Launch {
	return launch(k, b.Count*each, b.Problems, b.LD, b.N, o)
}

// A block of gpfit_batch_below or gpfit_batch_above takes batchRows rows, and one of gpfit_batch_backward batchColumns columns.
const batchRows, batchColumns = 32, 16

// steps calls f with the first row of each leaf and the number of rows after the leaf.
func (b Systems) steps(f func(o, after int64)) {
	for o := int64(0); o < b.N; o += MaxInvert {
		f(o, max(b.N-o-MaxInvert, 0))
	}
}

// Factor overwrites the lower triangles of Σ by the Cholesky factors L and sets Out: n³/3 operations for each system.
func (b Systems) Factor() (all []Launch) {
	b.steps(func(o, after int64) {
		n := tiles(after, MaxInvert)
		all = append(append(all, b.Columns(o)...), b.launch(batchTrailing, n*(n+1)/2, o))
	})
	return append(all, b.LogDet()...)
}

// Columns computes columns o … o+MaxInvert−1 of L, which earlier columns have updated, for o a multiple of MaxInvert.
func (b Systems) Columns(o int64) []Launch {
	after := max(b.N-o-MaxInvert, 0)
	return []Launch{b.launch(batchLeaf, 1, o), b.launch(batchBelow, tiles(after, batchRows), o)}
}

// LogDet sets Σ log L_ii in Out.
func (b Systems) LogDet() []Launch {
	return []Launch{launch(batchLogDet, b.Count, b.Problems, b.LD, b.N)}
}

// Flops returns the operations of [Systems.Factor] and of [Systems.Invert] for one system: n³/3 and 2n³/3, plus
// O(n²·MaxInvert), because the kernels compute whole tiles.
func (b Systems) Flops() (factor, invert float64) {
	tile := func(rows int64) float64 { return float64(rows) * MaxInvert * MaxInvert }
	b.steps(func(o, after int64) {
		leaf, side, row := MaxInvert*tile(1)/3, tiles(after, MaxInvert), o/MaxInvert+1
		factor += leaf + tile(after) + 2*MaxInvert*tile(side*(side+1)/2)
		invert += tile(b.N-after) + 2*MaxInvert*tile(row*(row+1)/2+row*side)
	})
	return factor, invert
}

// Invert writes Σ⁻¹ strictly above the diagonals of A and to Diagonal: 2n³/3 operations for each system.
func (b Systems) Invert() (all []Launch) {
	sides := tiles(b.N, MaxInvert)
	b.steps(func(o, after int64) {
		row := o/MaxInvert + 1
		all = append(all, b.launch(batchAbove, tiles(b.N-after, batchRows), o), b.launch(batchExpand, row*sides-row*(row-1)/2, o))
	})
	return all
}

// Solve overwrites RHS by Σ⁻¹·RHS. It uses the first column of Panel.
func (b Systems) Solve() (all []Launch) {
	var backward []Launch
	b.steps(func(o, after int64) {
		all = append(all, b.launch(batchForward, 1+tiles(after, MaxInvert), o))
		backward = append(backward, b.launch(batchBackward, 1+tiles(o, batchColumns), o))
	})
	slices.Reverse(backward)
	return append(all, backward...)
}
