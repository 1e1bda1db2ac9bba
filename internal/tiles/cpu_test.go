package tiles

import (
	"context"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/must"
	"gpfit/kernel"
)

// BenchmarkAgainstDense interleaves evaluations with gradient by tiles and by the dense method, on the CPU.
func BenchmarkAgainstDense(b *testing.B) {
	n := 4000
	if s := os.Getenv("GPFIT_ROWS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	order, _ := strconv.Atoi(os.Getenv("GPFIT_ORDER"))
	dev, err := cpu.Open(device.Options{})
	must.Do(b, err)
	tiles, err := Method{Order: order}.Backends([]device.Device{dev})
	must.Do(b, err)
	rng := rand.New(rand.NewPCG(1, 2))
	x := kernel.NewPoints(make([]float64, 8*n), n, 8)
	for i := range x.X {
		x.X[i] = rng.NormFloat64()
	}
	prog, err := kernel.CompileText("rbf(ard)", 8)
	must.Do(b, err)
	theta := make([]float64, prog.NumParams)
	for i := range theta {
		theta[i] = 1
	}
	var spent [2]time.Duration
	var works [2]device.Workspace
	for k, backend := range []device.Backend{device.Dense{}.On(dev), tiles[0]} {
		works[k], err = backend.NewWorkspace(context.Background(), x)
		must.Do(b, err)
		defer works[k].Close()
	}
	for b.Loop() {
		for k, w := range works {
			start := time.Now()
			ctx := context.Background()
			must.Do(b, w.Form(ctx, prog, theta, []float64{0.1}))
			alpha := append([]float64{}, x.X[:n]...)
			must.Do(b, w.Solve(ctx, alpha, 1))
			must.Do(b, w.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, prog, theta, make([]float64, prog.NumParams), make([]float64, n)))
			spent[k] += time.Since(start)
		}
	}
	b.ReportMetric(spent[0].Seconds()/float64(b.N), "dense-s")
	b.ReportMetric(spent[1].Seconds()/float64(b.N), "tiles-s")
	b.ReportMetric(spent[0].Seconds()/spent[1].Seconds(), "rate")
}

// BenchmarkVectors measures the solution for some right-hand sides and the diagonal of the inverse.
func BenchmarkVectors(b *testing.B) {
	const n = 2000
	dev, err := cpu.Open(device.Options{})
	must.Do(b, err)
	tiles, err := Method{}.Backends([]device.Device{dev})
	must.Do(b, err)
	rng := rand.New(rand.NewPCG(1, 2))
	x := kernel.NewPoints(make([]float64, 2*n), n, 2)
	for i := range x.X {
		x.X[i] = rng.NormFloat64()
	}
	prog, err := kernel.CompileText("rbf(ard)", 2)
	must.Do(b, err)
	for k, backend := range []device.Backend{device.Dense{}.On(dev), tiles[0]} {
		w, err := backend.NewWorkspace(context.Background(), x)
		must.Do(b, err)
		defer w.Close()
		must.Do(b, w.Form(b.Context(), prog, []float64{1, 1, 1}, []float64{0.1}))
		for _, m := range []int{1, 8, 32} {
			b.Run([]string{"dense", "tiles"}[k]+"/"+strconv.Itoa(m), func(b *testing.B) {
				v := make([]float64, n*m)
				for b.Loop() {
					must.Do(b, w.Solve(b.Context(), v, m))
				}
			})
		}
		b.Run([]string{"dense", "tiles"}[k]+"/diagonal", func(b *testing.B) {
			for b.Loop() {
				must.Do(b, w.Form(b.Context(), prog, []float64{1, 1, 1}, []float64{0.1}))
				must.Do(b, w.(device.InverseDiagonal).InverseDiagonal(b.Context(), make([]float64, n)))
			}
		})
		b.Run([]string{"dense", "tiles"}[k]+"/form", func(b *testing.B) {
			for b.Loop() {
				must.Do(b, w.Form(b.Context(), prog, []float64{1, 1, 1}, []float64{0.1}))
			}
		})
	}
}
