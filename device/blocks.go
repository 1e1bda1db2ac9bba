package device

import (
	"context"
	"fmt"
)

// Blocks is a symmetric block-diagonal matrix, such as the blocks of Σ⁻¹ that belong to
// the folds of a cross-validation.
type Blocks struct {
	// Ends holds for each block the number of the row after its last one. The first
	// block begins at row 0, and the last one ends at the number of rows.
	Ends []int
	// Elements holds the blocks, one after the other: m² numbers for m rows.
	Elements []float64
}

// NewBlocks returns a matrix of zeros.
func NewBlocks(ends []int) *Blocks {
	return &Blocks{Ends: ends, Elements: make([]float64, blockElements(ends))}
}

// blockElements returns the number of elements of all blocks.
func blockElements(ends []int) (elements int) {
	first := 0
	for _, end := range ends {
		elements += (end - first) * (end - first)
		first = end
	}
	return elements
}

// Each calls f with the first row, the number of rows and the elements of each block,
// and returns the first error of f.
func (b *Blocks) Each(f func(first, rows int, elements []float64) error) error {
	first, rest := 0, b.Elements
	for _, end := range b.Ends {
		m := end - first
		if err := f(first, m, rest[:m*m]); err != nil {
			return err
		}
		first, rest = end, rest[m*m:]
	}
	return nil
}

// Check returns an error if b is not a matrix of n rows.
func (b *Blocks) Check(n int) error {
	first := 0
	for _, end := range b.Ends {
		if end <= first {
			return fmt.Errorf("blocks of rows end at %v: each needs a row", b.Ends)
		}
		first = end
	}
	if first != n || len(b.Elements) != blockElements(b.Ends) {
		return fmt.Errorf("blocks of %d rows in %d elements for n = %d", first, len(b.Elements), n)
	}
	return nil
}

// Flops returns the operations of the product of b with a matrix of n columns.
func (b *Blocks) Flops(n int) float64 { return 2 * float64(n) * float64(len(b.Elements)) }

// BlockInverse is the capability of a [Workspace] to compute what K-fold cross-validation needs:
// diagonal blocks of Σ⁻¹, and adjoints with blocks in the middle term. Such an adjoint takes the product
// of its blocks with Σ⁻¹ besides ([Blocks.Flops]), and an accelerator needs memory for the blocks.
type BlockInverse interface {
	// InverseBlocks writes the diagonal blocks of Σ⁻¹ to b, both halves of each. It
	// costs as much as [InverseDiagonal].
	InverseBlocks(ctx context.Context, b *Blocks) error
}

// blockRows is the number of rows of working space, besides a block of the largest size: two
// parts of 144 rows (cpu/spd) and what separates the rows in memory.
const blockRows = 2*144 + 96

// blockPadding is the largest number of elements that an accelerator adds to a column.
const blockPadding = 15

// withBlocks adds what blocks that end at the given rows need to the plan for a middle term: the
// blocks and working space for the largest on the host, the blocks on each accelerator.
func (p Plan) withBlocks(ends []int) Plan {
	first, largest, padded, cubes := 0, 0, 0, 0.0
	for _, end := range ends {
		m := end - first
		largest, padded = max(largest, m), padded+m*(m+blockPadding)
		cubes += float64(m) * float64(m) * float64(m)
		first = end
	}
	what := fmt.Sprintf("%d blocks of the inverse for the folds", len(ends))
	elements := blockElements(ends)
	seen := map[string]bool{"": true}
	more := []Need{{Bytes: 8 * int64(elements+largest*(largest+blockRows)), What: what}}
	for _, need := range p.Needs {
		if !seen[need.Device] {
			more = append(more, Need{Device: need.Device, Bytes: 8 * int64(padded), What: what})
			seen[need.Device] = true
		}
	}
	p.FlopsGradient += 2*float64(p.N)*float64(elements) + 3*cubes
	return p.With(more...)
}
