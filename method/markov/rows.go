package markov

import (
	"cmp"
	"slices"

	"gpfit/kernel"
)

// sortedRows are the points in the order of one column. Equal times keep the order of the table.
type sortedRows struct {
	column int
	// order holds the numbers of the points, nil if they are in order as they are.
	order []int32
	times []float64
}

// sorted returns the points in the order of a column.
func sorted(x *kernel.Points, column int) *sortedRows {
	values := x.Column(column)
	if slices.IsSorted(values) {
		return &sortedRows{column: column, times: values}
	}
	r := &sortedRows{column: column, order: make([]int32, x.N), times: make([]float64, x.N)}
	for i := range r.order {
		r.order[i] = int32(i)
	}
	slices.SortStableFunc(r.order, func(i, j int32) int { return cmp.Compare(values[i], values[j]) })
	for i, at := range r.order {
		r.times[i] = values[at]
	}
	return r
}

// place returns the number of the i-th point of the order in the table.
func (r *sortedRows) place(i int) int {
	if r.order == nil {
		return i
	}
	return int(r.order[i])
}

// gap returns the time from the point before to the i-th one.
func (r *sortedRows) gap(i int) float64 { return r.times[i] - r.times[i-1] }
