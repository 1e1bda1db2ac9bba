// Package host is a rank's part of Σ on its processors: it fills and contracts by evaluators of
// covariance functions, and factors, solves and inverts by package engine.
package host

import (
	"context"

	"gpfit/internal/workers"
	"gpfit/kernel"
	"gpfit/kernel/vec"
	"gpfit/method/mpi/engine"
	"gpfit/method/mpi/part"
)

// Part is the part of Σ that a rank has, on a number of threads. Its functions are collective: all ranks call them in the same order
// with the same arguments. Results are sums over the ranks: each has its own terms, and zeros at places that others have.
type Part struct {
	grid    *engine.Grid
	team    *workers.Team
	threads int
	x       *kernel.Points
	// rows are the points of the rows of the part, so that one call evaluates them for a column. rowsAt and colsAt are
	// their places.
	rows           *kernel.Points
	rowsAt, colsAt []int
	matrix         *engine.Matrix
	// pivots are the diagonal elements of the factor in the columns of the rank, where it has them.
	pivots []float64
	// prog is the last covariance function, with an evaluator for each thread.
	prog       *kernel.Program
	evaluators []*kernel.Evaluator
}

// New returns the part of a grid's rank of the matrix for points, which it keeps.
func New(g *engine.Grid, on *workers.Team, threads int, x *kernel.Points) *Part {
	h := &Part{grid: g, team: on, threads: threads, x: x, matrix: g.NewMatrix(x.N, x.N)}
	h.rowsAt, h.colsAt = h.matrix.Rows.Globals(), h.matrix.Cols.Globals()
	h.rows = x.Pick(h.rowsAt)
	return h
}

// rowLength bounds the rows that an evaluator gets, so that its scratch space stays in the first-level cache.
const rowLength = 512

// bind sets a covariance function and its parameters.
func (h *Part) bind(prog *kernel.Program, theta []float64) {
	if h.prog != prog {
		h.prog, h.evaluators = prog, make([]*kernel.Evaluator, h.threads)
		for i := range h.evaluators {
			h.evaluators[i] = kernel.NewEvaluator(prog)
		}
	}
	for _, e := range h.evaluators {
		e.Bind(theta)
	}
}

// columns calls f for groups of columns of a matrix of this rank, on its threads.
func (h *Part) columns(n int, f func(worker, group, j0, j1 int)) {
	groups := (n + columnsOfTask - 1) / columnsOfTask
	_ = h.team.For(context.Background(), h.threads, groups, func(worker, group int) {
		f(worker, group, group*columnsOfTask, min((group+1)*columnsOfTask, n))
	})
}

// columnsOfTask is the number of columns in a task of a thread. The sums of tasks are added in order.
const columnsOfTask = 16

// diagonal returns the rank's row of the diagonal element of its column j, −1 if another rank has it.
func (h *Part) diagonal(j int) int {
	at := h.colsAt[j]
	if i := h.matrix.Rows.Count(at); i < len(h.rowsAt) && h.rowsAt[i] == at {
		return i
	}
	return -1
}

// Pieces calls f for the pieces of rows first … last−1.
func Pieces(first, last int, f func(i0, i1 int)) {
	for i := first; i < last; i += rowLength {
		f(i, min(i+rowLength, last))
	}
}

// Form fills Σ = K + diag(noise) for a program at theta and factors it: Σ = LLᵀ. It adds the diagonal of L to d. minor is the
// order of the first leading minor that is not positive, or 0, on all ranks.
func (h *Part) Form(prog *kernel.Program, theta, noise, d []float64, done part.Progress) (minor int, stopped bool) {
	h.bind(prog, theta)
	h.columns(len(h.colsAt), func(worker, _, j0, j1 int) {
		e := h.evaluators[worker]
		for j := j0; j < j1; j++ {
			at, column := h.colsAt[j], h.matrix.Column(j)
			first := h.matrix.Rows.Count(at)
			Pieces(first, len(column), func(i0, i1 int) { e.Row(column[i0:i1], h.x, at, h.rows, i0, i1) })
			if h.diagonal(j) >= 0 {
				column[first] += noise[min(at, len(noise)-1)]
			}
		}
	})
	if done(0) {
		return 0, true
	}
	minor, stopped = h.matrix.Factor(done)
	if minor > 0 || stopped {
		return minor, stopped
	}
	h.pivots = make([]float64, len(h.colsAt))
	for j, at := range h.colsAt {
		if i := h.diagonal(j); i >= 0 {
			h.pivots[j] = h.matrix.Column(j)[i]
			d[at] = h.pivots[j]
		}
	}
	return 0, false
}

// Solve replaces columns of the length of Σ by solutions.
func (h *Part) Solve(op part.Operation, sides []float64) {
	n := h.x.N
	b := h.grid.NewMatrix(n, len(sides)/n)
	columns := b.Cols.Globals()
	for j, at := range columns {
		for i, row := range h.rowsAt {
			b.Column(j)[i] = sides[at*n+row]
		}
	}
	if op == part.Whole {
		h.matrix.Solve(b)
	} else {
		h.matrix.SolveTriangle(b, op == part.Transposed)
	}
	clear(sides)
	for j, at := range columns {
		for i, row := range h.rowsAt {
			sides[at*n+row] = b.Column(j)[i]
		}
	}
}

// PredictionNumbers bounds the covariances with points of a prediction that a rank has at the same time.
const PredictionNumbers = 4 << 20

// PointsAtOnce returns the largest number of points for SquaredNorms.
func (h *Part) PointsAtOnce() int {
	rows, _ := h.grid.Largest(h.x.N)
	blocks := max(1, PredictionNumbers/(rows*h.grid.Block))
	return blocks * h.grid.Block * h.grid.Shape.Cols
}

// SquaredNorms adds |L⁻¹k*|² to sums, for the points from number first on.
func (h *Part) SquaredNorms(prog *kernel.Program, theta []float64, xs *kernel.Points, first int, sums []float64) {
	h.bind(prog, theta)
	v := h.grid.NewMatrix(h.x.N, len(sums))
	places := v.Cols.Globals()
	h.columns(len(places), func(worker, _, j0, j1 int) {
		for j := j0; j < j1; j++ {
			column := v.Column(j)
			Pieces(0, len(column), func(i0, i1 int) {
				h.evaluators[worker].Row(column[i0:i1], xs, first+places[j], h.rows, i0, i1)
			})
		}
	})
	h.matrix.SolveTriangle(v, false)
	for j, at := range places {
		for _, x := range v.Column(j) {
			sums[at] += x * x
		}
	}
}

// Multiply adds the products of the derivatives with m vectors to products, for one of equal parts of the rows.
func (h *Part) Multiply(part, parts int, prog *kernel.Program, theta, vectors []float64, m int, products []float64) {
	h.bind(prog, theta)
	n, params := h.x.N, prog.NumParams
	first, last := n*part/parts, n*(part+1)/parts
	rows := make([]float64, h.threads*params*rowLength)
	_ = h.team.For(context.Background(), h.threads, last-first, func(worker, task int) {
		i, own := first+task, rows[worker*params*rowLength:][:params*rowLength]
		Pieces(0, n, func(j0, j1 int) {
			h.evaluators[worker].RowDerivatives(own, h.x, i, h.x, j0, j1)
			for k := range m {
				v := vectors[k*n+j0 : k*n+j1]
				for p := range params {
					products[(p*m+k)*n+i] += vec.Dot(v, own[p*(j1-j0):])
				}
			}
		})
	})
}
