package tiling

import (
	"math"
	"testing"
)

// TestFlops compares the work of each kind of product A·Bᵀ with a count of its terms. It leaves out the terms of the diagonals.
func TestFlops(t *testing.T) {
	const n = 64
	for _, upperA := range []bool{false, true} {
		for _, upperB := range []bool{false, true} {
			count := 0.0
			for i := range n {
				for j := range n {
					for k := range n {
						if (!upperA || k >= i) && (!upperB || k >= j) {
							count += 2
						}
					}
				}
			}
			p := Product{UpperA: upperA, UpperB: upperB}
			if got := Flops(p, n); math.Abs(got-count) > 3.0/n*count {
				t.Errorf("%+v: %v operations, counted %v", p, got, count)
			}
		}
	}
	if whole, part := Flops(Product{}, n), Flops(Product{Rows: n / 4}, n); part != whole/4 {
		t.Errorf("a quarter of the rows takes %v of %v", part, whole)
	}
	if whole, lower := Flops(Product{UpperB: true}, n), Flops(Product{UpperB: true, Half: Lower}, n); lower != whole/2 {
		t.Errorf("half of the result takes %v of %v", lower, whole)
	}
}
