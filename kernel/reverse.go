package kernel

import (
	"math"

	"gpfit/internal/vec"
)

// sink says where a reverse run adds derivatives: by log θ, or if that is nil
// by the one point of the row. y and j0 are the row's other points.
type sink struct {
	theta, input []float64
	y            *Points
	j0           int
}

// reverse sends the adjoint of the last instruction back through the code.
// Every value has exactly one consumer, so an adjoint is set once. Sums and
// scales hand on the row they get; only products make new ones.
func (e *Evaluator) reverse(adj []float64, to sink) {
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
			if to.theta != nil {
				to.theta[op.Param] += g.factor * vec.Dot(g.row, e.result(c, m))
			}
			if op.row == c { // otherwise the leaf's derivative has the factor
				g.factor *= e.theta[op.Param]
			}
			e.adjoints[op.left] = g
		case OpCustom:
			g.factor *= e.amplitude(op)
			e.pair.reverse(g, &e.prog.Customs[op.Feature], e.theta, to)
		default:
			if op.Feature < 0 {
				break
			}
			if to.theta != nil {
				e.reverseLeaf(c, g, to)
			} else {
				e.reverseInput(c, g, to)
			}
		}
	}
	clear(e.adjoints) // adj is not ours to keep
}

// reverseLeaf adds the derivatives of leaf c by the logs of its parameters. The
// argument of the leaf's formula is w·s, s = Σ_q w_q s_q, and of the parameters
// that the columns are divided by, w or w_q goes like the inverse or the
// inverse square. Of a period p, with u = Δ/p,
//
//	∂ sin²(πu)/∂log p = −πu sin(2πu).
func (e *Evaluator) reverseLeaf(c int, g scaledRow, to sink) {
	op, d, m := &e.ops[c], e.derivative[c], len(g.row)
	f, w := &e.prog.Features[op.Feature], e.leafScale(op)
	if d.byShape.row != nil {
		to.theta[op.Shape] += g.factor * d.byShape.factor * vec.Dot(g.row, d.byShape.row)
	}
	factor := g.factor * d.byFeature.factor
	if op.Param >= 0 {
		s := e.features[op.Feature][:m]
		to.theta[op.Param] -= float64(op.family.power) * factor * w * vec.TripleDot(g.row, d.byFeature.row, s)
	}
	if f.onePeriod() {
		to.theta[f.Period] -= math.Pi * factor * w * vec.TripleDot(g.row, d.byFeature.row, e.sines[op.Feature][:m])
		return
	}
	if f.Param < 0 && f.Kind != SinSquares {
		return
	}
	weights := e.weights[:m]
	vec.Mul(weights, g.row, d.byFeature.row)
	e.sumColumns(op.Feature, weights, to)
	power := 2.0
	if f.Kind == Differences {
		power = 1
	}
	columns := e.columnWeights(*f)
	for q := range f.Dims {
		wq := w
		if columns != nil {
			wq *= columns[q]
			to.theta[f.Param+q] -= power * factor * wq * e.columnSums[q]
		}
		if f.Kind == SinSquares {
			to.theta[f.Period+min(q, f.Periods-1)] -= math.Pi * factor * wq * e.columnSines[q]
		}
	}
}

// sumColumns sets columnSums[q] = Σ_j weights[j]·s_q(j), where s_q is column q's part
// of the feature without its weight, and for SinSquares columnSines[q] =
// Σ_j weights[j]·u sin(2πu).
func (e *Evaluator) sumColumns(feature int, weights []float64, to sink) {
	f, point := &e.prog.Features[feature], e.points[feature]
	sums, cols := e.columnSums[:len(f.Dims)], to.y.X[to.j0:]
	switch f.Kind {
	case SquaredDistance:
		vec.WeightedSquares(sums, point, weights, cols, to.y.N, f.Dims)
	case SinSquares:
		vec.SinSums(sums, e.columnSines[:len(f.Dims)], point, e.frequencies[feature], weights, cols, to.y.N, f.Dims)
	case InnerProduct:
		for q, c := range f.Dims {
			sums[q] = point[q] * vec.Dot(weights, cols[c*to.y.N:])
		}
	case Differences:
		for q := range f.Dims {
			sums[q] = e.weightedDifferences(feature, q, weights, to)
		}
	}
}

// weightedDifferences returns Σ_j w_j (x_c − y_jc) of the feature's q-th column.
func (e *Evaluator) weightedDifferences(feature, q int, w []float64, to sink) float64 {
	row := e.column[:len(w)]
	vec.Differences(row, e.points[feature][q:], nil, to.y.X[to.j0:], to.y.N, e.prog.Features[feature].Dims[q:q+1])
	return vec.Dot(w, row)
}

// reverseInput adds the derivatives of leaf c by the coordinates of the row's
// one point:
//
//	∂Δ²/∂x = 2Δ,   ∂xy/∂x = y,   ∂sin²(πΔ/p)/∂x = (π/p) sin(2πΔ/p),   ∂Δ/∂x = 1.
func (e *Evaluator) reverseInput(c int, g scaledRow, to sink) {
	op, d, m := &e.ops[c], e.derivative[c].byFeature, len(g.row)
	f, point := &e.prog.Features[op.Feature], e.points[op.Feature]
	weights := e.weights[:m]
	vec.Mul(weights, g.row, d.row)
	factor, columns := g.factor*d.factor*e.leafScale(op), e.columnWeights(*f)
	for q, col := range f.Dims {
		y, sum := to.y.X[to.j0+col*to.y.N:], 0.0
		switch f.Kind {
		case SquaredDistance:
			sum = 2 * e.weightedDifferences(op.Feature, q, weights, to)
		case InnerProduct:
			sum = vec.Dot(weights, y)
		case SinSquares:
			frequency := e.frequencies[op.Feature][q]
			for j, v := range weights {
				sum += v * vec.SinTurns((point[q]-y[j])*frequency)
			}
			sum *= math.Pi * frequency
		case Differences:
			for _, v := range weights {
				sum += v
			}
		}
		if columns != nil {
			sum *= columns[q]
		}
		to.input[col] += factor * sum
	}
}
