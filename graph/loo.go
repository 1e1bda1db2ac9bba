package graph

import (
	"slices"

	"github.com/chewxy/hm"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
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

var (
	_ gorgonia.SDOp = (*looOp)(nil)
	_ gorgonia.SDOp = (*looAdjointOp)(nil)
	_ gorgonia.SDOp = (*looResidualGradOp)(nil)
)
