package problem

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestNth(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	for range 300 {
		values := make([]float64, 1+rng.IntN(40))
		for i := range values {
			values[i] = float64(rng.IntN(1 + rng.IntN(50))) // with and without repeats
		}
		sorted := slices.Sorted(slices.Values(values))
		for k := range values {
			if got := nth(slices.Clone(values), k); got != sorted[k] {
				t.Fatalf("%v: value %d is %g, want %g", values, k, got, sorted[k])
			}
		}
	}
}
