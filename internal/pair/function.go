package pair

import (
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"math"

	"github.com/chewxy/hm"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"gpfit/internal/code"
)

const twoPi = 2 * math.Pi

// function is an op on scalars for an operation of package code that Gorgonia
// lacks, or whose Gorgonia derivative is wrong or singular at distance 0.
type function struct {
	graph *Graph
	op    code.Op
	// power is the exponent of code.Product; poly holds the coefficients of
	// code.Decay, starting with t^−1.
	power int
	poly  []float64
}

var _ gorgonia.SDOp = function{}

// String returns the op as a drawing shows it.
func (f function) String() string {
	switch f.op {
	case code.Product:
		return fmt.Sprintf("^ %d", f.power)
	case code.Decay:
		return polynomial(f.poly) + " exp(−t), t = √"
	}
	return names[f.op]
}

var names = map[code.Op]string{
	code.Sqrt: "√", code.RootInverse: "1/√ or 0", code.LogOrZero: "log or 0", code.Sine: "sin 2π", code.Cosine: "cos 2π",
	code.Arcsine: "arcsin", code.Abs: "abs", code.Positive: "positive part", code.Step: "step", code.Power: "^",
}

// Arity returns 2 for powers and 1 for all others.
func (f function) Arity() int {
	if f.op == code.Power {
		return 2
	}
	return 1
}

// Type returns a new type each time, because Gorgonia returns it to a pool.
func (f function) Type() hm.Type {
	if f.op == code.Power {
		return hm.NewFnType(tensor.Float64, tensor.Float64, tensor.Float64)
	}
	return hm.NewFnType(tensor.Float64, tensor.Float64)
}

func (function) InferShape(...gorgonia.DimSizer) (tensor.Shape, error) {
	return tensor.ScalarShape(), nil
}
func (function) ReturnsPtr() bool     { return false }
func (function) CallsExtern() bool    { return false }
func (function) OverwritesInput() int { return -1 }
func (f function) WriteHash(h hash.Hash) {
	fmt.Fprintf(h, "gpfit pair %d %d %x", f.op, f.power, f.poly)
}

func (f function) Hashcode() uint32 {
	h := fnv.New32a()
	f.WriteHash(h)
	return h.Sum32()
}

// Do computes the function.
func (f function) Do(inputs ...gorgonia.Value) (gorgonia.Value, error) {
	a := make([]float64, len(inputs))
	for i, v := range inputs {
		x, ok := v.Data().(float64)
		if !ok {
			return nil, fmt.Errorf("kernel: %v of %T", f, v.Data())
		}
		a[i] = x
	}
	l := &code.List{}
	// Use a feature, which may be negative; a parameter may not.
	root := f.code(l, l.Feat(0, code.Unknown), l.Param(1))
	return gorgonia.NewF64(l.Evaluate(append(a, 0), a, root)[0]), nil
}

// code appends the function to a list as an operation; b is the exponent of a
// power.
func (f function) code(l *code.List, a, b code.ID) code.ID {
	switch f.op {
	case code.Sqrt:
		return l.Sqrt(a)
	case code.RootInverse:
		return l.RootInverse(a)
	case code.LogOrZero:
		return l.LogOrZero(a)
	case code.Sine:
		return l.Sine(a)
	case code.Cosine:
		return l.Cosine(a)
	case code.Arcsine:
		return l.Arcsine(a)
	case code.Abs:
		return l.Abs(a)
	case code.Positive:
		return l.Positive(a)
	case code.Step:
		return l.Step(a)
	case code.Product:
		return l.PowInt(a, f.power)
	case code.Power:
		return l.Pow(a, b)
	}
	return l.Decay(a, f.poly)
}

// DiffWRT returns true for all inputs; a step also counts as differentiable, with
// derivative 0.
func (f function) DiffWRT(inputs int) []bool {
	out := make([]bool, inputs)
	for i := range out {
		out[i] = true
	}
	return out
}

// SymDiff returns the derivatives times the adjoint of the result.
func (f function) SymDiff(inputs gorgonia.Nodes, output, adjoint *Node) (gorgonia.Nodes, error) {
	g, a := f.graph, inputs[0]
	var d *Node
	switch f.op {
	case code.Sqrt:
		d = g.Scale(0.5, g.apply(function{op: code.RootInverse}, a))
	case code.RootInverse:
		d = g.Scale(-0.5, g.PowInt(output, 3))
	case code.Sine:
		d = g.Scale(twoPi, g.CosineOfTurns(a))
	case code.Cosine:
		d = g.Scale(-twoPi, g.SineOfTurns(a))
	case code.Arcsine:
		d = g.apply(function{op: code.RootInverse}, g.Sub(g.Number(1), g.Square(a)))
	case code.Abs:
		d = g.Sub(g.apply(function{op: code.Step}, a), g.apply(function{op: code.Step}, g.Neg(a)))
	case code.Positive:
		d = g.apply(function{op: code.Step}, a)
	case code.Step:
		d = g.Number(0)
	case code.LogOrZero:
		d = g.PowInt(a, -1)
	case code.Product:
		d = g.Scale(float64(f.power), g.PowInt(a, f.power-1))
	case code.Power:
		return f.powerDiff(inputs, output, adjoint)
	case code.Decay:
		if f.poly[0] == 0 {
			d = g.apply(function{op: code.Decay, poly: decaySlope(f.poly)}, a)
		}
	}
	if d == nil {
		return nil, errNotTwice
	}
	return gorgonia.Nodes{g.Mul(adjoint, d)}, g.err
}

// errNotTwice reports a function with a kink at distance 0.
var errNotTwice = errors.New("the function has no second derivative at distance 0")

// powerDiff returns ∂a^b/∂a = b·a^b/a and ∂a^b/∂b = a^b log a. At a = 0 both count
// as 0, the first through 1/√a; for distances this is the mean of both one-sided
// derivatives.
func (f function) powerDiff(inputs gorgonia.Nodes, output, adjoint *Node) (gorgonia.Nodes, error) {
	g, a, b := f.graph, inputs[0], inputs[1]
	inverse := g.Square(g.apply(function{op: code.RootInverse}, a))
	byBase := g.Mul(b, output, inverse)
	byExponent := g.Mul(output, g.apply(function{op: code.LogOrZero}, a))
	return gorgonia.Nodes{g.Mul(adjoint, byBase), g.Mul(adjoint, byExponent)}, g.err
}

// decaySlope returns the coefficients, starting with t^−1, of the derivative of
// (Σ_k p_k t^k)·e^−t by a = t², which is 1/(2t) times the derivative by t:
//
//	½ Σ_k ((k+2)·p_(k+2) − p_(k+1))·t^k,   k ≥ −1.
func decaySlope(poly []float64) []float64 {
	p := func(k int) float64 { // the coefficient of t^k
		if k+1 < len(poly) {
			return poly[k+1]
		}
		return 0
	}
	out := make([]float64, len(poly))
	for i := range out {
		k := i - 1
		out[i] = (float64(k+2)*p(k+2) - p(k+1)) / 2
	}
	return out
}
