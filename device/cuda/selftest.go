package cuda

import (
	"context"
	"fmt"
	"math"

	"gpfit/device"
	"gpfit/kernel"
)

// selfTest evaluates a small likelihood and gradient on the device and compares
// them with plain loops on the host: a device, driver or library that computes
// wrongly is not used.
func (b *Backend) selfTest(ctx context.Context) error {
	const n, d = 97, 3 // no multiple of any block
	rows, y := make([]float64, n*d), make([]float64, n)
	for i := range rows {
		rows[i] = math.Sin(1 + 1.7*float64(i)) // fixed, without structure
	}
	for i := range y {
		y[i] = math.Cos(2.3 * float64(i))
	}
	expr, err := kernel.Parse("rbf(ard) + matern32")
	if err != nil {
		return err
	}
	prog, err := kernel.Compile(expr, kernel.Columns(d))
	if err != nil {
		return err
	}
	x := kernel.NewPoints(rows, n, d)
	theta, noise := []float64{0.7, 0.9, 1.2, 1.1, 0.6, 0.8}, []float64{0.05}
	ws, err := b.NewWorkspace(ctx, x)
	if err != nil {
		return err
	}
	defer ws.Close()
	got, err := evaluate(ctx, ws, prog, theta, noise, y)
	if err != nil {
		return fmt.Errorf("self-test: %w", err)
	}
	want := referenceResult(x, prog, theta, noise[0], y)
	for i, v := range want {
		// Condition number and sizes here allow about 1e-12.
		if !(math.Abs(got[i]-v) <= 1e-9*(1+math.Abs(v))) {
			return fmt.Errorf("self-test: the device computes %v where %v is right (value %d): it is not used", got[i], v, i)
		}
	}
	return nil
}

// evaluate returns value (without its constant) and gradient by log θ.
func evaluate(ctx context.Context, ws device.Workspace, prog *kernel.Program, theta, noise, y []float64) ([]float64, error) {
	if err := ws.Fill(ctx, prog, theta, noise); err != nil {
		return nil, err
	}
	if err := ws.Factor(ctx); err != nil {
		return nil, err
	}
	logDet, err := ws.LogDet()
	if err != nil {
		return nil, err
	}
	alpha := append([]float64(nil), y...)
	if err := ws.Solve(ctx, alpha, 1); err != nil {
		return nil, err
	}
	value := logDet / 2
	for i, a := range alpha {
		value += a * y[i] / 2
	}
	grad, diag := make([]float64, len(theta)), make([]float64, len(y))
	err = ws.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: 0.5, Alpha: alpha}, prog, theta, grad, diag)
	return append([]float64{value}, grad...), err
}

// referenceResult is evaluate by plain loops: Cholesky by rows, and Σ⁻¹ column by
// column.
func referenceResult(x *kernel.Points, prog *kernel.Program, theta []float64, noise float64, y []float64) []float64 {
	n := x.N
	e := kernel.NewEvaluator(prog)
	e.Bind(theta)
	l := make([][]float64, n)
	value := 0.0
	for i := range n {
		l[i] = make([]float64, n)
		e.Row(l[i], x, i, x, 0, i+1)
		l[i][i] += noise
		for j := 0; j <= i; j++ {
			sum := l[i][j]
			for k := range j {
				sum -= l[i][k] * l[j][k]
			}
			if i == j {
				l[i][i] = math.Sqrt(sum)
			} else {
				l[i][j] = sum / l[j][j]
			}
		}
		value += math.Log(l[i][i])
	}
	solve := func(b []float64) []float64 {
		for i := range n {
			for k := range i {
				b[i] -= l[i][k] * b[k]
			}
			b[i] /= l[i][i]
		}
		for i := n - 1; i >= 0; i-- {
			b[i] /= l[i][i]
			for k := range i {
				b[k] -= l[i][k] * b[i]
			}
		}
		return b
	}
	alpha := solve(append([]float64(nil), y...))
	grad := make([]float64, len(theta))
	for i := range n {
		value += alpha[i] * y[i] / 2
		g := make([]float64, n)
		g[i] = 1
		g = solve(g)
		for j := range g {
			g[j] = (g[j] - alpha[i]*alpha[j]) / 2
		}
		e.RowGradient(grad, g, x, i, x, 0, n)
	}
	return append([]float64{value}, grad...)
}
