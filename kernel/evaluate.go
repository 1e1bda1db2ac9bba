package kernel

import "gpfit/kernel/code"

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
}

// gradientRun runs a program's derivatives.
type gradientRun struct {
	*Gradient
	routine
	// columnSums are the sums by columns of one row of pairs.
	columnSums [][]float64
	// byInputs runs the derivatives by the features, which the derivatives by the
	// inputs need.
	byInputs *inputRun
	measures *measures
	pairs    pairs
}

// columns sums over the columns of a feature.
func (g *gradientRun) columns(c int, weights []float64) {
	k := g.Columns[c].Feature
	g.measures.sumColumns(g.columnSums[c], &g.Features[k], k, weights, g.pairs)
}

// inputRun runs the derivatives by the inputs.
type inputRun struct {
	routine
	// features are the features that the value depends on, factors the uniform
	// factors of its derivatives.
	features []int
	factors  []code.ID
	prog     *Program
	measures *measures
	pairs    pairs
	// The run writes sums over the row to grad, or a number for each pair and
	// column to slopes.
	grad, slopes []float64
}

func (r *inputRun) columns(c int, weights []float64) {
	k := r.features[c]
	if r.slopes != nil {
		r.measures.addSlopes(r.slopes, &r.prog.Features[k], k, uniform(r.uniforms, r.factors[c]), weights, r.pairs)
		return
	}
	r.measures.addInputs(r.grad, &r.prog.Features[k], k, uniform(r.uniforms, r.factors[c]), weights, r.pairs)
}

// NewEvaluator returns an evaluator for prog. Call Bind before use.
func NewEvaluator(prog *Program) *Evaluator {
	e := &Evaluator{prog: prog}
	s := newSelection(prog.List, prog.List.Needed(prog.Value), len(prog.Features))
	s.result(prog.Value)
	e.value = s.routine()
	return e
}

// Bind sets the parameters θ, in natural units, for the following calls. It does
// not keep theta.
func (e *Evaluator) Bind(theta []float64) {
	e.theta = append(e.theta[:0], theta...)
	e.value.bind(e.theta)
	if e.gradient != nil {
		e.gradient.bind(e.theta)
	}
	if e.gradient != nil && e.gradient.byInputs != nil {
		e.gradient.byInputs.bind(e.theta)
	}
	e.measures.bind(e.prog, e.theta)
}

// Row writes k(x_i, y_j) for j0 ≤ j < j1 to dst[0 : j1−j0].
func (e *Evaluator) Row(dst []float64, x *Points, i int, y *Points, j0, j1 int) {
	m := j1 - j0
	e.value.room(m)
	e.measures.measure(e.value.rows, e.prog.Features, pairs{x, i, y, j0}, m)
	e.value.run(dst[:m])
}

// Diagonal writes k(x_i, x_i) for i0 ≤ i < i1 to dst[0 : i1−i0].
func (e *Evaluator) Diagonal(dst []float64, x *Points, i0, i1 int) {
	if !e.prog.Stationary() {
		for i := i0; i < i1; i++ {
			e.Row(dst[i-i0:], x, i, x, i, i+1)
		}
		return
	}
	m := i1 - i0
	e.value.room(m)
	for f := range e.prog.Features {
		clear(e.value.rows[f][:m])
	}
	e.value.run(dst[:m])
}

// RowGradient adds Σ_j adj[j−j0] ∂k(x_i, y_j)/∂log θ_p, over j0 ≤ j < j1, to
// grad[p] for every p.
func (e *Evaluator) RowGradient(grad, adj []float64, x *Points, i int, y *Points, j0, j1 int) {
	g, m := e.derivatives(), j1-j0
	g.room(m)
	g.pairs = pairs{x, i, y, j0}
	e.measures.measure(g.rows, g.Features, g.pairs, m)
	g.run(adj[:m])
	g.Assemble(grad, e.measures.inverse, g.uniforms, g.sums, g.columnSums)
}

// RowInputGradient adds Σ_j adj[j−j0] ∂k(x_i, y_j)/∂x_i, over j0 ≤ j < j1, to grad,
// which has D elements. Only the first argument varies, even if both points are the
// same. At a kink of k (matern12 at distance 0) it takes the mean of both one-sided
// derivatives, 0.
func (e *Evaluator) RowInputGradient(grad, adj []float64, x *Points, i int, y *Points, j0, j1 int) {
	e.inputs(adj[:j1-j0], grad[:e.prog.D], nil, pairs{x, i, y, j0})
}

// RowSlopes writes ∂k(x_i, y_j)/∂x_ic, j0 ≤ j < j1, to slopes[c·(j1−j0)+j−j0] for
// every column c. [Evaluator.RowInputGradient] sums these.
func (e *Evaluator) RowSlopes(slopes []float64, x *Points, i int, y *Points, j0, j1 int) {
	m := j1 - j0
	for len(e.ones) < m {
		e.ones = append(e.ones, 1)
	}
	clear(slopes[:m*e.prog.D])
	e.inputs(e.ones[:m], nil, slopes, pairs{x, i, y, j0})
}

func (e *Evaluator) inputs(adj, grad, slopes []float64, p pairs) {
	g, m := e.derivatives(), len(adj)
	if g.byInputs == nil {
		g.byInputs = newInputRun(e.prog, g.Gradient, &e.measures)
		g.byInputs.bind(e.theta)
	}
	r := g.byInputs
	r.room(m)
	r.pairs, r.grad, r.slopes = p, grad, slopes
	e.measures.measure(r.rows, e.prog.Features, p, m)
	r.run(adj)
}

func (e *Evaluator) derivatives() *gradientRun {
	if e.gradient != nil {
		return e.gradient
	}
	g := e.prog.Gradient()
	s := newSelection(g.List, g.Needed(), len(g.Features))
	r := &gradientRun{Gradient: g, measures: &e.measures}
	for _, v := range g.Sums { // before the columns, which fill the cache
		s.sum(v)
	}
	for _, c := range g.Columns {
		s.columns(c.Weight)
		f := &g.Features[c.Feature]
		size := len(f.Dims)
		if f.Kind == SinSquares {
			size *= 2
		}
		r.columnSums = append(r.columnSums, make([]float64, size))
	}
	r.routine = s.routine()
	r.routine.sums, r.to = make([]float64, len(g.Sums)), r
	r.bind(e.theta)
	e.gradient = r
	return r
}

// newInputRun prepares the derivatives by all features.
func newInputRun(prog *Program, g *Gradient, measures *measures) *inputRun {
	s := newSelection(g.List, g.List.Needed(g.ByFeature...), len(prog.Features))
	r := &inputRun{prog: prog, measures: measures}
	for f, d := range g.ByFeature {
		if d == code.None {
			continue
		}
		factor, core := g.List.Factor(d)
		s.columns(core)
		r.features, r.factors = append(r.features, f), append(r.factors, factor)
	}
	r.routine = s.routine()
	r.to = r
	return r
}
