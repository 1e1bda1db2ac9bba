package kernels

import (
	"math"

	"gpfit/device/cuda/ptx"
)

// A block works on this tile of pairs; see package ptx.
const (
	tileRows = 64
	tileCols = 32
)

func checkNoise(noise Vector, n int64) {
	require(noise.N == 1 || noise.N == n, "noise of length, for n points", noise.N, n)
}

// Fill writes columns j0 ≤ j < j1 of the lower triangle of K + diag(noise) to a, an n×n
// matrix; noise has one element or n.
func Fill(f Function, x Points, a Matrix, noise Vector, j0, j1 int64) Launch {
	require(0 <= j0 && j0 <= j1 && j1 <= x.N && a.LD >= x.N, "columns of n, leading dimension", j0, j1, x.N, a.LD)
	checkNoise(noise, x.N)
	blocks := tiles(x.N-j0, tileRows) * tiles(j1-j0, tileCols)
	return launchOf(f, ptx.Fill, blocks, x.X, x.N, a.A, a.LD, j0, j1, noise.A, noise.N)
}

// Cross writes k(x_i, x*_r) to element (i, r−r0) of out, for all points x and test
// points r0 ≤ r < r1.
func Cross(f Function, x, xs Points, r0, r1 int64, out Matrix) Launch {
	require(0 <= r0 && r0 <= r1 && r1 <= xs.N && out.LD >= x.N, "test points of m, leading dimension", r0, r1, xs.N, out.LD)
	blocks := tiles(x.N, tileRows) * tiles(r1-r0, tileCols)
	return launchOf(f, ptx.Cross, blocks, x.X, x.N, xs.X, xs.N, r0, r1, out.A, out.LD)
}

// Multiply writes rows i0 ≤ i < i1 of Σ·v to rows 0 … i1−i0−1 of y, for the n×m matrix
// v. It generates Σ = K + diag(noise) again, which takes the work of a full matrix K
// per 4 columns of v. y must not overlap v.
func Multiply(f Function, x Points, noise Vector, i0, i1 int64, v Matrix, m int64, y Matrix) Launch {
	require(0 <= i0 && i0 <= i1 && i1 <= x.N && m >= 0 && v.LD >= x.N && y.LD >= i1-i0,
		"rows of n, columns, leading dimensions", i0, i1, x.N, m, v.LD, y.LD)
	checkNoise(noise, x.N)
	blocks := tiles(i1-i0, tileRows)
	if m == 0 {
		blocks = 0
	}
	return launchOf(f, ptx.Multiply, blocks, x.X, x.N, noise.A, noise.N, i0, i1, v.A, v.LD, m, y.A, y.LD)
}

// DerivativeRows is the number of rows of a block of [Derivatives].
const DerivativeRows = tileRows

// Derivatives writes rows i0 ≤ i < i1 of the products of the sums of f, a gradient, with the
// columns of the n×e.Vectors matrix v to rows 0 … i1−i0−1 of y, for an entry e of
// [ptx.Derivatives]. scratch has [ptx.Kernel.ProductScratch] numbers for each [DerivativeRows] rows.
func Derivatives(f Function, e *ptx.Entry, x Points, i0, i1 int64, v Matrix, scratch Ptr, y Matrix) Launch {
	require(0 <= i0 && i0 <= i1 && i1 <= x.N && v.LD >= x.N && y.LD >= i1-i0, "rows of n, leading dimensions", i0, i1, x.N, v.LD, y.LD)
	return launchOf(f, e, tiles(i1-i0, tileRows), x.X, x.N, i0, i1, v.A, v.LD, scratch, y.A, y.LD)
}

// ContractBlocks returns the largest number of blocks that [Contract] uses on a device
// with the given number of multiprocessors: two for each, as many as its registers
// hold. The last bits of a contraction depend on this number.
func ContractBlocks(multiprocessors int) int64 { return 2 * int64(max(multiprocessors, 1)) }

// ContractSpace returns the bytes of scratch memory and of partial sums that [Contract]
// needs with at most the given number of blocks.
func ContractSpace(gradient *ptx.Kernel, blocks int64) (scratch, partial int64) {
	return 8 * blocks * int64(gradient.Scratch()), 8 * blocks * int64(gradient.Rows())
}

// ContractWork is the memory of a contraction, with the sizes from [ContractSpace].
type ContractWork struct {
	Scratch, Partial Ptr
	Blocks           int64
}

// Adjoint is the matrix G = Inv·Σ⁻¹ + M + Σ_k outer_k·v_k v_kᵀ of a contraction.
type Adjoint struct {
	Inv float64
	// Inverse and Middle are panels of columns of Σ⁻¹ and M, of which [Contract] reads
	// the upper triangle; Middle.A may be 0 for M = 0.
	Inverse, Middle Matrix
	// Vectors holds Count columns v_k, Outer as many factors outer_k.
	Vectors, Outer Ptr
	Count          int64
}

// Contract processes columns j0 ≤ j < j1, rows i ≤ j, of adj, whose panels begin with column j0. It
// adds their part of Σ_pairs G·value, with elements off the diagonal counted twice, to sums[r] for
// every row r of f, a gradient, and writes G_jj to diag[j]. The panel of column 0 comes first and
// writes sums. Run the two launches in this order.
func Contract(f Function, x Points, adj Adjoint, j0, j1 int64, diag, sums Ptr, work ContractWork) []Launch {
	s, m := adj.Inverse, adj.Middle
	require(s.LD >= j1 && (m.A == 0 || m.LD >= j1), "columns, leading dimensions", j1, s.LD, m.LD)
	return contract(f, x, adj, 0, j1, j0, j1, diag, sums, work, j0 > 0)
}

// ContractTile does so for rows i0 ≤ i < i1 and columns j0 ≤ j < j1 with i ≤ j, for a matrix Inverse that begins with element
// (i0, j0), and without Middle. It writes sums, or adds to them, and writes G_jj to diag[j−j0] if these rows and columns are the same ones.
func ContractTile(f Function, x Points, adj Adjoint, i0, i1, j0, j1 int64, diag, sums Ptr, work ContractWork, add bool) []Launch {
	require(0 <= i0 && i0 <= i1 && adj.Inverse.LD >= i1-i0 && adj.Middle.A == 0, "rows, leading dimension", i0, i1, adj.Inverse.LD)
	adj.Inverse.A = adj.Inverse.A.Offset(-8 * i0) // the kernel counts rows from 0
	return contract(f, x, adj, i0, i1, j0, j1, diag.Offset(-8*j0), sums, work, add)
}

func contract(f Function, x Points, adj Adjoint, i0, i1, j0, j1 int64, diag, sums Ptr, work ContractWork, add bool) []Launch {
	s, m := adj.Inverse, adj.Middle
	require(0 <= j0 && j0 <= j1 && j1 <= x.N && adj.Count >= 0 && work.Blocks > 0,
		"columns of n, vectors, blocks", j0, j1, x.N, adj.Count, work.Blocks)
	all := tiles(i1-i0, tileRows) * tiles(j1-j0, tileCols)
	require(all <= math.MaxInt32, "tiles", all)
	blocks := min(work.Blocks, all)
	launch := launchOf(f, ptx.Contract, blocks, x.X, x.N, s.A, s.LD, m.A, m.LD, i0, i1, j0, j1,
		adj.Vectors, adj.Outer, adj.Count, adj.Inv, diag, work.Scratch, work.Partial)
	return []Launch{launch, Reduce(work.Partial, blocks, Vector{sums, int64(f.Rows())}, add)}
}
