package cuda

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"

	"gpfit/device"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
	"gpfit/kernel/kerneltest"
)

// smallSteps take the code paths of large matrices at the sizes of these tests.
var smallSteps = sizes{fill: 64, factor: 40, symm: 32, leaf: 16, panel: 32, gemm: 1e5}

// job uses everything that a workspace does once.
type job struct {
	x, xs        *kernel.Points
	prog         *kernel.Program
	theta, noise []float64
	y, many      []float64
	// failed receives the workspace of a run that failed, before it is closed.
	failed func(device.DenseWorkspace)
}

func newJob(t testing.TB, n int) *job {
	t.Helper()
	const d, test, columns = 2, 7, 3
	prog := kerneltest.Program(t, "rbf(ard) + matern32", d)
	numbers := func(count int, step float64) []float64 {
		v := make([]float64, count)
		for i := range v {
			v[i] = 2 * math.Sin(1+step*float64(i))
		}
		return v
	}
	j := &job{
		x: kernel.NewPoints(numbers(n*d, 1.7), n, d), xs: kernel.NewPoints(numbers(test*d, 0.9), test, d), prog: prog,
		noise: []float64{0.1}, y: numbers(n, 2.3), many: numbers(n*columns, 0.3),
	}
	for i := range prog.NumParams {
		j.theta = append(j.theta, 0.6+0.1*float64(i))
	}
	return j
}

// run runs the job in a new workspace, closes it, and returns all results. Errors begin
// with the name of the call.
func (j *job) run(ctx context.Context, b device.DenseDevice) (out []float64, err error) {
	ws, err := b.NewWorkspace(ctx, j.x)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	out, err = j.runIn(ctx, ws)
	if err != nil && j.failed != nil {
		j.failed(ws)
	}
	if closing := ws.Close(); closing != nil {
		err = errors.Join(err, fmt.Errorf("close: %w", closing))
	}
	return out, err
}

func (j *job) runIn(ctx context.Context, ws device.DenseWorkspace) ([]float64, error) {
	n := j.x.N
	alpha, many := slices.Clone(j.y), slices.Clone(j.many)
	logDet, residual := []float64{0}, []float64{0}
	grad, diag := make([]float64, len(j.theta)), make([]float64, n)
	mean, reduction := make([]float64, j.xs.N), make([]float64, j.xs.N)
	kappa, gradAll, diagAll := make([]float64, n), make([]float64, len(j.theta)), make([]float64, n)
	means, covariance := make([]float64, len(many)/n*j.xs.N), make([]float64, j.xs.N*j.xs.N)
	l, white, slopes := make([]float64, n*n), slices.Clone(many), make([]float64, len(many)*len(j.theta))
	// The second block begins on a memory line.
	ends := []int{n}
	if n > lineElements {
		ends = []int{lineElements, n}
	}
	blocks, gradBlocks, diagBlocks := device.NewBlocks(ends), make([]float64, len(j.theta)), make([]float64, n)
	for _, step := range []struct {
		name string
		call func() error
	}{
		{"fill", func() error { return ws.Fill(ctx, j.prog, j.theta, j.noise) }},
		{"factor", func() error { return ws.Factor(ctx) }},
		{"residual", func() (err error) { residual[0], err = ws.(device.ResidualChecker).Residual(ctx); return err }},
		{"logdet", func() (err error) { logDet[0], _, err = ws.LogDet(); return err }},
		{"solve", func() error { return ws.Solve(ctx, alpha, 1) }},
		{"solve many", func() error { return ws.Solve(ctx, many, len(many)/n) }},
		{"contract", func() error {
			return ws.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, j.prog, j.theta, grad, diag)
		}},
		{"diagonal", func() error { return ws.InverseDiagonal(ctx, kappa) }},
		{"contract all", func() error {
			return ws.Contract(ctx, testAdjoint(alpha, j.y, j.y), j.prog, j.theta, gradAll, diagAll)
		}},
		{"blocks", func() error { return ws.InverseBlocks(ctx, blocks) }},
		{"contract blocks", func() error {
			return ws.Contract(ctx, device.Adjoint{Inv: 0.5, Blocks: blocks}, j.prog, j.theta, gradBlocks, diagBlocks)
		}},
		{"predict many", func() error { return ws.Predict(ctx, j.prog, j.theta, many, j.xs, means, nil) }},
		{"covariance", func() error { return ws.PredictCovariance(ctx, j.prog, j.theta, j.xs, covariance) }},
		{"predict", func() error { return ws.Predict(ctx, j.prog, j.theta, alpha, j.xs, mean, reduction) }},
		{"products", func() error {
			return ws.MultiplyDerivatives(ctx, j.prog, j.theta, many, len(many)/n, slopes)
		}},
		{"whiten", func() error { return ws.Whiten(ctx, white, len(many)/n, true) }},
		{"read", func() error { return ws.ReadFactor(0, n, l) }},
		{"write", func() error { return ws.WriteFactor(0, n, l) }},
	} {
		if err := step.call(); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	return slices.Concat(logDet, residual, alpha, many, grad, diag, kappa, gradAll, diagAll, blocks.Elements, gradBlocks, diagBlocks, means, covariance, mean, reduction, slopes, white, l), nil
}

// mustRun fails unless the results equal want, to the bit, if want is not nil.
func (j *job) mustRun(t testing.TB, b device.DenseDevice, want []float64) []float64 {
	t.Helper()
	got := testcheck.Get(j.run(context.Background(), b))(t)
	if want != nil {
		j.same(t, got, want)
	}
	return got
}

func (j *job) same(t testing.TB, got, want []float64) {
	t.Helper()
	for i, v := range got {
		if math.Float64bits(v) != math.Float64bits(want[i]) {
			t.Fatalf("result %d is %v, %v without the fault", i, v, want[i])
		}
	}
}

// openBare opens a device with small steps and without its self-test, and closes it at the end
// of the test.
func openBare(t testing.TB, index int) *Device {
	t.Helper()
	emulator.Need(t)
	b := testcheck.Get(open(index))(t)
	t.Cleanup(func() { mustClose(t, b) })
	b.sizes = smallSteps
	return b
}

// reference returns a job of n points and its results, on a device that is closed again.
func reference(t testing.TB, n int) (*job, []float64) {
	t.Helper()
	b := openBare(t, 0)
	j := newJob(t, n)
	want := j.mustRun(t, b, nil)
	mustClose(t, b)
	return j, want
}

// checked opens a device as openBare does, with a check of the memory at the end of the test.
func checked(t testing.TB) *Device {
	t.Helper()
	emulator.Check(t)
	return openBare(t, 0)
}

// workspace returns a workspace for the points of the job, which the test closes at its end.
func (j *job) workspace(t testing.TB, b device.DenseDevice) *Workspace {
	t.Helper()
	ws := testcheck.Get(b.NewWorkspace(context.Background(), j.x))(t)
	t.Cleanup(func() { testcheck.Do(t, ws.Close()) })
	return ws.(*Workspace)
}

// mustClose closes a device and fails on an error.
func mustClose(t testing.TB, b io.Closer) {
	t.Helper()
	if err := b.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// unavailable fails unless err is an UnavailableError and returns its reason.
func unavailable(t testing.TB, err error) string {
	t.Helper()
	var ue *device.UnavailableError
	if !errors.As(err, &ue) {
		t.Fatalf("error %v (%T), want an UnavailableError", err, err)
	}
	return ue.Reason
}

func openDevice(name string) (device.DenseDevice, error) {
	d, err := Driver{}.Open(context.Background(), name, device.Options{})
	if err != nil {
		return nil, err
	}
	return d.(device.DenseDevice), nil
}
