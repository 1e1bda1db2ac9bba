package cuda

import (
	"gpfit/internal/cuda/driver"
	"gpfit/internal/cuda/kernels"
	"gpfit/internal/cuda/ptx"
	"gpfit/kernel"
)

// program is a covariance function on the device, with the buffers that it needs. It
// includes the derivatives after the first contraction.
type program struct {
	of              *kernel.Program // nil before the first bind
	value, gradient function
	// loaded are the kernels that have run.
	loaded                 map[string]*driver.Function
	sums, scratch, partial buffer
	work                   kernels.ContractWork
}

// function is a function on the device; values are the uniform values of the last bind.
type function struct {
	kernels.Function
	uniforms buffer
	host     []float64
	values   []float64
}

// bind selects the program for the following calls and copies its uniforms at θ to the
// device. It reports whether that succeeded.
func (p *program) bind(q *queue, m *memory, x *kernel.Points, prog *kernel.Program, theta []float64) bool {
	if prog.D != x.D {
		q.fail(argumentf("kernel for %d columns on points of %d", prog.D, x.D))
	}
	if err := prog.CheckTheta(theta); err != nil {
		q.fail(argumentf("%v", err))
	}
	if q.err == nil && p.of != prog {
		p.of, p.gradient.Kernel, p.loaded = nil, nil, map[string]*driver.Function{}
		if p.value.compile(q, m, prog, ptx.New); q.err == nil {
			p.of = prog
		}
	}
	p.value.setUniforms(q, theta)
	return q.err == nil
}

// bindGradient does the same for the derivatives of the bound program.
func (p *program) bindGradient(q *queue, m *memory, theta []float64) bool {
	if p.gradient.Kernel == nil {
		if p.gradient.compile(q, m, p.of, ptx.NewGradient); q.err != nil {
			return false
		}
		p.work.Blocks = kernels.ContractBlocks(q.gpu.info.Multiprocessors)
		scratch, partial := kernels.ContractSpace(p.gradient.Kernel, p.work.Blocks)
		q.need(m, &p.sums, int64(p.gradient.Rows()))
		q.need(m, &p.scratch, scratch/8)
		q.need(m, &p.partial, partial/8)
		if q.err != nil {
			p.gradient.Kernel = nil
		}
		p.work.Scratch, p.work.Partial = p.scratch.at, p.partial.at
	}
	p.gradient.setUniforms(q, theta)
	return q.err == nil
}

func (f *function) compile(q *queue, m *memory, prog *kernel.Program, compile func(*kernel.Program) (*ptx.Kernel, error)) {
	f.Kernel = nil
	q.then(func() error {
		k, err := q.gpu.compile(prog, compile)
		if err != nil {
			return err
		}
		if err := m.need(&f.uniforms, int64(k.Size())); err != nil {
			return err
		}
		f.Function, f.host = kernels.Function{Kernel: k, Uniforms: f.uniforms.at}, make([]float64, k.Size())
		return nil
	})
}

func (f *function) setUniforms(q *queue, theta []float64) {
	if q.err == nil {
		f.values = f.Kernel.Uniforms(f.host, theta)
		q.upload(f.uniforms.at, f.host)
	}
}

// run starts kernels of the bound program, one after the other. The first start of a kernel
// loads it.
func (p *program) run(q *queue, launches ...kernels.Launch) {
	for _, l := range launches {
		switch {
		case l.Of == nil:
			q.run(l)
		case l.Blocks > 0:
			q.then(func() (err error) {
				if p.loaded[l.Kernel] == nil {
					if p.loaded[l.Kernel], err = q.gpu.generated(l); err != nil {
						return err
					}
				}
				return q.gpu.start(p.loaded[l.Kernel], l)
			})
		}
	}
}
