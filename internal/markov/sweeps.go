package markov

// every is the number of rows between those whose states predictions keep.
const every = 16

// sweeps are the states of sweeps at every 16th row, from which those of other rows follow: so
// predictions of some points at a time do not pass over all rows each time.
type sweeps struct {
	// model and alpha are those of forward and back: the c and h of products of K with each
	// column of alpha (vectors.go).
	model         *stateModel
	alpha         []float64
	forward, back []float64
	// information holds the packed N of the rows from each on.
	information []float64
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
	v     []float64
	state [maxStates]float64
}

// next turns the c of the row before into that of the i-th row.
func (c *crossing) next(i int) {
	var tmp, weights [maxStates]float64
	if i > 0 {
		c.forward(c.state[:c.states], tmp[:], c.transition(c.gap(i), turns))
	}
	c.weights(weights[:], c.times[i])
	c.addPrior(c.state[:], weights[:], c.v[c.place(i)])
}

// previous turns the h of the row after into that of the i-th row.
func (c *crossing) previous(i int) {
	var tmp, weights [maxStates]float64
	if i+1 < len(c.times) {
		c.backward(c.state[:], tmp[:], c.transition(c.gap(i+1), turns))
	}
	c.weights(weights[:], c.times[i])
	c.addWeighted(c.state[:], weights[:], c.v[c.place(i)])
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
