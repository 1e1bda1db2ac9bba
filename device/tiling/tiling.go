// Package tiling is the contract of devices that compute with tiles: square blocks of one order,
// each a unit of storage. A method that divides a matrix over memories or devices decides where
// tiles are and in which order they are computed; the device has the arithmetic of a tile.
package tiling

import (
	"context"

	"gpfit/device"
	"gpfit/kernel"
)

// Device is a [device.Device] that can compute with the tiles of a symmetric matrix: square blocks of one order, each
// a unit of storage. A method that divides a matrix over memories or devices decides where tiles are and in which
// order they are computed; the device has the arithmetic of a tile.
type Device interface {
	device.Device
	// TileSpace returns the memory of one tile and of all else that a [Bank] for n points of d columns holds, in bytes.
	TileSpace(n, d, order int) (tile, rest int64)
	// NewTileBank allocates a bank with the given slots for tiles. order is a multiple of Unit. memory, if not nil, is where
	// the slots of a host's bank are, one after the other. For an accelerator it is the memory of the host that Load and
	// Store use, which several banks may share and lock for fast copies. The bank keeps x without copying it. It has the errors
	// of [device.Backend.NewWorkspace].
	NewTileBank(ctx context.Context, x *kernel.Points, order, slots int, memory []float64) (Bank, error)
}

// Unit divides the order of every tile.
const Unit = 8

// Bank is the memory of a device with slots for tiles, and arithmetic on them. The form in which a slot holds the
// numbers of a tile depends on the device; banks of devices of one kind have the same form.
//
// Calls with a lane are made in the order of the lane, and may return before their work is done: it is done in this order,
// and [Bank.Wait] waits for it. Calls for different lanes may overlap if no slot that one of them writes is used by
// another. Rows and columns of Σ beyond the points are the identity's. A
// number of rows of 0 means all of a tile.
type Bank interface {
	// Lanes returns the number of lanes.
	Lanes() int
	// Bind sets what Fill, Cross and Contract evaluate. It must not overlap with other calls.
	Bind(b Binding) error
	// Fill writes tile (i, j) of Σ, i ≥ j. A tile on the diagonal has at least its lower half.
	Fill(lane, dst, i, j int) error
	// Cross writes the covariances of the points first … first+rows−1 of xs, one to a row, with the points of block
	// j. Columns beyond the points are 0.
	Cross(lane, dst int, xs *kernel.Points, first, rows, j int) error
	// Multiply computes a product.
	Multiply(lane int, p Product) error
	// Factor overwrites the lower half of a by the Cholesky factor L of a, and waits. It writes the diagonal of L to
	// diagonal (length order). minor is 0, or the order of the leading minor that is not positive; a then has no meaning.
	Factor(lane, a int, diagonal []float64) (minor int, err error)
	// Solve overwrites the first rows of c by c·L⁻ᵀ for the lower half of l.
	Solve(lane, c, l, rows int) error
	// Invert writes the upper triangular matrix L⁻ᵀ to dst for the lower half of l. dst is not l. What dst has below its diagonal
	// has no meaning.
	Invert(lane, dst, l int) error
	// Substitute computes with m vectors of the length of the order, ld apart, and waits.
	Substitute(lane int, op Substitution, a int, x, y []float64, ld, m int) error
	// Contract contracts the block of rows i and columns j of the adjoint, i ≤ j, with ∂K, and waits. The slot s has this block of
	// Σ⁻¹, of a block on the diagonal at least the upper half. It adds the block's part of the gradient to
	// grad: twice its sum for i < j, because of symmetry. For i = j it writes the diagonal of the adjoint to diag, as far as
	// there are points; otherwise diag is nil.
	Contract(lane, s, i, j int, grad, diag []float64) error
	// SquaredNorms adds the sums of the squares of the first rows of a to sums, and waits.
	SquaredNorms(lane, a, rows int, sums []float64) error
	// Load copies a tile from memory of the host to a slot, and Store to the host. Their work overlaps with the lane's other
	// work that does not use the slot. tile must not change or be read before Wait.
	Load(lane, dst int, tile []float64) error
	Store(lane, src int, tile []float64) error
	// Copy copies a tile from a slot of a bank, of the same device or of another one of its kind, as Load does.
	Copy(lane, dst int, from Bank, src int) error
	// Read waits and copies the first rows of a slot to dst, row-major with leading dimension ld; Write sets them.
	Read(lane, src, rows int, dst []float64, ld int) error
	Write(lane, dst, rows int, src []float64, ld int) error
	// Wait waits for the work of the lane. It need not wait for loads and copies to slots that no later call has used.
	Wait(lane int) error
	// Close frees the memory. It may be called twice.
	Close() error
}

// Binding is the matrix that a bank evaluates: Σ = K + diag(noise) for a program at theta, and, for contractions, the adjoint
// as in [device.Workspace.Contract]; nil means none.
type Binding struct {
	Program      *kernel.Program
	Theta, Noise []float64
	Adjoint      *device.Adjoint
}

// Product is a product of tiles, C ← ±A·Bᵀ or C ← C ± A·Bᵀ.
type Product struct {
	// C, A and B are slots. C is neither A nor B.
	C, A, B int
	Mode    Mode
	// Rows is the number of rows of A and C in use; 0 means all.
	Rows int
	// UpperA and UpperB mean that only the upper half of the tile has a meaning, and the rest counts as 0.
	UpperA, UpperB bool
	// Half means that only one half of C is wanted; the rest of it then has no meaning.
	Half Half
}

// Mode says what a product does with C.
type Mode uint8

// These are the modes of a product.
const (
	Replace         Mode = iota // C = A·Bᵀ
	ReplaceNegative             // C = −A·Bᵀ
	Add                         // C += A·Bᵀ
	Subtract                    // C −= A·Bᵀ
)

// Half is a part of a tile.
type Half uint8

// These are the parts of a tile.
const (
	Whole Half = iota
	Lower      // on and below the diagonal
	Upper      // on and above the diagonal
)

// Substitution is an operation on vectors. L is the lower half of a.
type Substitution uint8

// These are the operations on vectors.
const (
	SubtractProduct    Substitution = iota // y −= A·x
	SubtractTransposed                     // y −= Aᵀ·x
	Forward                                // y = L⁻¹·y; x is not used
	Backward                               // y = L⁻ᵀ·y; x is not used
)

// Flops returns the operations that a product takes, for p.Rows rows of tiles of an order.
func Flops(p Product, order int) float64 {
	n, rows := float64(order), float64(order)
	if p.Rows > 0 {
		rows = float64(p.Rows)
	}
	flops := 2 * rows * n * n
	switch {
	case p.UpperA && p.UpperB:
		flops /= 3
	case p.UpperA || p.UpperB:
		flops /= 2
	}
	if p.Half != Whole {
		flops /= 2
	}
	return flops
}
