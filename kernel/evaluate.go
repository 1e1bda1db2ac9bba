package kernel

import "math"

// Evaluator runs a program on the CPU, a row of pairs at a time. It holds the
// scratch space of one goroutine; use one for each.
type Evaluator struct {
	prog  *Program
	theta []float64
	// invSquare holds 1/θ² for every element of θ.
	invSquare []float64
	// features[f] is a row of feature f; values[c] the result of instruction
	// c; adjoints[s] the adjoint on stack level s of the reverse sweep.
	features, values, adjoints [][]float64
	// scaled and slope are rows of scratch for one leaf.
	scaled, slope []float64
	width         int
	// stack holds indices of instructions during a forward or reverse pass.
	stack []int
	// left[c] and right[c] are the operands of Add and Mul, or left[c] of
	// Scale, as indices of instructions.
	left, right []int
}

// NewEvaluator returns an evaluator for prog. Call Bind before use.
func NewEvaluator(prog *Program) *Evaluator {
	e := &Evaluator{prog: prog}
	e.left, e.right = make([]int, len(prog.Code)), make([]int, len(prog.Code))
	for i, in := range prog.Code {
		top := len(e.stack)
		switch in.Op {
		case OpAdd, OpMul:
			e.left[i], e.right[i] = e.stack[top-2], e.stack[top-1]
			e.stack = append(e.stack[:top-2], i)
		case OpScale:
			e.left[i] = e.stack[top-1]
			e.stack[top-1] = i
		default:
			e.stack = append(e.stack, i)
		}
	}
	return e
}

// Bind sets the parameters θ in natural units for the calls that follow; theta
// is not kept.
func (e *Evaluator) Bind(theta []float64) {
	e.theta = append(e.theta[:0], theta...)
	e.invSquare = e.invSquare[:0]
	for _, v := range theta {
		e.invSquare = append(e.invSquare, 1/(v*v))
	}
}

// grow makes every row of scratch at least m long.
func (e *Evaluator) grow(m int) {
	if m <= e.width {
		return
	}
	e.width = m
	rows := func(n int) [][]float64 {
		out := make([][]float64, n)
		for i := range out {
			out[i] = make([]float64, m)
		}
		return out
	}
	e.features, e.values, e.adjoints = rows(len(e.prog.Features)), rows(len(e.prog.Code)), rows(len(e.prog.Code))
	e.scaled, e.slope = make([]float64, m), make([]float64, m)
}

// Row writes k(x_i, y_j) for j0 ≤ j < j1 to dst[0 : j1−j0].
func (e *Evaluator) Row(dst []float64, x *Points, i int, y *Points, j0, j1 int) {
	m := j1 - j0
	e.grow(m)
	e.distances(x, i, y, j0, j1)
	copy(dst[:m], e.forward(m))
}

// Diagonal writes k(x_i, x_i) for i0 ≤ i < i1 to dst[0 : i1−i0].
func (e *Evaluator) Diagonal(dst []float64, i0, i1 int) {
	m := i1 - i0
	e.grow(m)
	for _, f := range e.features {
		clear(f[:m])
	}
	copy(dst[:m], e.forward(m))
}

// RowGradient adds Σ_j adj[j−j0] ∂k(x_i, y_j)/∂log θ_p, over j0 ≤ j < j1, to
// grad[p] for every p.
func (e *Evaluator) RowGradient(grad, adj []float64, x *Points, i int, y *Points, j0, j1 int) {
	m := j1 - j0
	e.grow(m)
	e.distances(x, i, y, j0, j1)
	e.forward(m)
	e.reverse(grad, adj[:m], x, i, y, j0)
}

// distances fills the features of the pairs (x_i, y_j), by differences of
// coordinates: the shorter form through inner products cancels.
func (e *Evaluator) distances(x *Points, i int, y *Points, j0, j1 int) {
	for k, f := range e.prog.Features {
		dst := e.features[k][:j1-j0]
		clear(dst)
		for q, c := range f.Dims {
			xi, col := x.Column(c)[i], y.Column(c)[j0:j1]
			w := 1.0
			if f.Param >= 0 {
				w = e.invSquare[f.Param+q]
			}
			for j, v := range col {
				diff := xi - v
				dst[j] += diff * diff * w
			}
		}
	}
}

// leafInput returns the row of s = r² that a leaf's formula takes.
func (e *Evaluator) leafInput(in Instr, m int) []float64 {
	s := e.features[in.Feature][:m]
	if in.Param < 0 {
		return s
	}
	w, out := e.invSquare[in.Param], e.scaled[:m]
	for j, v := range s {
		out[j] = v * w
	}
	return out
}

// forward runs the code on the rows of features and returns the row of the
// last instruction.
func (e *Evaluator) forward(m int) []float64 {
	for c, in := range e.prog.Code {
		out := e.values[c][:m]
		switch in.Op {
		case OpAdd:
			a, b := e.values[e.left[c]], e.values[e.right[c]]
			for j := range out {
				out[j] = a[j] + b[j]
			}
		case OpMul:
			a, b := e.values[e.left[c]], e.values[e.right[c]]
			for j := range out {
				out[j] = a[j] * b[j]
			}
		case OpScale:
			a, w := e.values[e.left[c]], e.theta[in.Param]
			for j := range out {
				out[j] = a[j] * w
			}
		default:
			familyByOp(in.Op).value(out, e.leafInput(in, m))
		}
	}
	return e.values[len(e.prog.Code)-1][:m]
}

// reverse sends the adjoint of the last instruction back through the code.
// Every value has exactly one consumer, so an adjoint is written once.
func (e *Evaluator) reverse(grad, adj []float64, x *Points, i int, y *Points, j0 int) {
	m, last := len(adj), len(e.prog.Code)-1
	copy(e.adjoints[last], adj)
	for c := last; c >= 0; c-- {
		in, g := e.prog.Code[c], e.adjoints[c][:m]
		switch in.Op {
		case OpAdd:
			copy(e.adjoints[e.left[c]], g)
			copy(e.adjoints[e.right[c]], g)
		case OpMul:
			a, b := e.values[e.left[c]], e.values[e.right[c]]
			ga, gb := e.adjoints[e.left[c]], e.adjoints[e.right[c]]
			for j, v := range g {
				ga[j], gb[j] = v*b[j], v*a[j]
			}
		case OpScale:
			out, ga, w := e.values[c], e.adjoints[e.left[c]], e.theta[in.Param]
			sum := 0.0
			for j, v := range g {
				sum += v * out[j]
				ga[j] = v * w
			}
			grad[in.Param] += sum
		default:
			e.reverseLeaf(grad, c, in, g, x, i, y, j0)
		}
	}
}

// reverseLeaf adds the derivatives by the logs of a leaf's lengthscales:
// ∂s/∂log ρ = −2s for one lengthscale, ∂s/∂log ρ_c = −2 (x_c − y_c)²/ρ_c² for
// one per column.
func (e *Evaluator) reverseLeaf(grad []float64, c int, in Instr, g []float64, x *Points, i int, y *Points, j0 int) {
	m := len(g)
	s, slope := e.leafInput(in, m), e.slope[:m]
	familyByOp(in.Op).slope(slope, s, e.values[c][:m])
	if in.Param >= 0 {
		sum := 0.0
		for j, v := range g {
			sum += v * slope[j] * s[j]
		}
		grad[in.Param] -= 2 * sum
		return
	}
	for j, v := range g {
		slope[j] *= v
	}
	f := e.prog.Features[in.Feature]
	for q, col := range f.Dims {
		xi, yc := x.Column(col)[i], y.Column(col)[j0:j0+m]
		sum := 0.0
		for j, v := range yc {
			diff := xi - v
			sum += slope[j] * diff * diff
		}
		grad[f.Param+q] -= 2 * sum * e.invSquare[f.Param+q]
	}
}

// Eval returns k(x, y) for two single points, a convenience for tests and
// small work.
func Eval(prog *Program, theta, x, y []float64) float64 {
	e := NewEvaluator(prog)
	e.Bind(theta)
	out := []float64{math.NaN()}
	e.Row(out, NewPoints(x, 1, prog.D), 0, NewPoints(y, 1, prog.D), 0, 1)
	return out[0]
}
