package tree

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/internal/matrixrows"
	"gpfit/kernel"
	"gpfit/kernel/vec"
)

// Bound implements [device.Bounded].
func (w *engine) Bound() device.Bound {
	b := device.Bound{Tolerance: w.tolerance / w.amplitude, Fit: w.fit}
	b.LogDet = 2 * w.tolerance * math.Sqrt(float64(w.N)) / slices.Min(w.noise)
	for _, t := range w.nodes {
		b.Rank = max(b.Rank, t.m.Rows)
	}
	return b
}

// A comparison computes about mostElements elements of Σ, and the derivatives of mostSlopes elements.
const mostElements, mostSlopes = 4e10, 1.1e9

// A comparison takes signVectors random vectors of signs, slopeVectors of these for derivatives, and the largest error of alarmVectors. A sum of n products
// has an error of about rounding·√n.
const signVectors, slopeVectors, alarmVectors, rounding = 8, 4, 2, 4 * 0x1p-53

// verify implements [device.Bounded].
func (w *engine) verify(ctx context.Context, y, alpha []float64, m int) (device.Verified, error) {
	n := w.N
	rows := w.verifiedRows()
	signs := newMatrix(n, signVectors)
	s := stream{1}
	for i := range signs.Data {
		signs.Data[i] = float64(2*int(s.next()>>63) - 1)
	}
	weights, sides := w.ordered(alpha, m), w.ordered(y, m)
	products, err := w.products(ctx, rows, beside(signs, weights))
	if err != nil {
		return device.Verified{}, err
	}
	own := clone(signs)
	w.multiply(w.root, own, true)
	w.multiply(w.root, own, false)
	out := device.Verified{Rows: len(rows), Gradient: math.Inf(1)}
	for k, i := range rows {
		missed := row(own, i) // Ev
		for q := range missed {
			if missed[q] -= products.Data[k*products.Stride+q]; q < alarmVectors {
				out.Miss = max(out.Miss, math.Abs(missed[q])/(math.Sqrt(float64(n))*w.tolerance))
			}
		}
	}
	if out.LogDet = w.Bound().LogDet * max(1, out.Miss); len(rows) < n {
		return out, nil
	}
	out.LogDet = w.logDetBound(signs, own)
	out.Correction, out.Rest = make([]float64, m), make([]float64, m)
	for q := range m {
		squares := 0.0
		for i := range n {
			v, r := weights.Data[i*m+q], sides.Data[i*m+q]-products.Data[i*products.Stride+signVectors+q]
			sides.Data[i*m+q] = r
			out.Correction[q] += r * v / 2
			out.Rest[q] += r * r / (2 * slices.Min(w.noise))
			squares += v * v
		}
		out.Rest[q] += w.roundingOf(squares)
	}
	if float64(n)*float64(n) <= mostSlopes {
		w.solve(sides)
		out.Gradient, err = w.gradientBound(ctx, columnsAt(signs, 0, slopeVectors), columnsAt(own, 0, slopeVectors), weights, sides)
	}
	return out, err
}

// logDetBound returns a bound of the error of ½log|Σ̃| for vectors v of signs and Ev, which it replaces by Σ̃⁻¹Ev. Half of the trace of
// A = Σ̃⁻¹E is the error of the first order. Terms of higher orders are at most ½‖A‖², in the norm of Frobenius, if ‖A‖ is below ½. Rounding errors
// of the factor are in E.
func (w *engine) logDetBound(signs, ev blas64.General) float64 {
	w.solve(ev)
	trace, square := traceOf(signs, ev)
	if !(square < 1.0/4) {
		return math.Inf(1)
	}
	return math.Abs(trace) + deviation(square, signVectors) + square/2 + 2*rounding*(float64(w.N)+math.Abs(w.logDet))
}

// traceOf estimates ½tr(A) by the mean of ½vᵀAv over vectors v of signs (Hutchinson 1990), and ‖A‖² by the mean of ‖Av‖².
func traceOf(signs, av blas64.General) (trace, square float64) {
	for i := range av.Rows {
		for q, v := range row(av, i) {
			trace += v * signs.Data[i*signs.Stride+q] / float64(2*av.Cols)
			square += v * v / float64(av.Cols)
		}
	}
	return trace, square
}

// deviation is four times the standard error of the estimate of ½tr(A), at most ‖A‖/√(2k) for k vectors.
func deviation(square float64, k int) float64 { return 4 * math.Sqrt(square/float64(2*k)) }

// gradientBound returns the largest bound of the errors of the derivatives of the likelihood by the logarithms of the parameters and of the
// noise: of m·½log|Σ̃| + ½Σ yᵀα̃ for m targets. It takes vectors v of signs, w = Σ̃⁻¹Ev, the solutions α̃ and δ = Σ̃⁻¹(y − Σα̃). To the first order
//
//	tr(Σ̃⁻¹∂K̃) − tr(Σ⁻¹∂K) = tr(A), Aᵀ-products Σ̃⁻¹((∂K̃ − ∂K)v − ∂K̃w),
//	α̃ᵀ∂K̃α̃ − αᵀ∂Kα = α̃ᵀ(∂K̃ − ∂K)α̃ − 2δᵀ∂Kα̃.
//
// The rounding error of y − Σα̃ adds at most its norm times ‖Σ̃⁻¹∂Kα̃‖.
func (w *engine) gradientBound(ctx context.Context, signs, ev, alpha, delta blas64.General) (float64, error) {
	m, params := alpha.Cols, w.prog.NumParams
	all := beside(signs, alpha, ev)
	own := w.slopes(ctx, all)
	exact := w.allSlopes(ctx, w.Threads, w.prog, w.theta, beside(signs, alpha))
	each := slopeVectors + m
	rests, fits, missed := newMatrix(w.N, (params+1)*each), make([]float64, params+1), make([]float64, each)
	for i := range w.N {
		for p := range params + 1 {
			near, factor, rest := row(all, i), w.noiseOf(i), row(rests, i)[p*each:][:each]
			if clear(missed); p < params { // the noise has no blocks
				near, factor = row(own, i)[p*all.Cols:][:all.Cols], 1
				floats.SubTo(missed, near[:each], row(exact, i)[p*each:][:each])
			}
			for q := range slopeVectors {
				rest[q] = factor * (missed[q] - near[each+q])
			}
			for q := range m {
				slope := factor * near[slopeVectors+q]
				rest[slopeVectors+q] = slope
				fits[p] -= factor*alpha.Data[i*m+q]*missed[slopeVectors+q]/2 - delta.Data[i*m+q]*slope
			}
		}
	}
	w.solve(rests)
	_, second := traceOf(signs, ev)
	most, size := 0.0, w.amplitude+slices.Max(w.noise)
	for p, fit := range fits {
		trace, square := traceOf(signs, columnsAt(rests, p*each, slopeVectors))
		own := rounding * size * (float64(m*w.N)/slices.Min(w.noise) + math.Sqrt(float64(w.N)*squares(alpha)*squares(columnsAt(rests, p*each+slopeVectors, m)))*float64(m))
		most = max(most, math.Abs(float64(m)*trace+fit)+float64(m)*deviation(square, slopeVectors)+own) // NaN stays
	}
	return most * (1 + 2*math.Sqrt(second)), ctx.Err()
}

// roundingOf is about the rounding error of ½αᵀΣα for weights with a sum of squares.
func (e *evaluation) roundingOf(squares float64) float64 {
	return rounding * (e.amplitude + slices.Max(e.noise)) * math.Sqrt(float64(e.points.N)) * squares / 2
}

// products returns rows of Σb, from all elements of these rows.
func (w *engine) products(ctx context.Context, rows []int, b blas64.General) (blas64.General, error) {
	n, out := w.N, newMatrix(len(rows), b.Cols)
	columns := byColumns(b)
	const part = 32
	spread(w.Threads, (len(rows)+part-1)/part, func(task int) {
		values := make([]float64, n)
		w.borrow(func(e *kernel.Evaluator) {
			for k := task * part; k < min((task+1)*part, len(rows)) && ctx.Err() == nil; k++ {
				i := rows[k]
				e.Row(values, w.points, i, w.points, 0, n)
				values[i] += w.noiseOf(i)
				for q := range b.Cols {
					out.Data[k*b.Cols+q] = vec.Dot(values, columns[q*n:(q+1)*n])
				}
			}
		})
	})
	return out, ctx.Err()
}

// refine adds Σ̃⁻¹r to solutions of b for r = b − Σα̃, from all elements of Σ, and returns the bound ‖r‖²/σ² of the largest change of the
// data fit that is left. With Σ = Σ̃ + E, α = Σ⁻¹b and α₁ = α̃ + Σ̃⁻¹r it is bᵀ(α − α₁) = −(Eα)ᵀΣ̃⁻¹r, and r = −Eα̃.
func (w *engine) refine(ctx context.Context, b, alpha blas64.General) (bound float64, err error) {
	rest, err := w.products(ctx, matrixrows.All(w.N), alpha)
	if err != nil {
		return 0, err
	}
	sums := make([]float64, b.Cols)
	for i := range rest.Rows {
		own, sides := row(rest, i), row(b, i)
		for q := range own {
			own[q] = sides[q] - own[q]
			sums[q] += own[q] * own[q]
		}
	}
	w.solve(rest)
	for i, v := range rest.Data {
		alpha.Data[i] += v
	}
	return slices.Max(sums) / slices.Min(w.noise), nil
}

// verifiedRows returns the rows that a comparison takes, in the order of the tree: all, or random ones.
func (w *engine) verifiedRows() []int {
	return matrixrows.DrawRows(w.N, min(w.N, int(mostElements/float64(w.N))), 2, 0)
}
