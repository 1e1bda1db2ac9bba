package markov

import "slices"

// every is the number of rows from one whose states predictions keep to the next one.
const every = 16

// sweeps has the states of sweeps at every 16th row, from which other rows follow: so
// predictions of some points at a time do not pass over all rows each time.
type sweeps struct {
	// model and alpha belong to forward and back: the c and h of products of K with each
	// column of alpha (vectors.go).
	model         *stateModel
	alpha         []float64
	forward, back []float64
	// information holds the packed N of the rows from each on.
	information []float64
}

// are reports whether the sweeps belong to a model and weights.
func (s *sweeps) are(m *stateModel, alpha []float64) bool {
	return s.model == m && slices.Equal(s.alpha, alpha)
}

// numbers counts the numbers in memory.
func (s *sweeps) numbers() int {
	if s == nil {
		return 0
	}
	return len(s.alpha) + len(s.forward) + len(s.back) + len(s.information)
}

// crossing is a sweep of Kv at one row.
type crossing struct {
	*stateModel
	*sortedRows
	v                   []float64
	state, tmp, weights [maxStates]float64
}

// next moves c from the row before to the i-th row.
func (c *crossing) next(i int) {
	if i > 0 {
		c.forward(c.state[:c.states], c.tmp[:], c.transition(c.gap(i), turns))
	}
	c.stateModel.weights(c.weights[:], c.times[i])
	c.addPrior(c.state[:], c.weights[:], c.v[c.place(i)])
}

// previous moves h from the row after to the i-th row.
func (c *crossing) previous(i int) {
	if i+1 < len(c.times) {
		c.backward(c.state[:], c.tmp[:], c.transition(c.gap(i+1), turns))
	}
	c.stateModel.weights(c.weights[:], c.times[i])
	c.addWeighted(c.state[:], c.weights[:], c.v[c.place(i)])
}

// keep stores the states of every 16th row.
func (c *crossing) keep(dst []float64, first, last int, next func(i int)) {
	for i := first; i < last; i++ {
		next(i)
		if i%every == 0 {
			copy(dst[i/every*c.states:], c.state[:c.states])
		}
	}
}

// keepBack is keep for the sweep back.
func (c *crossing) keepBack(dst []float64, first, last int) {
	for i := last - 1; i >= first; i-- {
		c.previous(i)
		if i%every == 0 {
			copy(dst[i/every*c.states:], c.state[:c.states])
		}
	}
}
