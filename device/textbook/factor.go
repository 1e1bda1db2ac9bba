package textbook

import (
	"context"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"

	"gpfit/device"
	"gpfit/kernel"
)

// blockRows is the number of rows, columns or points that a step works on. Between steps a
// workspace polls the context and reports progress.
const blockRows = 256

type stage uint8

const (
	empty stage = iota
	filled
	factored
	inverted
)

// matrices are of order n, stored by rows: l holds Σ, and then L, in the lower triangle, and
// inverse holds Σ⁻¹.
type matrices struct {
	n          int
	l, inverse []float64
}

// workspace implements [device.DenseWorkspace].
type workspace struct {
	device.Meter
	matrices
	x     *kernel.Points // nil after Close
	stage stage
	// known counts the rows of L that WriteFactor has set, in order.
	known int
	// prog, theta and noise are the arguments of the last Fill.
	prog         *kernel.Program
	theta, noise []float64
}

var (
	_ device.DenseWorkspace = (*workspace)(nil)
	_ device.FactorExtender = (*workspace)(nil)
)

// Method returns the name of the dense method.
func (w *workspace) Method() string { return device.DenseName }

// N returns the number of points.
func (w *workspace) N() int { return w.n }

// Work returns the counters.
func (w *workspace) Work() device.Work {
	matrices := 8 * int64(len(w.l)+len(w.inverse))
	return device.Work{Flops: w.Flops, MatrixBytes: matrices, Bytes: matrices}
}

// Close frees the matrices.
func (w *workspace) Close() error {
	*w = workspace{matrices: matrices{n: w.n}}
	return nil
}

// ready returns an error if a call cannot begin: the matrices have not reached the stage that it needs, or the arguments are
// invalid.
func (w *workspace) ready(needs stage, invalid error) error {
	if w.x == nil || w.stage < needs {
		return device.ErrStage
	}
	return device.Invalid("textbook", invalid)
}

// begin begins a call that needs L and takes flops operations.
func (w *workspace) begin(ctx context.Context, stage string, flops float64) error {
	if w.stage < factored {
		return device.ErrStage
	}
	w.Begin(stage, flops)
	return w.poll(ctx)
}

// step counts the operations of a step, reports them and polls ctx.
func (w *workspace) step(ctx context.Context, flops float64) error {
	w.Worked(flops)
	return w.poll(ctx)
}

// poll resets the workspace to its state before Fill if ctx is done.
func (w *workspace) poll(ctx context.Context) error {
	if ctx.Err() != nil {
		w.stage = empty
	}
	return ctx.Err()
}

func evaluator(x *kernel.Points, prog *kernel.Program, theta []float64) (*kernel.Evaluator, error) {
	if err := device.CheckProgram(prog, theta, x.D); err != nil {
		return nil, err
	}
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	return e, nil
}

// general returns rows [i0, i1) and columns [j0, j1) of a matrix of n columns.
func (w *matrices) general(a []float64, i0, i1, j0, j1 int) blas64.General {
	return blas64.General{Rows: i1 - i0, Cols: j1 - j0, Stride: w.n, Data: a[i0*w.n+j0:]}
}

// lower returns rows and columns [i0, i1) of L.
func (w *matrices) lower(i0, i1 int) blas64.Triangular {
	return blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: i1 - i0, Stride: w.n, Data: w.l[i0*w.n+i0:]}
}

// symmetric returns the lower triangle of rows and columns [i0, i1) of Σ.
func (w *matrices) symmetric(i0, i1 int) blas64.Symmetric {
	return blas64.Symmetric{Uplo: blas.Lower, N: i1 - i0, Stride: w.n, Data: w.l[i0*w.n+i0:]}
}

// Form forms and factors Σ.
func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if err := w.Fill(ctx, prog, theta, noise); err != nil {
		return err
	}
	return w.Factor(ctx)
}

// Fill forms the lower triangle of Σ.
func (w *workspace) Fill(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	return fill(ctx, w, 0, prog, theta, noise)
}

// fill forms the rows of Σ from first on.
func fill(ctx context.Context, w *workspace, first int, prog *kernel.Program, theta, noise []float64) error {
	if err := w.ready(empty, device.CheckNoise(noise, w.n)); err != nil {
		return err
	}
	e, err := evaluator(w.x, prog, theta)
	if err != nil {
		return err
	}
	w.stage, w.known = empty, 0
	w.prog, w.theta, w.noise = prog, slices.Clone(theta), slices.Clone(noise)
	w.allocate()
	for i := first; i < w.n; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := w.l[i*w.n : i*w.n+i+1]
		e.Row(row, w.x, i, w.x, 0, i+1)
		row[i] += noise[min(i, len(noise)-1)]
	}
	w.stage = filled
	return nil
}

func (w *matrices) allocate() {
	if w.l == nil {
		w.l = make([]float64, w.n*w.n)
	}
}

// Factor overwrites Σ by L.
func (w *workspace) Factor(ctx context.Context) error {
	if w.stage != filled {
		return device.ErrStage
	}
	return factorFrom(ctx, w, 0)
}

// factorFrom computes the rows of L from first on, block by block (Golub & Van Loan, Matrix
// Computations, 4th ed., §4.2.6).
func factorFrom(ctx context.Context, w *workspace, first int) error {
	w.stage = empty
	w.Begin("factor", (cube(w.n)-cube(first))/3)
	for k := 0; k < w.n; {
		end := min(k+blockRows, w.n)
		if k < first { // the columns that are there
			end = first
		} else if minor := w.factorBlock(k, end); minor > 0 {
			return device.ExplainMinor(k+minor, w.x, w.prog, w.theta, w.noise)
		}
		if rest := max(end, first); rest < w.n {
			below := w.general(w.l, rest, w.n, k, end)
			blas64.Trsm(blas.Right, blas.Trans, 1, w.lower(k, end), below)
			blas64.Syrk(blas.NoTrans, -1, below, 1, w.symmetric(rest, w.n))
		}
		if err := w.step(ctx, (cube(w.n-k)-cube(w.n-end))/3); err != nil {
			return err
		}
		k = end
	}
	w.stage = factored
	return nil
}

func cube(n int) float64 { return float64(n) * float64(n) * float64(n) }

// factorBlock factors rows and columns [k, end). It returns the order of the smallest leading
// minor without a factor, or 0.
func (w *matrices) factorBlock(k, end int) int {
	block := blas64.Symmetric{Uplo: blas.Lower, N: end - k, Stride: end - k, Data: make([]float64, (end-k)*(end-k))}
	factor := func(order int) bool {
		part := block
		part.N = order
		for i := range order {
			copy(part.Data[i*part.Stride:], w.l[(k+i)*w.n+k:][:i+1])
		}
		_, ok := lapack64.Potrf(part)
		return ok
	}
	if !factor(block.N) {
		return 1 + sort.Search(block.N-1, func(i int) bool { return !factor(i + 1) })
	}
	for i := range block.N {
		copy(w.l[(k+i)*w.n+k:][:i+1], block.Data[i*block.Stride:])
	}
	return 0
}

// LogDet returns 2 Σ log L_ii.
func (w *workspace) LogDet() (value, stdErr float64, err error) {
	if w.stage < factored {
		return 0, 0, device.ErrStage
	}
	for i := range w.n {
		value += 2 * math.Log(w.l[i*w.n+i])
	}
	return value, 0, nil
}

// Solve overwrites b by Σ⁻¹b. The columns of b are rows of a matrix X, and X = X·L⁻ᵀ·L⁻¹.
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	return w.solveEach(ctx, b, m, blas.Trans, blas.NoTrans)
}

// Whiten overwrites b by L⁻¹b or L⁻ᵀb. The columns of b are rows of a matrix, as in Solve.
func (w *workspace) Whiten(ctx context.Context, b []float64, m int, transposed bool) error {
	op := blas.Trans
	if transposed {
		op = blas.NoTrans
	}
	return w.solveEach(ctx, b, m, op)
}

// solveEach overwrites the rows of X, the columns of b, by X·L⁻ᵀ or X·L⁻¹ for one op after the other.
func (w *workspace) solveEach(ctx context.Context, b []float64, m int, ops ...blas.Transpose) error {
	if err := w.ready(factored, device.CheckColumns(b, w.n, m)); err != nil {
		return err
	}
	if err := w.poll(ctx); err != nil {
		return err
	}
	for _, op := range ops {
		blas64.Trsm(blas.Right, op, 1, w.lower(0, w.n), w.general(b, 0, m, 0, w.n))
	}
	return nil
}

// invert computes Σ⁻¹ unless it is there: column by column LLᵀx = e_k, of which the unknowns
// from k on depend only on those rows of L. more is the number of operations that follow.
func invert(ctx context.Context, w *workspace, more float64) error {
	flops := more
	if w.stage != inverted {
		flops += 2 * cube(w.n) / 3
	}
	if err := w.begin(ctx, "gradient", flops); err != nil || w.stage == inverted {
		return err
	}
	if w.inverse == nil {
		w.inverse = make([]float64, w.n*w.n)
	}
	for k := 0; k < w.n; k += blockRows {
		end := min(k+blockRows, w.n)
		x := w.general(w.inverse, k, w.n, k, end)
		for i := range x.Rows {
			row := x.Data[i*x.Stride:][:x.Cols]
			clear(row)
			if i < x.Cols {
				row[i] = 1
			}
		}
		blas64.Trsm(blas.Left, blas.NoTrans, 1, w.lower(k, w.n), x)
		blas64.Trsm(blas.Left, blas.Trans, 1, w.lower(k, w.n), x)
		for i := k; i < w.n; i++ {
			for j := k; j < min(i, end); j++ {
				w.inverse[j*w.n+i] = w.inverse[i*w.n+j]
			}
		}
		if err := w.step(ctx, 2*(cube(w.n-k)-cube(w.n-end))/3); err != nil {
			return err
		}
	}
	w.stage = inverted
	return nil
}

// ReadFactor copies rows of L.
func (w *workspace) ReadFactor(r0, r1 int, dst []float64) error {
	if w.stage < factored {
		return device.ErrStage
	}
	for i := r0; i < r1; i++ {
		row := dst[(i-r0)*w.n : (i-r0+1)*w.n]
		clear(row[copy(row, w.l[i*w.n:i*w.n+i+1]):])
	}
	return nil
}

// WriteFactor sets rows of L.
func (w *workspace) WriteFactor(r0, r1 int, src []float64) error {
	if w.x == nil {
		return device.ErrStage
	}
	w.allocate()
	w.stage = empty
	for i := r0; i < r1; i++ {
		row := src[(i-r0)*w.n:][:i+1]
		if err := device.CheckFactorRow(row, i); err != nil {
			return err
		}
		copy(w.l[i*w.n:], row)
	}
	if r0 == 0 || r0 == w.known {
		w.known = r1
	}
	if r1 == w.n {
		w.stage = factored
	}
	return nil
}

// ExtendFactor implements [device.FactorExtender].
func (w *workspace) ExtendFactor(ctx context.Context, prog *kernel.Program, theta, noise []float64, known int) error {
	if w.x == nil || w.known != known {
		return device.ErrStage
	}
	if err := fill(ctx, w, known, prog, theta, noise); err != nil {
		return err
	}
	return factorFrom(ctx, w, known)
}
