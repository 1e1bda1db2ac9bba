package spread

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestMedian sorts values and takes the middle.
func TestMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for n := 1; n < 300; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(rng.IntN(1 + n/2*(n%3)))
		}
		sorted := slices.Sorted(slices.Values(values))
		if got := rootOfMedian(values); got != math.Sqrt(sorted[n/2]) {
			t.Fatalf("%d values: %v, want %v", n, got, math.Sqrt(sorted[n/2]))
		}
	}
	if rootOfMedian(nil) != 1 {
		t.Error("no values have a median")
	}
}
