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

// looOp is the negative leave-one-out log predictive density: each target is
// predicted from all others at the same parameters (Rasmussen & Williams 2006, eq.
// 5.10 to 5.12, negated and summed over the T targets):
//
//	f = Σ_t Σ_i −½ log q_i + α_ti²/(2q_i) + ½ log 2π,  α = Qr,  q = diag(Q)
//
// with Q = Σ⁻¹. If the solver finds the mean's coefficients by generalised least
// squares, they are refitted without each point: Q = Σ⁻¹ − Σ⁻¹H(HᵀΣ⁻¹H)⁻¹HᵀΣ⁻¹
// (Dubrule, Mathematical Geology 15 (1983), 687), and because HᵀQ = 0, Qy = Q(y −
// Hβ̂).
//
// The derivatives for the adjoint g of f follow from dQ = −Q dΣ Q, which holds in
// both cases (eq. 5.13):
//
//	Σ receives g(Q·diag(w)·Q − ½Σ_t(α_t b_tᵀ + b_t α_tᵀ)),  r receives gb,
//	w_i = ½Σ_t(1 + α_ti²/q_i)/q_i,  b = Qa,  a_i = α_i/q_i.
type looOp struct {
	baseOp
	residualFixed bool
}

func newLOOOp(s *solver, residualFixed bool) *looOp {
	args := "y - mean"
	if residualFixed {
		args = "y"
	}
	return &looOp{
		baseOp:        baseOp{solver: s, name: "LOO", args: args, inputs: []hm.Type{matrixType(), vectorType()}, output: tensor.Float64, shape: tensor.ScalarShape()},
		residualFixed: residualFixed,
	}
}

func (o *looOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return o.guard(func() (gorgonia.Value, error) {
		if _, err := o.likelihood(inputs); err != nil {
			return nil, err
		}
		f, err := o.solver.leaveOneOut()
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
		b, err := o.solver.leftOutSlope()
		if err != nil {
			return nil, err
		}
		out := slices.Clone(b)
		floats.Scale(g, out)
		return tensor.New(tensor.WithShape(len(out)), tensor.WithBacking(out)), nil
	})
}

// leftOut is the state of looOp for the solver's alpha.
type leftOut struct {
	// q is diag(Q), and a (n×T) is α over q. w (n×q, column-major) whitens the
	// mean, Q = Σ⁻¹ − wwᵀ; it is nil without fitted coefficients.
	q, a, w []float64
	value   float64
	// b is Qa, nil until it is needed.
	b []float64
}

// LeverageError reports a point that has no leave-one-out prediction because the
// other points do not determine the mean's coefficients.
type LeverageError struct{ Row int }

func (e *LeverageError) Error() string {
	return fmt.Sprintf("graph: without point %d (counted from 0) the data do not determine the coefficients of the mean: leave-one-out needs a simpler mean function", e.Row)
}

// leaveOneOut returns looOp's value at the parameters of the last nlml. It costs
// 2n³/3 operations; a contraction that follows reuses half of them.
func (s *solver) leaveOneOut() (float64, error) {
	if s.left != nil {
		return s.left.value, nil
	}
	n := s.ws.N()
	l := &leftOut{q: make([]float64, n), a: make([]float64, len(s.alpha))}
	inverse, err := device.Capability[device.InverseDiagonal](s.ws, "the diagonal of the inverse, which leave-one-out needs")
	if err != nil {
		return 0, err
	}
	if err := inverse.InverseDiagonal(s.ctx, l.q); err != nil {
		s.formed, s.solved = false, false
		return 0, err
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
			return 0, &LeverageError{i}
		}
	}
	for k, alpha := range s.alpha {
		q := l.q[k%n]
		l.a[k] = alpha / q
		l.value += -math.Log(q)/2 + alpha*l.a[k]/2 + math.Log(2*math.Pi)/2
	}
	s.left = l
	return l.value, nil
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

// leftOutSlope returns b = Qa, n×T.
func (s *solver) leftOutSlope() ([]float64, error) {
	l := s.left
	if l.b != nil {
		return l.b, nil
	}
	n := s.ws.N()
	b := slices.Clone(l.a)
	if err := s.ws.Solve(s.ctx, b, s.targets); err != nil {
		s.formed, s.solved = false, false
		return nil, err
	}
	for t := 0; t < len(b); t += n {
		for j := 0; j < len(l.w); j += n {
			floats.AddScaled(b[t:t+n], -floats.Dot(l.w[j:j+n], l.a[t:t+n]), l.w[j:j+n])
		}
	}
	l.b = b
	return b, nil
}

// leftOutAdjoint returns g times the adjoint of Σ under looOp. With D = diag(w) and
// Q = Σ⁻¹ − WWᵀ, the middle term is
//
//	QDQ = Σ⁻¹DΣ⁻¹ − UWᵀ − WUᵀ,  U = Σ⁻¹DW − ½W(WᵀDW).
func (s *solver) leftOutAdjoint(g float64) (device.Adjoint, error) {
	n, l := s.ws.N(), s.left
	b, err := s.leftOutSlope()
	if err != nil {
		return device.Adjoint{}, err
	}
	adj := device.Adjoint{Middle: make([]float64, n)}
	for k, a := range l.a {
		i := k % n
		adj.Middle[i] += g / 2 * (1 + s.alpha[k]*a) / l.q[i]
	}
	for t := 0; t < len(b); t += n {
		addPair(&adj, -g/2, s.alpha[t:t+n], b[t:t+n])
	}
	if len(l.w) == 0 {
		return adj, nil
	}
	// u is U times g, as in Middle.
	u := slices.Clone(l.w)
	for j := 0; j < len(u); j += n {
		floats.Mul(u[j:j+n], adj.Middle)
	}
	dw := slices.Clone(u)
	if err := s.ws.Solve(s.ctx, u, len(u)/n); err != nil {
		s.formed, s.solved = false, false
		return device.Adjoint{}, err
	}
	for j := 0; j < len(u); j += n {
		for k := 0; k < len(u); k += n {
			floats.AddScaled(u[j:j+n], -floats.Dot(l.w[k:k+n], dw[j:j+n])/2, l.w[k:k+n])
		}
		addPair(&adj, -1, u[j:j+n], l.w[j:j+n])
	}
	return adj, nil
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
	return s.leaveOneOut()
}
