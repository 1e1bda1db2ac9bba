package cuda

import (
	"context"
	"errors"
	"fmt"

	"gpfit/device"
	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
	"gpfit/kernel"
)

type stage uint8

const (
	stageEmpty stage = iota
	stageFilled
	stageFactored
	stageInverted // L below, Σ⁻¹ strictly above the diagonal
)

// Workspace implements [device.ExactWorkspace]. Its matrix is column-major on the
// device; the lower triangle is Σ and then L, the strict upper triangle Σ⁻¹ once
// a gradient was asked for.
type Workspace struct {
	b     *Backend
	x     *kernel.Points
	n     int64
	stage stage
	plan  device.Plan

	matrix kernels.Matrix
	points kernels.Points
	// vectors of n on the device; noise may have one element in use.
	noise       kernels.Vector
	alpha, diag driver.Ptr
	// ldia is the diagonal of L and kappa that of Σ⁻¹ in stageInverted.
	ldia, kappa driver.Ptr
	// small holds MaxParts partial results and one number.
	small driver.Ptr

	program    *kernel.Program
	compiled   kernels.Program
	parameters *buffers // words, θ, gradient and contraction space of program
	grad       driver.Ptr
	work       kernels.ContractWork

	square driver.Ptr // panelWidth² numbers, from the first inverse on
	middle driver.Ptr // panels of a middle term (middle.go), from the first on
	// vectors holds vectorCount vectors of an adjoint and as many factors, from
	// address vector on; it grows.
	vectors     *buffers
	vector      driver.Ptr
	vectorCount int64
	cross       driver.Ptr // a block of cross-covariances, from the first Predict
	crossCols   int64

	filled     *kernel.Program // of the last Fill, as theta and noiseHost
	theta      []float64
	noiseHost  []float64
	main       *buffers
	onProgress func(device.Progress)
	progress   device.Progress
	flops      float64
}

var _ device.ExactWorkspace = (*Workspace)(nil)

// buffers are allocations that are freed together.
type buffers struct {
	dev *driver.Device
	all []driver.Ptr
	// total is their size in bytes.
	total int64
}

// alloc allocates count float64 numbers.
func (b *buffers) alloc(count int64) (driver.Ptr, error) { return b.bytes(8 * max(count, 1)) }

func (b *buffers) bytes(size int64) (driver.Ptr, error) {
	p, err := b.dev.Alloc(max(size, 8))
	if err == nil {
		b.all = append(b.all, p)
		b.total += max(size, 8)
	}
	return p, err
}

func (b *buffers) free() error {
	if b == nil {
		return nil
	}
	var errs []error
	for _, p := range b.all {
		errs = append(errs, b.dev.Free(p))
	}
	b.all, b.total = nil, 0
	return errors.Join(errs...)
}

// leadingDim pads columns to 128 bytes, so that every column begins on a
// transaction boundary.
func leadingDim(n int64) int64 { return (n + 15) &^ 15 }

func (b *Backend) newWorkspace(x *kernel.Points, plan device.Plan) (*Workspace, error) {
	n := int64(x.N)
	w := &Workspace{b: b, x: x, n: n, plan: plan, main: &buffers{dev: b.dev}}
	err := b.dev.Do(func() error {
		var err error
		alloc := func(count int64) (p driver.Ptr) {
			if err == nil {
				p, err = w.main.alloc(count)
			}
			return p
		}
		w.matrix = kernels.Matrix{A: alloc(n * leadingDim(n)), LD: leadingDim(n)}
		xs := alloc(n * int64(x.D))
		w.points = kernels.Points{X: xs, N: n}
		w.noise = kernels.Vector{A: alloc(n), N: n}
		w.alpha, w.diag, w.ldia, w.kappa = alloc(n), alloc(n), alloc(n), alloc(n)
		w.small = alloc(kernels.MaxParts + 1)
		if err != nil {
			return err
		}
		return driver.CopyToDevice(b.stream, xs, x.X)
	})
	if err != nil {
		return nil, errors.Join(b.translate(err, plan), w.main.free())
	}
	return w, nil
}

// Method returns "exact".
func (w *Workspace) Method() string { return device.Exact{}.Name() }

// N returns the number of points.
func (w *Workspace) N() int { return int(w.n) }

// OnProgress sets the progress function.
func (w *Workspace) OnProgress(f func(device.Progress)) { w.onProgress = f }

func (w *Workspace) begin(stage string, flops float64) {
	w.progress = device.Progress{Stage: stage, Total: flops}
}

// worked counts operations that were given to the device. For large matrices
// it waits for them, so that progress is true and a cancelled context is seen.
func (w *Workspace) worked(ctx context.Context, flops float64) error {
	const wait = 1e9
	if flops > wait {
		if err := w.b.stream.Synchronize(); err != nil {
			return err
		}
	}
	w.flops += flops
	w.progress.Done += flops
	if w.onProgress != nil {
		w.onProgress(w.progress)
	}
	return ctx.Err()
}

// do runs a call of the contract on the device's thread and translates its
// error. After an error that is not the caller's or the data's the workspace
// is empty.
func (w *Workspace) do(f func() error) error {
	if w.main == nil {
		return device.ErrStage
	}
	err := w.b.dev.Do(func() error {
		if err := w.b.dev.Err(); err != nil {
			return err
		}
		return f()
	})
	if err != nil && !errors.Is(err, device.ErrStage) && !errors.As(err, new(*argumentError)) {
		w.stage = stageEmpty
	}
	return w.b.translate(err, w.plan)
}

// argumentError is a call with arguments that do not fit.
type argumentError struct{ msg string }

func (e *argumentError) Error() string { return "cuda: " + e.msg }

func argumentf(format string, args ...any) error { return &argumentError{fmt.Sprintf(format, args...)} }

// Work returns the counters.
func (w *Workspace) Work() device.Work {
	work := device.Work{Flops: w.flops}
	if w.main != nil {
		work.MatrixBytes, work.Bytes = 8*w.n*w.matrix.LD, w.main.total
	}
	for _, b := range []*buffers{w.parameters, w.vectors} {
		if b != nil {
			work.Bytes += b.total
		}
	}
	return work
}

// Close frees the device's memory.
func (w *Workspace) Close() error {
	if w.main == nil {
		return nil
	}
	err := errors.Join(w.parameters.free(), w.vectors.free(), w.main.free())
	w.main, w.parameters, w.vectors, w.stage = nil, nil, nil, stageEmpty
	return w.b.translate(err, w.plan)
}

// bind puts the program and θ on the device.
func (w *Workspace) bind(prog *kernel.Program, theta []float64) error {
	if prog.D != w.x.D {
		return argumentf("kernel for %d columns on points of %d", prog.D, w.x.D)
	}
	if err := prog.CheckTheta(theta); err != nil {
		return &argumentError{err.Error()}
	}
	if w.program != prog {
		if err := w.compile(prog); err != nil {
			return err
		}
	}
	return driver.CopyToDevice(w.b.stream, w.compiled.Theta, theta)
}

func (w *Workspace) compile(prog *kernel.Program) error {
	enc, err := w.b.encode(prog)
	if err != nil {
		return err
	}
	if err := w.parameters.free(); err != nil {
		return err
	}
	w.program, w.parameters = nil, &buffers{dev: w.b.dev}
	blocks := kernels.ContractBlocks(w.b.info.Multiprocessors)
	scratch, partial := kernels.ContractSpace(enc, blocks)
	alloc := func(size int64) (p driver.Ptr) {
		if err == nil {
			p, err = w.parameters.bytes(size)
		}
		return p
	}
	words, theta := alloc(4*int64(len(enc.Words))), alloc(8*int64(enc.Params))
	w.grad = alloc(8 * int64(enc.Params))
	w.work = kernels.ContractWork{Scratch: alloc(scratch), Partial: alloc(partial), Blocks: blocks}
	if err != nil {
		return err
	}
	w.compiled = kernels.Program{Words: words, Theta: theta, Encoded: enc}
	if err := driver.CopyToDevice(w.b.stream, words, enc.Words); err != nil {
		return err
	}
	w.program = prog
	return nil
}

// Form forms and factors Σ.
func (w *Workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if err := w.Fill(ctx, prog, theta, noise); err != nil {
		return err
	}
	return w.Factor(ctx)
}

// Fill forms Σ in the lower triangle.
func (w *Workspace) Fill(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	return w.do(func() error {
		if len(noise) != 1 && int64(len(noise)) != w.n {
			return argumentf("%d noise variances for %d points", len(noise), w.n)
		}
		if err := w.bind(prog, theta); err != nil {
			return err
		}
		w.stage = stageEmpty
		w.filled, w.theta, w.noiseHost = prog, append(w.theta[:0], theta...), append(w.noiseHost[:0], noise...)
		w.noise.N = int64(len(noise))
		if err := driver.CopyToDevice(w.b.stream, w.noise.A, noise); err != nil {
			return err
		}
		for j0 := int64(0); j0 < w.n; j0 += w.b.sizes.fill {
			j1 := min(j0+w.b.sizes.fill, w.n)
			if err := w.b.launch(kernels.Fill(w.compiled, w.points, w.matrix, w.noise, j0, j1)); err != nil {
				return err
			}
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		w.stage = stageFilled
		return nil
	})
}

// LogDet returns 2 Σ log L_ii.
func (w *Workspace) LogDet() (sum, stdErr float64, err error) {
	err = w.do(func() error {
		if w.stage < stageFactored {
			return device.ErrStage
		}
		out := w.small.Offset(8 * kernels.MaxParts)
		if err := w.b.launchAll(kernels.LogDet(w.matrix, w.n, w.small, out)); err != nil {
			return err
		}
		host := []float64{0}
		err := driver.CopyToHost(w.b.stream, host, out)
		sum = 2 * host[0]
		return err
	})
	return sum, 0, err
}

// Solve overwrites b by Σ⁻¹b.
func (w *Workspace) Solve(ctx context.Context, b []float64, m int) error {
	return w.do(func() error {
		if w.stage < stageFactored {
			return device.ErrStage
		}
		if int64(len(b)) < w.n*int64(m) {
			return argumentf("right-hand side of %d elements for %d×%d", len(b), w.n, m)
		}
		if err := ctx.Err(); err != nil || m == 0 {
			return err
		}
		rhs := buffers{dev: w.b.dev}
		dev := w.alpha
		if m > 1 {
			var err error
			if dev, err = rhs.alloc(w.n * int64(m)); err != nil {
				return err
			}
		}
		b = b[:w.n*int64(m)]
		err := driver.CopyToDevice(w.b.stream, dev, b)
		if err == nil {
			err = w.solve(dev, int64(m))
		}
		if err == nil {
			err = driver.CopyToHost(w.b.stream, b, dev)
		}
		return errors.Join(err, rhs.free())
	})
}

// ReadFactor copies rows of L.
func (w *Workspace) ReadFactor(r0, r1 int, dst []float64) error {
	return w.rows(r0, r1, func(stage driver.Ptr) error {
		if w.stage < stageFactored {
			return device.ErrStage
		}
		rows := kernels.ReadRows(w.matrix, w.n, int64(r0), int64(r1), kernels.Matrix{A: stage, LD: w.n})
		if err := w.b.launch(rows); err != nil {
			return err
		}
		return driver.CopyToHost(w.b.stream, dst[:int64(r1-r0)*w.n], stage)
	})
}

// WriteFactor sets rows of L.
func (w *Workspace) WriteFactor(r0, r1 int, src []float64) error {
	return w.rows(r0, r1, func(stage driver.Ptr) error {
		w.stage = stageEmpty
		for i := r0; i < r1; i++ {
			row := src[int64(i-r0)*w.n:]
			for _, v := range row[:i+1] {
				if v-v != 0 || !(row[i] > 0) {
					return &device.NonFiniteError{What: "Cholesky factor", Row: i, Col: -1}
				}
			}
		}
		if err := driver.CopyToDevice(w.b.stream, stage, src[:int64(r1-r0)*w.n]); err != nil {
			return err
		}
		if err := w.b.launch(kernels.WriteRows(w.matrix, w.n, int64(r0), int64(r1), kernels.Matrix{A: stage, LD: w.n})); err != nil {
			return err
		}
		if int64(r1) == w.n {
			w.stage = stageFactored
		}
		return w.b.stream.Synchronize()
	})
}

// rows runs f with a staging buffer for rows of the matrix.
func (w *Workspace) rows(r0, r1 int, f func(stage driver.Ptr) error) error {
	return w.do(func() error {
		if r0 < 0 || r1 < r0 || int64(r1) > w.n {
			return argumentf("rows %d to %d of %d", r0, r1, w.n)
		}
		stage := buffers{dev: w.b.dev}
		p, err := stage.alloc(int64(r1-r0) * w.n)
		if err != nil {
			return err
		}
		return errors.Join(f(p), stage.free())
	})
}
