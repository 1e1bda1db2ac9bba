//go:build unix

package tiles

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// TestAgainstDense compares the likelihood and its gradient on the CPU with the dense method's, for kernels of every shape. The
// sums have another order. Their errors are a few units of the last place of the largest terms.
func TestAgainstDense(t *testing.T) {
	const valueTolerance, gradientTolerance = 1e-13, 1e-12
	dev, err := cpu.Open(device.Options{})
	testcheck.Do(t, err)
	sizes := []int{97, 501}
	if testcheck.Long() {
		sizes = append(sizes, 1000, 3000)
	}
	for _, n := range sizes {
		x, y := randomPoints(n, 3)
		for _, text := range texts() {
			prog, err := kernel.CompileText(text, 3)
			testcheck.Do(t, err)
			want := likelihoodOf(t, device.Dense{}.On(dev), x, y, prog)
			for _, order := range []int{64, 200} {
				b, err := Method{Order: order}.Backends([]device.Device{dev})
				testcheck.Do(t, err)
				got := likelihoodOf(t, b[0], x, y, prog)
				if off := math.Abs(got.value - want.value); !(off <= valueTolerance*want.size) {
					t.Errorf("%s, n = %d, order %d: value %v, dense %v", text, n, order, got.value, want.value)
				}
				for p, v := range want.grad {
					if off := math.Abs(got.grad[p] - v); !(off <= gradientTolerance*(want.size+math.Abs(v))) {
						t.Errorf("%s, n = %d, order %d: derivative by %s %v, dense %v", text, n, order, prog.Names()[p], got.grad[p], v)
					}
				}
			}
		}
	}
}

// texts returns a kernel of each family, and composites.
func texts() []string {
	out := []string{"rbf(ard) + matern12*rq(dims=1)", "(rbf + matern52)*matern32", "periodic(ard)*rbf(dims=1) + constant", "linear(dims=0)*cosine(dims=1) + rbf"}
	for _, name := range kernel.Families() {
		switch name {
		case "poly":
			name = "poly(2)"
		case "matern":
			name = "matern(4.5)"
		case "wendland":
			name = "wendland(1)"
		}
		out = append(out, name)
	}
	return out
}

func randomPoints(n, d int) (x *kernel.Points, y []float64) {
	rng := rand.New(rand.NewPCG(3, uint64(n)))
	numbers := make([]float64, n*(d+1))
	for i := range numbers {
		numbers[i] = rng.NormFloat64()
	}
	return kernel.NewPoints(numbers[:n*d], n, d), numbers[n*d:]
}

// likelihood is a value, ½(yᵀα + log|Σ|), the sum of the absolute terms, and the gradient.
type likelihood struct {
	value, size float64
	grad        []float64
}

func likelihoodOf(t *testing.T, b device.Backend, x *kernel.Points, y []float64, prog *kernel.Program) (l likelihood) {
	t.Helper()
	ctx := t.Context()
	w, err := b.NewWorkspace(ctx, x)
	testcheck.Do(t, err)
	defer w.Close()
	theta := make([]float64, prog.NumParams)
	for p := range theta {
		theta[p] = 0.8 + 0.1*float64(p)
	}
	testcheck.Do(t, w.Form(ctx, prog, theta, []float64{0.1}))
	alpha := slices.Clone(y)
	testcheck.Do(t, w.Solve(ctx, alpha, 1))
	logDet, _, err := w.LogDet()
	testcheck.Do(t, err)
	fit := 0.0
	for i, a := range alpha {
		fit += a * y[i]
	}
	l.value, l.size, l.grad = (fit+logDet)/2, (math.Abs(fit)+math.Abs(logDet))/2, make([]float64, len(theta))
	testcheck.Do(t, w.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, prog, theta, l.grad, make([]float64, x.N)))
	return l
}

// BenchmarkAgainstDense interleaves evaluations with gradient by tiles and by the dense method, on the CPU.
func BenchmarkAgainstDense(b *testing.B) {
	n := 4000
	if s := os.Getenv("GPFIT_ROWS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	order, _ := strconv.Atoi(os.Getenv("GPFIT_ORDER"))
	dev, err := cpu.Open(device.Options{})
	testcheck.Do(b, err)
	tiles, err := Method{Order: order}.Backends([]device.Device{dev})
	testcheck.Do(b, err)
	rng := rand.New(rand.NewPCG(1, 2))
	x := kernel.NewPoints(make([]float64, 8*n), n, 8)
	for i := range x.X {
		x.X[i] = rng.NormFloat64()
	}
	prog, err := kernel.CompileText("rbf(ard)", 8)
	testcheck.Do(b, err)
	theta := make([]float64, prog.NumParams)
	for i := range theta {
		theta[i] = 1
	}
	var spent, worked [2]time.Duration
	var works [2]device.Workspace
	for k, backend := range []device.Backend{device.Dense{}.On(dev), tiles[0]} {
		works[k], err = backend.NewWorkspace(context.Background(), x)
		testcheck.Do(b, err)
		defer works[k].Close()
	}
	for b.Loop() {
		for k, w := range works {
			start, processor := time.Now(), processorTime()
			ctx := context.Background()
			testcheck.Do(b, w.Form(ctx, prog, theta, []float64{0.1}))
			alpha := append([]float64{}, x.X[:n]...)
			testcheck.Do(b, w.Solve(ctx, alpha, 1))
			testcheck.Do(b, w.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, prog, theta, make([]float64, prog.NumParams), make([]float64, n)))
			spent[k] += time.Since(start)
			worked[k] += processorTime() - processor
		}
	}
	b.ReportMetric(spent[0].Seconds()/float64(b.N), "dense-s")
	b.ReportMetric(spent[1].Seconds()/float64(b.N), "tiles-s")
	b.ReportMetric(spent[0].Seconds()/spent[1].Seconds(), "rate")
	b.ReportMetric(worked[0].Seconds()/worked[1].Seconds(), "processor-rate")
}

// processorTime returns the processor time of this process, which other programs disturb less than time.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkVectors measures the solution for some right-hand sides and the diagonal of the inverse.
func BenchmarkVectors(b *testing.B) {
	const n = 2000
	dev, err := cpu.Open(device.Options{})
	testcheck.Do(b, err)
	tiles, err := Method{}.Backends([]device.Device{dev})
	testcheck.Do(b, err)
	rng := rand.New(rand.NewPCG(1, 2))
	x := kernel.NewPoints(make([]float64, 2*n), n, 2)
	for i := range x.X {
		x.X[i] = rng.NormFloat64()
	}
	prog, err := kernel.CompileText("rbf(ard)", 2)
	testcheck.Do(b, err)
	for k, backend := range []device.Backend{device.Dense{}.On(dev), tiles[0]} {
		w, err := backend.NewWorkspace(context.Background(), x)
		testcheck.Do(b, err)
		defer w.Close()
		testcheck.Do(b, w.Form(b.Context(), prog, []float64{1, 1, 1}, []float64{0.1}))
		for _, m := range []int{1, 8, 32} {
			b.Run([]string{"dense", "tiles"}[k]+"/"+strconv.Itoa(m), func(b *testing.B) {
				v := make([]float64, n*m)
				for b.Loop() {
					testcheck.Do(b, w.Solve(b.Context(), v, m))
				}
			})
		}
		b.Run([]string{"dense", "tiles"}[k]+"/diagonal", func(b *testing.B) {
			for b.Loop() {
				testcheck.Do(b, w.Form(b.Context(), prog, []float64{1, 1, 1}, []float64{0.1}))
				testcheck.Do(b, w.(device.InverseDiagonal).InverseDiagonal(b.Context(), make([]float64, n)))
			}
		})
		b.Run([]string{"dense", "tiles"}[k]+"/form", func(b *testing.B) {
			for b.Loop() {
				testcheck.Do(b, w.Form(b.Context(), prog, []float64{1, 1, 1}, []float64{0.1}))
			}
		})
	}
}
