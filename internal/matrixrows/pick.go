// Package matrixrows takes rows out of matrices and puts rows back.
package matrixrows

import (
	"math/rand/v2"
	"slices"
)

// Rows returns the given rows of the n×d row-major matrices in v, one matrix after the other; nil
// for no rows or no matrix. With d = 1 these are the columns of n numbers of a matrix that is stored by column.
func Rows[T any](v []T, rows []int, n, d int) []T {
	if len(v) == 0 || len(rows) == 0 {
		return nil
	}
	out := make([]T, 0, len(v)/n*len(rows))
	for first := 0; first < len(v); first += n * d {
		for _, i := range rows {
			if d == 1 {
				out = append(out, v[first+i])
				continue
			}
			out = append(out, v[first+i*d:first+(i+1)*d]...)
		}
	}
	return out
}

// Values returns the given elements of v; nil for nil.
func Values[T any](v []T, which []int) []T { return Rows(v, which, len(v), 1) }

// All returns the numbers of n rows, 0 … n−1.
func All(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// Draw returns count elements of v in random order, without replacement. The seed and the stream, which separates draws
// of one seed, determine them.
func Draw[T any](v []T, count int, seed, stream uint64) []T {
	return Values(v, rand.New(rand.NewPCG(seed, stream)).Perm(len(v))[:count])
}

// DrawRows returns the sorted numbers of count of n rows, drawn as [Draw] does.
func DrawRows(n, count int, seed, stream uint64) []int {
	rows := rand.New(rand.NewPCG(seed, stream)).Perm(n)[:count]
	slices.Sort(rows)
	return rows
}

// Spaced returns n values from low to high at equal distances.
func Spaced(low, high float64, n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		share := float64(i) / float64(n-1)
		values[i] = low*(1-share) + high*share
	}
	return values
}

// Marked returns the numbers of the rows with a mark, or without it. Nil marks no row of n.
func Marked(marks []bool, n int, with bool) (rows []int) {
	for i := range n {
		if (marks != nil && marks[i]) == with {
			rows = append(rows, i)
		}
	}
	return rows
}

// Put sets the given rows of the columns of n numbers in v to own.
func Put(v, own []float64, rows []int, n int) {
	for first := 0; first < len(v); first += n {
		for k, i := range rows {
			v[first+i] = own[k]
		}
		own = own[len(rows):]
	}
}
