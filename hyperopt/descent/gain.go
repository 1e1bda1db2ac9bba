package descent

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"gpfit/internal/matrixrows"
)

// The promise of the quadratic model is no sufficient reason to stop. Its curvatures are
// guesses where no step has tried them, and near a saddle a true one is negative while the
// gradient is small: on eight tables a rule by the promise gave away up to 422 nats. So the
// latest decreases must say the same, and a descent that promises little compares the model
// with a product of the Hessian before it ends.

// left returns the sum of the further decreases if these go on to shrink as slowly as in the
// latest iterations, and +Inf if they did not shrink or are too few. Each comparison with the
// Hessian that did not end the descent doubles the number of iterations before the next.
func (r *gainRule) left() float64 {
	n := len(r.decreases)
	if n < gainDecreases<<r.looks {
		return math.Inf(1)
	}
	ratio := 0.0
	for k := n - gainDecreases + 1; k < n; k++ {
		ratio = max(ratio, r.decreases[k]/r.decreases[k-1])
	}
	if !(ratio < 1) {
		return math.Inf(1)
	}
	return max(0, r.decreases[n-1]) * ratio / (1 - ratio)
}

// exhausted reports after an iteration whether f can decrease by no more than
// Options.ToleranceNats.
func (q *quasiNewton) exhausted() (bool, error) {
	tolerance, r := q.s.ToleranceNats, &q.gain
	r.decreases = append(r.decreases, r.last-q.at.F)
	r.last = q.at.F
	index := q.moving()
	if len(q.at.Z) > MostModelled { // no model can say more
		return tolerance > 0 && r.left() <= tolerance, nil
	}
	if !(tolerance > 0) || len(index) == 0 || r.looks >= gainLooks || q.start.Metric == nil && q.iter < len(index) ||
		!(max(r.left(), gainHope*q.promised()) <= tolerance) {
		return false, nil
	}
	r.decreases = nil
	r.looks++
	return q.nothingLeft(index, tolerance)
}

// nothingLeft compares the model with products of the Hessian and reports whether neither these
// nor the model promise more than the tolerance. The first product is with a direction in which
// every eigenvector of the model has its share. Each further one is with the direction along
// which the model is most wrong, until it is right; meanwhile symmetric rank-one updates (N&W
// 6.24) turn a copy of it into the Hessian, which need not be positive definite.
func (q *quasiNewton) nothingLeft(index []int, tolerance float64) (bool, error) {
	b, ok := q.model.restricted(len(q.at.Z), index)
	if !ok {
		return false, nil
	}
	g, h := matrixrows.Values(q.at.G, index), newRestriction(b.matrix)
	v := b.mixed(g)
	for range min(len(index), gainProducts) {
		hv, ok, err := q.product(index, v, tolerance)
		if !ok || err != nil {
			return false, err
		}
		size, e := b.energy(v), h.correct(v, hv)
		if v = b.solve(e); !(dot(e, v) > gainError*gainError*size) {
			break
		}
		floats.Scale(1/floats.Norm(v, 2), v)
	}
	return h.gain(g) <= tolerance && gainHope*q.promised() <= tolerance, nil
}

// product returns the Hessian's product with v and whether f promises no more than the
// tolerance along v.
func (q *quasiNewton) product(index []int, v []float64, tolerance float64) ([]float64, bool, error) {
	h := q.within(index, v, hessianStep)
	if math.Abs(h) < gainLeastStep {
		return nil, false, nil
	}
	p := len(q.at.Z)
	z, s, y, g := slices.Clone(q.at.Z), make([]float64, p), make([]float64, p), make([]float64, p)
	for a, i := range index {
		s[i] = h * v[a]
		z[i] += s[i]
	}
	f, err := q.ev.Value(q.ctx, z)
	if err != nil || math.IsInf(f, 1) {
		return nil, false, err
	}
	if ok, err := q.ev.Gradient(q.ctx, z, g); err != nil || !ok {
		return nil, false, err
	}
	slope, curvature, hv := 0.0, 0.0, make([]float64, len(index))
	for a, i := range index {
		y[i] = g[i] - q.at.G[i]
		hv[a] = y[i] / h
		slope += v[a] * q.at.G[i]
		curvature += v[a] * hv[a]
	}
	q.model = q.model.learned(s, y)
	return hv, gainAlong(slope, curvature) <= tolerance, nil
}

// gainAlong returns the decrease of ½ct² − |b|t up to the distance gainReach, for a slope
// b and a curvature c of either sign.
func gainAlong(b, c float64) float64 {
	t := float64(gainReach)
	if b = math.Abs(b); c*t > b {
		t = b / c
	}
	return b*t - c*t*t/2
}

// within returns the step h along v, of either sign and at most the given size, that keeps
// the bounds; the shorter one if neither side has room.
func (q *quasiNewton) within(index []int, v []float64, h float64) float64 {
	room := func(sign float64) float64 {
		t := h
		for a, i := range index {
			switch d := sign * v[a]; {
			case d > 0:
				t = min(t, (q.space.hi[i]-q.at.Z[i])/d)
			case d < 0:
				t = min(t, (q.space.lo[i]-q.at.Z[i])/d)
			}
		}
		return t
	}
	if up, down := room(1), room(-1); down > up {
		return -down
	} else {
		return up
	}
}

// restriction is a symmetric matrix over the parameters that can move, with its
// eigenvalues and eigenvectors.
type restriction struct {
	matrix  *mat.SymDense
	values  []float64
	vectors mat.Dense
}

func newRestriction(m *mat.SymDense) *restriction {
	r := &restriction{matrix: mat.NewSymDense(m.SymmetricDim(), nil)}
	r.matrix.CopySym(m)
	r.factorize()
	return r
}

func (r *restriction) factorize() {
	var e mat.EigenSym
	if r.values = nil; e.Factorize(r.matrix, true) {
		r.values = e.Values(nil)
		e.VectorsTo(&r.vectors)
	}
}

// restricted returns the model over the given parameters, and false if it is not positive definite.
func (m Metric) restricted(p int, index []int) (*restriction, bool) {
	if m == nil {
		return nil, false
	}
	r := newRestriction(m.part(p, index))
	return r, r.values != nil && r.values[0] > 0
}

// along returns the products of the eigenvectors with x.
func (r *restriction) along(x []float64) []float64 {
	var out mat.VecDense
	out.MulVec(r.vectors.T(), mat.NewVecDense(len(x), x))
	return out.RawVector().Data
}

// sum returns the sum of the eigenvectors with these weights.
func (r *restriction) sum(weights []float64) []float64 {
	var out mat.VecDense
	out.MulVec(&r.vectors, mat.NewVecDense(len(weights), weights))
	return out.RawVector().Data
}

// solve returns the product of the inverse with x.
func (r *restriction) solve(x []float64) []float64 {
	weights := r.along(x)
	for k, lambda := range r.values {
		weights[k] /= lambda
	}
	return r.sum(weights)
}

// energy returns xᵀRx.
func (r *restriction) energy(x []float64) float64 {
	v := mat.NewVecDense(len(x), x)
	return mat.Inner(v, r.matrix, v)
}

// mixed returns a direction of length 1 to which every eigenvector contributes the same
// energy, each downhill.
func (r *restriction) mixed(g []float64) []float64 {
	weights := r.along(g)
	for k, lambda := range r.values {
		weights[k] = -math.Copysign(1/math.Sqrt(lambda), weights[k])
	}
	floats.Scale(1/floats.Norm(weights, 2), weights)
	return r.sum(weights)
}

// correct makes hv the product of r with v and returns the error that the product had.
func (r *restriction) correct(v, hv []float64) []float64 {
	var rv mat.VecDense
	rv.MulVec(r.matrix, mat.NewVecDense(len(v), v))
	e := make([]float64, len(v))
	floats.SubTo(e, hv, rv.RawVector().Data)
	if d := dot(e, v); math.Abs(d) > 1e-8*floats.Norm(e, 2)*floats.Norm(v, 2) {
		r.matrix.SymRankOne(r.matrix, 1/d, mat.NewVecDense(len(e), e))
		r.factorize()
	}
	return e
}

// gain returns the largest decrease that r promises along an eigenvector, for the gradient g.
func (r *restriction) gain(g []float64) float64 {
	if r.values == nil {
		return math.Inf(1)
	}
	best := 0.0
	for k, slope := range r.along(g) {
		best = max(best, gainAlong(slope, r.values[k]))
	}
	return best
}

// Some parameters have an effect that vanishes: a lengthscale much longer than its column.
// There, f falls towards its upper bound like a power of its inverse. Steps in its
// logarithm would follow this slope for many iterations, each of which gains a fixed
// share of what is left, so the descent tries the bound at once.

// vanishTries is the largest number of times that a descent tries the bound of a parameter.
const vanishTries = 2

// vanishPromise is the largest promise of the model with which a descent that began without
// a metric tries bounds. Far from the optimum, a column may come to matter: with earlier
// trials, 150 rows of energy ended 2.6 nats above a descent without any.
const vanishPromise = 1

// vanished is how far, in log units, a parameter must be beyond its limit for lookBack to look
// at it. Nearer, its derivative still shows the way.
const vanished = 3

// firstPromise is the decrease, in nats, that the slope promises at the first trial of lookBack.
const firstPromise = 0.2

// vanishing returns the parameters from whose bounds f has little to gain, but that it
// pushes there.
func (q *quasiNewton) vanishing() []int {
	if q.space.limits == nil || q.start.Metric == nil && !q.s.Eager && !(q.promised() <= vanishPromise) {
		return nil
	}
	var index []int
	limits := q.space.limits(q.at.Z)
	for i, z := range q.at.Z {
		hi := q.space.hi[i]
		// A stage begins at the limit, up to rounding.
		if !q.space.fixed[i] && z >= limits[i]-1e-9 && z < hi && outward(Upper, q.at.G[i]) && q.tried[i] < vanishTries {
			index = append(index, i)
		}
	}
	return index
}

// raiseVanishing moves vanishing parameters to their upper bounds if f decreases. It reports
// whether they moved.
func (q *quasiNewton) raiseVanishing() (bool, error) {
	index := q.vanishing()
	if len(index) == 0 {
		return false, nil
	}
	z := slices.Clone(q.at.Z)
	for _, i := range index {
		q.tried[i]++
		z[i] = q.space.hi[i]
	}
	return q.move(z, q.at.F+q.rounding(q.at.F))
}

// lookBack looks again at the parameters far beyond their limits, once the descent has converged.
// The derivative by the logarithm of a lengthscale ℓ vanishes there even if the derivative by r =
// ℓ⁻² does not. Where f falls towards larger r by more than the tolerance, lookBack searches along
// r, from the limits back, for a lower value, and reports whether the descent goes on.
func (q *quasiNewton) lookBack() (bool, error) {
	if q.lookedBack || q.space.limits == nil {
		return false, nil
	}
	q.lookedBack = true
	limits, slope := q.space.limits(q.at.Z), 0.0
	var index []int
	for i, z := range q.at.Z {
		if !q.space.fixed[i] && z > limits[i]+vanished && q.at.G[i] > 0 {
			index = append(index, i)
			slope -= q.at.G[i] / 2 * (math.Exp(2*(z-limits[i])) - 1)
		}
	}
	missed := max(q.s.ToleranceNats, q.rounding(q.at.F))
	if -slope <= missed {
		return false, nil
	}
	// share is the place on the way from here, 0, to the limits, 1.
	point := func(share float64) []float64 {
		z := slices.Clone(q.at.Z)
		for _, i := range index {
			here := math.Exp(2 * (limits[i] - z[i])) // r in units of its limit
			z[i] = q.space.clip(i, limits[i]-math.Log(here+share*(1-here))/2)
		}
		return z
	}
	// Each value above the value here gives a parabola, whose minimum is the next trial. From afar
	// that is too far, because f rises less and less, so the first trial is near.
	for share := min(1, firstPromise/-slope); -slope*share/2 > missed; {
		f, err := q.ev.Value(q.ctx, point(share))
		if err != nil {
			return false, err
		}
		if f < q.at.F-missed/2 {
			return q.move(point(share), f)
		}
		share = max(share/1000, min(share/2, -slope*share*share/(2*(f-q.at.F-slope*share))))
	}
	return false, nil
}

// move makes z the current iterate if f is at most the given value there.
func (q *quasiNewton) move(z []float64, most float64) (bool, error) {
	f, err := q.ev.Value(q.ctx, z)
	if err != nil || f > most {
		return false, err
	}
	g := make([]float64, len(z))
	if ok, err := q.ev.Gradient(q.ctx, z, g); err != nil || !ok {
		return false, err
	}
	clear(q.held)
	p := Point{Z: z, F: f, G: g}
	if q.end != nil {
		return true, q.end.jump(p)
	}
	q.jump(p)
	return true, nil
}
