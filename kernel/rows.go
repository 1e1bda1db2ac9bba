package kernel

import (
	"gpfit/internal/code"
	"gpfit/internal/vec"
)

// routine is the list of operations on rows by which the CPU computes the values of
// a [code.List]. The first rows are features.
type routine struct {
	list  *code.List
	need  []bool
	steps []step
	// uniforms are the uniform values at the bound θ.
	uniforms []float64
	// rows are count rows of scratch space of length width.
	rows         [][]float64
	count, width int
	// given is the row that the caller passes as input or output; sums and to
	// receive results.
	given []float64
	sums  []float64
	to    columnTaker
	// features are those of the program; read says which of them steps read as rows.
	// The other steps take the features from measures, which the evaluator shares, of
	// pairs, the row of pairs of the present call.
	features []Feature
	read     []bool
	measures *measures
	pairs    pairs
}

// step is one operation on rows; p and q are uniform values; None means 1 for p and
// 0 for q.
type step struct {
	do    operation
	dst   int
	a, b  int
	p, q  code.ID
	value *code.Value
	index int
	// with and also are the coefficients of a Decay without and of one with t^−1.
	with, also [3]float64
}

type operation func(r *routine, s *step, m int)

// columnTaker receives the weights that a routine computes for the sums by columns.
type columnTaker interface {
	// columns receives the weights of a row of pairs for the c-th sum.
	columns(c int, weights []float64)
}

// given is the number of the row that the caller passes as input or output.
const given = -1

func (r *routine) bind(theta []float64) {
	if r.uniforms == nil {
		r.uniforms = make([]float64, len(r.list.Values))
	}
	r.list.Uniforms(r.uniforms, theta, r.need)
}

// room makes every scratch row at least m long.
func (r *routine) room(m int) {
	if m <= r.width && r.rows != nil {
		return
	}
	r.width = m
	// A cache line between rows of 4 KiB keeps them out of each other's sets.
	stride := (m+7)&^7 + 8
	room := make([]float64, r.count*stride)
	r.rows = make([][]float64, r.count)
	for i := range r.rows {
		r.rows[i] = room[i*stride:][:m:m]
	}
}

// run executes the steps on the pairs p and rows as long as row, which receives the
// result or, for sums, multiplies the values.
func (r *routine) run(row []float64, p pairs) {
	r.room(len(row))
	r.given, r.pairs = row, p
	r.measures.measure(r.rows, r.features, r.read, &r.pairs, len(row))
	for i := range r.steps {
		s := &r.steps[i]
		s.do(r, s, len(row))
	}
	r.given = nil // do not retain the caller's row
}

func (r *routine) row(i, m int) []float64 {
	if i == given {
		return r.given
	}
	return r.rows[i][:m]
}

// p and q return the uniform values of a step.
func (r *routine) p(s *step) float64 {
	if s.p == code.None {
		return 1
	}
	return r.uniforms[s.p]
}

func (r *routine) q(s *step) float64 {
	if s.q == code.None {
		return 0
	}
	return r.uniforms[s.q]
}

// The operations. dst, a and b stand for the rows of those names.

func doFill(r *routine, s *step, m int) {
	dst, p := r.row(s.dst, m), r.p(s)
	for j := range dst {
		dst[j] = p
	}
}

func doScale(r *routine, s *step, m int) {
	vec.Scale(r.row(s.dst, m), r.row(s.a, m), r.p(s))
}

func doAffine(r *routine, s *step, m int) {
	vec.Affine(r.row(s.dst, m), r.row(s.a, m), r.p(s), r.q(s))
}

// doCombine computes p·a + q·b, doAdd a + q·b.
func doCombine(r *routine, s *step, m int) {
	vec.Combine(r.row(s.dst, m), r.row(s.a, m), r.row(s.b, m), r.p(s), r.q(s))
}

func doMul(r *routine, s *step, m int) {
	vec.Mul(r.row(s.dst, m), r.row(s.a, m), r.row(s.b, m))
}

func doInverse(r *routine, s *step, m int) {
	vec.Inverse(r.row(s.dst, m), r.row(s.a, m), r.p(s), r.q(s))
}

// doExp computes q·e^(p·a), with q = 1 if it is None.
func doExp(r *routine, s *step, m int) {
	vec.ExpScaled(r.row(s.dst, m), r.row(s.a, m), r.p(s), r.amplitude(s))
}

// doExpOfDistance is like doExp, with the distance of number a as its argument.
func doExpOfDistance(r *routine, s *step, m int) {
	at, y := r.measures, r.pairs.y
	vec.ExpDistances(r.row(s.dst, m), at.points[s.a], at.weights[s.a], y.X[r.pairs.j0:], y.N, r.features[s.a].Dims, r.p(s), r.amplitude(s))
}

// doSumExpOfDistance multiplies the given row by such an exponential, sums the products
// and passes them on.
func doSumExpOfDistance(r *routine, s *step, m int) {
	at, y, weights := r.measures, r.pairs.y, r.row(s.dst, m)
	r.sums[s.b] = vec.ExpDistancesTimes(weights, r.given, at.points[s.a], at.weights[s.a], y.X[r.pairs.j0:], y.N, r.features[s.a].Dims, r.p(s))
	r.to.columns(s.index, weights)
}

// doDecline computes e^−a.
func doDecline(r *routine, s *step, m int) {
	vec.ExpScaled(r.row(s.dst, m), r.row(s.a, m), -1, 1)
}

// doAddInverse adds the 1/t term, which is in a, to a Decay's polynomial.
func doAddInverse(r *routine, s *step, m int) {
	dst := r.row(s.dst, m)
	vec.Combine(dst, dst, r.row(s.a, m), 1, s.value.Poly[0])
}

// doDamp multiplies by e^−t, which is in a. Where e^−t is 0, even an infinite
// polynomial becomes 0.
func doDamp(r *routine, s *step, m int) {
	dst := r.row(s.dst, m)
	for j, e := range r.row(s.a, m) {
		if e == 0 {
			dst[j] = 0
		} else {
			dst[j] *= e
		}
	}
}

// amplitude returns q as a factor, 1 for None.
func (r *routine) amplitude(s *step) float64 {
	if s.q == code.None {
		return 1
	}
	return r.uniforms[s.q]
}

func doCosine(r *routine, s *step, m int) {
	vec.Cosine(r.row(s.dst, m), r.row(s.a, m), r.p(s), r.amplitude(s))
}

func doSine(r *routine, s *step, m int) {
	vec.Sine(r.row(s.dst, m), r.row(s.a, m), r.p(s), r.amplitude(s))
}

// doCosineSine writes the sine to row b.
func doCosineSine(r *routine, s *step, m int) {
	vec.CosineSine(r.row(s.dst, m), r.row(s.b, m), r.row(s.a, m), r.p(s), 1)
}

func times(v [3]float64, a float64) [3]float64 { return [3]float64{a * v[0], a * v[1], a * v[2]} }

// doDecay takes t = √(p·a).
func doDecay(r *routine, s *step, m int) {
	vec.RootDecay(r.row(s.dst, m), r.row(s.a, m), r.p(s), times(s.with, r.amplitude(s)))
}

// doDecaySlope writes the Decay with t^−1 to row b.
func doDecaySlope(r *routine, s *step, m int) {
	vec.RootDecaySlope(r.row(s.dst, m), r.row(s.b, m), r.row(s.a, m), r.p(s), s.with, s.also)
}

func doPolynomial(r *routine, s *step, m int) {
	vec.Polynomial(r.row(s.dst, m), r.row(s.a, m), s.value.Poly[1:])
}

func doFunction(r *routine, s *step, m int) {
	dst, a, p := r.row(s.dst, m), r.row(s.a, m), r.p(s)
	switch s.value.Op {
	case code.Log1p:
		vec.Log1p(dst, a, p)
	case code.Log:
		vec.Log(dst, a, p)
	case code.Sqrt:
		vec.Sqrt(dst, a, p)
	case code.RootInverse:
		vec.RootInverse(dst, a, p)
	case code.Tanh:
		vec.Tanh(dst, a, p)
	case code.Arcsine:
		vec.Arcsine(dst, a, p)
	case code.Power:
		vec.Power(dst, a, p, r.q(s))
	case code.Positive:
		vec.Positive(dst, a, p, r.q(s))
	case code.Abs:
		vec.Scale(dst, a, p)
		vec.Abs(dst, dst)
	case code.Step:
		vec.Scale(dst, a, p)
		vec.Step(dst, dst)
	case code.LogOrZero:
		vec.Log(dst, a, p)
		for j, v := range a {
			if v == 0 {
				dst[j] = 0
			}
		}
	}
}

// doSum, doDot and doTripleDot sum the given row: alone, times a, and times a and
// b.
func doSum(r *routine, s *step, m int) { r.sums[s.index] = vec.Sum(r.given) }

func doDot(r *routine, s *step, m int) {
	r.sums[s.index] = vec.Dot(r.given, r.row(s.a, m))
}

func doTripleDot(r *routine, s *step, m int) {
	r.sums[s.index] = vec.TripleDot(r.given, r.row(s.a, m), r.row(s.b, m))
}

// doColumns passes on the given row, times a if a exists.
func doColumns(r *routine, s *step, m int) {
	if s.a == given {
		r.to.columns(s.index, r.given)
		return
	}
	weights := r.row(s.dst, m)
	vec.Mul(weights, r.given, r.row(s.a, m))
	r.to.columns(s.index, weights)
}
