package graph

import (
	"fmt"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// gradOp is the base of the ops that appear only in derivatives. It provides no
// second derivatives.
type gradOp struct{ baseOp }

func (o *gradOp) DiffWRT(inputs int) []bool { return make([]bool, inputs) }

func (o *gradOp) SymDiff(gorgonia.Nodes, *gorgonia.Node, *gorgonia.Node) (gorgonia.Nodes, error) {
	return nil, fmt.Errorf("graph: %s has no derivative", o.name)
}

// contract makes the solver compute and keep the contraction of an adjoint.
func (o *gradOp) contract(v gorgonia.Value) error {
	a, err := asInput[*adjointHandle](v)
	if err != nil {
		return err
	}
	return o.solver.contract(a)
}

// adjointOp is the adjoint of Σ under nlmlOp, ½g(T·Σ⁻¹ − Σ_t α_tα_tᵀ) for T
// targets, as a handle. Inputs: the value f, which makes the op run after the
// factorisation, and g.
type adjointOp struct{ gradOp }

func newAdjointOp(s *solver) *adjointOp {
	n := s.ws.N()
	return &adjointOp{gradOp{baseOp{solver: s, name: "Adjoint", inputs: []hm.Type{tensor.Float64, tensor.Float64}, output: matrixType(), shape: tensor.Shape{n, n}}}}
}

func (o *adjointOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return o.guard(func() (gorgonia.Value, error) {
		g, err := scalar(inputs[1])
		if err != nil {
			return nil, err
		}
		return &adjointHandle{handle: o.handle(), inv: float64(o.solver.targets) * g / 2, outer: g / 2, stamp: o.solver.stamp}, nil
	})
}

// residualGradOp is the adjoint of r under nlmlOp, gα.
type residualGradOp struct{ gradOp }

func newResidualGradOp(s *solver) *residualGradOp {
	return &residualGradOp{gradOp{baseOp{solver: s, name: "ResidualGrad", inputs: []hm.Type{tensor.Float64, tensor.Float64}, output: vectorType(), shape: tensor.Shape{s.ws.N()}}}}
}

func (o *residualGradOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return o.guard(func() (gorgonia.Value, error) {
		g, err := scalar(inputs[1])
		if err != nil {
			return nil, err
		}
		out := make([]float64, len(o.solver.alpha))
		for i, a := range o.solver.alpha {
			out[i] = g * a
		}
		return tensor.New(tensor.WithShape(len(out)), tensor.WithBacking(out)), nil
	})
}

// kernelGradOp is the vector ⟨G, ∂K/∂log θ⟩ for all elements of θ, where G is the
// adjoint of K.
type kernelGradOp struct{ gradOp }

func newKernelGradOp(s *solver) *kernelGradOp {
	return &kernelGradOp{gradOp{baseOp{solver: s, name: "KernelGrad", inputs: []hm.Type{matrixType()}, output: vectorType(), shape: tensor.Shape{s.prog.NumParams}}}}
}

func (o *kernelGradOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return o.guard(func() (gorgonia.Value, error) {
		if err := o.contract(inputs[0]); err != nil {
			return nil, err
		}
		out := append([]float64(nil), o.solver.grad...)
		return tensor.New(tensor.WithShape(len(out)), tensor.WithBacking(out)), nil
	})
}

// pickOp extracts one parameter's part of kernelGradOp's result and converts it to
// the derivative by the parameter itself: ∂/∂θ = (∂/∂log θ)/θ. Inputs: the vector
// and the parameter.
type pickOp struct {
	gradOp
	offset, size int
}

func newPickOp(s *solver, name string, offset, size int) *pickOp {
	return &pickOp{
		gradOp: gradOp{baseOp{
			solver: s, name: "Pick", args: name,
			inputs: []hm.Type{vectorType(), numberType(size)}, output: numberType(size), shape: numberShape(size),
		}},
		offset: offset, size: size,
	}
}

func (o *pickOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return o.guard(func() (gorgonia.Value, error) {
		grad, err := numbers(inputs[0])
		if err != nil {
			return nil, err
		}
		theta, err := numbers(inputs[1])
		if err != nil {
			return nil, err
		}
		out := make([]float64, o.size)
		for i := range out {
			out[i] = grad[o.offset+i] / theta[i]
		}
		if o.size == 1 {
			return gorgonia.NewF64(out[0]), nil
		}
		return tensor.New(tensor.WithShape(o.size), tensor.WithBacking(out)), nil
	})
}

var (
	_ gorgonia.SDOp = (*adjointOp)(nil)
	_ gorgonia.SDOp = (*residualGradOp)(nil)
	_ gorgonia.SDOp = (*kernelGradOp)(nil)
	_ gorgonia.SDOp = (*pickOp)(nil)
)
