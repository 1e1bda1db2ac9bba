// Package textbook implements a method and its device for tests. It evaluates every
// formula as in the literature, on gonum's mat package, with all matrices formed
// and nothing computed in place. It passes devicetest.Run, and only tests use it.
package textbook

import (
	"context"
	"errors"
	"fmt"
	"sort"

	"gonum.org/v1/gonum/mat"

	"gpfit/device"
	"gpfit/kernel"
)

// Driver provides the device "textbook".
type Driver struct{}

// Kind returns "textbook".
func (Driver) Kind() string { return "textbook" }

// Probe reports the device.
func (Driver) Probe(context.Context) []device.Finding {
	return []device.Finding{{Name: "textbook", Host: true, Usable: true, Detail: "gonum/mat"}}
}

// Open returns a [Device].
func (Driver) Open(context.Context, string, device.Options) (device.Device, error) {
	return Device{}, nil
}

// Device is the host under another name. It does not report free memory.
type Device struct{}

// Info returns a description of the device.
func (Device) Info() device.Info {
	return device.Info{Name: "textbook", Description: "gonum/mat", Host: true, Threads: 1}
}

// Close does nothing.
func (Device) Close() error { return nil }

// Method implements [device.Method]. It accepts any device and uses none.
type Method struct{}

// Name returns "textbook".
func (Method) Name() string { return "textbook" }

// About implements [device.Method].
func (Method) About() string { return "the formulas of the literature, for tests" }

// Exact returns true.
func (Method) Exact() bool { return true }

// MaxRows returns 0.
func (Method) MaxRows(int64) int { return 0 }

// Backends returns one backend for each device.
func (Method) Backends(devices []device.Device) (out []device.Backend, err error) {
	for _, d := range devices {
		out = append(out, backend{d})
	}
	return out, nil
}

type backend struct{ device.Device }

func (b backend) Supports(device.Workload) error { return nil }

func (b backend) Capabilities() device.Capabilities {
	return device.Capabilities{Method: Method{}.Name(), Exact: true, Precision: 1e-12, Devices: []device.Device{b.Device}}
}

// Plan counts Σ, its factor, its inverse and the matrices of a contraction.
func (b backend) Plan(w device.Workload) device.Plan {
	n := float64(w.N)
	cube := n * n * n
	need := device.Need{Bytes: 8 * 8 * int64(w.N) * int64(w.N), What: "eight matrices"}
	return device.Plan{N: w.N, D: w.D, Needs: []device.Need{need}, FlopsValue: cube / 3, FlopsGradient: 5 * cube}
}

func (b backend) NewWorkspace(ctx context.Context, x *kernel.Points) (device.Workspace, error) {
	if err := errors.Join(ctx.Err(), device.CheckInputs(x)); err != nil {
		return nil, err
	}
	return &workspace{x: x, n: x.N}, nil
}

// workspace implements [device.Workspace], [device.InverseDiagonal] and
// [device.BlockInverse].
type workspace struct {
	x        *kernel.Points // nil after Close
	n        int
	chol     *mat.Cholesky // of Σ, set by Form
	progress func(device.Progress)
	flops    float64
}

func (w *workspace) Method() string                     { return Method{}.Name() }
func (w *workspace) N() int                             { return w.n }
func (w *workspace) OnProgress(f func(device.Progress)) { w.progress = f }
func (w *workspace) Work() device.Work                  { return device.Work{Flops: w.flops} }
func (w *workspace) Close() error                       { w.x, w.chol = nil, nil; return nil }

// begin is called first by every call that requires Form.
func (w *workspace) begin(ctx context.Context) error {
	if w.chol == nil {
		return device.ErrStage
	}
	return w.poll(ctx)
}

// poll resets the workspace to its state before Form if ctx is done.
func (w *workspace) poll(ctx context.Context) error {
	if ctx.Err() != nil {
		w.chol = nil
	}
	return ctx.Err()
}

// done counts operations and reports the end of a call.
func (w *workspace) done(ctx context.Context, stage string, flops float64) error {
	w.flops += flops
	if w.progress != nil {
		w.progress(device.Progress{Stage: stage, Done: flops, Total: flops})
	}
	return w.poll(ctx)
}

func (w *workspace) evaluator(prog *kernel.Program, theta []float64) (*kernel.Evaluator, error) {
	if prog.D != w.x.D {
		return nil, fmt.Errorf("textbook: kernel for %d columns on points of %d", prog.D, w.x.D)
	}
	if err := prog.CheckTheta(theta); err != nil {
		return nil, err
	}
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	return e, nil
}

func (w *workspace) Form(ctx context.Context, prog *kernel.Program, theta, noise []float64) error {
	if w.chol = nil; w.x == nil {
		return device.ErrStage
	}
	if len(noise) != 1 && len(noise) != w.n {
		return fmt.Errorf("textbook: %d noise variances for %d points", len(noise), w.n)
	}
	e, err := w.evaluator(prog, theta)
	if err != nil {
		return err
	}
	sigma, row := mat.NewSymDense(w.n, nil), make([]float64, w.n)
	for i := range w.n {
		e.Row(row, w.x, i, w.x, 0, i+1)
		row[i] += noise[min(i, len(noise)-1)]
		for j, v := range row[:i+1] {
			sigma.SetSym(i, j, v)
		}
	}
	chol := new(mat.Cholesky)
	if !chol.Factorize(sigma) {
		// The smallest leading minor without a factor.
		last := sort.Search(w.n-1, func(i int) bool { return !new(mat.Cholesky).Factorize(sigma.SliceSym(0, i+1)) })
		return device.ExplainMinor(last+1, w.x, prog, theta, noise)
	}
	w.chol = chol
	return w.done(ctx, "factor", float64(w.n)*float64(w.n)*float64(w.n)/3)
}

func (w *workspace) LogDet() (value, stdErr float64, err error) {
	if w.chol == nil {
		return 0, 0, device.ErrStage
	}
	return w.chol.LogDet(), 0, nil
}

// Solve treats the column-major b as the transpose of a row-major matrix.
func (w *workspace) Solve(ctx context.Context, b []float64, m int) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	rows, solved := mat.NewDense(m, w.n, b[:m*w.n]), new(mat.Dense)
	if err := w.chol.SolveTo(solved, rows.T()); err != nil {
		return err
	}
	rows.Copy(solved.T())
	return nil
}

func (w *workspace) InverseDiagonal(ctx context.Context, dst []float64) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	var inverse mat.SymDense
	if err := w.chol.InverseTo(&inverse); err != nil || len(dst) != w.n {
		return errors.Join(err, fmt.Errorf("textbook: diagonal of %d elements for n = %d", len(dst), w.n))
	}
	for i := range dst {
		dst[i] = inverse.At(i, i)
	}
	return nil
}

// Contract forms G.
func (w *workspace) Contract(ctx context.Context, adj device.Adjoint, prog *kernel.Program, theta, grad, diag []float64) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	if err := adj.CheckSizes(w.n, diag, grad, prog); err != nil {
		return err
	}
	return w.contract(ctx, adj, nil, prog, theta, grad, diag)
}

// ContractDiagonal forms the middle term.
func (w *workspace) ContractDiagonal(ctx context.Context, adj device.Adjoint, middle []float64, prog *kernel.Program, theta, grad, diag []float64) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	if err := device.CheckDiagonal(adj, middle, w.n, diag, grad, prog); err != nil {
		return err
	}
	return w.contract(ctx, adj, mat.NewDiagDense(w.n, middle), prog, theta, grad, diag)
}

// ContractBlocks forms the middle term.
func (w *workspace) ContractBlocks(ctx context.Context, adj device.Adjoint, blocks *device.Blocks, prog *kernel.Program, theta, grad, diag []float64) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	if err := device.CheckBlocks(adj, blocks, w.n, diag, grad, prog); err != nil {
		return err
	}
	middle := mat.NewDense(w.n, w.n, nil)
	err := blocks.Each(func(first, m int, elements []float64) error {
		middle.Slice(first, first+m, first, first+m).(*mat.Dense).Copy(mat.NewDense(m, m, elements))
		return nil
	})
	return errors.Join(err, w.contract(ctx, adj, middle, prog, theta, grad, diag))
}

// InverseBlocks copies blocks of the inverse.
func (w *workspace) InverseBlocks(ctx context.Context, b *device.Blocks) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	var inverse mat.SymDense
	if err := errors.Join(b.Check(w.n), w.chol.InverseTo(&inverse)); err != nil {
		return err
	}
	return b.Each(func(first, m int, elements []float64) error {
		mat.NewDense(m, m, elements).Copy(inverse.SliceSym(first, first+m))
		return nil
	})
}

// contract forms G with a middle term Σ⁻¹·middle·Σ⁻¹, unless middle is nil.
func (w *workspace) contract(ctx context.Context, adj device.Adjoint, middle mat.Matrix, prog *kernel.Program, theta, grad, diag []float64) error {
	e, err := w.evaluator(prog, theta)
	if err != nil {
		return err
	}
	var inverse mat.SymDense
	var g, product mat.Dense
	if err := w.chol.InverseTo(&inverse); err != nil {
		return err
	}
	g.Scale(adj.Inv, &inverse)
	if middle != nil {
		product.Product(&inverse, middle, &inverse)
		g.Add(&g, &product)
	}
	for k, f := range adj.Outer {
		v := mat.NewVecDense(w.n, adj.Vectors[k*w.n:(k+1)*w.n])
		g.RankOne(&g, f, v, v)
	}
	for i := range w.n {
		diag[i] = g.At(i, i)
		e.RowGradient(grad, g.RawRowView(i), w.x, i, w.x, 0, w.n)
	}
	return w.done(ctx, "gradient", 5*float64(w.n)*float64(w.n)*float64(w.n))
}

func (w *workspace) Predict(ctx context.Context, prog *kernel.Program, theta, alpha []float64, xs *kernel.Points, mean, reduction []float64) error {
	if err := w.begin(ctx); err != nil {
		return err
	}
	e, err := w.evaluator(prog, theta)
	if err := errors.Join(err, device.CheckPrediction(w.x, xs, alpha, mean, reduction)); err != nil {
		return err
	}
	var solved mat.VecDense
	k := mat.NewVecDense(w.n, nil)
	for j := range xs.N {
		e.Row(k.RawVector().Data, xs, j, w.x, 0, w.n)
		for q := range len(alpha) / w.n {
			mean[q*xs.N+j] = mat.Dot(k, mat.NewVecDense(w.n, alpha[q*w.n:(q+1)*w.n]))
		}
		if reduction != nil {
			if err := w.chol.SolveVecTo(&solved, k); err != nil {
				return err
			}
			reduction[j] = mat.Dot(k, &solved)
		}
	}
	return w.done(ctx, "predict", float64(w.n)*float64(w.n)*float64(xs.N))
}
