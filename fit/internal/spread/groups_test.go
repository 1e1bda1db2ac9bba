package spread

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// TestGroups checks that repeated and nearly repeated rows share a group, that others do
// not, and that a large group is split.
func TestGroups(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var rows []float64
	place := make([]int, 0, 300)
	for i := range 300 {
		if i%3 == 0 || i >= 240 {
			rows = append(rows, rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64())
			place = append(place, i)
			continue
		}
		from := rows[3*place[i-1] : 3*place[i-1]+3]
		rows = append(rows, from[0], from[1]+1e-4*float64(i%3), from[2])
		place = append(place, place[i-1])
	}
	g := Groups(kernel.NewPoints(rows, 300, 3))
	for i := range 300 {
		for j := range i {
			if (g[i] == g[j]) != (place[i] == place[j]) {
				t.Fatalf("rows %d and %d: groups %d and %d, places %d and %d", i, j, g[i], g[j], place[i], place[j])
			}
		}
	}
	if g := Groups(kernel.NewPoints(rows[720:], 60, 3)); g != nil {
		t.Errorf("distinct rows have groups %v", g)
	}
	two := testcheck.Slice(200, func(i int) float64 { return float64(i % 2) })
	if g := Groups(kernel.NewPoints(two, 200, 1)); slices.Max(g)+1 != 20 {
		t.Errorf("200 rows at two places have %d groups, want 20 of 10", slices.Max(g)+1)
	}
}
