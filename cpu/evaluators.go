package cpu

import (
	"gpfit/device"
	"gpfit/kernel"
)

// evaluators are an evaluator of one program for each thread.
type evaluators struct {
	program *kernel.Program
	threads []*kernel.Evaluator
}

// bind binds an evaluator of a program for each thread to theta, for points of d columns. It keeps them while the program is the same.
func (e *evaluators) bind(threads, d int, prog *kernel.Program, theta []float64) ([]*kernel.Evaluator, error) {
	if err := device.CheckProgram(prog, theta, d); err != nil {
		return nil, err
	}
	if e.program != prog {
		e.program, e.threads = prog, make([]*kernel.Evaluator, threads)
		for i := range e.threads {
			e.threads[i] = kernel.NewEvaluator(prog)
		}
	}
	for _, one := range e.threads {
		one.Bind(theta)
	}
	return e.threads, nil
}

// sigmaRow writes columns [j0, j1) of row i of Σ, up to the diagonal, and zeros after it.
func sigmaRow(row []float64, e *kernel.Evaluator, x *kernel.Points, noise []float64, i, j0, j1 int) {
	own := max(j0, min(j1, i+1))
	e.Row(row, x, i, x, j0, own)
	if own == i+1 && own > j0 {
		row[i-j0] += noise[min(i, len(noise)-1)]
	}
	clear(row[own-j0 : j1-j0])
}
