package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/chewxy/hm"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/device"
)

// looOp is a leave-one-out criterion: each target is predicted from all others at the
// same parameters, with the error a_i = α_i/q_i and the variance 1/q_i, where α = Qr,
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
// the mean squared standardised error is 1 (Sundararajan & Keerthi, Neural Computation
// 13 (2001), 1103; Bachoc, Computational Statistics & Data Analysis 66 (2013), 55).
//
// If the solver finds the mean's coefficients by generalised least
// squares, they are refitted without each point: Q = Σ⁻¹ − Σ⁻¹H(HᵀΣ⁻¹H)⁻¹HᵀΣ⁻¹
// (Dubrule, Mathematical Geology 15 (1983), 687), and because HᵀQ = 0, Qy = Q(y −
// Hβ̂).
//
// The derivatives for the adjoint g of f follow from dQ = −Q dΣ Q, which holds with
// and without coefficients (eq. 5.13):
//
//	Σ receives g(Q·diag(w)·Q − ½Σ_t(α_t b_tᵀ + b_t α_tᵀ)),  r receives gb,
//	b = Qp,  p_ti = ∂f/∂α_ti,  w_i = −∂f/∂q_i.
//
// If the solver has folds of rows, all rows of a fold are predicted from the rows of the
// other folds ([foldOut]).
type looOp struct {
	baseOp
	residualFixed bool
}

func newLOOOp(s *solver, residualFixed bool) *looOp {
	args := "y - mean"
	if residualFixed {
		args = "y"
	}
	name := "LOO"
	if s.folds != nil {
		name = "CV"
	}
	if s.squaredError {
		name += "-RMSE"
	}
	return &looOp{
		baseOp:        baseOp{solver: s, name: name, args: args, inputs: []hm.Type{matrixType(), vectorType()}, output: tensor.Float64, shape: tensor.ScalarShape()},
		residualFixed: residualFixed,
	}
}

func (o *looOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return o.guard(func() (gorgonia.Value, error) {
		if _, err := o.likelihood(inputs); err != nil {
			return nil, err
		}
		f, err := o.solver.predictive()
		if err != nil {
			return nil, err
		}
		return gorgonia.NewF64(f), nil
	})
}

func (o *looOp) DiffWRT(int) []bool { return []bool{true, !o.residualFixed} }

func (o *looOp) SymDiff(_ gorgonia.Nodes, output, g *gorgonia.Node) (gorgonia.Nodes, error) {
	adjoint, err := gorgonia.ApplyOp(newLOOAdjointOp(o.solver), output, g)
	if err != nil || o.residualFixed {
		return gorgonia.Nodes{adjoint, nil}, err
	}
	residual, err := gorgonia.ApplyOp(newLOOResidualGradOp(o.solver), output, g)
	return gorgonia.Nodes{adjoint, residual}, err
}

// looAdjointOp is the adjoint of Σ under looOp, as a handle. Inputs: the value f,
// which makes the op run after the factorisation, and g.
type looAdjointOp struct{ gradOp }

func newLOOAdjointOp(s *solver) *looAdjointOp {
	n := s.ws.N()
	return &looAdjointOp{gradOp{baseOp{solver: s, name: "LOOAdjoint", inputs: []hm.Type{tensor.Float64, tensor.Float64}, output: matrixType(), shape: tensor.Shape{n, n}}}}
}

func (o *looAdjointOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return o.guard(func() (gorgonia.Value, error) {
		g, err := scalar(inputs[1])
		if err != nil {
			return nil, err
		}
		return &adjointHandle{handle: o.handle(), loo: g, stamp: o.solver.stamp}, nil
	})
}

// looResidualGradOp is the adjoint of r under looOp, gb.
type looResidualGradOp struct{ gradOp }

func newLOOResidualGradOp(s *solver) *looResidualGradOp {
	return &looResidualGradOp{gradOp{baseOp{solver: s, name: "LOOResidualGrad", inputs: []hm.Type{tensor.Float64, tensor.Float64}, output: vectorType(), shape: tensor.Shape{s.ws.N()}}}}
}

func (o *looResidualGradOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return o.guard(func() (gorgonia.Value, error) {
		g, err := scalar(inputs[1])
		if err != nil {
			return nil, err
		}
		b, err := o.solver.predictiveSlope()
		if err != nil {
			return nil, err
		}
		out := slices.Clone(b)
		floats.Scale(g, out)
		return tensor.New(tensor.WithShape(len(out)), tensor.WithBacking(out)), nil
	})
}

// errorScores are the criteria of looOp.
type errorScores struct {
	rows int
	// density is the negative log predictive density.
	density float64
	// squares are the mean squared errors M of the targets, standardised is s.
	squares      []float64
	standardised float64
	// squaredError says which criterion is the objective.
	squaredError bool
}

func newErrorScores(rows, targets int, squaredError bool) errorScores {
	return errorScores{rows: rows, squares: make([]float64, targets), squaredError: squaredError}
}

// leftOut is the state of looOp for the solver's alpha.
type leftOut struct {
	errorScores
	// q is diag(Q), and a (n×T) is α over q, the errors of the predictions. w (n×q,
	// column-major) whitens the mean, Q = Σ⁻¹ − wwᵀ; it is nil without fitted
	// coefficients.
	q, a, w []float64
	// b is Qp, nil until it is needed.
	b []float64
}

// objective returns the value of looOp.
func (l *errorScores) objective() float64 {
	if !l.squaredError {
		return l.density
	}
	n, all := float64(l.rows), float64(l.rows*len(l.squares))
	f := all / 2 * (l.standardised - 1 - math.Log(l.standardised))
	for _, m := range l.squares {
		f += n / 2 * (math.Log(2*math.Pi*m) + 1)
	}
	return f
}

// slope returns p, n×T.
func (l *leftOut) slope() []float64 {
	if !l.squaredError {
		return l.a
	}
	n := len(l.q)
	p := make([]float64, len(l.a))
	for k, a := range l.a {
		p[k] = a/(l.q[k%n]*l.squares[k/n]) + (1-1/l.standardised)*a
	}
	return p
}

// weights returns w, n numbers.
func (l *leftOut) weights(alpha []float64) []float64 {
	n := len(l.q)
	w := make([]float64, n)
	for k, a := range l.a {
		i := k % n
		if l.squaredError {
			w[i] += a * a * (1/(l.q[i]*l.squares[k/n]) + (1-1/l.standardised)/2)
		} else {
			w[i] += (1 + alpha[k]*a) / 2 / l.q[i]
		}
	}
	return w
}

// LeverageError reports a point, or a fold of them, that has no prediction because the
// other points do not determine the mean's coefficients.
type LeverageError struct {
	// Index is the number of the point, or of the fold, from 0.
	Index int
	Fold  bool
}

func (e *LeverageError) Error() string {
	if e.Fold {
		return fmt.Sprintf("graph: without fold %d (counted from 0) the data do not determine the coefficients of the mean: cross-validation needs a simpler mean function or more folds", e.Index)
	}
	return fmt.Sprintf("graph: without point %d (counted from 0) the data do not determine the coefficients of the mean: leave-one-out needs a simpler mean function", e.Index)
}

// leaveOneOut returns looOp's state at the parameters of the last nlml. It costs
// 2n³/3 operations; a contraction that follows reuses half of them.
func (s *solver) leaveOneOut() (*leftOut, error) {
	if s.left != nil {
		return s.left, nil
	}
	n := s.ws.N()
	l := &leftOut{errorScores: newErrorScores(n, s.targets, s.squaredError), q: make([]float64, n), a: make([]float64, len(s.alpha))}
	inverse, err := device.Capability[device.InverseDiagonal](s.ws, "the diagonal of the inverse, which leave-one-out needs")
	if err != nil {
		return nil, err
	}
	if err := s.restore(); err != nil {
		return nil, err
	}
	if err := inverse.InverseDiagonal(s.ctx, l.q); err != nil {
		s.formed, s.solved = false, false
		return nil, err
	}
	kappa := slices.Clone(l.q)
	if len(s.h) > 0 {
		l.w = s.whitened()
		for j := 0; j < len(l.w); j += n {
			for i, v := range l.w[j : j+n] {
				l.q[i] -= v * v
			}
		}
	}
	for i, q := range l.q {
		// Cancellation can turn a zero difference into ε·κ.
		if !(q > 1e-12*kappa[i]) {
			return nil, &LeverageError{Index: i}
		}
	}
	for k, alpha := range s.alpha {
		q := l.q[k%n]
		l.a[k] = alpha / q
		l.density += -math.Log(q)/2 + alpha*l.a[k]/2 + math.Log(2*math.Pi)/2
		l.squares[k/n] += l.a[k] * l.a[k] / float64(n)
		l.standardised += alpha * l.a[k] / float64(len(s.alpha))
	}
	s.left = l
	return l, nil
}

// predictive returns looOp's value at the parameters of the last nlml.
func (s *solver) predictive() (float64, error) {
	if s.folds != nil {
		f, err := s.foldsOut()
		if err != nil {
			return 0, err
		}
		return f.objective(), nil
	}
	l, err := s.leaveOneOut()
	if err != nil {
		return 0, err
	}
	return l.objective(), nil
}

// whitened returns W (n×q, column-major) with WWᵀ = Σ⁻¹H(HᵀΣ⁻¹H)⁻¹HᵀΣ⁻¹.
func (s *solver) whitened() []float64 {
	n := s.ws.N()
	q := len(s.h) / n
	rows := make([]float64, n*q)
	for i := range n {
		for j := range q {
			rows[i*q+j] = s.solvedH[j*n+i]
		}
	}
	s.gls.Whiten(rows)
	w := make([]float64, n*q)
	for i := range n {
		for j := range q {
			w[j*n+i] = rows[i*q+j]
		}
	}
	return w
}

// predictiveSlope returns b = Qp, n×T.
func (s *solver) predictiveSlope() (b []float64, err error) {
	if f := s.held; s.folds != nil {
		if f.b == nil {
			f.b, err = s.multiplyQ(f.w, f.p)
		}
		return f.b, err
	}
	l := s.left
	if l.b == nil {
		l.b, err = s.multiplyQ(l.w, l.slope())
	}
	return l.b, err
}

// multiplyQ returns Qp for the n×T matrix p, with Q = Σ⁻¹ − wwᵀ.
func (s *solver) multiplyQ(w, p []float64) ([]float64, error) {
	n := s.ws.N()
	b := slices.Clone(p)
	if err := s.ws.Solve(s.ctx, b, s.targets); err != nil {
		s.formed, s.solved = false, false
		return nil, err
	}
	for t := 0; t < len(b); t += n {
		for j := 0; j < len(w); j += n {
			floats.AddScaled(b[t:t+n], -floats.Dot(w[j:j+n], p[t:t+n]), w[j:j+n])
		}
	}
	return b, nil
}

// contractPredictive contracts g times the adjoint of Σ under looOp.
func (s *solver) contractPredictive(g float64) error {
	n := s.ws.N()
	b, err := s.predictiveSlope()
	if err != nil {
		return err
	}
	var adj device.Adjoint
	for t := 0; t < len(b); t += n {
		addPair(&adj, -g/2, s.alpha[t:t+n], b[t:t+n])
	}
	if s.folds != nil {
		w := s.held.w
		middle, err := s.foldMiddle(g)
		if err != nil {
			return err
		}
		if err := s.addWhitened(&adj, w, s.multiplyMiddle(middle, w)); err != nil {
			return err
		}
		inverse := s.ws.(device.BlockInverse) // foldsOut has used it
		return inverse.ContractBlocks(s.ctx, adj, middle, s.prog, s.theta, s.grad, s.diag)
	}
	middle := s.left.weights(s.alpha)
	floats.Scale(g, middle)
	product := slices.Clone(s.left.w)
	for j := 0; j < len(product); j += n {
		floats.Mul(product[j:j+n], middle)
	}
	if err := s.addWhitened(&adj, s.left.w, product); err != nil {
		return err
	}
	inverse := s.ws.(device.InverseDiagonal) // leaveOneOut has used it
	return inverse.ContractDiagonal(s.ctx, adj, middle, s.prog, s.theta, s.grad, s.diag)
}

// addWhitened adds to an adjoint with a middle term D the part of the mean's
// coefficients. With Q = Σ⁻¹ − WWᵀ, the middle term is
//
//	QDQ = Σ⁻¹DΣ⁻¹ − UWᵀ − WUᵀ,  U = Σ⁻¹DW − ½W(WᵀDW).
//
// product is DW.
func (s *solver) addWhitened(adj *device.Adjoint, w, product []float64) error {
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

var (
	_ gorgonia.SDOp = (*looOp)(nil)
	_ gorgonia.SDOp = (*looAdjointOp)(nil)
	_ gorgonia.SDOp = (*looResidualGradOp)(nil)
)

// LeaveOneOut returns the negative leave-one-out log predictive density, −Σ log
// p(y_i | the others), at the parameters of the last successful evaluation, for any
// objective. It costs 2n³/3 operations. Errors are [*device.UnsupportedError],
// [*LeverageError] and the errors of [device.Workspace].
func (o *Objective) LeaveOneOut(ctx context.Context) (float64, error) {
	s := o.solver
	if !s.solved {
		return 0, errors.New("graph: leave-one-out needs an evaluation first")
	}
	s.ctx = ctx
	defer func() { s.ctx = context.Background() }()
	l, err := s.leaveOneOut()
	if err != nil {
		return 0, err
	}
	return l.density, nil
}

// LeftOutSquares returns the mean squared error of each target's leave-one-out
// predictions after the last LeaveOneOut, or nil before.
func (o *Objective) LeftOutSquares() []float64 {
	if o.solver.left == nil {
		return nil
	}
	return slices.Clone(o.solver.left.squares)
}
