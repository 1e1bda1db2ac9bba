package sampler

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// adaptation learns step size and covariance during the warm-up, as Stan does: a first
// part for the step size alone, windows of doubling length for the covariance, and a last
// part for the step size again.
type adaptation struct {
	w      *walker
	target float64
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
	// priorRows is the weight, in draws, of the covariance so far.
	priorRows = 5
)

func newAdaptation(w *walker, o Options) *adaptation {
	a := &adaptation{w: w, target: o.TargetAccept, warmup: o.Warmup}
	a.first, a.last = int(firstShare*float64(o.Warmup)), o.Warmup-int(lastShare*float64(o.Warmup))
	a.window = firstWindow
	a.windowEnd = a.nextEnd(a.first)
	p := len(w.q)
	a.covariance = mat.NewSymDense(p, nil)
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
	a.errors += (a.target - accept - a.errors) / (n + delay)
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

// newMetric takes the covariance of the window, together with a little of the one before.
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
	logp, err := a.w.evaluate(ctx, a.w.q, a.w.g)
	if err != nil {
		return err
	}
	a.w.logp = logp
	if err := a.w.findStep(ctx); err != nil {
		return err
	}
	a.restart()
	return nil
}
