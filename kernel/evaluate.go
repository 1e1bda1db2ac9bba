package kernel

import (
	"math"
	"slices"

	"gpfit/kernel/oplist"
	"gpfit/kernel/vec"
)

// Evaluator runs a program on the CPU, a row of pairs at a time. It holds the
// scratch space of one goroutine, so each goroutine needs its own.
type Evaluator struct {
	prog  *Program
	theta []float64
	value routine
	// The first call that needs gradient creates it.
	gradient *gradientRun
	measures measures
	ones     []float64
	// byParameters runs the derivatives as rows; it is nil until the first call that needs them.
	byParameters *derivativeRun
}

// gradientRun runs a program's derivatives.
type gradientRun struct {
	*Gradient
	routine
	// all are the sums of one row of pairs, columnSums the sums by columns among them.
	all        []float64
	columnSums [][]float64
	// assembly are the factors of the sums.
	assembly []float64
	// byInputs runs the derivatives by the features, which the derivatives by the inputs need.
	byInputs *inputRun
}

// bind sets the parameters; the measures have them already.
func (g *gradientRun) bind(theta []float64) {
	g.routine.bind(theta)
	g.assembly = g.Factors(g.assembly[:0], g.measures.inverse, g.uniforms)
}

// columns sums over the columns of a feature.
func (g *gradientRun) columns(c int, weights []float64) {
	k := g.Columns[c].Feature
	g.measures.sumColumns(g.columnSums[c], &g.Features[k], k, weights, &g.pairs)
}

// inputRun runs the derivatives by the inputs.
type inputRun struct {
	routine
	// slopesOf are the features that the value depends on, factors the uniform
	// factors of its derivatives.
	slopesOf []int
	factors  []oplist.ID
	prog     *Program
	// The run writes sums over the row to grad, or a number for each pair and column to slopes.
	grad, slopes []float64
}

func (r *inputRun) columns(c int, weights []float64) {
	k, factor, m := r.slopesOf[c], uniform(r.uniforms, r.factors[c]), len(weights)
	f := &r.prog.Features[k]
	for q, column := range f.Dims {
		row := r.measures.inputSlope(f, k, q, m, &r.pairs)
		switch {
		case row == nil:
		case r.slopes == nil:
			r.grad[column] += factor * vec.Dot(weights, row)
		default:
			vec.Mul(row, row, weights)
			slopes := r.slopes[column*m:][:m]
			vec.Combine(slopes, slopes, row, 1, factor)
		}
	}
}

// NewEvaluator returns an evaluator for prog. Call Bind before use.
func NewEvaluator(prog *Program) *Evaluator {
	e := &Evaluator{prog: prog}
	s := newSelection(prog.List, prog.List.Needed(prog.Value), prog.Features)
	s.result(prog.Value)
	e.value = s.routine(&e.measures)
	return e
}

// Bind sets the parameters θ, in natural units, for the following calls. It does not keep theta.
func (e *Evaluator) Bind(theta []float64) {
	e.theta = append(e.theta[:0], theta...)
	e.measures.bind(e.prog, e.theta)
	e.value.bind(e.theta)
	if e.gradient != nil {
		e.gradient.bind(e.theta)
	}
	if e.gradient != nil && e.gradient.byInputs != nil {
		e.gradient.byInputs.bind(e.theta)
	}
	if e.byParameters != nil {
		e.byParameters.bind(e.theta)
	}
}

// Row writes k(x_i, y_j) for j0 ≤ j < j1 to dst[0 : j1−j0].
func (e *Evaluator) Row(dst []float64, x *Points, i int, y *Points, j0, j1 int) {
	e.value.run(dst[:j1-j0], pairs{x, i, y, j0})
}

// Diagonal writes k(x_i, x_i) for i0 ≤ i < i1 to dst[0 : i1−i0].
func (e *Evaluator) Diagonal(dst []float64, x *Points, i0, i1 int) {
	constant := e.prog.Stationary()
	for i := i0; i < i1; i++ {
		if constant && i > i0 {
			dst[i-i0] = dst[0]
			continue
		}
		e.Row(dst[i-i0:], x, i, x, i, i+1)
	}
}

// RowGradient adds Σ_j adj[j−j0] ∂k(x_i, y_j)/∂log θ_p, over j0 ≤ j < j1, to grad[p] for every p.
func (e *Evaluator) RowGradient(grad, adj []float64, x *Points, i int, y *Points, j0, j1 int) {
	g := e.derivatives()
	g.run(adj[:j1-j0], pairs{x, i, y, j0})
	g.Assemble(grad, g.assembly, g.all)
}

// RowDerivatives writes ∂k(x_i, y_j)/∂log θ_p, j0 ≤ j < j1, to dst[p·(j1−j0)+j−j0] for every
// parameter p. [Evaluator.RowGradient] sums these with weights.
func (e *Evaluator) RowDerivatives(dst []float64, x *Points, i int, y *Points, j0, j1 int) {
	if e.byParameters == nil {
		e.byParameters = newDerivativeRun(e.prog.Gradient(), &e.measures)
		e.byParameters.bind(e.theta)
	}
	e.byParameters.write(dst[:(j1-j0)*e.prog.NumParams], e.unit(j1-j0), pairs{x, i, y, j0})
}

// RowInputGradient adds Σ_j adj[j−j0] ∂k(x_i, y_j)/∂x_i, over j0 ≤ j < j1, to grad, which has D
// elements. Only the first argument varies, even if both points are the same. At a kink of k
// (matern12 at distance 0) it takes the mean of both one-sided derivatives, 0.
func (e *Evaluator) RowInputGradient(grad, adj []float64, x *Points, i int, y *Points, j0, j1 int) {
	e.inputs(adj[:j1-j0], grad[:e.prog.D], nil, pairs{x, i, y, j0})
}

// RowSlopes writes ∂k(x_i, y_j)/∂x_ic, j0 ≤ j < j1, to slopes[c·(j1−j0)+j−j0] for
// every column c. [Evaluator.RowInputGradient] sums these.
func (e *Evaluator) RowSlopes(slopes []float64, x *Points, i int, y *Points, j0, j1 int) {
	m := j1 - j0
	clear(slopes[:m*e.prog.D])
	e.inputs(e.unit(m), nil, slopes, pairs{x, i, y, j0})
}

// unit returns a row of m ones.
func (e *Evaluator) unit(m int) []float64 {
	for len(e.ones) < m {
		e.ones = append(e.ones, 1)
	}
	return e.ones[:m]
}

func (e *Evaluator) inputs(adj, grad, slopes []float64, p pairs) {
	g := e.derivatives()
	if g.byInputs == nil {
		g.byInputs = newInputRun(e.prog, g.Gradient, &e.measures)
		g.byInputs.bind(e.theta)
	}
	r := g.byInputs
	r.grad, r.slopes = grad, slopes
	r.run(adj, p)
}

func (e *Evaluator) derivatives() *gradientRun {
	if e.gradient != nil {
		return e.gradient
	}
	g := e.prog.Gradient()
	s := newSelection(g.List, g.Needed(), g.Features)
	s.sumsAndColumns(g)
	r := &gradientRun{Gradient: g, routine: s.routine(&e.measures), all: make([]float64, g.NumSums())}
	for c := range g.Columns {
		r.columnSums = append(r.columnSums, r.all[g.ColumnOffset(c):g.offsets[c+1]])
	}
	r.sums, r.to = r.all[:len(g.Sums)], r
	r.bind(e.theta)
	e.gradient = r
	return r
}

// newInputRun prepares the derivatives by all features.
func newInputRun(prog *Program, g *Gradient, measures *measures) *inputRun {
	s := newSelection(g.List, g.List.Needed(g.ByFeature...), prog.Features)
	r := &inputRun{prog: prog}
	for f, d := range g.ByFeature {
		if d == oplist.None {
			continue
		}
		factor, core := g.List.Factor(d)
		s.columns(len(r.slopesOf), core)
		r.slopesOf, r.factors = append(r.slopesOf, f), append(r.factors, factor)
	}
	r.routine = s.routine(measures)
	r.to = r
	return r
}

// Homogeneous returns weights w of the elements of θ for which K is homogeneous of
// degree one, K(θ·c^w) = c·K(θ), so that by Euler's theorem
//
//	Σ_p w_p ∂K/∂log θ_p = K.
//
// The weights follow from the parameters' units: signal variances have weight 1,
// and lengthscales that set the size have, for example, −½. Homogeneous checks the
// weights on a few points of x and returns nil if the equation does not hold.
func (p *Program) Homogeneous(x *Points) []float64 {
	weights := make([]float64, p.NumParams)
	theta, scaled := make([]float64, p.NumParams), make([]float64, p.NumParams)
	const factor = 2
	for _, q := range p.Params {
		for i := q.Offset; i < q.Offset+q.Size; i++ {
			weights[i] = q.Units.Target / 2
			theta[i] = 0.6 + 0.15*float64(i*3%5)
			scaled[i] = theta[i] * math.Pow(factor, weights[i])
		}
	}
	before, after := p.sampleOf(x, theta), p.sampleOf(x, scaled)
	largest := 0.0
	for _, v := range before {
		largest = max(largest, math.Abs(v))
	}
	for i, v := range before {
		if !(math.Abs(after[i]-factor*v) <= 1e-10*largest) || math.IsInf(largest, 1) {
			return nil
		}
	}
	return weights
}

// sampleOf returns the covariances between a few points spread over x.
func (p *Program) sampleOf(x *Points, theta []float64) []float64 {
	const most = 8
	m := min(x.N, most)
	e := NewEvaluator(p)
	e.Bind(theta)
	out := make([]float64, 0, m*m)
	value := make([]float64, 1)
	for i := range m {
		for j := range m {
			b := j * (x.N - 1) / max(m-1, 1)
			e.Row(value, x, i*(x.N-1)/max(m-1, 1), x, b, b+1)
			out = append(out, value[0])
		}
	}
	return out
}

// Bilinear reports whether k(x, x′) = b + Σ_c a_c x_c x′_c, with b and a_c that depend
// on θ alone, as for sums of linear and constant.
func (p *Program) Bilinear() bool {
	if slices.ContainsFunc(p.Features, func(f Feature) bool { return f.Kind != InnerProduct }) {
		return false
	}
	g := p.Gradient()
	return !slices.ContainsFunc(g.ByFeature, func(slope oplist.ID) bool { return slope != oplist.None && !g.List.At(slope).Uniform })
}

// QuadraticGradient adds factor·vᵀ(∂K/∂log θ_p)v to grad[p] for every p, where K is the
// covariance matrix of the points x under a program that is [Program.Bilinear]. It takes
//
//	vᵀKv = b(Σ_i v_i)² + Σ_c a_c(Σ_i v_i x_ic)²
//
// with derivatives of b = k(0, 0) and 2a_c = k(e_c, e_c) − k(e_c, −e_c) for the c-th
// unit vector e_c. The sums may be much smaller than their terms. Then the sum over all
// pairs, Σ_ij v_i v_j k(x_i, x_j), would cancel, too, and rounding k would change it
// more than rounding v and x changes these sums.
func (e *Evaluator) QuadraticGradient(grad []float64, factor float64, v []float64, x *Points) {
	ends := &Points{N: 2, D: x.D, X: make([]float64, 2*x.D)} // e_c and −e_c
	for c := range x.D {
		sum := vec.Dot(x.Column(c), v)
		half := factor * sum * sum / 2
		end := ends.Column(c)
		end[0], end[1] = 1, -1
		e.RowGradient(grad, []float64{half, -half}, ends, 0, ends, 0, 2)
		end[0], end[1] = 0, 0
	}
	sum := vec.Sum(v)
	e.RowGradient(grad, []float64{factor * sum * sum}, ends, 0, ends, 0, 1) // at the origin
}
