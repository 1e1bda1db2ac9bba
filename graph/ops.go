package graph

import (
	"fmt"
	"hash"
	"hash/fnv"
	"runtime/debug"
	"slices"

	"github.com/chewxy/hm"
	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/kernel"
)

// ops makes the ops of one solver.
type ops struct{ *solver }

// op is an op of this package. Its name, its solver and its arguments identify it;
// Gorgonia must never merge two nodes whose ops differ in any of them.
type op struct {
	solver *solver
	name   string
	// args distinguishes ops with the same name.
	args string
	// inputs are the types of the children, shape is the shape of the result.
	inputs []hm.Type
	shape  tensor.Shape
	do     func(inputs []gorgonia.Value) (gorgonia.Value, error)
	// varies marks the inputs by which diff differentiates; nil in ops that appear only in
	// derivatives, which have no derivatives themselves.
	varies []bool
	diff   func(inputs gorgonia.Nodes, output, adjoint *gorgonia.Node) (gorgonia.Nodes, error)
}

var _ gorgonia.SDOp = (*op)(nil)

func (o *op) Arity() int { return len(o.inputs) }

// Type returns a new type, because Gorgonia returns it to a pool after use.
func (o *op) Type() hm.Type {
	output := hm.Type(tensor.Float64)
	if d := o.shape.Dims(); d > 0 {
		output = gorgonia.TensorType{Dims: d, Of: tensor.Float64}
	}
	return hm.NewFnType(append(slices.Clone(o.inputs), output)...)
}

func (o *op) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) { return o.shape.Clone(), nil }
func (o *op) ReturnsPtr() bool                                      { return false }

// CallsExtern returns false for every device; true would make the compiler allocate
// matrices on the host.
func (o *op) CallsExtern() bool    { return false }
func (o *op) OverwritesInput() int { return -1 }

func (o *op) WriteHash(h hash.Hash) {
	fmt.Fprintf(h, "gpfit %s %q solver %p salt %d", o.name, o.args, o.solver, o.solver.salt)
}

func (o *op) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

func (o *op) String() string {
	if o.args == "" {
		return o.name
	}
	return o.name + "(" + o.args + ")"
}

// Do computes the value unless the solver's context is done. It turns a panic into an
// error, because a panic in one of Gorgonia's own machines would end the process.
func (o *op) Do(inputs ...gorgonia.Value) (v gorgonia.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("graph: panic in op %s: %v\n%s", o, p, debug.Stack())
		}
	}()
	if err := o.solver.ctx.Err(); err != nil {
		return nil, err
	}
	return o.do(inputs)
}

func (o *op) DiffWRT(inputs int) []bool {
	if o.varies == nil {
		return make([]bool, inputs)
	}
	return slices.Clone(o.varies)
}

func (o *op) SymDiff(inputs gorgonia.Nodes, output, adjoint *gorgonia.Node) (gorgonia.Nodes, error) {
	if o.diff == nil {
		return nil, fmt.Errorf("graph: %s has no derivative", o.name)
	}
	return o.diff(inputs, output, adjoint)
}

func vectorType() hm.Type { return gorgonia.TensorType{Dims: 1, Of: tensor.Float64} }

// numberType returns the type of a scalar or, for more than one element, of a vector.
func numberType(size int) hm.Type {
	if size == 1 {
		return tensor.Float64
	}
	return vectorType()
}

func numberShape(size int) tensor.Shape {
	if size == 1 {
		return tensor.ScalarShape()
	}
	return tensor.Shape{size}
}

// numberValue returns a scalar or, for more than one element, a vector.
func numberValue(x []float64) gorgonia.Value {
	if len(x) == 1 {
		return gorgonia.NewF64(x[0])
	}
	return vectorValue(x)
}

func vectorValue(x []float64) gorgonia.Value {
	return tensor.New(tensor.WithShape(len(x)), tensor.WithBacking(x))
}

// Names of ops that drawings look for.
const (
	kernelName     = "Kernel"
	kernelGradName = "KernelGrad"
	pickName       = "Pick"
)

// kernelOp returns the n×n matrix K = k_θ(X, X). Inputs: X, then one scalar or vector for
// every parameter of the program. The solver forms the matrix when it evaluates the likelihood.
//
// Derivative: for the adjoint G of K, θ_p receives ⟨G, ∂K/∂θ_p⟩ (kernelGradOp),
// from which pickOp extracts each parameter's part.
func (s ops) kernelOp() *op {
	inputs, varies := []hm.Type{matrixType()}, []bool{false}
	for _, p := range s.prog.Params {
		inputs, varies = append(inputs, numberType(p.Size)), append(varies, true)
	}
	return &op{
		solver: s.solver, name: kernelName, args: s.prog.Text, inputs: inputs, shape: s.square(), varies: varies,
		do: func(inputs []gorgonia.Value) (gorgonia.Value, error) {
			var theta kernelMatrix
			for _, v := range inputs[1:] {
				part, err := numbers(v)
				if err != nil {
					return nil, err
				}
				theta = append(theta, part...)
			}
			return s.handle(theta), nil
		},
		diff: func(inputs gorgonia.Nodes, _, adjoint *gorgonia.Node) (gorgonia.Nodes, error) {
			grad, err := gorgonia.ApplyOp(s.kernelGradOp(), adjoint)
			if err != nil {
				return nil, err
			}
			out := gorgonia.Nodes{nil}
			for i, p := range s.prog.Params {
				pick, err := gorgonia.ApplyOp(s.pickOp(p), grad, inputs[1+i])
				if err != nil {
					return nil, err
				}
				out = append(out, pick)
			}
			return out, nil
		},
	}
}

// kernelGradOp returns the vector ⟨G, ∂K/∂log θ⟩ for all elements of θ, where G is
// the adjoint of K.
func (s ops) kernelGradOp() *op {
	return &op{
		solver: s.solver, name: kernelGradName, inputs: []hm.Type{matrixType()}, shape: tensor.Shape{s.prog.NumParams},
		do: func(inputs []gorgonia.Value) (gorgonia.Value, error) {
			if err := s.contract(inputs[0]); err != nil {
				return nil, err
			}
			return vectorValue(slices.Clone(s.grad)), nil
		},
	}
}

// pickOp extracts one parameter's part of kernelGradOp's result and converts it to the
// derivative by the parameter itself: ∂/∂θ = (∂/∂log θ)/θ, unless the parameter is real. Inputs: the
// vector and the parameter.
func (s ops) pickOp(p kernel.Param) *op {
	size := p.Size
	return &op{
		solver: s.solver, name: pickName, args: p.Name, inputs: []hm.Type{vectorType(), numberType(size)}, shape: numberShape(size),
		do: func(inputs []gorgonia.Value) (gorgonia.Value, error) {
			grad, err := numbers(inputs[0])
			if err != nil {
				return nil, err
			}
			theta, err := numbers(inputs[1])
			if err != nil {
				return nil, err
			}
			out := make([]float64, size)
			for i := range out {
				if out[i] = grad[p.Offset+i]; p.Kind != kernel.Location {
					out[i] /= theta[i]
				}
			}
			return numberValue(out), nil
		},
	}
}

// addNoiseOp returns Σ = K + diag(noise). Inputs: K and the estimated variances, if
// any. Derivative: for the adjoint G of Σ, K receives G itself and the variance of a
// group receives Σ_i G_ii over its points (traceOp).
func (s ops) addNoiseOp(noise NoiseModel) *op {
	inputs, varies := []hm.Type{matrixType()}, []bool{true}
	if size := len(noise.names()); size > 0 {
		inputs, varies = append(inputs, numberType(size)), append(varies, true)
	}
	return &op{
		solver: s.solver, name: "AddNoise", inputs: inputs, shape: s.square(), varies: varies,
		do: func(inputs []gorgonia.Value) (gorgonia.Value, error) {
			theta, err := contentOf[kernelMatrix](inputs[0])
			if err != nil {
				return nil, err
			}
			c := covariance{theta: theta}
			if len(inputs) > 1 {
				estimated, err := numbers(inputs[1])
				if err != nil {
					return nil, err
				}
				c.estimated = slices.Clone(estimated)
			}
			c.noise = noise.diagonal(c.estimated, s.ws.N())
			return s.handle(c), nil
		},
		diff: func(inputs gorgonia.Nodes, _, adjoint *gorgonia.Node) (gorgonia.Nodes, error) {
			if len(inputs) == 1 {
				return gorgonia.Nodes{adjoint}, nil
			}
			trace, err := gorgonia.ApplyOp(s.traceOp(noise), adjoint)
			return gorgonia.Nodes{adjoint, trace}, err
		},
	}
}

// traceOp sums the diagonal of the adjoint G of Σ over the points of each group;
// without groups the sum is tr G.
func (s ops) traceOp(noise NoiseModel) *op {
	size := len(noise.names())
	return &op{
		solver: s.solver, name: "Trace", inputs: []hm.Type{matrixType()}, shape: numberShape(size),
		do: func(inputs []gorgonia.Value) (gorgonia.Value, error) {
			if err := s.contract(inputs[0]); err != nil {
				return nil, err
			}
			return numberValue(s.groupSums(size)), nil
		},
	}
}

// nlmlOp returns f = Σ_t ½ r_tᵀΣ⁻¹r_t + ½ log|Σ| + ½ n log 2π, summed over the T
// targets, or the criterion of leave-one-out if that is the solver's objective. residualFixed means that r is
// data, free of parameters.
//
// The derivatives for the adjoint g of f are (Rasmussen & Williams 2006, eq. 5.9,
// negated): Σ receives ½g(T·Σ⁻¹ − Σ_t α_tα_tᵀ) with α = Σ⁻¹r, and r receives gα.
//
// If the solver finds the mean's coefficients by generalized least squares, r is the target y and f
// is φ(Σ, β) = ½(y − Hβ)ᵀΣ⁻¹(y − Hβ) + … at β̂(Σ), which minimizes φ for that Σ. By the chain rule
//
//	df/dΣ = ∂φ/∂Σ + (∂φ/∂β)(dβ̂/dΣ),  ∂φ/∂β = −HᵀΣ⁻¹(y − Hβ).
//
// At β̂ = (HᵀΣ⁻¹H)⁻¹HᵀΣ⁻¹y ∂φ/∂β is zero, so the derivative equals the derivative
// at fixed β̂ (envelope theorem). The formula is the same, with α = Σ⁻¹(y − Hβ̂).
func (s ops) nlmlOp(residualFixed bool) *op {
	args := "y - mean"
	if residualFixed {
		args = "y"
	}
	return &op{
		solver: s.solver, name: s.objectiveName(), args: args, inputs: []hm.Type{matrixType(), vectorType()}, shape: tensor.ScalarShape(),
		varies: []bool{true, !residualFixed},
		do: func(inputs []gorgonia.Value) (gorgonia.Value, error) {
			c, err := contentOf[covariance](inputs[0])
			if err != nil {
				return nil, err
			}
			r, err := numbers(inputs[1])
			if err != nil {
				return nil, err
			}
			f, err := s.nlml(c, r)
			if err != nil {
				return nil, err
			}
			if s.leavesOut {
				l, err := s.out.predicted()
				if err != nil {
					return nil, err
				}
				f = l.objective()
			}
			return gorgonia.NewF64(f), nil
		},
		// Passing output as an input makes the derivatives run after the factorization.
		diff: func(_ gorgonia.Nodes, output, g *gorgonia.Node) (gorgonia.Nodes, error) {
			adjoint, err := gorgonia.ApplyOp(s.adjointOp(), output, g)
			if err != nil || residualFixed {
				return gorgonia.Nodes{adjoint, nil}, err
			}
			residual, err := gorgonia.ApplyOp(s.residualGradOp(), output, g)
			return gorgonia.Nodes{adjoint, residual}, err
		},
	}
}

// adjointOp returns the adjoint of Σ under nlmlOp, as a handle. Inputs: the value
// f, which makes the op run after the factorization, and g.
func (s ops) adjointOp() *op {
	return &op{
		solver: s.solver, name: s.derivativeName("Adjoint"), inputs: []hm.Type{tensor.Float64, tensor.Float64}, shape: s.square(),
		do: func(inputs []gorgonia.Value) (gorgonia.Value, error) {
			g, err := scalar(inputs[1])
			if err != nil {
				return nil, err
			}
			a := adjoint{stamp: s.stamp}
			if s.leavesOut {
				a.loo = g
			} else {
				a.inv, a.outer = float64(s.targets)*g/2, g/2
			}
			return s.handle(a), nil
		},
	}
}

// residualGradOp returns the adjoint of r under nlmlOp, gα, or gb with leave-one-out.
func (s ops) residualGradOp() *op {
	return &op{
		solver: s.solver, name: s.derivativeName("ResidualGrad"), inputs: []hm.Type{tensor.Float64, tensor.Float64}, shape: tensor.Shape{s.ws.N()},
		do: func(inputs []gorgonia.Value) (gorgonia.Value, error) {
			g, err := scalar(inputs[1])
			if err != nil {
				return nil, err
			}
			slope := s.alpha
			if s.leavesOut {
				if slope, err = s.out.slope(); err != nil {
					return nil, err
				}
			}
			return vectorValue(floats.ScaleTo(make([]float64, len(slope)), g, slope)), nil
		},
	}
}
