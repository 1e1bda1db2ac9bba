//go:build unix

package cpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"gpfit/device"
	"gpfit/internal/testcheck"
	"gpfit/kernel/kerneltest"
)

// BenchmarkComposites measures value and gradient with composite kernels against
// rbf alone, alternating in one process, n = 4000 and d = 8. wall/rbf is the ratio
// of the median times, cpu/rbf the ratio of the process's median processor times,
// which other work on the machine disturbs less.
//
//	go test ./cpu -run '^$' -bench Composites -benchtime 9x
func BenchmarkComposites(b *testing.B) {
	const n, d = 4000, 8
	rng := rand.New(rand.NewPCG(1, 1))
	x, y := points(rng, n, d), normals(rng, n)
	backend := testcheck.Get(New(device.Options{}))(b)
	ctx := context.Background()
	ws := testcheck.Get(backend.NewWorkspace(ctx, x))(b)
	defer ws.Close()
	evaluation := func(text string) func() {
		prog := kerneltest.Program(b, text, d)
		theta := slices.Repeat([]float64{1}, prog.NumParams)
		grad, diag, alpha := make([]float64, len(theta)), make([]float64, n), make([]float64, n)
		return func() {
			copy(alpha, y)
			clear(grad)
			testcheck.Do(b, ws.Form(ctx, prog, theta, []float64{0.1}))
			testcheck.Do(b, ws.Solve(ctx, alpha, 1))
			testcheck.Do(b, ws.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, prog, theta, grad, diag))
		}
	}
	single := evaluation("rbf")
	for _, text := range []string{"rbf + matern32 + rq", "rbf*periodic + linear", "rbf*periodic + rq + linear"} {
		composite := evaluation(text)
		b.Run(text, func(b *testing.B) {
			alternate(b, "rbf", single, composite)
		})
	}
}

// BenchmarkProducts measures the products of the derivatives of rbf(ard) with vectors against Fill,
// which forms half of K, for n = 4000, d = 8 in the same way.
//
//	go test ./cpu -run '^$' -bench Products -benchtime 9x
func BenchmarkProducts(b *testing.B) {
	const n, d = 4000, 8
	rng := rand.New(rand.NewPCG(1, 1))
	prog, ctx := kerneltest.Program(b, "rbf(ard)", d), context.Background()
	theta := slices.Repeat([]float64{1}, prog.NumParams)
	ws := testcheck.Get(testcheck.Get(New(device.Options{}))(b).NewWorkspace(ctx, points(rng, n, d)))(b).(*workspace)
	defer ws.Close()
	fill := func() { testcheck.Do(b, ws.Fill(ctx, prog, theta, []float64{0.1})) }
	for _, m := range []int{1, 4, 40} {
		vectors, dst := normals(rng, n*m), make([]float64, n*m*len(theta))
		b.Run(fmt.Sprint(m), func(b *testing.B) {
			alternate(b, "fill", fill, func() { testcheck.Do(b, ws.MultiplyDerivatives(ctx, prog, theta, vectors, m, dst)) })
		})
	}
}

// alternate reports the median wall and processor times of f, divided by the times of base.
func alternate(b *testing.B, name string, base, f func()) {
	var times [2][2][]time.Duration // base and f; wall and processor
	for range b.N {
		for k, f := range []func(){base, f} {
			start, processor := time.Now(), processorTime(b)
			f()
			times[k][0] = append(times[k][0], time.Since(start))
			times[k][1] = append(times[k][1], processorTime(b)-processor)
		}
	}
	for m, unit := range []string{"wall/", "cpu/"} {
		slices.Sort(times[0][m])
		slices.Sort(times[1][m])
		b.ReportMetric(float64(times[1][m][b.N/2])/float64(times[0][m][b.N/2]), unit+name)
	}
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	testcheck.Do(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
