package graph

import (
	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// addNoiseOp is Σ = K + diag(noise). Inputs: K and the estimated variances, if any.
// Derivative: for the adjoint G of Σ, K receives G itself and the variance of a
// group receives Σ_i G_ii over its points (traceOp).
type addNoiseOp struct {
	baseOp
	noise NoiseModel
}

func newAddNoiseOp(s *solver, noise NoiseModel) *addNoiseOp {
	n := s.ws.N()
	inputs := []hm.Type{matrixType()}
	if size := len(noise.names()); size > 0 {
		inputs = append(inputs, numberType(size))
	}
	return &addNoiseOp{baseOp{solver: s, name: "AddNoise", inputs: inputs, output: matrixType(), shape: tensor.Shape{n, n}}, noise}
}

func (o *addNoiseOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return o.guard(func() (gorgonia.Value, error) {
		k, err := asInput[*kernelHandle](inputs[0])
		if err != nil {
			return nil, err
		}
		c := &covarianceHandle{handle: o.handle(), theta: k.theta}
		if len(inputs) > 1 {
			estimated, err := numbers(inputs[1])
			if err != nil {
				return nil, err
			}
			c.estimated = append(c.estimated, estimated...)
		}
		c.noise = o.noise.diagonal(c.estimated, o.shape[0])
		return c, nil
	})
}

func (o *addNoiseOp) DiffWRT(inputs int) []bool {
	wrt := make([]bool, inputs)
	for i := range wrt {
		wrt[i] = true
	}
	return wrt
}

func (o *addNoiseOp) SymDiff(inputs gorgonia.Nodes, _, adjoint *gorgonia.Node) (gorgonia.Nodes, error) {
	if len(inputs) == 1 {
		return gorgonia.Nodes{adjoint}, nil
	}
	trace, err := gorgonia.ApplyOp(newTraceOp(o.solver, o.noise), adjoint)
	return gorgonia.Nodes{adjoint, trace}, err
}

// traceOp sums the diagonal of the adjoint G of Σ over the points of each group;
// without groups the sum is tr G.
type traceOp struct {
	gradOp
	group []int
	size  int
}

func newTraceOp(s *solver, noise NoiseModel) *traceOp {
	size := len(noise.names())
	return &traceOp{
		gradOp: gradOp{baseOp{solver: s, name: "Trace", inputs: []hm.Type{matrixType()}, output: numberType(size), shape: numberShape(size)}},
		group:  noise.Group, size: size,
	}
}

func (o *traceOp) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	return o.guard(func() (gorgonia.Value, error) {
		if err := o.contract(inputs[0]); err != nil {
			return nil, err
		}
		sums := make([]float64, o.size)
		for i, v := range o.solver.diag {
			if o.group != nil {
				sums[o.group[i]] += v
			} else {
				sums[0] += v
			}
		}
		if o.size == 1 {
			return gorgonia.NewF64(sums[0]), nil
		}
		return tensor.New(tensor.WithShape(o.size), tensor.WithBacking(sums)), nil
	})
}

var (
	_ gorgonia.SDOp = (*addNoiseOp)(nil)
	_ gorgonia.SDOp = (*traceOp)(nil)
)
