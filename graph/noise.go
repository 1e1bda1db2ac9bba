package graph

import (
	"errors"
	"fmt"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// NoiseModel describes the noise in Σ = K + diag(noise):
//
//	noise_i = known_i + σ²_group(i)
//
// The zero value is one estimated variance σ² for all points, the parameter
// noise_variance. Without estimated and known variances Σ = K, and the posterior
// interpolates the targets.
type NoiseModel struct {
	// None omits the estimated part.
	None bool
	// Known holds a known variance for each point, length n; nil means none.
	Known []float64
	// Labels are the names of groups of points. Each group has its own variance,
	// the parameter noise_variance[LABEL]. Group, of length n, holds each point's
	// index in Labels. Both are nil for a single variance.
	Labels []string
	Group  []int
}

// names returns the names of the estimated variances.
func (z NoiseModel) names() []string {
	switch {
	case z.None:
		return nil
	case z.Labels == nil:
		return []string{NoiseVariance}
	}
	out := make([]string, len(z.Labels))
	for i, label := range z.Labels {
		out[i] = NoiseName(label)
	}
	return out
}

// NoiseName returns the name of the noise variance of a group.
func NoiseName(label string) string { return NoiseVariance + "[" + label + "]" }

func (z NoiseModel) check(n int) error {
	if z.Known != nil && len(z.Known) != n {
		return fmt.Errorf("graph: %d known noise variances for %d points", len(z.Known), n)
	}
	for i, v := range z.Known {
		if !(v >= 0) || v-v != 0 {
			return fmt.Errorf("graph: invalid known noise variance %v of point %d", v, i)
		}
	}
	if z.None && z.Labels != nil || (z.Labels == nil) != (z.Group == nil) || z.Group != nil && len(z.Group) != n {
		return fmt.Errorf("graph: %d noise groups, given for %d of %d points", len(z.Labels), len(z.Group), n)
	}
	for _, g := range z.Group {
		if g < 0 || g >= len(z.Labels) {
			return errors.New("graph: a noise group has no label")
		}
	}
	return nil
}

// diagonal returns the noise of n points for the given estimated variances, as a
// single number if it is the same for all of them.
func (z NoiseModel) diagonal(estimated []float64, n int) []float64 {
	if z.Known == nil && z.Group == nil {
		n = 1
	}
	out := make([]float64, n)
	copy(out, z.Known)
	for i := range out {
		switch {
		case z.Group != nil:
			out[i] += estimated[z.Group[i]]
		case !z.None:
			out[i] += estimated[0]
		}
	}
	return out
}

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
