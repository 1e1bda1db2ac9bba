package merged

import (
	"context"
	"slices"

	"gpfit/device"
)

var _ device.BlockInverse = (*workspace)(nil)

// blockPair is a fold of m rows from first on, and of u groups from group on, with its blocks of a
// matrix of the rows and of one of the groups.
type blockPair struct {
	first, m, group, u int
	rows, groups       []float64
}

// eachFold calls f for each fold of two matrices.
func eachFold(rows, groups *device.Blocks, f func(blockPair)) {
	k, group, rest := 0, 0, groups.Elements
	_ = rows.Each(func(first, m int, elements []float64) error {
		u := groups.Ends[k] - group
		f(blockPair{first, m, group, u, elements, rest[:u*u]})
		k, group, rest = k+1, group+u, rest[u*u:]
		return nil
	})
}

// between returns the element B_ij of two rows of the group with the given anchor, whose weight may
// be infinite.
func (w *weights) between(i, j, anchor int) float64 {
	switch {
	case i == j:
		return w.within[i]
	case i == anchor:
		return -w.share[i] / w.noise[j]
	}
	return -w.share[j] / w.noise[i]
}

// InverseBlocks implements [device.BlockInverse]: E·(Σ_u⁻¹)_FF·Eᵀ + B_FF for folds F of whole groups.
func (w *workspace) InverseBlocks(ctx context.Context, b *device.Blocks) error {
	if err := w.ready(b.Check(w.N())); err != nil {
		return err
	}
	ends, err := wholeFolds(w.groups, b.Ends)
	if err == nil {
		err = w.invertBlocks(ctx, ends)
	}
	if err != nil {
		return err
	}
	eachFold(b, w.blocks, func(f blockPair) {
		for i := range f.m {
			w.weights.inverseRow(f, i)
		}
	})
	return nil
}

// inverseRow writes row i of a block of Σ⁻¹; f.groups is the block of Σ_u⁻¹.
func (w *weights) inverseRow(f blockPair, i int) {
	k, e := w.of[f.first+i], w.share[f.first+i]
	row, inverse := f.rows[i*f.m:(i+1)*f.m], f.groups[(k-f.group)*f.u:]
	for j := range row {
		h := w.of[f.first+j]
		row[j] = e * w.share[f.first+j] * inverse[h-f.group]
		if h == k {
			row[j] += w.between(f.first+i, f.first+j, w.anchors[k])
		}
	}
}

// invertBlocks computes the blocks of Σ_u⁻¹ for folds of groups.
func (w *workspace) invertBlocks(ctx context.Context, ends []int) error {
	blocks := device.NewBlocks(ends)
	if err := w.inner.InverseBlocks(ctx, blocks); err != nil {
		return err
	}
	w.blocks = blocks
	return nil
}

// sumBlock adds the block of EᵀME to f.groups for the block M in f.rows.
func (w *weights) sumBlock(f blockPair) {
	for i := range f.m {
		row := f.groups[(w.of[f.first+i]-f.group)*f.u:]
		for j, v := range f.rows[i*f.m : (i+1)*f.m] {
			row[w.of[f.first+j]-f.group] += w.share[f.first+i] * v * w.share[f.first+j]
		}
	}
}

// addBlock adds to diag, for the rows of group k, what Σ⁻¹MΣ⁻¹ has besides the term of different
// points: the diagonals of BMB and of 2·BM·EΣ_u⁻¹Eᵀ. f has the blocks of M and of Σ_u⁻¹, and scratch has
// n numbers.
func (w *weights) addBlock(f blockPair, k int, scratch, diag []float64) {
	rows, anchor, inverse := w.rows[k], w.anchors[k], f.groups[(k-f.group)*f.u:]
	for c, row := range slices.Collect(slices.Chunk(f.rows, f.m)) { // a column of M, which is symmetric
		for _, i := range rows {
			scratch[i] = row[i-f.first]
		}
		w.divideGroup(scratch, rows, anchor) // a column of BM
		j, h := f.first+c, w.of[f.first+c]
		for _, i := range rows {
			if h == k {
				diag[i] += scratch[i] * w.between(j, i, anchor)
			}
			diag[i] += 2 * scratch[i] * w.share[j] * inverse[h-f.group] * w.share[i]
		}
	}
}
