// Package part is how the ranks of the method mpi divide Σ, and the words of a rank's part of it.
package part

// Progress hears of each piece of the work of a call, with the operations of all ranks for it. It says, equally on all ranks,
// whether the call is to end there.
type Progress func(flops float64) (stop bool)

// Operation names the matrix with which a part of Σ solves.
type Operation uint8

// These are the operations, for a right-hand side b.
const (
	Whole      Operation = iota // Σ⁻¹b
	Lower                       // L⁻¹b
	Transposed                  // L⁻ᵀb
)
