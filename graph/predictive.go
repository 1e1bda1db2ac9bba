package graph

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"gpfit/cpu/spd"
	"gpfit/device"
	"gpfit/internal/score"
)

// LeverageError reports a point, or a fold of them, that has no prediction because the
// other points do not determine the mean's coefficients.
type LeverageError struct {
	// Index is the number of the point, or of the fold, from 0.
	Index int
	Fold  bool
}

func (e *LeverageError) Error() string {
	without, criterion, or := "point", "leave-one-out", ""
	if e.Fold {
		without, criterion, or = "fold", "cross-validation", " or more folds"
	}
	return fmt.Sprintf("without %s %d (counted from 0) the data do not determine the coefficients of the mean: %s needs a simpler mean function%s", without, e.Index, criterion, or)
}

// predictions are the state of a leave-one-out criterion for the solver's alpha. Each target
// is predicted from all others at the same parameters, with the error a_i = α_i/q_i and the variance v_i = 1/q_i, where α = Qr,
// q = diag(Q) and Q = Σ⁻¹ (Rasmussen & Williams 2006, eq. 5.10 to 5.12). One criterion
// is the negative log predictive density, summed over the T targets:
//
//	f = Σ_t Σ_i −½ log q_i + α_ti²/(2q_i) + ½ log 2π.
//
// The other is the squared error, with M_t = 1/n Σ_i a_ti²:
//
//	f = Σ_t ½n(log(2πM_t) + 1) + ½nT(s − 1 − log s),  s = 1/(nT) Σ_t Σ_i α_ti²/q_i.
//
// Its first part is the negative log density of the errors under one common variance.
// The errors do not change if all variances of Σ are multiplied by a number; the second
// part, which is 0 at s = 1 and positive elsewhere, chooses that number: at the optimum
// the mean squared standardized error is 1 (Sundararajan & Keerthi, Neural Computation
// 13 (2001), 1103; Bachoc, Computational Statistics & Data Analysis 66 (2013), 55).
//
// If the solver finds the mean's coefficients by generalized least squares, they are
// refitted without each point: Q = Σ⁻¹ − Σ⁻¹H(HᵀΣ⁻¹H)⁻¹HᵀΣ⁻¹ (Dubrule, Mathematical
// Geology 15 (1983), 687), and because HᵀQ = 0, Qy = Q(y − Hβ̂).
//
// The derivatives for the adjoint g of f follow from dQ = −Q dΣ Q, which holds with
// and without coefficients (eq. 5.13):
//
//	Σ receives g(Q·diag(h)·Q − ½Σ_t(α_t b_tᵀ + b_t α_tᵀ)),  r receives gb,
//	b = Qp,  p_ti = ∂f/∂α_ti,  h_i = −∂f/∂q_i.
//
// If the solver has folds of rows, all rows of a fold are predicted from the rows of the other
// folds. With V = (Q_II)⁻¹ for the rows I of a fold, their errors are a_I = Vα_I and their
// covariance is V, of which v is the diagonal (Sundararajan & Keerthi; Ginsbourger & Schärer,
// arXiv 2101.03108). The criteria are the same functions of a and v. From dV = −V dQ_II V follow,
// with e = ∂f/∂a and h = ∂f/∂v, the p and the W that the formulas need in place of diag(h):
//
//	p_I = ∂f/∂α_I = Ve_I,  W = −∂f/∂Q_II = V·diag(h)·V + ½Σ_t(p_t a_tᵀ + a_t p_tᵀ).
type predictions struct {
	// density is the negative log predictive density.
	density float64
	// squares are the mean squared errors M of the targets, standardized is s.
	squares      []float64
	standardized float64
	// squaredError says which criterion is the objective.
	squaredError bool
	// a and p are n×T. v and h have n elements; of single rows, v holds q instead. w (n×q,
	// column-major) whitens the mean, Q = Σ⁻¹ − wwᵀ; it is nil without fitted coefficients.
	a, p, v, h, w []float64
	// b is Qp, nil until it is needed.
	b []float64
	// scale is the factor of W in the blocks of folding, which hold V before; then it is 0.
	scale float64
}

// folding holds what the predictions of folds need.
type folding struct {
	// ends are the ends of the folds, nil for single rows.
	ends []int
	// engine, which has that many threads, and the other fields are nil until needed.
	threads int
	engine  *spd.Engine
	blocks  *device.Blocks
	matrix  *spd.Symmetric
}

// leftOut computes the predictions of a leave-one-out criterion with the factorization of the solver.
type leftOut struct {
	*solver
	squaredError bool // which of the criteria is the objective
	// left are the predictions of single rows, held the predictions of folds; nil until needed.
	left, held *predictions
	folds      folding
}

// forget drops the predictions, because the parameters have changed.
func (s *leftOut) forget() { s.left, s.held = nil, nil }

// latest returns the predictions of folds or else of single rows, nil if none were needed.
func (s *leftOut) latest() *predictions { return cmp.Or(s.held, s.left) }

// predicted returns the predictions at the parameters of the last nlml.
func (s *leftOut) predicted() (*predictions, error) {
	if s.folds.ends == nil {
		return s.leaveOneOut()
	}
	return s.foldsOut()
}

// objective returns the value of the criterion.
func (l *predictions) objective() float64 {
	if !l.squaredError {
		return l.density
	}
	rows := len(l.a) / len(l.squares)
	n, all := float64(rows), float64(rows*len(l.squares))
	f := all / 2 * (l.standardized - 1 - math.Log(l.standardized))
	for _, m := range l.squares {
		f += score.NegLogNormal(n, n*math.Log(m), rows)
	}
	return f
}

// leaveOneOut returns the predictions of single rows. It costs 2n³/3 operations; a
// contraction that follows reuses half of them.
func (s *leftOut) leaveOneOut() (*predictions, error) {
	if s.left != nil {
		return s.left, nil
	}
	n := s.ws.N()
	l := s.newPredictions()
	inverse, err := device.Capability[device.InverseDiagonal](s.ws, "the diagonal of the inverse, which leave-one-out needs")
	if err != nil {
		return nil, err
	}
	if err := s.restore(); err != nil {
		return nil, err
	}
	q := l.v
	if err := inverse.InverseDiagonal(s.ctx, q); err != nil {
		s.formed, s.solved = false, false
		return nil, err
	}
	kappa := slices.Clone(q)
	for j := 0; j < len(l.w); j += n {
		for i, v := range l.w[j : j+n] {
			q[i] -= v * v
		}
	}
	for i, v := range q {
		// Cancellation can turn a zero difference into ε·κ.
		if !(v > 1e-12*kappa[i]) {
			return nil, &LeverageError{Index: i}
		}
	}
	for k, alpha := range s.alpha {
		l.a[k] = alpha / q[k%n]
		l.density += score.NegLogNormal(alpha*l.a[k], -math.Log(q[k%n]), 1)
		l.squares[k/n] += l.a[k] * l.a[k] / float64(n)
		l.standardized += alpha * l.a[k] / float64(len(s.alpha))
	}
	l.slopes(s.alpha)
	s.left = l
	return l, nil
}

// slopes computes p and, in h, −∂f/∂q of the predictions of single rows.
func (l *predictions) slopes(alpha []float64) {
	n := len(l.v)
	for k, a := range l.a {
		q := l.v[k%n]
		if l.squaredError {
			l.p[k] = a/(q*l.squares[k/n]) + (1-1/l.standardized)*a
			l.h[k%n] += a * a * (1/(q*l.squares[k/n]) + (1-1/l.standardized)/2)
		} else {
			l.p[k] = a
			l.h[k%n] += (1 + alpha[k]*a) / 2 / q
		}
	}
}

// newPredictions returns predictions with the whitened mean.
func (s *leftOut) newPredictions() *predictions {
	n, all := s.ws.N(), len(s.alpha)
	l := &predictions{squaredError: s.squaredError, squares: make([]float64, s.targets)}
	l.v, l.h, l.a, l.p = make([]float64, n), make([]float64, n), make([]float64, all), make([]float64, all)
	if len(s.h) > 0 {
		l.w = s.whitened()
	}
	return l
}

// whitened returns W (n×q, column-major) with WWᵀ = Σ⁻¹H(HᵀΣ⁻¹H)⁻¹HᵀΣ⁻¹.
func (s *leftOut) whitened() []float64 {
	n := s.ws.N()
	q := len(s.h) / n
	rows := transposed(s.solvedH, q, n)
	s.gls.Whiten(rows)
	return transposed(rows, n, q)
}

// transposed returns the transpose of a row-major n×m matrix.
func transposed(x []float64, n, m int) []float64 {
	out := make([]float64, len(x))
	for i := range n {
		for j := range m {
			out[j*n+i] = x[i*m+j]
		}
	}
	return out
}

// foldsOut returns the predictions of folds.
func (s *leftOut) foldsOut() (*predictions, error) {
	if s.held != nil {
		return s.held, nil
	}
	inverse, err := device.Capability[device.BlockInverse](s.ws, "blocks of the inverse, which K-fold cross-validation needs")
	if err != nil {
		return nil, err
	}
	f := &s.folds
	if f.blocks == nil {
		f.blocks = device.NewBlocks(f.ends)
		if f.engine, err = spd.Open(f.threads); err != nil {
			return nil, err
		}
	}
	if err := s.restore(); err != nil {
		return nil, err
	}
	if err := inverse.InverseBlocks(s.ctx, f.blocks); err != nil {
		s.formed, s.solved = false, false
		return nil, err
	}
	l := s.newPredictions()
	n, fold := s.ws.N(), 0
	if err := f.blocks.Each(func(first, m int, v []float64) error {
		if err := s.ctx.Err(); err != nil {
			return err
		}
		if err := s.invertFold(l.w, fold, first, m, v); err != nil {
			return err
		}
		for t := 0; t < len(s.alpha); t += n {
			multiplyBlock(m, v, s.alpha[t+first:], l.a[t+first:])
		}
		for i := range m {
			l.v[first+i] = v[i*m+i]
		}
		fold++
		return nil
	}); err != nil {
		return nil, err
	}
	l.p = multiplyBlocks(f.blocks, l.scoreFolds())
	s.held = l
	return l, nil
}

// space returns room for the computations with a fold of m rows.
func (f *folding) space(m int) *spd.Symmetric {
	if f.matrix == nil || f.matrix.N() != m {
		f.matrix = f.engine.New(m)
	}
	return f.matrix
}

// invertFold replaces the block of Σ⁻¹ for the rows of a fold by V, both halves.
func (s *leftOut) invertFold(w []float64, fold, first, m int, v []float64) error {
	n := s.ws.N()
	kappa := make([]float64, m)
	for i := range m {
		kappa[i] = v[i*m+i]
		for j := 0; j < len(w); j += n {
			floats.AddScaled(v[i*m:(i+1)*m], -w[j+first+i], w[j+first:j+first+m])
		}
	}
	q := s.folds.space(m)
	q.Load(v)
	minor, err := q.Factor(s.ctx, 0, nil)
	if err != nil {
		return err
	}
	if minor > 0 {
		if len(w) > 0 {
			return &LeverageError{Index: fold, Fold: true}
		}
		return &device.NotPDError{Minor: first + minor, N: n}
	}
	for i, pivot := range q.FactorDiagonal() {
		// As in leaveOneOut.
		if len(w) > 0 && !(pivot*pivot > 1e-12*kappa[i]) {
			return &LeverageError{Index: fold, Fold: true}
		}
	}
	if err := q.Invert(s.ctx, nil); err != nil {
		return err
	}
	q.Inverse(v)
	return nil
}

// multiplyBlock writes the product of the m×m matrix v with the first numbers of x to y.
func multiplyBlock(m int, v, x, y []float64) {
	for i := range m {
		y[i] = floats.Dot(v[i*m:(i+1)*m], x[:m])
	}
}

// multiplyBlocks returns the product of a block-diagonal matrix with the n×q matrix x.
func multiplyBlocks(b *device.Blocks, x []float64) []float64 {
	out, n := make([]float64, len(x)), b.Ends[len(b.Ends)-1]
	_ = b.Each(func(first, m int, elements []float64) error {
		for j := first; j < len(x); j += n {
			multiplyBlock(m, elements, x[j:], out[j:])
		}
		return nil
	})
	return out
}

// scoreFolds computes the criteria and h, and returns e.
func (l *predictions) scoreFolds() (e []float64) {
	n := len(l.v)
	for k, a := range l.a {
		v := l.v[k%n]
		l.density += score.NegLogNormal(a*a/v, math.Log(v), 1)
		l.squares[k/n] += a * a / float64(n)
		l.standardized += a * a / v / float64(len(l.a))
	}
	e = make([]float64, len(l.a))
	for k, a := range l.a {
		i := k % n
		v := l.v[i]
		if l.squaredError {
			excess := 1 - 1/l.standardized
			e[k] = a/l.squares[k/n] + excess*a/v
			l.h[i] -= excess * a * a / (2 * v * v)
		} else {
			e[k] = a / v
			l.h[i] += (1 - a*a/v) / (2 * v)
		}
	}
	return e
}

// foldMiddle returns g times the middle term W, which takes the place of V.
func (s *leftOut) foldMiddle(g float64) (*device.Blocks, error) {
	l, blocks := s.held, s.folds.blocks
	if l.scale != 0 {
		floats.Scale(g/l.scale, blocks.Elements)
		l.scale = g
		return blocks, nil
	}
	n := s.ws.N()
	if err := blocks.Each(func(first, m int, v []float64) error {
		q, h := s.folds.space(m), slices.Clone(l.h[first:first+m])
		floats.Scale(g, h)
		q.LoadInverse(v)
		if err := q.WeighInverse(s.ctx, h, v); err != nil {
			return err
		}
		for t := first; t < len(l.a); t += n {
			a, p := l.a[t:t+m], l.p[t:t+m]
			for i := range m {
				floats.AddScaled(v[i*m:(i+1)*m], g/2*p[i], a)
				floats.AddScaled(v[i*m:(i+1)*m], g/2*a[i], p)
			}
		}
		return nil
	}); err != nil {
		s.held = nil
		return nil, err
	}
	l.scale = g
	return blocks, nil
}

// slope returns b = Qp, n×T, with Q = Σ⁻¹ − wwᵀ.
func (s *leftOut) slope() ([]float64, error) {
	l, err := s.predicted()
	if err != nil {
		return nil, err
	}
	if l.b != nil {
		return l.b, nil
	}
	n, b := s.ws.N(), slices.Clone(l.p)
	if err := s.ws.Solve(s.ctx, b, s.targets); err != nil {
		s.formed, s.solved = false, false
		return nil, err
	}
	for t := 0; t < len(b); t += n {
		for j := 0; j < len(l.w); j += n {
			w := l.w[j : j+n]
			floats.AddScaled(b[t:t+n], -floats.Dot(w, l.p[t:t+n]), w)
		}
	}
	l.b = b
	return b, nil
}

// contract contracts g times the adjoint of Σ under the criterion of leave-one-out.
func (s *leftOut) contract(g float64) error {
	n := s.ws.N()
	b, err := s.slope()
	if err != nil {
		return err
	}
	var adj device.Adjoint
	for t := 0; t < len(b); t += n {
		addPair(&adj, -g/2, s.alpha[t:t+n], b[t:t+n])
	}
	if s.folds.ends != nil {
		middle, err := s.foldMiddle(g)
		if err != nil {
			return err
		}
		if err := s.addWhitened(&adj, s.held.w, multiplyBlocks(middle, s.held.w)); err != nil {
			return err
		}
		adj.Blocks = middle
		return s.ws.Contract(s.ctx, adj, s.prog, s.theta, s.grad, s.diag)
	}
	middle := floats.ScaleTo(make([]float64, n), g, s.left.h)
	product := slices.Clone(s.left.w)
	for j := 0; j < len(product); j += n {
		floats.Mul(product[j:j+n], middle)
	}
	if err := s.addWhitened(&adj, s.left.w, product); err != nil {
		return err
	}
	adj.Diagonal = middle
	return s.ws.Contract(s.ctx, adj, s.prog, s.theta, s.grad, s.diag)
}

// addWhitened adds to an adjoint with a middle term D the part of the mean's
// coefficients. With Q = Σ⁻¹ − WWᵀ, the middle term is
//
//	QDQ = Σ⁻¹DΣ⁻¹ − UWᵀ − WUᵀ,  U = Σ⁻¹DW − ½W(WᵀDW).
//
// product is DW.
func (s *leftOut) addWhitened(adj *device.Adjoint, w, product []float64) error {
	if len(w) == 0 {
		return nil
	}
	n, u := s.ws.N(), slices.Clone(product)
	if err := s.ws.Solve(s.ctx, u, len(u)/n); err != nil {
		s.formed, s.solved = false, false
		return err
	}
	for j := 0; j < len(u); j += n {
		for k := 0; k < len(u); k += n {
			floats.AddScaled(u[j:j+n], -floats.Dot(w[k:k+n], product[j:j+n])/2, w[k:k+n])
		}
		addPair(adj, -1, u[j:j+n], w[j:j+n])
	}
	return nil
}

// addPair adds c(xyᵀ + yxᵀ) = ½c((x+y)(x+y)ᵀ − (x−y)(x−y)ᵀ) to the outer products.
// It first scales x and y to the same norm to limit cancellation.
func addPair(adj *device.Adjoint, c float64, x, y []float64) {
	nx, ny := floats.Norm(x, 2), floats.Norm(y, 2)
	if nx == 0 || ny == 0 {
		return
	}
	sx, sy := math.Sqrt(ny/nx), math.Sqrt(nx/ny)
	plus, minus := make([]float64, len(x)), make([]float64, len(x))
	for i := range x {
		plus[i], minus[i] = sx*x[i]+sy*y[i], sx*x[i]-sy*y[i]
	}
	adj.Outer = append(adj.Outer, c/2, -c/2)
	adj.Vectors = append(append(adj.Vectors, plus...), minus...)
}
