package kernel

import (
	"math"

	"gpfit/kernel/oplist"
	"gpfit/kernel/vec"
)

// routine is the list of operations on rows by which the CPU computes the values of
// a [oplist.List]. The first rows are features.
type routine struct {
	list  *oplist.List
	need  []bool
	steps []step
	// uniforms are the uniform values at the bound θ.
	uniforms []float64
	// rows are count rows of scratch space of length width.
	rows         [][]float64
	count, width int
	// given is the row that the caller passes as input or output; sums and to receive results.
	given []float64
	sums  []float64
	to    columnTaker
	// features are the program's features; read says which of them steps read as
	// rows. The other steps take the features from measures, which the evaluator
	// shares, of pairs, the row of pairs of the present call.
	features []Feature
	read     []bool
	measures *measures
	pairs    pairs
	seconds  seconds
}

// step is one operation on rows; p and q are uniform values; None means 1 for p and 0 for q.
type step struct {
	do   operation
	dst  int
	a, b int
	// by is the row of a factor of a that is the same in the whole row, or none; also is one of b.
	by, also int
	p, q     oplist.ID
	value    *oplist.Value
	index    int
	// single steps compute the first element only, because all are equal.
	single bool
	// with and pole are the coefficients of a Decay without and of one with t^−1.
	with, pole [3]float64
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
	r.seconds.forget()
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
	r.seconds.run(r, len(row))
	r.measures.measure(r.rows, r.features, r.read, &r.pairs, len(row))
	for i := range r.steps {
		s, m := &r.steps[i], len(row)
		if s.single {
			m = 1
		}
		s.do(r, s, m)
	}
	r.given = nil // do not retain the caller's row
}

// doSpread sets all elements of a row to the first.
func doSpread(r *routine, s *step, m int) {
	dst := r.row(s.dst, m)
	for filled := 1; filled < m; filled *= 2 {
		copy(dst[filled:], dst[:filled])
	}
}

func (r *routine) row(i, m int) []float64 {
	if i == given {
		return r.given
	}
	return r.rows[i][:m]
}

// p, q and amplitude return uniform values of a step; None is 1, 0 and 1.
func (r *routine) p(s *step) float64         { return r.uniformOr(s.p, 1) }
func (r *routine) q(s *step) float64         { return r.uniformOr(s.q, 0) }
func (r *routine) amplitude(s *step) float64 { return r.uniformOr(s.q, 1) }

func (r *routine) uniformOr(v oplist.ID, none float64) float64 {
	if v == oplist.None {
		return none
	}
	return r.uniforms[v]
}

// The operations. dst, a and b stand for the rows of those names.

// withP is f(dst, a, p).
func withP(f func(dst, a []float64, p float64)) operation {
	return func(r *routine, s *step, m int) { f(r.row(s.dst, m), r.row(s.a, m), r.p(s)) }
}

// withPQ is f(dst, a, p, q).
func withPQ(f func(dst, a []float64, p, q float64)) operation {
	return func(r *routine, s *step, m int) { f(r.row(s.dst, m), r.row(s.a, m), r.p(s), r.q(s)) }
}

// amplified is q·f(p·a), with q = 1 if it is None.
func amplified(f func(dst, a []float64, p, amplitude float64)) operation {
	return func(r *routine, s *step, m int) { f(r.row(s.dst, m), r.row(s.a, m), r.p(s), r.amplitude(s)) }
}

var (
	doScale   = withP(vec.Scale)
	doAffine  = withPQ(vec.Affine)
	doInverse = withPQ(vec.Inverse)
	doExp     = amplified(vec.ExpScaled)
	doCosine  = amplified(vec.Cosine)
	doSine    = amplified(vec.Sine)
	// doDecline computes e^−a.
	doDecline = withP(func(dst, a []float64, _ float64) { vec.ExpScaled(dst, a, -1, 1) })
)

// functions are the operations of other functions of one value.
var functions = map[oplist.Op]operation{
	oplist.Log1p: withP(vec.Log1p), oplist.Log: withP(vec.Log), oplist.Sqrt: withP(vec.Sqrt), oplist.RootInverse: withP(vec.RootInverse),
	oplist.Tanh: withP(vec.Tanh), oplist.Arcsine: withP(vec.Arcsine), oplist.Erf: withP(erf), oplist.Sinc: doSinc, oplist.Power: withPQ(vec.Power), oplist.Positive: withPQ(vec.Positive),
	oplist.Abs:       withP(func(dst, a []float64, p float64) { vec.Scale(dst, a, p); vec.Abs(dst, dst) }),
	oplist.Step:      withP(func(dst, a []float64, p float64) { vec.Scale(dst, a, p); vec.Step(dst, dst) }),
	oplist.LogOrZero: withP(logOrZero),
}

func logOrZero(dst, a []float64, p float64) {
	vec.Log(dst, a, p)
	for j, v := range a {
		if v == 0 {
			dst[j] = 0
		}
	}
}

func erf(dst, a []float64, p float64) {
	for j, v := range a {
		dst[j] = math.Erf(p * v)
	}
}

func doSinc(r *routine, s *step, m int) {
	dst, p, f := r.row(s.dst, m), r.p(s), oplist.SincOf(s.value.Index)
	for j, v := range r.row(s.a, m) {
		dst[j] = f(p * v)
	}
}

// doPowerOfLog computes a power from the logarithm a, which is 0 where the base b is. The error
// grows with the exponent of e, unlike the error of vec.Power, which the values have.
func doPowerOfLog(r *routine, s *step, m int) {
	dst, base, q := r.row(s.dst, m), r.row(s.b, m), r.q(s)
	vec.ExpScaled(dst, r.row(s.a, m), q, 1)
	if q > 0 {
		step := r.measures.scratch(m)
		vec.Step(step, base)
		vec.Mul(dst, dst, step)
		return
	}
	for j, v := range base {
		if v == 0 {
			dst[j] = math.Pow(0, q)
		}
	}
}

func doFill(r *routine, s *step, m int) {
	dst, p := r.row(s.dst, m), r.p(s)
	for j := range dst {
		dst[j] = p
	}
}

// doCombine computes p·a + q·b.
func doCombine(r *routine, s *step, m int) {
	vec.Combine(r.row(s.dst, m), r.row(s.a, m), r.row(s.b, m), r.p(s)*r.factor(s.by), r.q(s)*r.factor(s.also))
}

func doMul(r *routine, s *step, m int) {
	vec.Mul(r.row(s.dst, m), r.row(s.a, m), r.row(s.b, m))
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

// doAddInverse adds the 1/t term, which is in a, to a Decay's polynomial.
func doAddInverse(r *routine, s *step, m int) {
	dst := r.row(s.dst, m)
	vec.Combine(dst, dst, r.row(s.a, m), 1, s.value.Poly[0])
}

// doDamp multiplies by e^−t, which is in a. Where e^−t is 0, even an infinite polynomial becomes 0.
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

// doCosineSine writes the sine to row b.
func doCosineSine(r *routine, s *step, m int) {
	vec.CosineSine(r.row(s.dst, m), r.row(s.b, m), r.row(s.a, m), r.p(s), 1)
}

// doDecay takes t = √(p·a).
func doDecay(r *routine, s *step, m int) {
	poly, q := s.with, r.amplitude(s)
	for i := range poly {
		poly[i] *= q
	}
	vec.RootDecay(r.row(s.dst, m), r.row(s.a, m), r.p(s), poly)
}

// doDecaySlope writes the Decay with t^−1 to row b.
func doDecaySlope(r *routine, s *step, m int) {
	vec.RootDecaySlope(r.row(s.dst, m), r.row(s.b, m), r.row(s.a, m), r.p(s), s.with, s.pole)
}

func doPolynomial(r *routine, s *step, m int) {
	vec.Polynomial(r.row(s.dst, m), r.row(s.a, m), s.value.Poly[1:])
}

// none stands for no row.
const none = -3

// factor returns a factor that is the same in the whole row, 1 for none.
func (r *routine) factor(row int) float64 {
	if row == none {
		return 1
	}
	return r.rows[row][0]
}

// doScaleBy multiplies a by such a factor.
func doScaleBy(r *routine, s *step, m int) { vec.Scale(r.row(s.dst, m), r.row(s.a, m), r.factor(s.by)) }

// doSum, doDot and doTripleDot sum the given row: alone, times a, and times a and b.
func doSum(r *routine, s *step, m int) { r.sums[s.index] = vec.Sum(r.given) }

func doDot(r *routine, s *step, m int) {
	r.sums[s.index] = vec.Dot(r.given, r.row(s.a, m)) * r.factor(s.by)
}

func doTripleDot(r *routine, s *step, m int) {
	r.sums[s.index] = vec.TripleDot(r.given, r.row(s.a, m), r.row(s.b, m)) * r.factor(s.by)
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

// seconds computes the values that depend only on the second point. They are the same in all rows
// of a matrix, so it keeps them, in pieces that it computes when a row first needs them.
type seconds struct {
	features []int
	steps    []step
	// rows are the numbers of the rows that the features and the steps fill, and values these rows for
	// all points. coordinates are the columns of the features that they come from.
	rows                []int
	values, coordinates [][]float64
	// known says which pieces have been computed.
	known []bool
}

const (
	// piece is the number of points whose values are computed together.
	piece = 64
	// mostKept is the number of points up to which all values are kept.
	mostKept = 1 << 18
)

// forget marks all values as unknown.
func (s *seconds) forget() { clear(s.known) }

// run sets the rows of r to the values for the m points from j0 on.
func (s *seconds) run(r *routine, m int) {
	if len(s.rows) == 0 {
		return
	}
	n, j0 := r.pairs.y.N, r.pairs.j0
	if n > mostKept {
		n, j0 = m, 0 // only the present points
		s.forget()
	}
	s.room(r, n)
	if !s.holds(r, j0, m) {
		s.forget()
	}
	for k := j0 / piece; k*piece < j0+m; k++ {
		if !s.known[k] {
			s.compute(r, k*piece, min((k+1)*piece, n), r.pairs.j0-j0)
			s.known[k] = true
		}
	}
	for i, row := range s.rows {
		r.rows[row] = s.values[i][j0 : j0+m]
	}
}

// room makes space for n points.
func (s *seconds) room(r *routine, n int) {
	if s.values != nil && len(s.values[0]) == n {
		return
	}
	columns := 0
	for _, k := range s.features {
		columns += len(r.features[k].Dims)
	}
	rows := func(count int) [][]float64 {
		out := make([][]float64, count)
		for i := range out {
			out[i] = make([]float64, n)
		}
		return out
	}
	s.values, s.coordinates, s.known = rows(len(s.rows)), rows(columns), make([]bool, (n+piece-1)/piece)
}

// compute fills the values from j on, below end. The first of the values belongs to point shift.
func (s *seconds) compute(r *routine, j, end, shift int) {
	for i, row := range s.rows {
		r.rows[row] = s.values[i][j:end]
	}
	y := r.pairs.y.X[shift+j:]
	at := 0
	for _, k := range s.features {
		f := &r.features[k]
		r.measures.ofOnePoint(r.rows[k], f, r.measures.points[k], r.measures.weights[k], y, r.pairs.y.N)
		for _, c := range f.Dims {
			copy(s.coordinates[at][j:end], y[c*r.pairs.y.N:])
			at++
		}
	}
	for i := range s.steps {
		s.steps[i].do(r, &s.steps[i], end-j)
	}
}

// holds reports whether the values that are known of the m present points are theirs, whatever the
// address of their coordinates.
func (s *seconds) holds(r *routine, j0, m int) bool {
	at := 0
	for _, k := range s.features {
		for _, c := range r.features[k].Dims {
			present := r.pairs.others()[c*r.pairs.y.N:][:m]
			held := s.coordinates[at]
			for p := j0 / piece; p*piece < j0+m; p++ {
				from, to := max(p*piece, j0), min((p+1)*piece, j0+m)
				if s.known[p] && !vec.Equal(held[from:to], present[from-j0:]) {
					return false
				}
			}
			at++
		}
	}
	return true
}
