package mpi

import (
	"fmt"
	"slices"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/hostmem"
	"gpfit/kernel"
	"gpfit/method/mpi/host"
	"gpfit/method/mpi/part"
)

// share is this rank's share of a workspace: its part of Σ, and all points.
type share struct {
	*group
	x    *kernel.Points
	part *host.Part
	// means predicts means.
	means device.MeanPredictor
	// prog is the last covariance function.
	prog *kernel.Program
}

// newShare allocates the part of this rank. The numbers of the call are the points.
func newShare(g *group, c *call) *share {
	s := &share{group: g, x: &kernel.Points{N: c.N, D: c.D, X: c.numbers[0]}}
	threads := g.team.Size()
	if c.Threads > 0 {
		threads = min(threads, c.Threads)
	}
	means, err := cpu.Open(device.Options{Threads: threads})
	s.check(err)
	s.means = means
	if g.world.Rank > 0 { // on rank 0 the program does so
		hostmem.Expect(8 * numbersFor(g.grid.Shape, c.N, c.D))
	}
	s.part = host.New(g.grid, g.team, threads, s.x)
	return s
}

// check ends the program on all ranks if there is an error, because the others would wait forever.
func (s *share) check(err error) {
	if err != nil {
		s.fail(err)
	}
}

// program returns the covariance function of a call, which it compiles unless rank 0 has it or it is the last one.
func (s *share) program(c *call) *kernel.Program {
	switch {
	case c.prog != nil:
		s.prog = c.prog
	case s.prog == nil || s.prog.Text != c.Text || !slices.Equal(s.prog.Labels, c.Labels):
		prog, err := compile(c.Text, c.Labels)
		if err != nil {
			s.fail(fmt.Errorf("the kernel %s: %w", c.Text, err))
		}
		s.prog = prog
	}
	return s.prog
}

// progress returns the function that a part calls after each piece of its work.
func (s *share) progress(c *call) part.Progress {
	return func(flops float64) bool { return s.agree(c, flops) }
}

// compile makes a program of the text of another one.
func compile(text string, labels []int) (*kernel.Program, error) {
	e, err := kernel.Parse(text)
	if err != nil {
		return nil, err
	}
	return kernel.Compile(e, labels)
}
