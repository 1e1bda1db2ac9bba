package fit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/fit/tuning"
	"gpfit/hyperopt/descent"
	"gpfit/hyperopt/journal"
	"gpfit/internal/each"
	"gpfit/internal/score"
)

// A posterior has a mode at each optimum of the fit, and chains do not travel between them. So
// descents look for modes from all starts that are known, and the evidence of a mode, by the Laplace
// approximation (MacKay, Information Theory, Inference, and Learning Algorithms, 2003, eq. 28.5),
// says how much of the probability is there.

// mode is a mode over u, with the normal distribution that has its curvature.
type mode struct {
	u          []float64
	f          float64 // the negative log density
	covariance *mat.SymDense
	lower      mat.TriDense // its Cholesky factor L
	logVolume  float64      // ½ log |2π covariance|
	// flat names the parameters of each direction whose curvature was raised; curved is false if
	// the Hessian is not known at all.
	flat   [][]string
	curved bool
	fitted bool    // the descent from the end of the fit led here
	share  float64 // of the evidence of all modes
}

// Constants of the search, in nats: the distance above the lowest mode within which others count,
// the distance of one mode from another below which they are the same, if the second is a mirror
// image, and the promise with which descents end. The first mode has the tolerances of a fit.
const (
	modeReach, sameMode, sameMirror, modeTolerance = 12, 0.5, 2, 1e-3
	// modeEvaluations limits the values of a descent, modeLimit the number of modes, each of which
	// takes two gradients for every parameter.
	modeEvaluations, modeLimit = 200, 8
	// With repeated rows, whose order and sums round differently, descents end so near to the modes that predictions agree
	// to seven digits.
	repeatsGradient, repeatsNats = 1e-10, 1e-14
)

// modes returns the modes to which descents from the starts lead, over u; the first start is the end
// of the fit. They are in the order of their evidence, with their shares of it.
func (p *posterior) modes(ctx context.Context, s *tuning.Placement, settings descent.Options, starts [][]float64) ([]*mode, error) {
	others := modeTolerance
	if len(p.job.Sample.Points.Places()) < p.job.N() { // a row given twice and a row of weight 2 have the same draws
		settings.GradientTolerance, settings.ToleranceNats, others = repeatsGradient, repeatsNats, repeatsNats
	}
	own, err := p.descend(ctx, s, settings, "mode", starts[:1])
	if err != nil {
		return nil, fmt.Errorf("mode of the posterior: %w", err)
	}
	var ends []descent.StartResult
	if len(starts) > 1 {
		settings.Race, settings.Reach, settings.MaxEvaluations, settings.ToleranceNats = true, modeReach, modeEvaluations, others
		more, err := p.descend(ctx, s, settings, "modes", append([][]float64{own.X}, starts[1:]...))
		if err != nil {
			return nil, fmt.Errorf("modes of the posterior: %w", err)
		}
		ends = slices.DeleteFunc(more.Starts, func(e descent.StartResult) bool { return !e.Status.Converged() || e.F > more.F+modeReach })
		slices.SortStableFunc(ends, func(a, b descent.StartResult) int { return cmp.Compare(a.F, b.F) })
	}
	var found []*mode
	for _, e := range append([]descent.StartResult{own.StartResult}, ends...) {
		known, err := p.known(ctx, s, found, e.X)
		if known || err != nil || len(found) == modeLimit {
			if err != nil {
				return nil, err
			}
			continue
		}
		m, err := p.modeAt(ctx, s, e, len(found))
		if err != nil {
			return nil, err
		}
		if m.fitted = len(found) == 0; m.fitted || m.curved {
			found = append(found, m)
		}
	}
	slices.SortStableFunc(found, func(a, b *mode) int { return cmp.Compare(b.evidence(), a.evidence()) })
	logs := each.Of(found, func(m *mode) float64 { return m.evidence() })
	for i, m := range found {
		m.share = math.Exp(logs[i] - floats.LogSumExp(logs))
	}
	return found, nil
}

// descend runs descents over u; stream names them in the checkpoint.
func (p *posterior) descend(ctx context.Context, s *tuning.Placement, settings descent.Options, stream string, starts [][]float64) (*descent.Result, error) {
	search := descent.Search{Objectives: []descent.Func{&negative{p, s}},
		Log: func(start int) *journal.Sequence {
			return p.log.Sequence(fmt.Sprintf("posterior-%s-%d", stream, start))
		}}
	for _, c := range p.free {
		search.Parameters = append(search.Parameters, descent.Parameter{Name: c.name, Group: c.name, Lower: math.Inf(-1), Upper: math.Inf(1)})
	}
	for _, u := range starts {
		search.Starts = append(search.Starts, descent.Start{Z: u})
	}
	return descent.Minimize(ctx, search, settings)
}

// modeAt returns the k-th mode, where a descent ended.
func (p *posterior) modeAt(ctx context.Context, s *tuning.Placement, end descent.StartResult, k int) (*mode, error) {
	h, err := descent.Hessian(ctx, p.oracle(s, fmt.Sprintf("hessian-%d", k)), end.X, descent.HessianOptions{Step: func(int) float64 { return 1e-3 }})
	if err != nil {
		return nil, err
	}
	m := &mode{u: end.X, f: end.F}
	m.curve(h, p.free)
	return m, nil
}

// leastCurvature is the curvature of a prior of width 4, to which small and negative eigenvalues of
// a Hessian are raised; flatShare is the least share of a parameter in the direction that is named.
// Larger eigenvalues than mostCurvature, a standard deviation of 1e-5, would make the covariance
// singular to rounding.
const leastCurvature, mostCurvature, flatShare = 1.0 / 16, 1e10, 0.1

// curve takes a Hessian of the negative log density, nil if it is not known.
func (m *mode) curve(h descent.Metric, free []coordinate) {
	n := len(free)
	m.covariance = mat.NewSymDense(n, nil)
	var eigen mat.EigenSym
	var vectors mat.Dense
	if m.curved = h != nil && eigen.Factorize(mat.NewSymDense(n, h), true); m.curved {
		eigen.VectorsTo(&vectors)
		for k, v := range eigen.Values(nil) {
			x := vectors.ColView(k)
			m.covariance.SymRankOne(m.covariance, 1/min(max(v, leastCurvature), mostCurvature), x)
			if v < leastCurvature {
				var names []string
				for i, c := range free {
					if x.AtVec(i)*x.AtVec(i) >= flatShare {
						names = append(names, c.name)
					}
				}
				m.flat = append(m.flat, names)
			}
		}
	} else {
		for i := range n {
			m.covariance.SetSym(i, i, 1)
		}
	}
	m.factor()
}

// factor computes what follows from the covariance.
func (m *mode) factor() {
	var chol mat.Cholesky
	chol.Factorize(m.covariance) // its eigenvalues are from 1e-10 to 16
	chol.LTo(&m.lower)
	m.logVolume = score.NegLogNormal(0, chol.LogDet(), len(m.u))
}

// anyOf returns a mode with the probability of its share.
func anyOf(modes []*mode, rng *rand.Rand) *mode {
	if len(modes) > 1 {
		at := rng.Float64()
		for _, m := range modes {
			if at -= m.share; at < 0 {
				return m
			}
		}
	}
	return modes[0]
}

// around returns mode + size·L·ξ for standard normal ξ.
func (m *mode) around(size float64, rng *rand.Rand) []float64 {
	xi := mat.NewVecDense(len(m.u), nil)
	for i := range m.u {
		xi.SetVec(i, size*rng.NormFloat64())
	}
	out := mat.NewVecDense(len(m.u), nil)
	out.MulVec(&m.lower, xi)
	out.AddVec(out, mat.NewVecDense(len(m.u), slices.Clone(m.u)))
	return out.RawVector().Data
}

// evidence returns the log of the mode's evidence.
func (m *mode) evidence() float64 { return m.logVolume - m.f }

// nats returns ½(u−m)ᵀC⁻¹(u−m) for the mode m and its covariance C.
func (m *mode) nats(u []float64) float64 {
	d := make([]float64, len(u))
	floats.SubTo(d, u, m.u)
	v := mat.NewVecDense(len(d), d)
	if v.SolveVec(&m.lower, v) != nil {
		return math.Inf(1)
	}
	return 0.5 * mat.Dot(v, v)
}

// known reports whether u is at one of the modes, or at the mirror image of one: where two parts of
// a kernel are alike, such as in rbf + rbf, each mode has a twin with the parts exchanged, which
// says the same of the data.
func (p *posterior) known(ctx context.Context, s *tuning.Placement, modes []*mode, u []float64) (bool, error) {
	near := func(u []float64, most float64) bool {
		return slices.ContainsFunc(modes, func(m *mode) bool { return m.nats(u) <= most })
	}
	if near(u, sameMode) {
		return true, nil
	}
	for _, z := range p.mirrored(p.vector(u)) {
		if !near(p.coordinates(z), sameMirror) {
			continue
		}
		f, err := s.Value(ctx, z)
		if err != nil {
			return false, err
		}
		g, err := s.Value(ctx, p.vector(u))
		if err != nil || math.Abs(f-g) <= 1e-6*(1+math.Abs(g)) {
			return err == nil, err
		}
	}
	return false, nil
}

// mirrored returns the vectors with the parameters of two parts of the kernel exchanged, for each two
// parts that have parameters of the same names.
func (p *space) mirrored(z []float64) (out [][]float64) {
	parts := map[string]map[string]int{} // elements of z by the prefix of a part and the rest of the name
	for _, c := range p.free {
		for at, r := range c.group {
			if r == '.' {
				prefix := c.group[:at+1]
				if parts[prefix] == nil {
					parts[prefix] = map[string]int{}
				}
				parts[prefix][strings.TrimPrefix(c.name, prefix)] = c.index
			}
		}
	}
	prefixes := slices.Sorted(maps.Keys(parts))
	for i, a := range prefixes {
		for _, b := range prefixes[:i] {
			if !slices.Equal(slices.Sorted(maps.Keys(parts[a])), slices.Sorted(maps.Keys(parts[b]))) {
				continue
			}
			other := slices.Clone(z)
			for rest, k := range parts[a] {
				other[k], other[parts[b][rest]] = z[parts[b][rest]], z[k]
			}
			out = append(out, other)
		}
	}
	return out
}

// seats divides chains among modes in proportion to their shares, by the largest remainders, and
// returns the mode of each chain.
func seats(modes []*mode, chains int) (out []int) {
	order, rest := make([]int, len(modes)), make([]float64, len(modes))
	for i, m := range modes {
		whole, part := math.Modf(m.share * float64(chains))
		out, rest[i] = append(out, slices.Repeat([]int{i}, int(whole))...), -part
	}
	floats.ArgsortStable(rest, order)
	out = append(out, order[:chains-len(out)]...)
	slices.Sort(out)
	return out
}
