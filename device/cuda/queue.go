package cuda

import (
	"context"
	"errors"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/mathlib"
)

// queue makes calls on the device, on its thread. After the first error, which it keeps, it
// makes no more.
type queue struct {
	gpu   *gpu
	ctx   context.Context
	meter *device.Meter
	// limit is the largest number of operations of one product.
	limit float64
	// submitted are the operations since the last wait for their end, or the last mark of backlog.
	submitted float64
	// backlog, if not nil, replaces these waits.
	backlog *backlog
	// generated are the kernels of the bound program that have run.
	generated map[string]*driver.Function
	err       error
}

// then runs f, unless there was an error.
func (q *queue) then(f func() error) {
	if q.err == nil {
		q.err = f()
	}
}

// fail records an error, unless there was one.
func (q *queue) fail(err error) { q.then(func() error { return err }) }

// check records the error of invalid arguments, if it is one.
func (q *queue) check(invalid error) {
	if invalid != nil {
		q.fail(argumentf("%v", invalid))
	}
}

// perform runs calls on the device's thread, which leave their error in the queue, and translates the error for a plan.
func (q *queue) perform(plan device.Plan, calls func()) error {
	return q.gpu.translate(q.gpu.do(func() error {
		q.err = nil
		calls()
		if q.err != nil {
			q.gpu.staging.Forget()
		}
		return q.err
	}), plan)
}

// poll records the error of the context.
func (q *queue) poll() { q.then(q.ctx.Err) }

// worked counts operations submitted to the device. After a part of the longest step it waits for
// them, so that progress is accurate and a cancelled context is noticed; the device has more work until then.
func (q *queue) worked(flops float64) {
	const part = 8
	if q.submitted += flops; q.submitted > q.limit/part {
		q.submitted = 0
		if q.backlog != nil {
			q.then(q.backlog.mark)
		} else {
			q.then(q.gpu.stream.Synchronize)
		}
	}
	q.then(func() error {
		q.meter.Worked(flops)
		return q.ctx.Err()
	})
}

// backlog bounds the work before the device, and never lets it run out of work: a mark waits for the mark before.
type backlog struct {
	stream *driver.Stream
	marks  [2]*driver.Event
	next   int
}

func newBacklog(g *gpu) (*backlog, error) {
	p := &backlog{stream: g.stream}
	for i := range p.marks {
		var err error
		if p.marks[i], err = g.dev.NewEvent(); err != nil {
			return nil, errors.Join(err, p.close())
		}
	}
	return p, nil
}

func (p *backlog) mark() error {
	if err := p.marks[p.next].Record(p.stream); err != nil {
		return err
	}
	p.next = 1 - p.next
	return p.marks[p.next].Synchronize()
}

func (p *backlog) close() error {
	if p == nil {
		return nil
	}
	return errors.Join(p.marks[0].Destroy(), p.marks[1].Destroy())
}

// did reports a stage that is over.
func (q *queue) did(stage string, flops float64) {
	q.meter.Begin(stage, flops)
	q.then(func() error {
		q.meter.Worked(flops)
		return q.ctx.Err()
	})
}

// run starts kernels, on matrices or of covariance functions, one after the other. The first
// start of a generated kernel loads it.
func (q *queue) run(launches ...kernels.Launch) {
	for _, l := range launches {
		if l.Blocks == 0 {
			continue
		}
		q.then(func() (err error) {
			functions := q.gpu.functions
			if l.Of != nil {
				functions = q.generated
				if functions[l.Kernel] == nil {
					if functions[l.Kernel], err = q.gpu.generated(l); err != nil {
						return err
					}
				}
			}
			f := functions[l.Kernel]
			if q.gpu.parcel != nil {
				q.gpu.parcel.start(q.gpu.task(f, l))
				return nil
			}
			return q.gpu.start(q.gpu.stream, f, l)
		})
	}
}

func (q *queue) upload(dst kernels.Ptr, src []float64) {
	q.then(func() error {
		if q.gpu.parcel != nil {
			q.gpu.parcel.send(dst, src)
			return nil
		}
		return driver.Send(q.gpu.staging, dst, src)
	})
}

// download copies to dst. receive does so until the next wait of the queue.
func (q *queue) download(dst []float64, src kernels.Ptr) {
	q.receive(dst, src)
	q.wait()
}

func (q *queue) receive(dst []float64, src kernels.Ptr) {
	q.then(func() error {
		if q.gpu.parcel != nil {
			q.gpu.parcel.receive(dst, src)
			return nil
		}
		return driver.Receive(q.gpu.staging, dst, src)
	})
}

// wait waits for the stream.
func (q *queue) wait() { q.then(q.gpu.staging.Synchronize) }

// uploadBlock copies rows×cols numbers from src, whose leading dimension is lds.
func (q *queue) uploadBlock(dst kernels.Matrix, src []float64, lds, rows, cols int64) {
	q.then(func() error { return driver.CopyBlockToDevice(q.gpu.stream, dst, src, lds, rows, cols) })
}

// downloadBlock copies rows×cols numbers to dst, whose leading dimension is ldd.
func (q *queue) downloadBlock(dst []float64, ldd int64, src kernels.Matrix, rows, cols int64) {
	q.then(func() error { return driver.CopyBlockToHost(q.gpu.stream, dst, ldd, src, rows, cols) })
}

// clear writes count zeros.
func (q *queue) clear(dst kernels.Ptr, count int64) {
	q.then(func() error { return q.gpu.stream.Memset(dst, 0, 8*count) })
}

// need makes b at least as large as count numbers.
func (q *queue) need(m *memory, b *buffer, count int64) {
	q.then(func() error { return m.need(b, count) })
}

// local runs f with temporary memory, which it frees.
func (q *queue) local(f func(m *memory)) {
	m := &memory{gpu: q.gpu}
	f(m)
	q.err = errors.Join(q.err, m.free())
}

// trsm overwrites b, m×n, as [mathlib.Handle.Trsm] does.
func (q *queue) trsm(side mathlib.Side, op mathlib.Transpose, m, n int64, l, b kernels.Matrix) {
	q.then(func() error { return q.gpu.Trsm(side, op, m, n, l, b) })
}

// gemm computes C = alpha·op(A)·op(B) + beta·C for an m×n matrix C, in bands of rows.
func (q *queue) gemm(opA, opB mathlib.Transpose, m, n, k int64, alpha float64, a, b kernels.Matrix, beta float64, c kernels.Matrix) {
	if m == 0 || n == 0 {
		return
	}
	perRow := 2 * float64(n) * float64(max(k, 1))
	for i := int64(0); i < m && q.err == nil; {
		rows := min(m-i, max(64, aligned(int64(q.limit/perRow))))
		band := a.At(i, 0)
		if opA == transposed {
			band = a.At(0, i)
		}
		q.then(func() error { return q.gpu.Gemm(opA, opB, rows, n, k, alpha, band, b, beta, c.At(i, 0)) })
		q.worked(perRow * float64(rows))
		i += rows
	}
}

// gemmEach computes C = alpha·op(A)·op(B) + beta·C for count m×n matrices C: in one call
// if that is a short step, else one after the other.
func (q *queue) gemmEach(opA, opB mathlib.Transpose, m, n, k int64, alpha float64, a, b mathlib.Strided, beta float64, c mathlib.Strided, count int64) {
	flops := 2 * float64(m) * float64(n) * float64(k) * float64(count)
	if count > 1 && flops <= q.limit {
		q.then(func() error { return q.gpu.GemmBatched(opA, opB, m, n, k, alpha, a, b, beta, c, count) })
		q.worked(flops)
		return
	}
	for i := range count {
		at := func(b mathlib.Strided) kernels.Matrix { return b.At(i*b.Stride, 0) }
		q.gemm(opA, opB, m, n, k, alpha, at(a), at(b), beta, at(c))
	}
}

// phase computes the products of a phase, which may run side by side. A long phase is several short ones.
func (q *queue) phase(p phase) {
	for len(p) > 0 && q.err == nil {
		end, flops := 0, 0.0
		for end < len(p) && (end == 0 || flops+p[end].flops() <= q.limit) {
			flops += p[end].flops()
			end++
		}
		q.then(func() error { return q.gpu.tracks.run(p[:end]) })
		q.worked(flops)
		p = p[end:]
	}
	if q.err != nil {
		q.gpu.tracks.settle()
	}
}
