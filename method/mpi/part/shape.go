package part

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// The variables for experts and tests: the grid of ranks as ROWSxCOLUMNS, and the order of the blocks.
const (
	GridVariable  = "GPFIT_MPI_GRID"
	BlockVariable = "GPFIT_MPI_BLOCK"
)

// Shape is how the ranks divide a matrix: it has blocks of Block rows and columns, and rank r has the blocks whose row of
// blocks is r/Cols modulo Rows and whose column of blocks is r%Cols modulo Cols.
type Shape struct{ Rows, Cols, Block int }

// order is the order of the blocks: smaller ones make slower products, larger ones divide the work less evenly.
const order = 128

// ShapeFor returns the shape for a number of ranks: as square as their number allows, or what the variables say.
func ShapeFor(ranks int) (Shape, error) {
	s := Shape{Block: order}
	for s.Rows = 1; s.Rows*s.Rows <= ranks; s.Rows++ {
		if ranks%s.Rows == 0 {
			s.Cols = ranks / s.Rows
		}
	}
	s.Rows = ranks / s.Cols
	if text := os.Getenv(GridVariable); text != "" {
		rows, cols, _ := strings.Cut(text, "x")
		var badRows, badCols error
		s.Rows, badRows = strconv.Atoi(rows)
		s.Cols, badCols = strconv.Atoi(cols)
		if badRows != nil || badCols != nil || s.Rows < 1 || s.Cols < 1 || s.Rows*s.Cols != ranks {
			return s, fmt.Errorf("%s=%s: must be ROWSxCOLUMNS, with %d ranks in all", GridVariable, text, ranks)
		}
	}
	if text := os.Getenv(BlockVariable); text != "" {
		block, err := strconv.Atoi(text)
		if err != nil || block < 1 || block > 1<<12 {
			return s, fmt.Errorf("%s=%s: must be a number of rows from 1 to %d", BlockVariable, text, 1<<12)
		}
		s.Block = block
	}
	return s, nil
}

// Largest returns the numbers of rows and columns of an n×n matrix on the rank that has most.
func (s Shape) Largest(n int) (rows, cols int) {
	return Axis{n, s.Block, 0, s.Rows}.Count(n), Axis{n, s.Block, 0, s.Cols}.Count(n)
}

// mostNumbers is the largest number of elements of a rank: ScaLAPACK counts them in 32 bits.
const mostNumbers = 1<<31 - 1

// RanksFor returns the smallest number of ranks whose parts of an n×n matrix are small enough for ScaLAPACK.
func (s Shape) RanksFor(n int) int {
	for ranks := 1; ; ranks++ {
		for rows := 1; rows*rows <= ranks; rows++ {
			if ranks%rows != 0 {
				continue
			}
			if r, c := (Shape{rows, ranks / rows, s.Block}).Largest(n); r*c <= mostNumbers {
				return ranks
			}
		}
	}
}

// Fits reports whether the parts of an n×n matrix are small enough for ScaLAPACK.
func (s Shape) Fits(n int) bool {
	rows, cols := s.Largest(n)
	return rows*cols <= mostNumbers
}

// Axis is the rows, or the columns, of a matrix on one of several ranks: the blocks whose number modulo Of is At.
type Axis struct{ N, Block, At, Of int }

// Count returns how many of the first n the rank has.
func (a Axis) Count(n int) int {
	whole := n / a.Block
	count := whole / a.Of * a.Block
	switch rest := whole % a.Of; {
	case a.At < rest:
		count += a.Block
	case a.At == rest:
		count += n % a.Block
	}
	return count
}

// Global returns the place in the whole matrix of the i-th row or column of the rank.
func (a Axis) Global(i int) int { return (i/a.Block*a.Of+a.At)*a.Block + i%a.Block }

// Globals returns the places of all rows or columns of the rank, in order.
func (a Axis) Globals() []int {
	all := make([]int, a.Count(a.N))
	for i := range all {
		all[i] = a.Global(i)
	}
	return all
}
