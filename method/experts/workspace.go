package experts

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"

	"gonum.org/v1/gonum/floats"

	"gpfit/device"
	"gpfit/internal/each"
	"gpfit/internal/matrixrows"
	"gpfit/kernel"
)

// expert is a block of the covariance.
type expert struct {
	index  int   // of the centre
	rows   []int // ascending
	centre []float64
	ws     device.Workspace
}

// workspace implements [device.Workspace], [device.InverseDiagonal], [device.Consuming],
// [device.ResidualChecker], [device.ThreadLimiter] and [device.BlockDiagonal] on the
// workspaces of the experts that have points.
type workspace struct {
	backend *backend
	x       *kernel.Points
	experts []*expert
	// threads are the threads of the host that this workspace may use.
	threads int
	// formed is false after a call that failed.
	formed   bool
	progress func(device.Progress)
}

func (w *workspace) Method() string { return Name }
func (w *workspace) N() int         { return w.x.N }

// LimitThreads implements [device.ThreadLimiter].
func (w *workspace) LimitThreads(n int) {
	w.threads = w.backend.Info().Threads
	if n > 0 {
		w.threads = min(n, w.threads)
	}
}

// Consumes implements [device.Consuming].
func (w *workspace) Consumes() bool {
	return slices.ContainsFunc(w.experts, func(e *expert) bool { return device.Consumes(e.ws) })
}

// OnProgress implements [device.Workspace].
func (w *workspace) OnProgress(f func(device.Progress)) { w.progress = f }

// Blocks implements [device.BlockDiagonal].
func (w *workspace) Blocks() [][]int {
	return each.Of(w.experts, func(e *expert) []int { return e.rows })
}

// sideBySide is the number of points up to which experts on a host compute at the same time,
// each with its share of the threads: smaller matrices gain less from more threads.
const sideBySide = 3000

// atOnce returns how many experts compute at the same time.
func atOnce(w *workspace) int {
	largest := 0
	for _, e := range w.experts {
		largest = max(largest, len(e.rows))
	}
	if !w.backend.Info().Host || largest > sideBySide {
		return 1
	}
	return max(1, min(w.threads, len(w.experts)))
}

// each calls do for each expert, some at the same time, and returns the first error in the
// order of the experts. work is the expected work of an expert, for reports of progress. After
// an error the workspace is in its state before Form.
func (w *workspace) each(ctx context.Context, work func(e *expert) float64, do func(k int, e *expert) error) error {
	workers := atOnce(w)
	watch := w.watch(work)
	errs := make([]error, len(w.experts))
	next := make(chan int, len(w.experts))
	for k := range w.experts {
		next <- k
	}
	close(next)
	one := func() {
		for k := range next {
			e := w.experts[k]
			if limiter, ok := e.ws.(device.ThreadLimiter); ok {
				limiter.LimitThreads(max(1, w.threads/workers))
			}
			if errs[k] = ctx.Err(); errs[k] == nil {
				end := watch(k)
				errs[k] = do(k, e)
				end()
			}
		}
	}
	if workers == 1 {
		one() // a device may need this goroutine
	} else {
		var wait sync.WaitGroup
		for range workers {
			wait.Go(one)
		}
		wait.Wait()
	}
	err := cmp.Or(errs...)
	w.formed = w.formed && err == nil
	return err
}

// stage returns [device.ErrStage] before Form.
func (w *workspace) stage() error {
	if !w.formed {
		return device.ErrStage
	}
	return nil
}

// cube and square are the work of an expert.
func cube(e *expert) float64   { n := float64(len(e.rows)); return n * n * n }
func square(e *expert) float64 { n := float64(len(e.rows)); return n * n }

// Form implements [device.Workspace].
func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if err := device.CheckNoise(noise, w.x.N); err != nil {
		return err
	}
	err := w.each(ctx, cube, func(_ int, e *expert) error {
		own := noise
		if len(noise) > 1 {
			own = matrixrows.Rows(noise, e.rows, w.x.N, 1)
		}
		return e.ws.Form(ctx, prog, theta, own)
	})
	w.formed = err == nil
	return err
}

// LogDet implements [device.Workspace].
func (w *workspace) LogDet() (value, stdErr float64, err error) {
	if err := w.stage(); err != nil {
		return 0, 0, err
	}
	variance := 0.0
	for _, e := range w.experts {
		v, s, err := e.ws.LogDet()
		if err != nil {
			return 0, 0, err
		}
		value += v
		variance += s * s
	}
	return value, math.Sqrt(variance), nil
}

// Solve implements [device.Workspace].
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	if err := cmp.Or(w.stage(), device.CheckColumns(b, w.x.N, m)); err != nil {
		return err
	}
	return w.eachPart(ctx, b, func(e *expert, own []float64) error { return e.ws.Solve(ctx, own, m) })
}

// eachPart overwrites the rows of b that belong to each expert by what do makes of them.
func (w *workspace) eachPart(ctx context.Context, b []float64, do func(e *expert, own []float64) error) error {
	return w.each(ctx, square, func(_ int, e *expert) error {
		own := matrixrows.Rows(b, e.rows, w.x.N, 1)
		if err := do(e, own); err != nil {
			return err
		}
		matrixrows.Put(b, own, e.rows, w.x.N)
		return nil
	})
}

// Contract implements [device.Workspace]: it contracts the parts of adj that belong to the experts, and adds up
// the gradients in the order of the experts.
func (w *workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if err := cmp.Or(w.stage(), adj.CheckSizes(w.x.N, diag, grad, prog)); err != nil {
		return err
	}
	if adj.Blocks != nil {
		return &device.UnsupportedError{Method: Name, What: "blocks of the inverse, which K-fold cross-validation needs"}
	}
	parts := make([][]float64, len(w.experts))
	err := w.each(ctx, cube, func(k int, e *expert) error {
		parts[k] = make([]float64, len(grad))
		ownDiagonal := make([]float64, len(e.rows))
		own := device.Adjoint{Inv: adj.Inv, Outer: adj.Outer, Vectors: matrixrows.Rows(adj.Vectors, e.rows, w.x.N, 1)}
		if adj.Diagonal != nil {
			own.Diagonal = matrixrows.Rows(adj.Diagonal, e.rows, w.x.N, 1)
		}
		if err := e.ws.Contract(ctx, own, prog, theta, parts[k], ownDiagonal); err != nil {
			return err
		}
		matrixrows.Put(diag, ownDiagonal, e.rows, w.x.N)
		return nil
	})
	if err != nil {
		return err
	}
	for _, part := range parts {
		floats.Add(grad, part)
	}
	return nil
}

// InverseDiagonal implements [device.InverseDiagonal].
func (w *workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	if err := cmp.Or(w.stage(), device.CheckColumns(dst, w.x.N, 1)); err != nil {
		return err
	}
	return w.each(ctx, cube, func(_ int, e *expert) error {
		inverse, err := device.Capability[device.InverseDiagonal](e.ws, "the diagonal of the inverse, which leave-one-out needs")
		if err != nil {
			return err
		}
		own := make([]float64, len(e.rows))
		if err := inverse.InverseDiagonal(ctx, own); err != nil {
			return err
		}
		matrixrows.Put(dst, own, e.rows, w.x.N)
		return nil
	})
}

// Residual implements [device.ResidualChecker]: the largest of the experts' residuals.
func (w *workspace) Residual(ctx context.Context) (float64, error) {
	if err := w.stage(); err != nil {
		return 0, err
	}
	residuals := make([]float64, len(w.experts))
	err := w.each(ctx, square, func(k int, e *expert) (err error) {
		if checker, ok := e.ws.(device.ResidualChecker); ok {
			residuals[k], err = checker.Residual(ctx)
		}
		return err
	})
	return floats.Max(residuals), err
}

// Work implements [device.Workspace].
func (w *workspace) Work() (sum device.Work) {
	for _, e := range w.experts {
		one := e.ws.Work()
		sum.Flops += one.Flops
		sum.Bytes += one.Bytes
		sum.MatrixBytes += one.MatrixBytes
	}
	return sum
}

// Close implements [device.Workspace].
func (w *workspace) Close() (err error) {
	w.formed = false
	for _, e := range w.experts {
		err = cmp.Or(err, e.ws.Close())
	}
	return err
}

// watch adds up the progress of the experts of a call with this work. It returns a function
// that passes on the reports of an expert, whose result notes that the expert is done.
func (w *workspace) watch(work func(e *expert) float64) func(k int) (end func()) {
	if w.progress == nil {
		return func(k int) func() {
			w.experts[k].ws.OnProgress(nil)
			return func() {}
		}
	}
	total, done := 0.0, make([]float64, len(w.experts))
	for _, e := range w.experts {
		total += work(e)
	}
	var told sync.Mutex
	return func(k int) func() {
		e := w.experts[k]
		e.ws.OnProgress(func(p device.Progress) {
			told.Lock()
			defer told.Unlock()
			done[k] = min(1, p.Done/max(p.Total, 1)) * work(e)
			w.progress(device.Progress{Stage: p.Stage, Done: floats.Sum(done), Total: total})
		})
		return func() {
			told.Lock()
			defer told.Unlock()
			done[k] = work(e)
		}
	}
}

// NewWorkspace implements [device.Backend].
func (b *backend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	w := &workspace{backend: b, x: x, threads: b.Info().Threads}
	rows, counts := make([][]int, len(b.partition.Centres)), make([]int, len(b.partition.Centres))
	for i, k := range b.partition.Assign(x) {
		rows[k] = append(rows[k], i)
		counts[k]++
	}
	if err := b.plan(device.Workload{N: x.N, D: x.D}, counts).Check(b.Info()); err != nil {
		return nil, err
	}
	for k := range rows {
		if len(rows[k]) == 0 {
			continue
		}
		ws, err := b.Backend.NewWorkspace(ctx, x.Pick(rows[k]))
		if err != nil {
			_ = w.Close()
			return nil, err
		}
		w.experts = append(w.experts, &expert{k, rows[k], b.partition.Centres[k], ws})
	}
	return w, nil
}
