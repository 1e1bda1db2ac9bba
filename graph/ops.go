package graph

import (
	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// kernelOp is the n×n matrix K = k_θ(X, X). Inputs: X, then one scalar or vector
// for every parameter of the program. The solver forms the matrix when it evaluates
// the likelihood.
//
// Derivative: for the adjoint G of K, θ_p receives ⟨G, ∂K/∂θ_p⟩ (kernelGradOp),
// from which pickOp extracts each parameter's part.
type kernelOp struct{ baseOp }

func (o *kernelOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return o.guard(func() (gorgonia.Value, error) {
		k := &kernelHandle{handle: o.handle()}
		for _, v := range inputs[1:] {
			part, err := numbers(v)
			if err != nil {
				return nil, err
			}
			k.theta = append(k.theta, part...)
		}
		return k, nil
	})
}

// DiffWRT returns true for the parameters and false for X.
func (o *kernelOp) DiffWRT(inputs int) []bool {
	wrt := make([]bool, inputs)
	for i := 1; i < inputs; i++ {
		wrt[i] = true
	}
	return wrt
}

func (o *kernelOp) SymDiff(inputs gorgonia.Nodes, _, adjoint *gorgonia.Node) (gorgonia.Nodes, error) {
	grad, err := gorgonia.ApplyOp(newKernelGradOp(o.solver), adjoint)
	if err != nil {
		return nil, err
	}
	out := gorgonia.Nodes{nil}
	for i, p := range o.solver.prog.Params {
		pick, err := gorgonia.ApplyOp(newPickOp(o.solver, p.Name, p.Offset, p.Size), grad, inputs[1+i])
		if err != nil {
			return nil, err
		}
		out = append(out, pick)
	}
	return out, nil
}

// nlmlOp is f = Σ_t ½ r_tᵀΣ⁻¹r_t + ½ log|Σ| + ½ n log 2π, summed over the T
// targets. The derivatives for the adjoint g of f are (Rasmussen & Williams 2006,
// eq. 5.9, negated): Σ receives ½g(T·Σ⁻¹ − Σ_t α_tα_tᵀ) with α = Σ⁻¹r (adjointOp),
// and r receives gα (residualGradOp).
//
// If the solver finds the mean's coefficients by generalised least squares, r is
// the target y and f is φ(Σ, β) = ½(y − Hβ)ᵀΣ⁻¹(y − Hβ) + … at β̂(Σ), which
// minimises φ for that Σ. By the chain rule
//
//	df/dΣ = ∂φ/∂Σ + (∂φ/∂β)(dβ̂/dΣ),  ∂φ/∂β = −HᵀΣ⁻¹(y − Hβ).
//
// At β̂ = (HᵀΣ⁻¹H)⁻¹HᵀΣ⁻¹y ∂φ/∂β is zero, so the derivative equals the one at fixed
// β̂ (envelope theorem). The formula is the same, with α = Σ⁻¹(y − Hβ̂).
type nlmlOp struct {
	baseOp
	// residualFixed means that r is data, free of parameters.
	residualFixed bool
}

func (o *nlmlOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return o.guard(func() (gorgonia.Value, error) {
		f, err := o.likelihood(inputs)
		if err != nil {
			return nil, err
		}
		return gorgonia.NewF64(f), nil
	})
}

func (o *nlmlOp) DiffWRT(int) []bool { return []bool{true, !o.residualFixed} }

func (o *nlmlOp) SymDiff(_ gorgonia.Nodes, output, g *gorgonia.Node) (gorgonia.Nodes, error) {
	// Passing output as an input makes the derivatives run after the factorisation.
	adjoint, err := gorgonia.ApplyOp(newAdjointOp(o.solver), output, g)
	if err != nil || o.residualFixed {
		return gorgonia.Nodes{adjoint, nil}, err
	}
	residual, err := gorgonia.ApplyOp(newResidualGradOp(o.solver), output, g)
	return gorgonia.Nodes{adjoint, residual}, err
}

var (
	_ gorgonia.SDOp = (*kernelOp)(nil)
	_ gorgonia.SDOp = (*nlmlOp)(nil)
)

func newKernelOp(s *solver) *kernelOp {
	n := s.ws.N()
	inputs := []hm.Type{matrixType()}
	for _, p := range s.prog.Params {
		inputs = append(inputs, numberType(p.Size))
	}
	return &kernelOp{baseOp{solver: s, name: "Kernel", args: s.prog.Text, inputs: inputs, output: matrixType(), shape: tensor.Shape{n, n}}}
}

func newNLMLOp(s *solver, residualFixed bool) *nlmlOp {
	args := "y - mean"
	if residualFixed {
		args = "y"
	}
	return &nlmlOp{
		baseOp:        baseOp{solver: s, name: "NLML", args: args, inputs: []hm.Type{matrixType(), vectorType()}, output: tensor.Float64, shape: tensor.ScalarShape()},
		residualFixed: residualFixed,
	}
}
