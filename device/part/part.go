// Package part is the contract of a rank's part of Σ: it stands between the method mpi and the rank's
// device. A part has the blocks of a [Shape] that the rank has, on its processors or on its card.
package part

import (
	"context"

	"gpfit/device"
	"gpfit/kernel"
)

// Joining is a device or a driver that knows whether cards of several processes can compute together on this machine.
type Joining interface {
	// Joins names the libraries with which they do, or returns why they cannot, such as a library that is missing.
	Joins() (libraries string, err error)
}

// Device is an accelerator that can be the card of a rank.
type Device interface {
	device.Device
	Joining
	// PartPlan returns the memory of the largest part of a matrix for n points of d columns, without a rate.
	PartPlan(n, d int, s Shape) device.Plan
	// Join makes the device the card of a rank. It is collective.
	Join(r Rank) (Card, error)
}

// Rank is a process among the processes of a shape.
type Rank struct {
	Shape
	Number int
	// Broadcast sends bytes from rank 0 to all others.
	Broadcast func(b []byte) []byte
	// Largest returns the largest x of all ranks, on all of them.
	Largest func(x float64) float64
}

// Axes returns the rows and columns of an m×n matrix that the rank has.
func (r Rank) Axes(m, n int) (rows, cols Axis) {
	return Axis{m, r.Block, r.Number / r.Cols, r.Rows}, Axis{n, r.Block, r.Number % r.Cols, r.Cols}
}

// Card is a card that has joined others. Its functions are collective.
type Card interface {
	// NewPart allocates the part of a matrix for points, which it keeps.
	NewPart(ctx context.Context, x *kernel.Points) (Part, error)
	Close() error
}

// Progress hears of each piece of the work of a call, with the operations of all ranks for it. It says, equally on all ranks,
// whether the call is to end there.
type Progress func(flops float64) (stop bool)

// Part is the part of Σ that a rank has. Its functions are collective: all ranks call them in the same order with the same arguments.
// Results are sums over the ranks: each has its own terms, and zeros at places that others have.
type Part interface {
	// Form fills Σ = K + diag(noise) for a program at theta and factors it: Σ = LLᵀ. It adds the diagonal of L to d. minor is the
	// order of the first leading minor that is not positive, or 0, on all ranks.
	Form(prog *kernel.Program, theta, noise, d []float64, done Progress) (minor int, stopped bool, err error)
	// Solve replaces columns of the length of Σ by solutions.
	Solve(op Operation, sides []float64) error
	// Contract inverts Σ and contracts the adjoint, as [device.Workspace.Contract] does. The factor is there afterwards. It
	// adds to grad and diag.
	Contract(adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64, done Progress) (stopped bool, err error)
	// PointsAtOnce returns the largest number of points for SquaredNorms.
	PointsAtOnce() int
	// SquaredNorms adds |L⁻¹k*|² to sums, for the points from number first on.
	SquaredNorms(prog *kernel.Program, theta []float64, xs *kernel.Points, first int, sums []float64) error
	Close() error
}

// Operation names the matrix with which [Part.Solve] solves.
type Operation uint8

// These are the operations, for a right-hand side b.
const (
	Whole      Operation = iota // Σ⁻¹b
	Lower                       // L⁻¹b
	Transposed                  // L⁻ᵀb
)
