package mpi

import (
	"context"
	"fmt"
	"slices"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/hostmem"
	"gpfit/internal/mpi/engine"
	"gpfit/kernel"
)

// share is what this rank has of a workspace: its part of Σ, and all points.
type share struct {
	*group
	threads int
	x       *kernel.Points
	// rows are the points of the rows of the part, so that one call evaluates them for a column. rowsAt and colsAt are
	// their places.
	rows           *kernel.Points
	rowsAt, colsAt []int
	matrix         *engine.Matrix
	// pivots are the diagonal elements of the factor in the columns of the rank, where it has them.
	pivots []float64
	host   device.MeanPredictor
	// prog is the last covariance function, with an evaluator for each thread.
	prog       *kernel.Program
	evaluators []*kernel.Evaluator
}

// rowLength bounds the rows that an evaluator gets, so that its scratch space stays in the first-level cache.
const rowLength = 512

// newShare allocates the part of this rank. The numbers of the call are the points.
func newShare(g *group, c *call) *share {
	s := &share{group: g, threads: min(c.Threads, g.team.Size()), x: &kernel.Points{N: c.N, D: c.D, X: c.numbers[0]}}
	host, err := cpu.Open(device.Options{Threads: s.threads})
	if err != nil {
		g.fail(err)
	}
	s.host = host
	if g.world.Rank > 0 { // on rank 0 the program does so
		hostmem.Expect(8 * numbersFor(g.grid.Shape, c.N, c.D))
	}
	s.matrix = g.grid.NewMatrix(c.N, c.N)
	s.rowsAt, s.colsAt = s.matrix.Rows.Globals(), s.matrix.Cols.Globals()
	s.rows = s.x.Pick(s.rowsAt)
	return s
}

// bind compiles the covariance function of a call, unless rank 0 has it or it is the last one, and sets its parameters.
func (s *share) bind(c *call, theta []float64) *kernel.Program {
	prog := c.prog
	if prog == nil && s.prog != nil && s.prog.Text == c.Text && slices.Equal(s.prog.Labels, c.Labels) {
		prog = s.prog
	}
	if prog == nil {
		var err error
		if prog, err = compile(c.Text, c.Labels); err != nil {
			s.fail(fmt.Errorf("the kernel %s: %w", c.Text, err))
		}
	}
	if s.prog != prog {
		s.prog, s.evaluators = prog, make([]*kernel.Evaluator, s.threads)
		for i := range s.evaluators {
			s.evaluators[i] = kernel.NewEvaluator(prog)
		}
	}
	for _, e := range s.evaluators {
		e.Bind(theta)
	}
	return s.prog
}

// compile makes a program of the text of another one.
func compile(text string, labels []int) (*kernel.Program, error) {
	e, err := kernel.Parse(text)
	if err != nil {
		return nil, err
	}
	return kernel.Compile(e, labels)
}

// columns calls f for groups of columns of a matrix of this rank, on its threads.
func (s *share) columns(n int, f func(worker, group, j0, j1 int)) (groups int) {
	groups = (n + columnsOfTask - 1) / columnsOfTask
	_ = s.team.For(context.Background(), s.threads, groups, func(worker, group int) {
		f(worker, group, group*columnsOfTask, min((group+1)*columnsOfTask, n))
	})
	return groups
}

// columnsOfTask is the number of columns in a task of a thread. The sums of tasks are added in order.
const columnsOfTask = 16

// diagonal returns the rank's row of the diagonal element of its column j, −1 if another rank has it.
func (s *share) diagonal(j int) int {
	at := s.colsAt[j]
	if i := s.matrix.Rows.Count(at); i < len(s.rowsAt) && s.rowsAt[i] == at {
		return i
	}
	return -1
}

// pieces calls f for the pieces of rows first … last−1.
func pieces(first, last int, f func(i0, i1 int)) {
	for i := first; i < last; i += rowLength {
		f(i, min(i+rowLength, last))
	}
}
