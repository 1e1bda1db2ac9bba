package descent

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/internal/matrixrows"
)

// The end of a descent of a [Curved] function: Newton steps within a trust region (N&W chapter 4),
// first with the average information, which costs little, and with the Hessian where that
// is too far from it, and to confirm the end. It begins near an optimum, because second-order
// steps from afar lead to other basins.

// Constants of the trust region, in log units and nats.
const (
	// trustFirst is the radius of the first region, trustMost the largest; a descent whose radius
	// falls below trustLeast goes on with L-BFGS.
	trustFirst, trustMost, trustLeast = 1, 3, 1e-5
	// trustWarm is the number of iterations of a descent that began without a metric, and
	// trustNear the decrease in one of them, before second-order steps begin.
	trustWarm, trustNear = 8, 1
	// trustShare is the share of Options.ToleranceNats whose promise ends a descent, because a flat
	// direction may hold a multiple of its promise.
	trustShare = 0.2
	// trustSmall is a promise below which the errors of an estimated Hessian may outweigh what is left:
	// a descent ends when mostMisses steps that promised no more have failed.
	trustSmall, mostMisses = 1e-4, 2
	// trustWide is the radius in which a corrected Hessian may promise too little to go on.
	trustWide = 0.25
	// bendMost is the length of a failed step up to which its value corrects the Hessian: a longer one
	// says more of third derivatives.
	bendMost = 0.5
	// crawl is the difference from 1 of the ratio of the actual decrease to the promise from which on,
	// twice in a row, the average information is too far from the Hessian: with the true curvature
	// h and its a, the ratio is 2 − h/a, and each step leaves 1 − h/a of the error.
	// With many rows, where a Hessian costs about as much as a step, crawlMany takes its place.
	crawl, crawlMany = 0.5, 0.25
	// localStep is the length of a step on which the average information changes so little that corrections
	// by steps are worth more than a new one.
	localStep = 0.1
	// trustworthy is the largest difference of that ratio from 1 with which a model counts as right; crawl is, where a
	// Hessian is dear.
	trustworthy = 0.3
	// modelFloor is the least eigenvalue of the model that a race sees.
	modelFloor = 0.1
)

// trust is the state of the second-order end of a descent.
type trust struct {
	*quasiNewton
	radius float64
	// b is the matrix of the model at the current iterate, seen by the reciprocals far; exact says
	// that it is the Hessian, and insist that all further ones are to be.
	b   Metric
	far reciprocals
	// rest is the latest Hessian without the average information.
	rest          Metric
	exact, insist bool
	crawls        int
	// fresh says that the Hessian was computed at the iterate, and not corrected by steps.
	fresh bool
	// misses counts the steps that failed although they promised no more than trustSmall.
	misses int
	// trusted says that the latest step changed f as the model promised.
	trusted bool
	// keepsMatrix says that the next point takes over the matrix, corrected along the step.
	keepsMatrix bool
}

// beginTrust computes the matrix at p, whose gradient was just evaluated, if second-order steps are to
// begin there.
func (q *quasiNewton) beginTrust(p Point) error {
	if q.blunt || q.end != nil || !q.nearEnd(p) {
		return nil
	}
	return trustAt(q, p)
}

// trustAt begins second-order steps at p, if the function has such matrices there.
func trustAt(q *quasiNewton, p Point) error {
	t := &trust{quasiNewton: q, radius: trustFirst}
	ok, err := t.examine(p)
	if err != nil || !ok {
		q.blunt = true
		return err
	}
	q.end = t
	return nil
}

// nearEnd reports whether p, the next iterate, is near an optimum.
func (q *quasiNewton) nearEnd(p Point) bool {
	if q.start.Metric != nil {
		return true
	}
	return q.iter >= trustWarm && q.at.F-p.F <= trustNear
}

// examine computes the model at p, whose gradient was just evaluated: the Hessian if the average
// information has crawled or if it promises no more than the tolerance. It reports whether the
// function has such matrices there.
func (t *trust) examine(p Point) (ok bool, err error) {
	if !t.insist {
		h, err := t.second(t.ctx, p.Z, false)
		if err != nil || h.b == nil {
			return false, err
		}
		t.see(p, h)
		if s, promise := t.propose(p); s != nil && promise > t.tolerance() || t.s.Eager || t.trusted && t.s.FewRows {
			return true, nil
		}
	}
	if t.s.Eager { // which prepares another descent: L-BFGS goes on
		return false, nil
	}
	h, err := t.second(t.ctx, p.Z, true)
	if err != nil || h.b == nil {
		return false, err
	}
	t.see(p, h)
	return true, nil
}

// see makes h the model at p. Only a Hessian tells how far f falls by the reciprocals; where these hardly
// change with the lengthscales, the information takes its place.
func (t *trust) see(p Point, h second) {
	n := len(p.Z)
	t.exact, t.fresh, t.b, t.far = h.exact, h.exact, h.b, make(reciprocals, n)
	if h.information == nil {
		return
	}
	t.rest = slices.Clone(h.b)
	floats.Sub(t.rest, h.information)
	t.far = t.space.reciprocals(p, h.information)
	t.b = t.far.see(h.b, p)
	for i, z := range p.Z {
		if slope := t.far.slope(i, z); slope < faint {
			for j, other := range p.Z {
				t.b[i*n+j] = h.information[i*n+j] / (slope * t.far.slope(j, other))
				t.b[j*n+i] = t.b[i*n+j]
			}
		}
	}
}

// tolerance is the promise with which a descent ends.
func (t *trust) tolerance() float64 { return max(trustShare*t.s.ToleranceNats, t.rounding(t.at.F)) }

// run takes second-order steps to the end. StatusNone means that L-BFGS has to go on.
func (t *trust) run() (Status, error) {
	for {
		if status := t.converged(); status != StatusNone && status != StatusGradientConverged {
			return status, nil
		}
		left := t.left()
		s, promise := t.propose(t.at)
		switch {
		case t.misses >= mostMisses && left <= trustSmall:
			return StatusGainConverged, nil
		case t.s.Beat != nil && t.at.F-raceGain-raceHope*left > *t.s.Beat:
			return StatusGainConverged, nil // what is left is of no use
		case s == nil || left > t.tolerance():
		case t.exact && (t.fresh || t.radius >= trustWide), t.s.Eager, !t.exact && t.trusted && t.s.FewRows:
			return cmp.Or(t.converged(), StatusGainConverged), nil
		default:
			if err := t.renew(); err != nil {
				return StatusFailed, err
			}
			continue
		}
		if s == nil || t.radius < trustLeast {
			t.end, t.blunt = nil, true
			return StatusNone, nil
		}
		if err := t.step(s, promise); err != nil {
			return StatusFailed, err
		}
	}
}

// step tries the step s, which promises a decrease, and makes its end the iterate if f is lower.
func (t *trust) step(s []float64, promise float64) error {
	z := slices.Clone(t.at.Z)
	for i, d := range s {
		if d != 0 {
			z[i] = t.space.snap(i, t.far.end(i, z[i], d, t.space))
		}
	}
	length := floats.Norm(s, 2)
	f, err := t.ev.Value(t.ctx, z)
	if err != nil {
		return err
	}
	ratio := (t.at.F - f) / promise
	p := Point{Z: z, F: f, G: make([]float64, len(z))}
	if f < t.at.F {
		ok, err := t.ev.Gradient(t.ctx, z, p.G)
		if err != nil {
			return err
		}
		if !ok {
			ratio = math.Inf(-1)
		}
	}
	switch {
	case !(ratio > 0.25):
		t.radius = length * cubic(dot(t.far.gradient(t.at), s), -promise, f-t.at.F)
	case ratio > 0.75 && length > 0.8*t.radius:
		t.radius = min(trustMost, 2*t.radius)
	}
	if !(ratio > 0.25) && promise <= trustSmall {
		t.misses++
	}
	if !(ratio > 0) {
		if !t.exact || !t.fresh && !(t.s.FewRows && t.radius > trustWide) {
			return t.renew()
		}
		if length <= bendMost && !math.IsInf(f, 0) {
			t.bend(s, f)
		}
		return nil
	}
	limit := crawlMany
	if t.s.FewRows {
		limit = crawl
	}
	if t.crawls++; math.Abs(ratio-1) < limit {
		t.crawls = 0
	}
	t.insist = t.insist || t.crawls >= 2
	most := trustworthy
	if t.dear {
		most = crawl
	}
	t.trusted = math.Abs(ratio-1) < most
	switch {
	case !t.exact:
		t.keepsMatrix = t.trusted && t.s.FewRows && !t.dear && length < localStep
	case t.s.FewRows:
		t.keepsMatrix = ratio > 0.25 && ratio < 2
	default: // with many rows, a wrong Hessian far from the end wastes dearer steps
		t.keepsMatrix = t.trusted && promise < trustNear
	}
	return t.accept(p)
}

// bend makes the model agree with the value f at the end of the step s.
func (t *trust) bend(s []float64, f float64) {
	n := len(s)
	ss, change := dot(s, s), f-t.at.F-dot(t.far.gradient(t.at), s)
	for i, v := range t.b.times(s) {
		change -= s[i] * v / 2
	}
	t.b = slices.Clone(t.b)
	for i := range s {
		for j := range s {
			t.b[i*n+j] += 2 * change * s[i] * s[j] / (ss * ss)
		}
	}
}

// left returns the decrease that the model promises within a region that is not small, because any
// model promises little within a small one.
func (t *trust) left() float64 {
	radius := t.radius
	t.radius = max(radius, trustWide)
	_, promise := t.propose(t.at)
	t.radius = radius
	return promise
}

// renew computes the Hessian at the iterate.
func (t *trust) renew() error {
	t.insist, t.radius = true, max(t.radius, trustWide)
	ok, err := t.examine(t.at)
	if err == nil && !ok {
		t.radius = 0
	}
	return err
}

// jump makes p the iterate, which is no end of a step.
func (t *trust) jump(p Point) error {
	t.radius, t.keepsMatrix = max(t.radius, trustFirst), false
	return t.accept(p)
}

// accept makes p, whose gradient was just evaluated, the iterate.
func (t *trust) accept(p Point) error {
	ok := true
	var err error
	if t.keepsMatrix {
		err = t.follow(p)
	} else {
		ok, err = t.examine(p)
	}
	if err != nil {
		return err
	}
	if !ok {
		t.radius = 0
	}
	t.advance(p)
	if m, err := t.far.leave(t.b, p).floored(len(p.Z), modelFloor); ok && err == nil {
		t.model = m
	}
	t.notify(t.descent)
	return nil
}

// follow takes the matrix over to p. With many rows, where a Hessian has cost more than it gains, the average
// information is new, and the rest stays.
func (t *trust) follow(p Point) error {
	if t.exact && !t.s.FewRows && t.rest != nil {
		h, err := t.second(t.ctx, p.Z, false)
		if err != nil {
			return err
		}
		if h.information = h.b; h.b != nil {
			h.b, h.exact = slices.Clone(t.rest), true
			floats.Add(h.b, h.information)
			t.see(p, h)
		}
	}
	t.correct(p)
	return nil
}

// correct makes the matrix agree with the change of the gradient from the iterate to p, by the
// least symmetric update (Powell symmetric Broyden; Dennis & Schnabel 1983, section 8.1).
func (t *trust) correct(p Point) {
	n := len(p.Z)
	s, r, before := make([]float64, n), t.far.gradient(p), t.far.gradient(t.at)
	for i := range s {
		if !t.space.fixed[i] {
			s[i] = t.far.at(i, p.Z[i]) - t.far.at(i, t.at.Z[i])
		}
	}
	for i, v := range t.b.times(s) {
		if r[i] -= before[i] + v; t.space.fixed[i] {
			r[i] = 0
		}
	}
	b := slices.Clone(t.b)
	ss, rs := dot(s, s), dot(r, s)
	for i := range r {
		for j := range r {
			b[i*n+j] += (r[i]*s[j]+s[i]*r[j])/ss - rs*s[i]*s[j]/(ss*ss)
		}
	}
	t.b, t.fresh = b, false
}

// propose returns the step over all parameters, seen by the reciprocals, that minimizes the model at p
// within the region and the bounds, and the decrease that it promises; nil if nothing can move.
func (t *trust) propose(p Point) (s []float64, promise float64) {
	s = make([]float64, len(p.Z))
	index, own := t.space.moving(p), t.far.gradient(p)
	g, room := slices.Clone(own), t.radius*t.radius
	for len(index) > 0 && room > 0 {
		part := minimum(t.b.part(len(s), index), matrixrows.Values(g, index), math.Sqrt(room))
		if part == nil {
			return nil, 0
		}
		var inside []int
		for k, i := range index {
			least, most := t.far.room(i, p.Z[i], t.space)
			if part[k] >= least && part[k] <= most {
				inside = append(inside, i)
				continue
			}
			s[i] = min(max(part[k], least), most)
			room -= s[i] * s[i]
		}
		if len(inside) == len(index) {
			for k, i := range index {
				s[i] = part[k]
			}
			break
		}
		index = inside
		floats.AddTo(g, own, t.b.times(s)) // the gradient after the moves to bounds
	}
	for i, v := range t.b.times(s) {
		promise -= s[i] * (own[i] + v/2)
	}
	return s, promise
}

// minimum returns the minimum of gᵀs + ½sᵀBs with |s| ≤ radius, for B of any sign (N&W 4.3): s =
// −(B + λI)⁻¹g with the least λ ≥ 0 for which B + λI is positive semidefinite and s is short
// enough. It is nil if B or g is not finite.
func minimum(b *mat.SymDense, g []float64, radius float64) []float64 {
	r := newRestriction(b)
	if r.values == nil || floats.HasNaN(g) {
		return nil
	}
	along := r.along(g)
	weights := make([]float64, len(g))
	step := func(lambda float64) float64 {
		for k, v := range r.values {
			weights[k] = 0
			if along[k] != 0 {
				weights[k] = -along[k] / (v + lambda)
			}
		}
		return floats.Norm(weights, 2)
	}
	least := r.values[0]
	scale := max(math.Abs(least), math.Abs(r.values[len(g)-1]), floats.Norm(g, 2), math.SmallestNonzeroFloat64)
	low := max(0, -least) + 1e-14*scale
	if length := step(low); !(length <= radius) {
		high := low + scale
		for step(high) > radius {
			high = low + 2*(high-low)
		}
		for range 100 {
			if middle := (low + high) / 2; step(middle) > radius {
				low = middle
			} else {
				high = middle
			}
		}
		step(high)
	} else if least < 0 {
		// The hard case: nothing of g lies along the most negative curvature. The step goes on along it.
		weights[0] = 0
		rest := floats.Norm(weights, 2)
		weights[0] = -math.Copysign(math.Sqrt(max(0, radius*radius-rest*rest)), along[0])
	}
	return r.sum(weights)
}

// cubic returns the place between 0 and 1 of the minimum of the cubic with the value 0 and the given
// slope at 0 whose parabola there has the value model at 1, if the cubic has the value f there.
func cubic(slope, model, f float64) float64 {
	b, c := model-slope, f-model // slope·t + b·t² + c·t³
	t := (-b + math.Sqrt(b*b-3*slope*c)) / (3 * c)
	if !(t > 0.1) {
		return 0.1
	}
	return min(t, 0.5)
}
