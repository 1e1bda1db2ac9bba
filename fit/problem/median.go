package problem

import (
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gpfit/kernel"
)

// medianCache holds the last result of medianDistance. Samples share it.
type medianCache struct {
	mu     sync.Mutex
	points *kernel.Points
	dims   []int
	value  float64
}

// distance returns medianDistance. The start values of lengthscales and the groups of near
// rows need the same one.
func (m *medianCache) distance(x *kernel.Points, dims []int) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.points != x || !slices.Equal(m.dims, dims) {
		m.points, m.dims, m.value = x, dims, medianDistance(x, dims)
	}
	return m.value
}

// medianDistance returns the median Euclidean distance of pairs of points over the
// given columns, from at most 4,000 pairs drawn with a fixed seed. It ignores pairs
// at distance zero.
func medianDistance(x *kernel.Points, dims []int) float64 {
	const pairs = 4000
	rng := rand.New(rand.NewPCG(1, 1))
	squares := make([]float64, 0, pairs)
	for range pairs {
		i, j := rng.IntN(x.N), rng.IntN(x.N)
		sum := 0.0
		for _, c := range dims {
			col := x.Column(c)
			sum += (col[i] - col[j]) * (col[i] - col[j])
		}
		if sum > 0 {
			squares = append(squares, sum)
		}
	}
	return rootOfMedian(squares)
}

// rootOfMedian returns the root of the median, 1 for no values. It changes their order.
func rootOfMedian(values []float64) float64 {
	if len(values) == 0 {
		return 1
	}
	return math.Sqrt(nth(values, len(values)/2))
}

// nth returns the value that would be at k if the values were sorted. It changes their
// order: after each round, the value lies among those from lo to hi, and those before
// them are no larger, those after them no smaller.
func nth(values []float64, k int) float64 {
	lo, hi := 0, len(values)-1
	for lo < hi {
		pivot, i, j := values[(lo+hi)/2], lo, hi
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for values[j] > pivot {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i, j = i+1, j-1
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return values[k]
		}
	}
	return values[k]
}
