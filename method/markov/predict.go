package markov

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"gpfit/device"
	"gpfit/kernel"
)

// Predict implements [device.Workspace]. It merges the points with the rows. With i the last row at or
// before a point, the mean is H(A·c_i + P∞Aᵀh_(i+1)), each with the A of the gap between, and with
// P⁻ = AP_iAᵀ + Q and N = AᵀN_(i+1)A the variance is HP⁻Hᵀ − HP⁻NP⁻Hᵀ, as of a row without an
// observation.
func (w *workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	w.Begin("predict", 0)
	m, order, err := w.modelAt(prog, theta)
	if err != nil {
		return err
	}
	if err := sweepMeans(ctx, w, m, order, alpha); err != nil {
		return err
	}
	at := newPlaces(xs.Column(m.column), order)
	w.sweeps.means(at, order, mean)
	if reduction == nil {
		return ctx.Err()
	}
	weights, err := w.weightsOf(m)
	if err != nil {
		return err
	}
	if err := sweepInformation(ctx, w); err != nil {
		return err
	}
	reduce(w, at, weights, reduction)
	return ctx.Err()
}

// sortedPoints are points in order, with the row at or before each.
type sortedPoints struct {
	times []float64
	// points are the numbers of the points, and rows the numbers of the rows, −1 for none.
	points, rows []int
}

func newPlaces(times []float64, r *sortedRows) *sortedPoints {
	p := &sortedPoints{times: times, points: make([]int, len(times)), rows: make([]int, len(times))}
	for j := range p.points {
		p.points[j] = j
	}
	slices.SortStableFunc(p.points, func(a, b int) int { return cmp.Compare(times[a], times[b]) })
	for k, j := range p.points {
		p.rows[k] = sort.Search(len(r.times), func(i int) bool { return r.times[i] > times[j] }) - 1
	}
	return p
}

// sweepMeans computes the sweeps of alpha unless they are there.
func sweepMeans(ctx context.Context, w *workspace, m *stateModel, order *sortedRows, alpha []float64) error {
	if w.sweeps == nil {
		w.sweeps = &sweeps{}
	}
	if w.sweeps.are(m, alpha) {
		return nil
	}
	// Predictions with an uncertain mean take turns with two matrices of weights.
	w.sweeps, w.spare = w.spare, w.sweeps
	if w.sweeps == nil {
		w.sweeps = &sweeps{}
	}
	s := w.sweeps
	s.information = w.spare.information
	if s.are(m, alpha) {
		return nil
	}
	kept := (w.N + every - 1) / every * m.states
	s.model = nil
	s.forward, s.back = make([]float64, len(alpha)/w.N*kept), make([]float64, len(alpha)/w.N*kept)
	for q := range len(alpha) / w.N {
		v := alpha[q*w.N : (q+1)*w.N]
		c := &crossing{stateModel: m, sortedRows: order, v: v}
		if err := w.each(ctx, 0, func(first, last int) { c.keep(s.forward[q*kept:], first, last, c.next) }); err != nil {
			return err
		}
		c = &crossing{stateModel: m, sortedRows: order, v: v}
		if err := w.eachBack(ctx, 0, func(first, last int) { c.keepBack(s.back[q*kept:], first, last) }); err != nil {
			return err
		}
	}
	s.model, s.alpha = m, append(s.alpha[:0], alpha...)
	return nil
}

// means writes the means at points.
func (s *sweeps) means(at *sortedPoints, order *sortedRows, mean []float64) {
	n, m := len(order.times), len(at.points)
	kept := (n + every - 1) / every * s.model.states
	for q := range len(s.alpha) / n {
		v, out := s.alpha[q*n:(q+1)*n], mean[q*m:(q+1)*m]
		clear(out)
		s.addBefore(at, &crossing{stateModel: s.model, sortedRows: order, v: v}, s.forward[q*kept:], out)
		s.addAfter(at, &crossing{stateModel: s.model, sortedRows: order, v: v}, s.back[q*kept:], out)
	}
}

// addBefore adds what the rows at and before each point contribute to the means.
func (s *sweeps) addBefore(at *sortedPoints, c *crossing, kept, out []float64) {
	var state, tmp, weights [maxStates]float64
	now := -1
	for k, j := range at.points {
		row := at.rows[k]
		if row < 0 {
			continue
		}
		if now < 0 || row-now > every {
			now = row / every * every
			copy(c.state[:], kept[now/every*c.states:][:c.states])
		}
		for ; now < row; now++ {
			c.next(now + 1)
		}
		copy(state[:c.states], c.state[:])
		c.forward(state[:c.states], tmp[:], c.transition(at.times[j]-c.times[row], turns))
		c.stateModel.weights(weights[:], at.times[j])
		out[j] += c.project(state[:], weights[:])
	}
}

// addAfter adds what the rows after each point contribute to the means.
func (s *sweeps) addAfter(at *sortedPoints, c *crossing, kept, out []float64) {
	var state, tmp, weights [maxStates]float64
	n := len(c.times)
	now := n
	for k := len(at.points) - 1; k >= 0; k-- {
		row, j := at.rows[k]+1, at.points[k]
		if row == n {
			continue
		}
		if now-row > every {
			now = c.seekBack(row, kept)
		}
		for ; now > row; now-- {
			c.previous(now - 1)
		}
		copy(state[:c.states], c.state[:])
		c.backward(state[:], tmp[:], c.transition(c.times[row]-at.times[j], turns))
		c.stateModel.weights(weights[:], at.times[j])
		for b := range c.blocks {
			out[j] += weights[b] * c.priorRow(b, state[c.blocks[b].first:])
		}
	}
}

// seekBack reads the state of the first row that is kept from a row on, and returns its number, or n
// and no state if there is none.
func (c *crossing) seekBack(row int, kept []float64) int {
	now := (row + every - 1) / every * every
	if now >= len(c.times) {
		clear(c.state[:])
		return len(c.times)
	}
	copy(c.state[:], kept[now/every*c.states:][:c.states])
	return now
}

// sweepInformation computes N of every 16th row unless it is there.
func sweepInformation(ctx context.Context, w *workspace) error {
	s := w.stateModel.states
	if w.sweeps.information != nil {
		return nil
	}
	kept := make([]float64, (w.N+every-1)/every*packed(s))
	b := &information{filter: &w.filter}
	err := w.eachBack(ctx, 0, func(first, last int) {
		for i := last - 1; i >= first; i-- {
			b.before(i)
			if i%every == 0 {
				packTo(kept[i/every*packed(s):], &b.n, s)
			}
		}
	})
	if err == nil {
		w.sweeps.information = kept
	}
	return err
}

// before turns N from the row after the i-th one on into N from the i-th row on.
func (b *information) before(i int) {
	if i+1 < len(b.times) {
		b.retreat(b.transition(b.gap(i+1), turns))
	}
	b.observe(i)
}

// seek reads N of the first row that is kept from a row on, and returns its number.
func (b *information) seek(row int, kept []float64) int {
	now := (row + every - 1) / every * every
	if now >= len(b.times) {
		clear(b.n[:])
		return len(b.times)
	}
	unpackFrom(&b.n, kept[now/every*packed(b.states):], b.states)
	return now
}

// visit calls f for each point, the last one first, with P⁻ there and N of the rows after it.
func visit(w *workspace, at *sortedPoints, f func(j int, p, n *square)) {
	b := &information{filter: &w.filter}
	var p, after, tmp square
	now := w.N
	for k := len(at.points) - 1; k >= 0; k-- {
		row, j := at.rows[k], at.points[k]
		w.start(&p)
		if row >= 0 {
			w.unpack(&p, row)
			w.advance(&p, &tmp, w.transition(at.times[j]-w.times[row], noise))
		}
		if row+1 == w.N {
			clear(after[:w.stateModel.states*w.stateModel.states])
			f(j, &p, &after)
			continue
		}
		if now-row-1 > every {
			now = b.seek(row+1, w.sweeps.information)
		}
		for ; now > row+1; now-- {
			b.before(now - 1)
		}
		t := w.transition(w.times[row+1]-at.times[j], turns)
		w.timesRight(&tmp, &b.n, t)
		w.transposedLeft(&after, &tmp, t)
		f(j, &p, &after)
	}
}

// reduce writes the prior variances minus the variances at points.
func reduce(w *workspace, at *sortedPoints, weights func(dst []float64, x float64), reduction []float64) {
	var h, own [maxStates]float64
	s := w.stateModel.states
	visit(w, at, func(j int, p, n *square) {
		weights(own[:], at.times[j])
		variance := w.stateModel.observe(p, h[:], own[:], 0)
		gained := 0.0
		for r := range s {
			sum := 0.0
			for c, v := range n[r*s : (r+1)*s] {
				sum += v * h[c]
			}
			gained += sum * h[r]
		}
		prior := 0.0
		for b := range w.blocks {
			prior += own[b] * own[b] * w.prior[w.blocks[b].at]
		}
		reduction[j] = max(prior-variance+gained, 0)
	})
}

// weightsOf returns the weights of the blocks of Σ for a kernel that is Σ's or some of its terms.
func (f *filter) weightsOf(m *stateModel) (func(dst []float64, x float64), error) {
	if m == f.stateModel {
		return f.weights, nil
	}
	for first := range len(f.blocks) - len(m.blocks) + 1 {
		if f.stateModel.equalTerms(first, m) {
			return func(dst []float64, x float64) {
				f.weights(dst, x)
				clear(dst[:first])
				clear(dst[first+len(m.blocks) : len(f.blocks)])
			}, nil
		}
	}
	return nil, &device.UnsupportedError{Method: Name, What: "variances for a kernel that is no term of the covariance"}
}

// equalTerms reports whether the blocks of a kernel equal m's from first on.
func (m *stateModel) equalTerms(first int, of *stateModel) bool {
	if m.column != of.column {
		return false
	}
	for i, b := range of.blocks {
		own := m.blocks[first+i]
		same := func(x, y factorStates) bool {
			return x.cosine == y.cosine && x.order == y.order && m.theta[x.param] == of.theta[y.param]
		}
		if b.power != own.power || m.size[first+i] != of.size[i] || !slices.EqualFunc(own.leaves, b.leaves, same) {
			return false
		}
	}
	return true
}
