package sampler

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// maxDepth bounds the doublings of a trajectory.
const maxDepth = 10

// divergence is the rise of the energy along a trajectory that counts as a divergence.
const divergence = 1000

// trajectory describes a transition.
type trajectory struct {
	accept    float64
	depth     int
	divergent bool
}

// tree is a part of a trajectory: its ends in time, the sum of the momenta, the log of
// its total weight, and the state drawn from it.
type tree struct {
	left, right *state
	sum         []float64
	weight      float64
	drawn       *state
	turned      bool
}

// end returns the end in a direction of time.
func (t *tree) end(direction float64) *state {
	if direction < 0 {
		return t.left
	}
	return t.right
}

// transition moves the walker along one trajectory.
func (w *walker) transition(ctx context.Context) (trajectory, error) {
	first := w.begin()
	b := &builder{walker: w, energy: first.energy()}
	whole := &tree{left: first, right: first, sum: slices.Clone(first.p), weight: 0, drawn: first}
	var t trajectory
	for t.depth < maxDepth {
		direction := 1.0
		if w.rng.Float64() < 0.5 {
			direction = -1
		}
		next, err := b.build(ctx, whole.end(direction), direction, t.depth)
		if err != nil {
			return t, err
		}
		t.depth++
		if b.divergent || next.turned {
			break
		}
		// Biased progressive sampling prefers the new half.
		if math.Log(w.rng.Float64()) < next.weight-whole.weight {
			whole.drawn = next.drawn
		}
		whole = join(whole, next, direction)
		if whole.turned {
			break
		}
	}
	t.divergent = b.divergent
	if b.steps > 0 {
		t.accept = b.accept / float64(b.steps)
	}
	w.q, w.g, w.logp = whole.drawn.q, whole.drawn.g, whole.drawn.logp
	return t, nil
}

// builder builds the trees of one trajectory.
type builder struct {
	*walker
	energy    float64
	divergent bool
	// accept is the sum of the probabilities of acceptance of the steps.
	accept float64
	steps  int
}

// build returns the tree of 2^depth steps that follows from a state in a direction.
func (b *builder) build(ctx context.Context, from *state, direction float64, depth int) (*tree, error) {
	if depth == 0 {
		return b.leaf(ctx, from, direction)
	}
	first, err := b.build(ctx, from, direction, depth-1)
	if err != nil || first.turned || b.divergent {
		return first, err
	}
	second, err := b.build(ctx, first.end(direction), direction, depth-1)
	if err != nil || second.turned || b.divergent {
		return second, err
	}
	drawn := first.drawn
	if math.Log(b.rng.Float64()) < second.weight-logAdd(first.weight, second.weight) {
		drawn = second.drawn
	}
	both := join(first, second, direction)
	both.drawn = drawn
	return both, nil
}

// leaf makes one step.
func (b *builder) leaf(ctx context.Context, from *state, direction float64) (*tree, error) {
	s := from.copy()
	if err := b.leap(ctx, s, direction*b.step); err != nil {
		return nil, err
	}
	rise := s.energy() - b.energy
	if math.IsNaN(rise) {
		rise = math.Inf(1)
	}
	b.steps++
	b.accept += math.Min(1, math.Exp(-rise))
	b.divergent = b.divergent || rise > divergence
	return &tree{left: s, right: s, sum: slices.Clone(s.p), weight: -rise, drawn: s}, nil
}

// join appends next to a tree in a direction of time. The state drawn is the tree's.
func join(t, next *tree, direction float64) *tree {
	before, after := t, next
	if direction < 0 {
		before, after = next, t
	}
	out := &tree{left: before.left, right: after.right, weight: logAdd(t.weight, next.weight), drawn: t.drawn, sum: plus(t.sum, next.sum)}
	// Besides the whole, each half with the next state of the other must not turn, which
	// trajectories of whole periods could hide.
	out.turned = turns(out.sum, out.left.p, out.right.p) ||
		turns(plus(before.sum, after.left.p), after.left.p, out.left.p) || turns(plus(after.sum, before.right.p), before.right.p, out.right.p)
	return out
}

func plus(a, b []float64) []float64 { return floats.AddTo(make([]float64, len(a)), a, b) }

// turns is the generalized criterion: the sum of the momenta no longer points along the
// momentum of both ends.
func turns(sum, left, right []float64) bool { return dot(sum, left) <= 0 || dot(sum, right) <= 0 }

func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	if math.IsInf(a, -1) {
		return a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// adaptation learns step size and covariance during the warm-up, as Stan does: a first
// part for the step size alone, windows of doubling length for the covariance, and a last
// part for the step size again.
type adaptation struct {
	w *walker
	// Dual averaging (Hoffman & Gelman 2014, section 3.2.1).
	mu, errors, logAverage float64
	count                  int
	warmup, first, last    int
	windowEnd, window      int
	seen                   []float64 // rows of the window
	covariance             *mat.SymDense
}

// The constants of dual averaging, and the shares of the warm-up and the first window,
// which are Stan's.
const (
	shrinkage, delay, decay = 0.05, 10, 0.75
	firstShare, lastShare   = 0.075, 0.05
	firstWindow             = 25
	// targetAccept is the mean probability of acceptance to which the step size adapts.
	targetAccept = 0.8
	// priorRows is the weight, in draws, of the covariance so far.
	priorRows = 5
)

func newAdaptation(w *walker, o Options) *adaptation {
	a := &adaptation{
		w: w, warmup: o.Warmup, window: firstWindow, covariance: mat.NewSymDense(len(w.q), nil),
		first: int(firstShare * float64(o.Warmup)), last: o.Warmup - int(lastShare*float64(o.Warmup)),
	}
	a.windowEnd = a.nextEnd(a.first)
	a.covariance.SymOuterK(1, w.lower)
	a.restart()
	return a
}

// nextEnd returns the end of the window that begins at an iteration. The last one
// takes what would be too short for another.
func (a *adaptation) nextEnd(begin int) int {
	end := begin + a.window
	if end+2*a.window > a.last {
		end = a.last
	}
	return end
}

// restart begins dual averaging at the step size of the walker.
func (a *adaptation) restart() {
	a.mu, a.errors, a.logAverage, a.count = math.Log(10*a.w.step), 0, 0, 0
}

// learn takes iteration i of the warm-up with its acceptance.
func (a *adaptation) learn(ctx context.Context, i int, accept float64) error {
	a.count++
	n := float64(a.count)
	a.errors += (targetAccept - accept - a.errors) / (n + delay)
	logStep := a.mu - math.Sqrt(n)/shrinkage*a.errors
	weight := math.Pow(n, -decay)
	a.logAverage += weight * (logStep - a.logAverage)
	a.w.step = math.Exp(logStep)
	if i >= a.first && i < a.last {
		a.seen = append(a.seen, a.w.q...)
		if i+1 == a.windowEnd {
			if err := a.newMetric(ctx); err != nil {
				return err
			}
			a.window *= 2
			a.windowEnd = a.nextEnd(i + 1)
		}
	}
	if i+1 == a.warmup {
		a.w.step = math.Exp(a.logAverage)
	}
	return nil
}

// newMetric takes the window's covariance, together with a little of the previous covariance.
func (a *adaptation) newMetric(ctx context.Context) error {
	p := len(a.w.q)
	rows := len(a.seen) / p
	if rows > 1 {
		var c mat.SymDense
		stat.CovarianceMatrix(&c, mat.NewDense(rows, p, a.seen), nil)
		next := mat.NewSymDense(p, nil)
		for i := range p {
			for j := i; j < p; j++ {
				next.SetSym(i, j, (float64(rows)*c.At(i, j)+priorRows*a.covariance.At(i, j))/float64(rows+priorRows))
			}
		}
		if a.w.whiten(next) {
			a.covariance = next
		}
	}
	a.seen = nil
	if err := a.w.findStep(ctx); err != nil {
		return err
	}
	a.restart()
	return nil
}
