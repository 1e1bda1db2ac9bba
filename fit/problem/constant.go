package problem

import (
	"fmt"
)

// constantColumns returns the indices, ascending, of the columns of the n×d row-major
// matrix x whose values are all equal: every column if n is 1, none if n is 0. It
// panics if x does not have n·d elements.
func constantColumns(x []float64, n, d int) []int {
	if len(x) != n*d {
		panic(fmt.Sprintf("fit: %d elements in a %d×%d matrix", len(x), n, d))
	}
	if n == 0 {
		return nil
	}
	var constant []int
	for j := range d {
		same := true
		for i := 1; i < n && same; i++ {
			same = x[i*d+j] == x[j]
		}
		if same {
			constant = append(constant, j)
		}
	}
	return constant
}
