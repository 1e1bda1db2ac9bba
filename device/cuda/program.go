package cuda

import (
	"gpfit/device"
	"gpfit/device/cuda/kernels"
	"gpfit/kernel"
)

// program is a covariance function on the device, with its parameters and what a
// contraction with its derivatives needs.
type program struct {
	kernels.Program
	of                                   *kernel.Program // nil before the first
	words, theta, grad, scratch, partial buffer
	work                                 kernels.ContractWork
}

// encode translates a program for the kernels. Error: a
// [*device.UnsupportedKernelError].
func (g *gpu) encode(prog *kernel.Program) (*kernels.Encoded, error) {
	enc, err := kernels.Encode(prog)
	if err != nil {
		return nil, &device.UnsupportedKernelError{Device: g.name, Kernel: prog.Text, Err: err}
	}
	return enc, nil
}

// bind puts the program and θ on the device.
func (w *Workspace) bind(prog *kernel.Program, theta []float64) error {
	if prog.D != w.x.D {
		return argumentf("kernel for %d columns on points of %d", prog.D, w.x.D)
	}
	if err := prog.CheckTheta(theta); err != nil {
		return &argumentError{err.Error()}
	}
	if w.program.of != prog {
		if err := w.compile(prog); err != nil {
			return err
		}
	}
	return w.gpu.upload(w.program.theta.at, theta)
}

func (w *Workspace) compile(prog *kernel.Program) error {
	enc, err := w.gpu.encode(prog)
	if err != nil {
		return err
	}
	p := &w.program
	p.of = nil
	blocks := kernels.ContractBlocks(w.gpu.info.Multiprocessors)
	scratch, partial := kernels.ContractSpace(enc, blocks)
	for _, part := range []struct {
		b     *buffer
		count int64
	}{
		{&p.words, (int64(len(enc.Words)) + 1) / 2}, {&p.theta, int64(enc.Params)}, {&p.grad, int64(enc.Params)},
		{&p.scratch, scratch / 8}, {&p.partial, partial / 8},
	} {
		if err := w.memory.need(part.b, part.count); err != nil {
			return err
		}
	}
	p.Program = kernels.Program{Words: p.words.at, Theta: p.theta.at, Encoded: enc}
	p.work = kernels.ContractWork{Scratch: p.scratch.at, Partial: p.partial.at, Blocks: blocks}
	if err := w.gpu.uploadWords(p.words.at, enc.Words); err != nil {
		return err
	}
	p.of = prog
	return nil
}
