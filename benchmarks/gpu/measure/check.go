package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/internal/bench"
	"gpfit/kernel"
)

// residual solves Σx = e_j for some columns j on the device and forms Σx − e_j on
// the host, with Σ recomputed by package kernel.
func (j *job) residual() error {
	return j.each(func(n int) error {
		p, err := j.problem(n)
		if err != nil {
			return err
		}
		w, err := j.workspace(p)
		if err != nil {
			return err
		}
		defer w.Close()
		start := time.Now()
		if err := p.form(j.ctx, w); err != nil {
			return err
		}
		columns := sample(n, j.columns)
		m := len(columns)
		x := make([]float64, n*m)
		for k, c := range columns {
			x[k*n+c] = 1
		}
		if err := w.Solve(j.ctx, x, m); err != nil {
			return err
		}
		solved := time.Now()
		residual := p.residual(x, columns)
		r := map[string]any{
			"type": "residual", "device": j.b.Info().Name, "n": n, "d": j.d, "kernel": p.prog.Text, "columns": columns,
			"residual": finite(residual), "seconds_solve": solved.Sub(start).Seconds(), "seconds_check": time.Since(solved).Seconds(),
		}
		if j.gradient {
			// Compare Σ⁻¹_jj and (Σ⁻¹CΣ⁻¹)_jj from the gradient's computation with
			// those from the solve, relative to their sums of absolute terms.
			diag, middle, signs := make([]float64, n), make([]float64, n), make([]float64, n)
			for i := range signs {
				signs[i] = float64(1 - 2*(i/3%2))
			}
			if err := w.InverseDiagonal(j.ctx, diag); err != nil {
				return err
			}
			start := time.Now()
			if err := w.ContractDiagonal(j.ctx, device.Adjoint{}, signs, p.prog, p.theta, make([]float64, len(p.theta)), middle); err != nil {
				return err
			}
			r["seconds_middle"] = time.Since(start).Seconds()
			worst, worstMiddle := 0.0, 0.0
			for k, c := range columns {
				column := x[k*n : (k+1)*n]
				worst = larger(worst, math.Abs(diag[c]-column[c])/math.Abs(column[c]))
				sum, scale := 0.0, 0.0
				for i, v := range column {
					sum += signs[i] * v * v
					scale += v * v
				}
				worstMiddle = larger(worstMiddle, math.Abs(middle[c]-sum)/scale)
			}
			r["middle_diagonal_difference"] = finite(worstMiddle)
			r["inverse_diagonal_difference"] = finite(worst)
		}
		j.emit(r)
		return nil
	})
}

// sample returns m different columns, including the first and the last.
func sample(n, m int) []int {
	columns := []int{0}
	if n > 1 && m > 1 {
		columns = append(columns, n-1)
	}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
next:
	for len(columns) < min(m, n) {
		c := rng.IntN(n)
		for _, other := range columns {
			if c == other {
				continue next
			}
		}
		columns = append(columns, c)
	}
	return columns
}

// larger returns the maximum, or NaN if either is NaN.
func larger(a, b float64) float64 {
	if b > a || b != b {
		return b
	}
	return a
}

// finite converts v to a number that JSON can represent.
func finite(v float64) float64 {
	if v-v != 0 {
		return math.MaxFloat64
	}
	return v
}

// residual returns ‖Σx − e‖∞ over all columns of x (n×m), where e has unit vectors
// for the given columns. It distributes rows over the processors.
func (p *likelihood) residual(x []float64, columns []int) float64 {
	const chunk, rows = 2048, 256 // a chunk of columns stays in a core's cache
	n, m := p.x.N, len(columns)
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	worst := 0.0
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			e := kernel.NewEvaluator(p.prog)
			e.Bind(p.theta)
			row, sums, local := make([]float64, chunk), make([]float64, rows*m), 0.0
			for {
				i0 := int(next.Add(rows)) - rows
				if i0 >= n {
					break
				}
				i1 := min(i0+rows, n)
				clear(sums)
				for j0 := 0; j0 < n; j0 += chunk {
					j1 := min(j0+chunk, n)
					for i := i0; i < i1; i++ {
						e.Row(row, p.x, i, p.x, j0, j1)
						for k := range m {
							sums[(i-i0)*m+k] += dot(row[:j1-j0], x[k*n+j0:k*n+j1])
						}
					}
				}
				for i := i0; i < i1; i++ {
					for k, c := range columns {
						r := sums[(i-i0)*m+k] + p.noise[0]*x[k*n+i]
						if i == c {
							r--
						}
						local = larger(local, math.Abs(r))
					}
				}
			}
			mu.Lock()
			worst = larger(worst, local)
			mu.Unlock()
		})
	}
	wg.Wait()
	return worst
}

// dot uses four sums so that the additions overlap.
func dot(a, b []float64) float64 {
	var s0, s1, s2, s3 float64
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	for ; i < len(a); i++ {
		s0 += a[i] * b[i]
	}
	return (s0 + s1) + (s2 + s3)
}

// agreeResult is a line of `measure agree`.
type agreeResult struct {
	Type   string `json:"type"`
	Device string `json:"device"`
	N      int    `json:"n"`
	D      int    `json:"d"`
	Kernel string `json:"kernel"`
	// NLML is the CPU's value. NLMLDifference is relative. GradientDifference is
	// the largest difference, relative to the largest component; EachDifference is
	// relative to each component.
	NLML               float64 `json:"nlml"`
	NLMLDifference     float64 `json:"nlml_difference"`
	GradientDifference float64 `json:"gradient_difference"`
	EachDifference     float64 `json:"gradient_difference_each"`
	Seconds            float64 `json:"seconds"`
	SecondsCPU         float64 `json:"seconds_cpu"`
	OK                 bool    `json:"ok"`
}

// agreeKernels returns all leaves, isotropic and ARD, and composites.
func agreeKernels() []string {
	var out []string
	for _, name := range kernel.Families() {
		switch name {
		case "constant":
		case "poly":
			out = append(out, "poly(2)", "poly(3, ard)")
		default:
			out = append(out, name, name+"(ard)")
		}
	}
	return append(out, "rbf(ard) + matern32*matern12(dims=1)", "(rbf + matern52)*matern32", "rq*periodic(ard) + linear*cosine + constant")
}

// agree compares value and gradient at the start values, evaluated as in a fit.
func (j *job) agree() error {
	host, err := j.open("cpu")
	if err != nil {
		return err
	}
	defer host.Close()
	bad := 0
	err = j.each(func(n int) error {
		data := bench.Synthetic(n, j.d, j.seed)
		for _, text := range agreeKernels() {
			task, err := fit.Prepare(data, problem.Options{Kernel: text}, problem.Events{})
			if err != nil {
				return err
			}
			var reports [2]summary.Report
			var seconds [2]float64
			for i, b := range []device.Backend{host, j.b} {
				start := time.Now()
				err := fit.Measure(j.ctx, task, b, func(p *fit.Parts) (err error) {
					reports[i], err = p.Evaluate(j.ctx)
					return err
				})
				if err != nil {
					return fmt.Errorf("%s on %s: %w", text, b.Info().Name, err)
				}
				seconds[i] = time.Since(start).Seconds()
			}
			r := compareReports(reports[0], reports[1])
			r.Seconds, r.SecondsCPU = seconds[1], seconds[0]
			r.OK = r.NLMLDifference <= j.tolerance && r.GradientDifference <= j.tolerance
			if !r.OK {
				bad++
			}
			j.emit(r)
		}
		return nil
	})
	if bad > 0 {
		err = errors.Join(err, fmt.Errorf("%d of the evaluations differ by more than %g from the CPU's", bad, j.tolerance))
	}
	return err
}

func compareReports(want, got summary.Report) *agreeResult {
	r := &agreeResult{Type: "agree", Device: got.Device, N: got.N, D: got.D, Kernel: got.Kernel, NLML: want.NLML}
	r.NLMLDifference = math.Abs(got.NLML-want.NLML) / math.Abs(want.NLML)
	scale, worst := 0.0, 0.0
	for name, v := range want.GradientLog {
		difference := math.Abs(got.GradientLog[name] - v)
		scale = math.Max(scale, math.Abs(v))
		worst = larger(worst, difference)
		r.EachDifference = larger(r.EachDifference, difference/math.Abs(v))
	}
	r.GradientDifference = worst / scale
	for _, v := range []*float64{&r.NLMLDifference, &r.GradientDifference, &r.EachDifference} {
		*v = finite(*v)
	}
	return r
}

// largest finds the largest n that the plan allows and evaluates a value there. If
// that does not fit after all, it retries three times with a smaller n.
func (j *job) largest() error {
	free := j.b.Info().MemoryFree
	fits := func(n int) bool {
		return j.b.Plan(device.Workload{N: n, D: j.d}).Check(j.b.Info()) == nil
	}
	if free == 0 || !fits(1) {
		return fmt.Errorf("free memory is %d bytes: nothing fits", free)
	}
	hi := 2
	for fits(hi) {
		hi *= 2
	}
	lo := hi / 2
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; fits(mid) {
			lo = mid
		} else {
			hi = mid
		}
	}
	if limit := j.sizes[0]; limit > 0 { // for trials
		lo = min(lo, limit)
	}
	planned := lo
	for try := 1; ; try++ {
		seconds, used, err := j.value(lo)
		r := map[string]any{"type": "largest", "device": j.b.Info().Name, "planned": planned, "n": lo, "try": try,
			"gradient": j.gradient, "seconds": seconds, "used_bytes": used, "memory_free": free, "ok": err == nil}
		if err != nil {
			r["error"] = err.Error()
		}
		j.emit(r)
		if err == nil || try == 3 || !errors.As(err, new(*device.MemoryError)) {
			return err
		}
		lo -= lo / 100
	}
}

// value evaluates once at n and returns the time and the memory in use.
func (j *job) value(n int) (seconds float64, used int64, err error) {
	p, err := j.problem(n)
	if err != nil {
		return 0, 0, err
	}
	w, err := j.workspace(p)
	if err != nil {
		return 0, 0, err
	}
	defer w.Close()
	start := time.Now()
	if err := p.form(j.ctx, w); err != nil {
		return 0, j.used(), err
	}
	_, alpha, err := p.solve(j.ctx, w)
	if err == nil && j.gradient {
		_, err = p.gradient(j.ctx, w, alpha)
	}
	return time.Since(start).Seconds(), j.used(), err
}
