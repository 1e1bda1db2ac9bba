package tiles

import "gpfit/device/tiling"

// layout divides n rows into blocks, and Σ into tiles.
type layout struct {
	n     int // rows
	order int // of a tile
	side  int // blocks
}

func newLayout(n, order int) layout {
	return layout{n: n, order: order, side: (n + order - 1) / order}
}

// tile returns the number of tile (i, j), i ≥ j.
func (l layout) tile(i, j int) int { return i*(i+1)/2 + j }

// tiles returns the number of tiles of the matrix.
func (l layout) tiles() int { return l.side * (l.side + 1) / 2 }

// strip returns the number of a tile in a strip: a row of tiles that a worker has for itself.
func (l layout) strip(worker, j int) int { return l.tiles() + worker*l.side + j }

// rows returns the number of points in a block.
func (l layout) rows(i int) int { return min(l.order, l.n-i*l.order) }

// span returns the elements of block i of a vector of n elements.
func (l layout) span(i int, v []float64) []float64 { return v[i*l.order:][:l.rows(i)] }

// roundOrder returns the smallest order of a tile that holds the given rows.
func roundOrder(rows int) int {
	return max(1, (rows+tiling.Unit-1)/tiling.Unit) * tiling.Unit
}

// even returns an order near target with which the last tile is nearly full.
func even(n, target int) int {
	blocks := max(1, (n+target/2)/target)
	return roundOrder((n + blocks - 1) / blocks)
}

// owner returns which of some banks is to have the tiles of a row.
func (l layout) owner(i, banks int) int { return i % banks }
