package cuda

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gpfit/device"
	"gpfit/device/textbook"
	"gpfit/kernel"
)

// selfTestSizes make the self-test take the steps of large matrices at its small n, so
// that it runs every kernel and routine of an evaluation.
var selfTestSizes = sizes{fill: 40, factor: 40, symm: 32, leaf: 16, panel: 32, gemm: 1e5}

// lockstepSizes make small matrices compute in lock step, also without company.
var lockstepSizes = func(s sizes) sizes { s.company = 1; return s }(defaultSizes)

// selfTests are a program with one leaf, in the steps of large matrices, and one with all leaves, in lock step.
var selfTests = []struct {
	kernel string
	sizes  sizes
}{
	{"rbf(ard)", selfTestSizes},
	{"matern32(ard) + matern12*periodic + rq*cosine(ard) + poly(2)*matern52 + linear(dims=1) + constant", lockstepSizes},
}

// selfTest evaluates small likelihoods, gradients and predictions on the device and
// compares them with the formulas of package textbook, so that gpfit does not use a device,
// driver or library that computes wrong numbers. It must end before others use d.
func (d *Device) selfTest(ctx context.Context) error {
	defer func(s sizes) { d.sizes = s }(d.sizes)
	for _, test := range selfTests {
		d.sizes = test.sizes
		if err := d.selfTestOf(ctx, test.kernel); err != nil {
			return fmt.Errorf("self-test: %w", err)
		}
	}
	return nil
}

func (d *Device) selfTestOf(ctx context.Context, text string) error {
	const n, columns = 97, 3 // not a multiple of any block size
	rows, y := make([]float64, n*columns), make([]float64, n)
	for i := range rows {
		rows[i] = math.Sin(1 + 1.7*float64(i)) // fixed, without structure
	}
	for i := range y {
		y[i] = math.Cos(2.3 * float64(i))
	}
	prog, err := kernel.CompileText(text, columns)
	if err != nil {
		return err
	}
	x := kernel.NewPoints(rows, n, columns)
	theta, noise := make([]float64, prog.NumParams), []float64{0.05}
	for i := range theta {
		theta[i] = 0.6 + 0.15*float64(i*3%5)
	}
	xs := kernel.NewPoints([]float64{0.1, -0.4, 0.3, 0.9, 0.2, -0.6}, 2, columns)
	ws, err := d.NewWorkspace(ctx, x)
	if err != nil {
		return err
	}
	defer ws.Close()
	got, err := evaluate(ctx, ws, prog, theta, noise, y, xs)
	if err != nil {
		return err
	}
	reference, err := textbook.New().NewWorkspace(ctx, x)
	if err != nil {
		return err
	}
	defer reference.Close()
	want, err := evaluate(ctx, reference.(device.DenseWorkspace), prog, theta, noise, y, xs)
	if err != nil {
		return err
	}
	for i, v := range want {
		// The condition number and the sizes allow errors of about 1e-12.
		if !(math.Abs(got[i]-v) <= 1e-9*(1+math.Abs(v))) {
			return fmt.Errorf("the device computes %v instead of %v (value %d), so gpfit does not use it", got[i], v, i)
		}
	}
	return nil
}

// evaluate returns the value (without its constant), the residual and the diagonal of Σ⁻¹; the
// gradient by log θ, the diagonal of its adjoint, and α twice more; gradient and diagonal for an
// adjoint with all terms; mean, variance reduction and covariance reduction at xs, all three
// with a factor that was read and written back; and products of ∂K and of L⁻¹ with vectors.
func evaluate(ctx context.Context, ws device.DenseWorkspace, prog *kernel.Program, theta, noise, y []float64, xs *kernel.Points) ([]float64, error) {
	n, m := len(y), xs.N
	value, residual, alpha, kappa := 0.0, 0.0, slices.Clone(y), make([]float64, n)
	grad, diag, gradAll, diagAll := make([]float64, len(theta)), make([]float64, n), make([]float64, len(theta)), make([]float64, n)
	mean, reduction, covariance := make([]float64, m), make([]float64, m), make([]float64, m*m)
	again, l, white, slopes := slices.Concat(y, y[1:], y[:1]), make([]float64, n*n), slices.Clone(y), make([]float64, 5*n*len(theta))
	for _, step := range []func() error{
		func() error { return ws.Form(ctx, prog, theta, noise) },
		func() (err error) {
			if checker, ok := ws.(device.ResidualChecker); ok { // a reference has no residual
				residual, err = checker.Residual(ctx)
			}
			return err
		},
		func() error { return ws.Solve(ctx, alpha, 1) },
		func() (err error) { value, _, err = ws.LogDet(); return err },
		func() error { return ws.InverseDiagonal(ctx, kappa) },
		// Each call leaves the factor intact. The last solve has another vector, of which no earlier one left results.
		func() error { return ws.Solve(ctx, again[:n], 1) },
		func() error {
			return ws.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, prog, theta, grad, diag)
		},
		func() error { return ws.Solve(ctx, again[n:], 1) },
		func() error { return ws.Contract(ctx, testAdjoint(alpha, y, y), prog, theta, gradAll, diagAll) },
		func() error { return ws.ReadFactor(0, n, l) },
		func() error { return ws.Fill(ctx, prog, theta, noise) },
		func() error { return ws.WriteFactor(0, n, l) },
		func() error { return ws.Predict(ctx, prog, theta, alpha, xs, mean, reduction) },
		func() error { return ws.PredictCovariance(ctx, prog, theta, xs, covariance) },
		func() error {
			if err := ws.MultiplyDerivatives(ctx, prog, theta, slices.Concat(again, y, alpha, kappa), 5, slopes); err != nil {
				return err
			}
			return ws.Whiten(ctx, white, 1, false)
		},
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	value /= 2
	for i, a := range alpha {
		value += a * y[i] / 2
	}
	return slices.Concat([]float64{value, residual}, kappa, grad, diag, again, gradAll, diagAll, mean, reduction, covariance, slopes, white), nil
}

// testAdjoint returns an adjoint of two vectors, with the middle term of a diagonal or nil.
func testAdjoint(alpha, y, diagonal []float64) device.Adjoint {
	return device.Adjoint{Inv: 0.25, Outer: []float64{-0.5, 2}, Vectors: slices.Concat(alpha, y), Diagonal: diagonal}
}
