package graph

import (
	"fmt"
	"hash"
	"hash/fnv"
	"runtime/debug"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// baseOp is the common part of this package's ops. An op is identified by its name,
// its solver and its arguments; Gorgonia must never merge two nodes whose ops
// differ in any of them.
type baseOp struct {
	solver *solver
	name   string
	// args distinguishes ops with the same name, for example by the offset of a
	// pick.
	args string
	// inputs and output are the types of the children and of the result.
	inputs []hm.Type
	output hm.Type
	shape  tensor.Shape
}

func (o *baseOp) base() *baseOp { return o }

func (o *baseOp) Arity() int { return len(o.inputs) }

// Type returns a new type, because Gorgonia returns it to a pool after use.
func (o *baseOp) Type() hm.Type {
	types := append(make([]hm.Type, 0, len(o.inputs)+1), o.inputs...)
	return hm.NewFnType(append(types, o.output)...)
}

func (o *baseOp) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) { return o.shape.Clone(), nil }
func (o *baseOp) ReturnsPtr() bool                                      { return false }

// CallsExtern returns false for every device; true would make the compiler allocate
// matrices on the host.
func (o *baseOp) CallsExtern() bool    { return false }
func (o *baseOp) OverwritesInput() int { return -1 }

func (o *baseOp) WriteHash(h hash.Hash) {
	fmt.Fprintf(h, "gpfit %s %q solver %p salt %d", o.name, o.args, o.solver, o.solver.salt)
}

func (o *baseOp) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

func (o *baseOp) String() string {
	if o.args == "" {
		return o.name
	}
	return o.name + "(" + o.args + ")"
}

// guard runs the body of a Do unless the solver's context is done. It turns a panic
// into an error, because a panic in one of Gorgonia's own machines would end the
// process.
func (o *baseOp) guard(body func() (gorgonia.Value, error)) (v gorgonia.Value, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("graph: panic in op %s: %v\n%s", o, p, debug.Stack())
		}
	}()
	if err := o.solver.ctx.Err(); err != nil {
		return nil, err
	}
	return body()
}

// likelihood evaluates the NLML at the covariance and the residual in an op's
// inputs.
func (o *baseOp) likelihood(inputs []gorgonia.Value) (float64, error) {
	c, err := asInput[*covarianceHandle](inputs[0])
	if err != nil {
		return 0, err
	}
	r, err := numbers(inputs[1])
	if err != nil {
		return 0, err
	}
	return o.solver.nlml(c, r)
}

func (o *baseOp) handle() handle {
	return handle{solver: o.solver, rows: o.shape[0], cols: o.shape[1]}
}

func vectorType() hm.Type { return gorgonia.TensorType{Dims: 1, Of: tensor.Float64} }

// numberType returns the type of a scalar or, for more than one element, of a
// vector.
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
