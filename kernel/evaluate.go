package kernel

import (
	"math"

	"gpfit/internal/vec"
)

// Evaluator runs a program on the CPU, a row of pairs at a time. It holds the
// scratch space of one goroutine; use one for each.
type Evaluator struct {
	prog *Program
	ops  []operation
	// theta is θ, invSquare holds 1/θ² for every element.
	theta, invSquare []float64
	// points[f] holds the coordinates that feature f uses of the one point of
	// a row of pairs.
	points [][]float64
	// features[f] is a row of feature f; values[c] holds results of
	// instructions, slopes[c] is room for the derivative of a leaf c.
	features, values, slopes [][]float64
	// adjoints[c] is the derivative of the result by instruction c, up to a
	// factor; products[c] is room for it where the consumer is a product.
	adjoints []scaledRow
	products [][]float64
	// derivative[c] is dk/ds of leaf c.
	derivative []scaledRow
	// weights and sums are for the lengthscales of an ARD leaf.
	weights, sums []float64
	width         int
}

// scaledRow stands for the row factor·row.
type scaledRow struct {
	row    []float64
	factor float64
}

// operation is an instruction and what is known of it before the first row.
type operation struct {
	Instr
	// family is that of a leaf.
	family *Family
	// left and right are the operands of Add and Mul, or left that of Scale,
	// as indices of instructions.
	left, right int
	// row is the index of its result in values. A Scale right behind a leaf
	// has the leaf's: the leaf does its work, amplitude being its parameter,
	// otherwise −1.
	row, amplitude int
}

// NewEvaluator returns an evaluator for prog. Call Bind before use.
func NewEvaluator(prog *Program) *Evaluator {
	e := &Evaluator{prog: prog}
	var stack []int
	for i, in := range prog.Code {
		op := operation{Instr: in, row: i, amplitude: -1}
		top := len(stack)
		switch in.Op {
		case OpAdd, OpMul:
			op.left, op.right = stack[top-2], stack[top-1]
			stack = append(stack[:top-2], i)
		case OpScale:
			op.left = stack[top-1]
			if leaf := &e.ops[op.left]; leaf.family != nil {
				leaf.amplitude, op.row = in.Param, leaf.row
			}
			stack[top-1] = i
		default:
			op.family = familyByOp(in.Op)
			stack = append(stack, i)
		}
		e.ops = append(e.ops, op)
	}
	longest := 0
	for _, f := range prog.Features {
		e.points = append(e.points, make([]float64, len(f.Dims)))
		longest = max(longest, len(f.Dims))
	}
	e.sums = make([]float64, longest)
	e.adjoints, e.derivative = make([]scaledRow, len(e.ops)), make([]scaledRow, len(e.ops))
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
	if m <= e.width && e.values != nil {
		return
	}
	e.width = m
	// A cache line between rows of 4 KiB keeps them out of each other's sets.
	stride := (m+7)&^7 + 8
	features, code := len(e.prog.Features), len(e.prog.Code)
	room := make([]float64, (features+3*code+1)*stride)
	row := func() []float64 {
		r := room[:m:m]
		room = room[stride:]
		return r
	}
	rows := func(n int) [][]float64 {
		out := make([][]float64, n)
		for i := range out {
			out[i] = row()
		}
		return out
	}
	e.features, e.values, e.slopes, e.products, e.weights = rows(features), rows(code), rows(code), rows(code), row()
}

// Row writes k(x_i, y_j) for j0 ≤ j < j1 to dst[0 : j1−j0].
func (e *Evaluator) Row(dst []float64, x *Points, i int, y *Points, j0, j1 int) {
	m := j1 - j0
	e.grow(m)
	e.distances(x, i, y, j0, m)
	e.forward(dst[:m], false)
}

// Diagonal writes k(x_i, x_i) for i0 ≤ i < i1 to dst[0 : i1−i0].
func (e *Evaluator) Diagonal(dst []float64, i0, i1 int) {
	m := i1 - i0
	e.grow(m)
	for _, f := range e.features {
		clear(f[:m])
	}
	e.forward(dst[:m], false)
}

// RowGradient adds Σ_j adj[j−j0] ∂k(x_i, y_j)/∂log θ_p, over j0 ≤ j < j1, to
// grad[p] for every p.
func (e *Evaluator) RowGradient(grad, adj []float64, x *Points, i int, y *Points, j0, j1 int) {
	m := j1 - j0
	e.grow(m)
	e.distances(x, i, y, j0, m)
	e.forward(e.result(len(e.ops)-1, m), true)
	e.reverse(grad, adj[:m], y, j0)
}

// distances fills the features of the pairs (x_i, y_j), j0 ≤ j < j0+m, by
// differences of coordinates: the shorter form through inner products cancels.
func (e *Evaluator) distances(x *Points, i int, y *Points, j0, m int) {
	for k, f := range e.prog.Features {
		point := e.points[k]
		for q, c := range f.Dims {
			point[q] = x.X[c*x.N+i]
		}
		vec.SquaredDistances(e.features[k][:m], point, e.inverseSquares(f), y.X[j0:], y.N, f.Dims)
	}
}

// inverseSquares returns 1/ρ_c² for the columns of a feature that has
// lengthscales, or nil.
func (e *Evaluator) inverseSquares(f Feature) []float64 {
	if f.Param < 0 {
		return nil
	}
	return e.invSquare[f.Param : f.Param+len(f.Dims)]
}

// leafScale returns the factor from a leaf's feature to s = r².
func (e *Evaluator) leafScale(op *operation) float64 {
	if op.Param < 0 {
		return 1
	}
	return e.invSquare[op.Param]
}

// forward runs the code on the rows of features. The result of the last
// instruction goes to out, the others stay in values; with slopes, the leaves
// leave their derivatives behind as well.
func (e *Evaluator) forward(out []float64, slopes bool) {
	m, last := len(out), len(e.ops)-1
	for c := range e.ops {
		op := &e.ops[c]
		dst := e.values[op.row][:m]
		if op.row == e.ops[last].row {
			dst = out
		}
		switch op.Op {
		case OpAdd:
			vec.Add(dst, e.result(op.left, m), e.result(op.right, m))
		case OpMul:
			vec.Mul(dst, e.result(op.left, m), e.result(op.right, m))
		case OpScale:
			if op.row == c {
				vec.Scale(dst, e.result(op.left, m), e.theta[op.Param])
			}
		default:
			s, w, a := e.features[op.Feature][:m], e.leafScale(op), 1.0
			if op.amplitude >= 0 {
				a = e.theta[op.amplitude]
			}
			if !slopes {
				op.family.value(dst, s, w, a)
				continue
			}
			d := &e.derivative[c]
			d.row, d.factor = op.family.slope(dst, e.slopes[c][:m], s, w, a)
		}
	}
}

// result is the row of instruction c, of length m.
func (e *Evaluator) result(c, m int) []float64 { return e.values[e.ops[c].row][:m] }

// reverse sends the adjoint of the last instruction back through the code.
// Every value has exactly one consumer, so an adjoint is set once. Sums and
// scales hand on the row they get; only products make new ones.
func (e *Evaluator) reverse(grad, adj []float64, y *Points, j0 int) {
	m, last := len(adj), len(e.ops)-1
	e.adjoints[last] = scaledRow{adj, 1}
	for c := last; c >= 0; c-- {
		op, g := &e.ops[c], e.adjoints[c]
		switch op.Op {
		case OpAdd:
			e.adjoints[op.left], e.adjoints[op.right] = g, g
		case OpMul:
			a, b := e.products[op.left][:m], e.products[op.right][:m]
			vec.Mul(a, g.row, e.result(op.right, m))
			vec.Mul(b, g.row, e.result(op.left, m))
			e.adjoints[op.left], e.adjoints[op.right] = scaledRow{a, g.factor}, scaledRow{b, g.factor}
		case OpScale:
			grad[op.Param] += g.factor * vec.Dot(g.row, e.result(c, m))
			if op.row == c { // otherwise the leaf's derivative has the factor
				g.factor *= e.theta[op.Param]
			}
			e.adjoints[op.left] = g
		default:
			e.reverseLeaf(grad, c, g, y, j0)
		}
	}
	clear(e.adjoints) // adj is not ours to keep
}

// reverseLeaf adds the derivatives by the logs of a leaf's lengthscales:
// ∂s/∂log ρ = −2s for one lengthscale, ∂s/∂log ρ_c = −2 (x_c − y_c)²/ρ_c² for
// one per column.
func (e *Evaluator) reverseLeaf(grad []float64, c int, g scaledRow, y *Points, j0 int) {
	op, d, m := &e.ops[c], e.derivative[c], len(g.row)
	factor := -2 * g.factor * d.factor
	if op.Param >= 0 {
		s := e.features[op.Feature][:m]
		grad[op.Param] += factor * e.invSquare[op.Param] * vec.TripleDot(g.row, d.row, s)
		return
	}
	f := e.prog.Features[op.Feature]
	weights, sums := e.weights[:m], e.sums[:len(f.Dims)]
	vec.Mul(weights, g.row, d.row)
	vec.WeightedSquares(sums, e.points[op.Feature], weights, y.X[j0:], y.N, f.Dims)
	for q, w := range e.inverseSquares(f) {
		grad[f.Param+q] += factor * w * sums[q]
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
