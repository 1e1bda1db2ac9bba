package cuda

import (
	"gpfit/device"
	"gpfit/internal/cuda/driver"
	"gpfit/internal/cuda/kernels"
	"gpfit/internal/cuda/ptx"
	"gpfit/kernel"
)

// program is a covariance function on the device, with the buffers that it needs. It
// includes the derivatives after the first contraction.
type program struct {
	of                     *kernel.Program // nil before the first bind
	value, gradient        function
	sums, scratch, partial buffer
	work                   kernels.ContractWork
}

// function is a function on the device. Its first run loads its kernels; values are the
// uniform values of the last bind.
type function struct {
	kernels.Function
	uniforms buffer
	host     []float64
	values   []float64
	loaded   map[string]*driver.Function
}

// supports returns a [*device.UnsupportedKernelError] for a program that is too large.
func (g *gpu) supports(prog *kernel.Program) error {
	for _, f := range []func(*kernel.Program) (*ptx.Kernel, error){ptx.New, ptx.NewGradient} {
		if _, err := f(prog); err != nil {
			return &device.UnsupportedKernelError{Device: g.name, Kernel: prog.Text, Err: err}
		}
	}
	return nil
}

// bind selects the program for the following calls and copies its uniforms at θ to the
// device.
func (w *Workspace) bind(prog *kernel.Program, theta []float64) error {
	if prog.D != w.x.D {
		return argumentf("kernel for %d columns on points of %d", prog.D, w.x.D)
	}
	if err := prog.CheckTheta(theta); err != nil {
		return argumentf("%v", err)
	}
	p := &w.program
	if p.of != prog {
		p.of, p.gradient.Kernel = nil, nil
		if err := w.compile(&p.value, prog, ptx.New); err != nil {
			return err
		}
		p.of = prog
	}
	return w.setUniforms(&p.value, theta)
}

// bindGradient does the same for the derivatives of the bound program.
func (w *Workspace) bindGradient(theta []float64) error {
	p := &w.program
	if p.gradient.Kernel == nil {
		if err := w.compile(&p.gradient, p.of, ptx.NewGradient); err != nil {
			return err
		}
		p.work.Blocks = kernels.ContractBlocks(w.gpu.info.Multiprocessors)
		scratch, partial := kernels.ContractSpace(p.gradient.Kernel, p.work.Blocks)
		for _, part := range []struct {
			b     *buffer
			bytes int64
		}{{&p.sums, 8 * int64(p.gradient.Rows())}, {&p.scratch, scratch}, {&p.partial, partial}} {
			if err := w.memory.need(part.b, part.bytes/8); err != nil {
				p.gradient.Kernel = nil
				return err
			}
		}
		p.work.Scratch, p.work.Partial = p.scratch.at, p.partial.at
	}
	return w.setUniforms(&p.gradient, theta)
}

func (w *Workspace) compile(f *function, prog *kernel.Program, compile func(*kernel.Program) (*ptx.Kernel, error)) error {
	f.Kernel = nil
	k, err := compile(prog)
	if err != nil {
		return &device.UnsupportedKernelError{Device: w.gpu.name, Kernel: prog.Text, Err: err}
	}
	if err := w.memory.need(&f.uniforms, int64(k.Size())); err != nil {
		return err
	}
	f.Function, f.host, f.loaded = kernels.Function{Kernel: k, Uniforms: f.uniforms.at}, make([]float64, k.Size()), map[string]*driver.Function{}
	return nil
}

func (w *Workspace) setUniforms(f *function, theta []float64) error {
	f.values = f.Kernel.Uniforms(f.host, theta)
	return w.gpu.upload(f.uniforms.at, f.host)
}

// run starts kernels, either of the bound program or on matrices, one after the other.
func (w *Workspace) run(launches ...kernels.Launch) error {
	for _, l := range launches {
		if l.Blocks == 0 {
			continue
		}
		f := &w.program.value
		switch l.Of {
		case nil:
			if err := w.gpu.run(l); err != nil {
				return err
			}
			continue
		case w.program.gradient.Kernel:
			f = &w.program.gradient
		}
		if f.loaded[l.Kernel] == nil {
			loaded, err := w.gpu.generated(l)
			if err != nil {
				return err
			}
			f.loaded[l.Kernel] = loaded
		}
		if err := w.gpu.start(f.loaded[l.Kernel], l); err != nil {
			return err
		}
	}
	return nil
}
