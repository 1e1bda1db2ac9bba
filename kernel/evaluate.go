package kernel

import (
	"slices"

	"gpfit/internal/vec"
)

// Evaluator runs a program on the CPU, a row of pairs at a time. It holds the
// scratch space of one goroutine; use one for each.
type Evaluator struct {
	prog *Program
	ops  []operation
	// theta is θ; inverse holds 1/θ and invSquare 1/θ² for every element.
	theta, inverse, invSquare []float64
	// points[f] holds the coordinates that feature f uses of the one point of
	// a row of pairs, frequencies[f] its inverse periods.
	points, frequencies [][]float64
	// features[f] is a row of feature f; values[c] holds results of
	// instructions; first[c] and other[c] are room for the derivatives of a
	// leaf c.
	features, values, first, other [][]float64
	// adjoints[c] is the derivative of the result by instruction c, up to a
	// factor; products[c] is room for it where the consumer is a product.
	adjoints []scaledRow
	products [][]float64
	// derivative[c] is that of leaf c.
	derivative []leafSlope
	// sines[f] is the row Σ u sin(2πu) of a feature SinSquares with one period.
	sines [][]float64
	// weights and column are rows for the derivatives by single columns;
	// columnSums and columnSines hold one number for each.
	weights, column, columnSums, columnSines []float64
	width                                    int
	pair                                     customPair
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
	for i, f := range prog.Features {
		e.frequencies = append(e.frequencies, nil)
		if f.Kind == SinSquares {
			e.frequencies[i] = make([]float64, len(f.Dims))
		}
	}
	e.columnSums, e.columnSines = make([]float64, longest), make([]float64, longest)
	e.adjoints, e.derivative = make([]scaledRow, len(e.ops)), make([]leafSlope, len(e.ops))
	e.pair.init(prog)
	return e
}

// Bind sets the parameters θ in natural units for the calls that follow; theta
// is not kept.
func (e *Evaluator) Bind(theta []float64) {
	e.theta = append(e.theta[:0], theta...)
	e.inverse, e.invSquare = e.inverse[:0], e.invSquare[:0]
	for _, v := range theta {
		e.inverse, e.invSquare = append(e.inverse, 1/v), append(e.invSquare, 1/(v*v))
	}
	for k, f := range e.prog.Features {
		for q := range e.frequencies[k] {
			e.frequencies[k][q] = e.inverse[f.Period+min(q, f.Periods-1)]
		}
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
	room := make([]float64, (2*features+4*code+2)*stride)
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
	e.features, e.sines, e.weights, e.column = rows(features), rows(features), row(), row()
	e.values, e.products = rows(code), rows(code)
	e.first, e.other = rows(code), rows(code)
}

// Row writes k(x_i, y_j) for j0 ≤ j < j1 to dst[0 : j1−j0].
func (e *Evaluator) Row(dst []float64, x *Points, i int, y *Points, j0, j1 int) {
	m := j1 - j0
	e.measure(x, i, y, j0, m, false)
	e.forward(dst[:m], false)
}

// Diagonal writes k(x_i, x_i) for i0 ≤ i < i1 to dst[0 : i1−i0].
func (e *Evaluator) Diagonal(dst []float64, x *Points, i0, i1 int) {
	if !e.prog.Stationary() {
		for i := i0; i < i1; i++ {
			e.Row(dst[i-i0:], x, i, x, i, i+1)
		}
		return
	}
	m := i1 - i0
	e.grow(m)
	for _, f := range e.features {
		clear(f[:m])
	}
	e.forward(dst[:m], false)
}

// Stationary tells a program of the differences of points alone, whose
// diagonal is constant.
func (p *Program) Stationary() bool {
	return len(p.Customs) == 0 && !slices.ContainsFunc(p.Features, func(f Feature) bool { return f.Kind == InnerProduct })
}

// RowGradient adds Σ_j adj[j−j0] ∂k(x_i, y_j)/∂log θ_p, over j0 ≤ j < j1, to
// grad[p] for every p.
func (e *Evaluator) RowGradient(grad, adj []float64, x *Points, i int, y *Points, j0, j1 int) {
	m := j1 - j0
	e.measure(x, i, y, j0, m, true)
	e.forward(e.result(len(e.ops)-1, m), true)
	e.reverse(adj[:m], sink{theta: grad, y: y, j0: j0})
}

// RowInputGradient adds Σ_j adj[j−j0] ∂k(x_i, y_j)/∂x_i, over j0 ≤ j < j1, to
// grad, which has D elements. Only the first argument moves, also where the
// points are the same. Where k has a kink (matern12 at distance 0) it takes the
// mean of both sides, 0. It adds NaN for a leaf that [Program.CheckInputGradient]
// refuses.
func (e *Evaluator) RowInputGradient(grad, adj []float64, x *Points, i int, y *Points, j0, j1 int) {
	m := j1 - j0
	e.measure(x, i, y, j0, m, false)
	e.forward(e.result(len(e.ops)-1, m), true)
	e.reverse(adj[:m], sink{input: grad[:e.prog.D], y: y, j0: j0})
}

// measure fills the features of the pairs (x_i, y_j), j0 ≤ j < j0+m. Distances
// are sums over differences of coordinates: the shorter form through inner
// products cancels. With slopes, what the derivative by a period needs is left
// behind as well.
func (e *Evaluator) measure(x *Points, i int, y *Points, j0, m int, slopes bool) {
	e.grow(m)
	e.pair.set(x, i, y, j0)
	for k, f := range e.prog.Features {
		point, row, w := e.points[k], e.features[k][:m], e.columnWeights(f)
		for q, c := range f.Dims {
			point[q] = x.X[c*x.N+i]
		}
		switch f.Kind {
		case SquaredDistance:
			vec.SquaredDistances(row, point, w, y.X[j0:], y.N, f.Dims)
		case InnerProduct:
			vec.InnerProducts(row, point, w, y.X[j0:], y.N, f.Dims)
		case SinSquares:
			if slopes && f.onePeriod() {
				vec.SinSquaresSlope(row, e.sines[k][:m], point, e.frequencies[k], y.X[j0:], y.N, f.Dims)
				continue
			}
			vec.SinSquares(row, point, w, e.frequencies[k], y.X[j0:], y.N, f.Dims)
		case Differences:
			vec.Differences(row, point, w, y.X[j0:], y.N, f.Dims)
		}
	}
}

// onePeriod tells a feature of an isotropic periodic leaf.
func (f *Feature) onePeriod() bool { return f.Kind == SinSquares && f.Periods == 1 && f.Param < 0 }

// columnWeights returns the weights of a feature's columns, or nil if all are 1.
func (e *Evaluator) columnWeights(f Feature) []float64 {
	switch {
	case f.Param < 0:
		return nil
	case f.Kind == Differences:
		return e.inverse[f.Param : f.Param+len(f.Dims)]
	}
	return e.invSquare[f.Param : f.Param+len(f.Dims)]
}

// leafScale returns the factor w from a leaf's feature to the argument of its
// formula.
func (e *Evaluator) leafScale(op *operation) float64 {
	switch {
	case op.Param < 0:
		return 1
	case op.family.power == 1:
		return e.inverse[op.Param]
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
		case OpCustom:
			e.pair.value(dst, &e.prog.Customs[op.Feature], e.theta, e.amplitude(op))
		default:
			e.forwardLeaf(dst, c, slopes)
		}
	}
}

// amplitude is the factor of a leaf with a Scale right behind it.
func (e *Evaluator) amplitude(op *operation) float64 {
	if op.amplitude < 0 {
		return 1
	}
	return e.theta[op.amplitude]
}

func (e *Evaluator) forwardLeaf(dst []float64, c int, slopes bool) {
	op, m := &e.ops[c], len(dst)
	in := leafInput{w: e.leafScale(op), a: e.amplitude(op), degree: op.Degree, first: e.first[c][:m], other: e.other[c][:m]}
	if op.Feature >= 0 {
		in.s = e.features[op.Feature][:m]
	}
	if op.family.hasShape() {
		in.shape = e.theta[op.Shape]
	}
	if slopes {
		e.derivative[c] = op.family.slope(dst, in)
	} else {
		op.family.value(dst, in)
	}
}

// result is the row of instruction c, of length m.
func (e *Evaluator) result(c, m int) []float64 { return e.values[e.ops[c].row][:m] }
