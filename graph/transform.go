package graph

import (
	"github.com/chewxy/hm"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/internal/transform"
)

// at returns the targets for λ.
func (t *TargetTransform) at(lambda float64) []float64 {
	out := make([]float64, len(t.Coordinates))
	for i, l := range t.Coordinates {
		out[i] = (transform.Value(t.Kind, lambda, l) - t.Mean) / t.Scale
	}
	return out
}

// slopes returns the derivatives of the targets by λ.
func (t *TargetTransform) slopes(lambda float64) []float64 {
	out := make([]float64, len(t.Coordinates))
	for i, l := range t.Coordinates {
		out[i] = transform.ByLambda(t.Kind, lambda, l) / t.Scale
	}
	return out
}

// transformOp returns the targets for its input λ. Derivative: for their adjoint g, λ receives
// Σ_i g_i ∂z_i/∂λ.
func (s ops) transformOp(t *TargetTransform) *op {
	return &op{
		solver: s.solver, name: "Transform", args: string(t.Kind), inputs: []hm.Type{tensor.Float64}, shape: tensor.Shape{len(t.Coordinates)}, varies: []bool{true},
		do: func(inputs []gorgonia.Value) (gorgonia.Value, error) {
			lambda, err := scalar(inputs[0])
			if err != nil {
				return nil, err
			}
			return vectorValue(t.at(lambda)), nil
		},
		diff: func(inputs gorgonia.Nodes, _, adjoint *gorgonia.Node) (gorgonia.Nodes, error) {
			slope, err := gorgonia.ApplyOp(s.transformGradOp(t), inputs[0], adjoint)
			return gorgonia.Nodes{slope}, err
		},
	}
}

// transformGradOp returns the derivative by λ. Inputs: λ and the adjoint.
func (s ops) transformGradOp(t *TargetTransform) *op {
	return &op{
		solver: s.solver, name: "TransformGrad", args: string(t.Kind), inputs: []hm.Type{tensor.Float64, vectorType()}, shape: tensor.ScalarShape(),
		do: func(inputs []gorgonia.Value) (gorgonia.Value, error) {
			lambda, err := scalar(inputs[0])
			if err != nil {
				return nil, err
			}
			adjoint, err := numbers(inputs[1])
			if err != nil {
				return nil, err
			}
			return gorgonia.NewF64(floats.Dot(adjoint, t.slopes(lambda))), nil
		},
	}
}
