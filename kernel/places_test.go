package kernel_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"gpfit/kernel"
)

// TestPlaces compares places of random points of few values with the places of their texts.
func TestPlaces(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	values := []float64{0, math.Copysign(0, -1), 1, math.Nextafter(1, 2), -1, 1e300, 5e-324}
	for _, n := range []int{0, 1, 2, 3, 200, 5000} {
		for d := range 4 {
			p := &kernel.Points{N: n, D: d, X: make([]float64, n*d)}
			for i := range p.X {
				p.X[i] = values[rng.IntN(len(values))]
			}
			want, known := [][]int{}, map[string]int{}
			for i := range n {
				text := ""
				for c := range d {
					text += fmt.Sprintf("%b ", p.Column(c)[i]+0)
				}
				if _, ok := known[text]; !ok {
					known[text] = len(want)
					want = append(want, nil)
				}
				want[known[text]] = append(want[known[text]], i)
			}
			if got := p.Places(); !reflect.DeepEqual(got, want) {
				t.Errorf("n = %d, d = %d: %d places, want %d", n, d, len(got), len(want))
			}
		}
	}
}
