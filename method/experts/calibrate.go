package experts

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gpfit/device"
	"gpfit/internal/matrixrows"
	"gpfit/internal/score"
	"gpfit/kernel"
)

// Training describes the training rows of a workspace of [Partition.On], in scaled units.
type Training struct {
	Program *kernel.Program
	Theta   []float64
	// Noise holds the variances that were added to the diagonal, one or n. Residual holds
	// the targets minus the mean function and Alpha is Σ⁻¹ times that, n×T column-major.
	Noise, Residual, Alpha []float64
}

// calibrationRows is the number of training rows for [Calibrate]. The standard error of the
// logarithm of the temperature is then about 0.05.
const calibrationRows = 1000

// Calibrate returns the partition of a formed workspace of several experts with its Temperature and Scores and, unless
// the options give it, the rule with the smaller NLPD, and makes the workspace predict with it. It predicts a sample of the training rows by each
// rule: the row's own expert leaves the row out (Rasmussen & Williams 2006, eq. 5.12), and
// the others never knew it. The temperature has the smallest NLPD there. It costs
// an inverse and the prediction of the sample by all experts.
func Calibrate(ctx context.Context, ws device.Workspace, t Training) (*Partition, error) {
	w, ok := ws.(*workspace)
	if !ok {
		return nil, errors.New("experts: the workspace has no experts")
	}
	p := *w.backend.partition
	left, err := leaveOut(ctx, w, t, p.Seed)
	if err != nil {
		return nil, err
	}
	p.Temperature = left.temperature()
	left.heat(p.Temperature)
	p.judge(left.scores())
	w.backend = &backend{w.backend.Backend, &p}
	return &p, nil
}

// leftOut are predictions of rows that belong to the experts own and that these leave out.
type leftOut struct {
	own      []int
	all      []opinion
	residual []float64 // rows×targets, column-major
	noise    []float64
	// means and committee are the predictions of the committee.
	means     []float64
	committee []committee
}

// leaveOut predicts a sample of the training rows without them.
func leaveOut(ctx context.Context, w *workspace, t Training, seed uint64) (*leftOut, error) {
	n := w.x.N
	kappa := make([]float64, n)
	if err := w.InverseDiagonal(ctx, kappa); err != nil {
		return nil, err
	}
	rows := calibrationSample(n, calibrationRows, seed)
	m, targets := len(rows), len(t.Alpha)/n
	all, err := w.opinions(ctx, t.Program, t.Theta, t.Alpha, w.x.Pick(rows))
	if err != nil {
		return nil, err
	}
	own, noise := make([]int, m), make([]float64, m)
	for k, e := range w.experts {
		for j, i := range rows {
			if _, found := slices.BinarySearch(e.rows, i); !found {
				continue
			}
			own[j], noise[j] = k, t.Noise[min(i, len(t.Noise)-1)]
			// The own expert's variance without the row is 1/κ − σ².
			prior := all[k].prior[j]
			left := min(max(1/kappa[i]-noise[j], leastShare*prior), prior)
			all[k].variance[j] = prior - (prior - left) // rounded like the others
			for q := range targets {
				all[k].mean[q*m+j] = t.Residual[q*n+i] - t.Alpha[q*n+i]/kappa[i]
			}
		}
	}
	means, sums := combine(all)
	return &leftOut{own, all, matrixrows.Rows(t.Residual, rows, n, 1), noise, means, sums}, nil
}

// calibrationSample returns up to count of n rows with which to calibrate experts, ascending.
func calibrationSample(n, count int, seed uint64) []int {
	rows := rand.New(rand.NewPCG(seed, 0x63616c6962)).Perm(n)
	return slices.Sorted(slices.Values(rows[:min(n, count)]))
}

// heat sets the temperature of all committees.
func (l *leftOut) heat(temperature float64) {
	for j := range l.committee {
		l.committee[j].temperature = temperature
	}
}

// score returns the scores of a rule, at the temperatures of the committees.
func (l *leftOut) score(rule Rule) RuleScore {
	var sum score.Tally
	m := len(l.own)
	for j, home := range l.own {
		c, own := l.committee[j], l.all[home]
		variance, means := max(c.prior-(c.prior-own.variance[j]), leastShare*c.prior), own.mean
		if rule == RBCM {
			variance, means = c.variance(), l.means
		}
		p := score.Normal{Std: math.Sqrt(variance + l.noise[j])}
		for at := j; at < len(means); at += m {
			miss := l.residual[at] - means[at]
			sum.Add(miss, p.NegLog(miss), math.Abs(miss) <= score.Z95*p.Std)
		}
	}
	return RuleScore{rule, m, sum.RMSE(), sum.NLPD(), sum.Coverage(0)}
}

// judge keeps the scores of the rules and, unless the rule is given, takes the rule with the smaller NLPD.
func (p *Partition) judge(scores []RuleScore) {
	p.Scores = scores
	if !p.Chosen {
		return
	}
	best := slices.MinFunc(scores, func(a, b RuleScore) int { return cmp.Compare(a.NLPD, b.NLPD) })
	p.Combine = best.Combine
}

// scores compares the rules.
func (l *leftOut) scores() []RuleScore { return []RuleScore{l.score(Nearest), l.score(RBCM)} }

// The range of temperatures.
const (
	coldest = 1.0 / 16
	hottest = 1 << 16
)

// temperature returns the temperature with the smallest NLPD: the best of a grid, refined by
// golden sections between its neighbours. It leaves the committees at another one.
func (l *leftOut) temperature() float64 {
	nlpd := func(log float64) float64 {
		l.heat(math.Exp(log))
		return l.score(RBCM).NLPD
	}
	best, least := 0.0, math.Inf(1)
	const step = math.Ln2
	for log := math.Log(coldest); log <= math.Log(hottest); log += step {
		if v := nlpd(log); v < least {
			best, least = log, v
		}
	}
	low, high := best-step, best+step
	const golden = 0.6180339887498949
	for high-low > 1e-6 {
		a, b := high-golden*(high-low), low+golden*(high-low)
		if nlpd(a) < nlpd(b) {
			high = b
		} else {
			low = a
		}
	}
	return math.Exp((low + high) / 2)
}

// opinion is the prediction of the function by an expert, without noise, at m points in scaled units: means, m×T
// column-major, and m variances. The prior variances are the same for all experts.
type opinion struct{ prior, mean, variance []float64 }

// combine returns the means at the points, and the committees.
func combine(all []opinion) (mean []float64, sums []committee) {
	m := len(all[0].prior)
	mean = make([]float64, len(all[0].mean))
	for i, prior := range all[0].prior {
		c := committee{prior: prior, temperature: 1}
		for _, o := range all {
			factor := c.add(o.variance[i])
			for at := i; at < len(mean); at += m {
				mean[at] += factor * o.mean[at]
			}
		}
		for at := i; at < len(mean); at += m {
			mean[at] = c.mean(mean[at])
		}
		sums = append(sums, c)
	}
	return mean, sums
}

// opinions returns what the experts say at the points xs, with the weights alpha.
func (w *workspace) opinions(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points) ([]opinion, error) {
	m, prior := xs.N, make([]float64, xs.N)
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	e.Diagonal(prior, xs, 0, m)
	all := make([]opinion, len(w.experts))
	err := w.each(ctx, square, func(k int, e *expert) error {
		o := opinion{prior, make([]float64, len(alpha)/w.x.N*m), make([]float64, m)}
		all[k] = o
		err := e.ws.Predict(ctx, prog, theta, matrixrows.Rows(alpha, e.rows, w.x.N, 1), xs, o.mean, o.variance)
		for i, reduction := range o.variance {
			o.variance[i] = prior[i] - reduction
		}
		return err
	})
	return all, err
}
