package kernels

// side is the side length of the blocks of kernels that move elements.
const side = 32

func squares(rows, cols int64) int64 { return tiles(rows, side) * tiles(cols, side) }

// MoveWords is the number of words of a transfer for [Move].
const MoveWords = 3

// Move copies numbers between a room and other places, or from there to the room with back. The room begins with transfers:
// the address of a place, the first of its numbers in the room, and how many there are. It takes count of them.
func Move(room Ptr, first, count int64, back bool) Launch {
	return launch(move, count, room, first, flag(back))
}

// Reduce writes out[p] = Σ_k parts[p·count + k], or adds it to out[p] if add is set.
func Reduce(parts Ptr, count int64, out Vector, add bool) Launch {
	return launch(reduce, out.N, parts, count, out.A, flag(add))
}

// partBlocks returns the number of blocks that share a vector of n: some work for each thread, and
// few enough that their results are read quickly. It does not depend on the device.
func partBlocks(n int64) int64 { return min(tiles(n, 4*Threads), MaxParts) }

// MaxParts is the largest number of partial results of [LogDet] and [FirstBad].
const MaxParts = 128

// LogDet writes Σ_i log a_ii of an n×n block to out[0], in two launches; parts has room
// for [MaxParts] numbers. For a Cholesky factor the sum is half of log|Σ|.
func LogDet(a Matrix, n int64, parts, out Ptr) []Launch {
	blocks := partBlocks(n)
	return []Launch{
		launch(logDiagonal, blocks, a.A, a.LD, n, parts),
		Reduce(parts, blocks, Vector{out, 1}, false),
	}
}

// FirstBad searches x[k·stride], k < count, for a number that is not finite or, if
// positive is set, not above zero. A stride of LD+1 searches a diagonal. Each of the
// launch's Blocks ≤ [MaxParts] blocks writes an int64 to first: the least index that it
// found, or count. The least of them is the answer.
func FirstBad(x Ptr, count, stride int64, positive bool, first Ptr) Launch {
	return launch(firstBad, partBlocks(count), x, count, stride, flag(positive), first)
}

// ColumnSumSquares writes Σ_i a_iq² to out[q], for the columns of an n×out.N block.
func ColumnSumSquares(a Matrix, n int64, out Vector) Launch {
	return launch(sumSquares, out.N, a.A, int64(1), a.LD, n, out.A)
}

// RowSumSquares writes Σ_j a_qj² to out[q], for the rows of an out.N×n block.
func RowSumSquares(a Matrix, n int64, out Vector) Launch {
	return launch(sumSquares, out.N, a.A, a.LD, int64(1), n, out.A)
}

// GetDiagonal writes a_ii, or 1/a_ii if inverted is set, to out.
func GetDiagonal(a Matrix, out Vector, inverted bool) Launch {
	return launch(getDiagonal, tiles(out.N, Threads), a.A, a.LD, out.N, out.A, flag(inverted))
}

// SetDiagonal writes d, or 1/d if inverted is set, to the diagonal of a.
func SetDiagonal(a Matrix, d Vector, inverted bool) Launch {
	return launch(setDiagonal, tiles(d.N, Threads), a.A, a.LD, d.N, d.A, flag(inverted))
}

// Copy writes a rows×cols block to b, or with upper only its elements on and above the
// diagonal. The blocks must not overlap.
func Copy(a, b Matrix, rows, cols int64, upper bool) Launch {
	return CopyEach(a, 0, b, 0, rows, cols, 1, upper)
}

// CopyEach writes count rows×cols blocks to b, as Copy does. Each begins strideA numbers in a, and
// strideB numbers in b, after the previous block.
func CopyEach(a Matrix, strideA int64, b Matrix, strideB, rows, cols, count int64, upper bool) Launch {
	return launch(copyBlocks, squares(rows, cols)*count, a.A, a.LD, strideA, b.A, b.LD, strideB, rows, cols, flag(upper))
}

// MaxInvert is the largest order of the blocks of [Invert].
const MaxInvert = 64

// Invert inverts the diagonal blocks of an order of at most [MaxInvert] of the lower
// triangle of an n×n matrix. It writes the transposed inverses to the same places of b,
// on and above the diagonal. The last block may be smaller.
func Invert(a Matrix, n, order int64, b Matrix) Launch {
	require(0 < order && order <= MaxInvert, "order of blocks", order)
	return launch(invert, tiles(n, order), a.A, a.LD, n, order, b.A, b.LD)
}

// SymmetricColumns writes columns j0 ≤ j < j1 of diag(c)·S to columns 0 … j1−j0−1 of b,
// for the symmetric n×n matrix S whose upper triangle is in a.
func SymmetricColumns(a Matrix, n, j0, j1 int64, c Ptr, b Matrix) Launch {
	require(0 <= j0 && j0 <= j1 && j1 <= n && a.LD >= n && b.LD >= n, "columns of n, leading dimensions", j0, j1, n, a.LD, b.LD)
	return launch(symmetricColumns, squares(n, j1-j0), a.A, a.LD, n, j0, j1, c, b.A, b.LD)
}

// ReadRows copies rows r0 ≤ r < r1 of the lower triangle of an n×n matrix to b, row
// after row (row r to column r−r0 of b), with zeros above the diagonal.
func ReadRows(a Matrix, n, r0, r1 int64, b Matrix) Launch {
	require(0 <= r0 && r0 <= r1 && r1 <= n && b.LD >= n, "rows of n, leading dimension", r0, r1, n, b.LD)
	return launch(readRows, squares(r1-r0, n), a.A, a.LD, n, r0, r1, b.A, b.LD)
}

// WriteRows is the inverse of [ReadRows]; it leaves the strict upper triangle of a as it is.
func WriteRows(a Matrix, n, r0, r1 int64, b Matrix) Launch {
	require(0 <= r0 && r0 <= r1 && r1 <= n && b.LD >= n, "rows of n, leading dimension", r0, r1, n, b.LD)
	return launch(writeRows, squares(r1-r0, n), a.A, a.LD, n, r0, r1, b.A, b.LD)
}
