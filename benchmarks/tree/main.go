// Command tree measures values with gradients by the method tree: seconds of the clock and of the processor, operations, memory, ranks and
// bounds. With -dense it also computes them by the method dense and prints the differences.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/hostmem"
	"gpfit/kernel"
	"gpfit/method/tree"
)

var (
	text      = flag.String("kernel", "matern32(ard)", "covariance function")
	columns   = flag.Int("d", 2, "columns")
	rows      = flag.Int("n", 32000, "rows")
	threads   = flag.Int("threads", 2, "threads")
	theta     = flag.String("theta", "", "values of parameters by the first letters of their names, such as lengthscale=0.3,period=0.1")
	noise     = flag.Float64("noise", 0.05, "noise variance")
	tolerance = flag.Float64("tolerance", 1e-3, "bound in nats")
	dense     = flag.Bool("dense", false, "compare with the method dense")
	verify    = flag.Bool("verify", false, "compare with elements of the matrix")
	profile   = flag.String("profile", "", "file for a profile")
	long      = flag.Bool("long", false, "one column: points over a range of n/20")
)

func main() {
	flag.Parse()
	log.SetFlags(0)
	expr, err := kernel.Parse(*text)
	check(err)
	prog, err := kernel.Compile(expr, kernel.Columns(*columns))
	check(err)
	values := make([]float64, prog.NumParams)
	names := prog.Names()
	for i := range values {
		values[i] = 1
		if prog.IsReal(i) {
			values[i] = 0
		}
	}
	if *theta != "" {
		for pair := range strings.SplitSeq(*theta, ",") {
			name, value, _ := strings.Cut(pair, "=")
			found := false
			for i, n := range names {
				if strings.Contains(n, name) {
					_, err := fmt.Sscan(value, &values[i])
					check(err)
					found = true
				}
			}
			if !found {
				log.Fatalf("no parameter %s among %v", name, names)
			}
		}
	}
	rng := rand.New(rand.NewPCG(1, uint64(*rows)))
	x := kernel.NewPoints(make([]float64, *rows**columns), *rows, *columns)
	for i := range x.X {
		x.X[i] = rng.Float64()
		if *long {
			x.X[i] *= float64(*rows) / 20
		}
	}
	y := make([]float64, *rows)
	for i := range y {
		for c := range *columns {
			y[i] += math.Sin(5*x.Column(c)[i] + float64(c))
		}
		y[i] += math.Sqrt(*noise) * rng.NormFloat64()
	}
	host, err := cpu.Open(device.Options{Threads: *threads})
	check(err)
	backends, err := tree.Method{}.Backends([]device.Device{host})
	check(err)
	w := device.Workload{N: *rows, D: *columns, Points: x, Program: prog, Tolerance: *tolerance}
	backend := device.For(backends[0], w)
	plan := backend.Plan(w)
	hostmem.Expect(plan.HostBytes()) // as the commands do
	if *profile != "" {
		f, err := os.Create(*profile)
		check(err)
		check(pprof.StartCPUProfile(f))
	}
	own := run(backend, x, y, prog, values)
	pprof.StopCPUProfile()
	fmt.Printf("%s d=%d n=%d noise=%g threads=%d θ=%.3g: value %.1f s (CPU %.1f), with gradient %.1f s (CPU %.1f), %.3g Gflop, %.1f GFLOP/s of CPU time, factor %.0f MB (planned %.0f), peak %.0f MB, rank %d, tolerance %.2g, bounds %.2g and %.2g nats\n",
		*text, *columns, *rows, *noise, *threads, values, own.value, own.valueCPU, own.whole, own.wholeCPU, own.flops/1e9, own.flops/1e9/own.wholeCPU,
		own.bytes/1e6, float64(plan.HostBytes())/1e6, peak()/1e6, own.bound.Rank, own.bound.Tolerance, own.bound.LogDet, own.bound.Fit)
	if own.verified.Rows > 0 {
		fmt.Printf("  verified %d rows in %.1f s: miss %.2g of √n·tol, correction %.2g, bounds %.2g and %.2g nats\n", own.verified.Rows, own.verifying, own.verified.Miss, own.verified.Correction, own.verified.LogDet, own.verified.Rest)
	}
	if *dense {
		want := run(device.Dense{}.On(host), x, y, prog, values)
		worst, largest := 0.0, 0.0
		for i, v := range want.grad {
			worst, largest = max(worst, math.Abs(own.grad[i]-v)), max(largest, math.Abs(v))
		}
		fmt.Printf("  dense: %.1f s (CPU %.1f); value off by %.2g, gradient by %.2g of %.3g\n", want.whole, want.wholeCPU, own.nlml-want.nlml, worst, largest)
		if own.verified.Rows == *rows {
			off, bound := math.Abs(own.nlml+own.verified.Correction[0]-want.nlml), own.verified.LogDet+own.verified.Rest[0]
			fmt.Printf("  corrected value off by %.3g, bound %.3g: within %v\n", off, bound, off <= bound)
		}
	}
}

// result is a value with its gradient.
type result struct {
	nlml                             float64
	grad                             []float64
	value, valueCPU, whole, wholeCPU float64
	flops, bytes, verifying          float64
	bound                            device.Bound
	verified                         device.Verified
}

// run evaluates once.
func run(b device.Backend, x *kernel.Points, y []float64, prog *kernel.Program, values []float64) (r result) {
	ctx := context.Background()
	w, err := b.NewWorkspace(ctx, x)
	check(err)
	defer w.Close()
	start, before := time.Now(), processor()
	check(w.Form(ctx, prog, values, []float64{*noise}))
	alpha := slices.Clone(y)
	check(w.Solve(ctx, alpha, 1))
	logDet, _, err := w.LogDet()
	check(err)
	r.value, r.valueCPU = time.Since(start).Seconds(), processor()-before
	r.grad = make([]float64, prog.NumParams)
	check(w.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, prog, values, r.grad, make([]float64, len(y))))
	r.whole, r.wholeCPU = time.Since(start).Seconds(), processor()-before
	r.nlml = logDet / 2
	for i, v := range alpha {
		r.nlml += v * y[i] / 2
	}
	work := w.Work()
	r.flops, r.bytes = work.Flops, float64(work.Bytes)
	if b, ok := w.(device.Bounded); ok {
		r.bound = b.Bound()
		if *verify {
			start := time.Now()
			r.verified, err = b.Verify(ctx, y, alpha, 1)
			check(err)
			r.verifying = time.Since(start).Seconds()
		}
	}
	return r
}

// processor returns the seconds of processor time so far.
func processor() float64 {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peak returns the most memory so far, in bytes.
func peak() float64 {
	var u syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	runtime.KeepAlive(u)
	return float64(u.Maxrss) * 1024
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
