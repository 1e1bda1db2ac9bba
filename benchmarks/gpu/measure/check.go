package main

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/floats"

	"gpfit/compare/speed"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
	"gpfit/fit/summary"
	"gpfit/kernel"
)

// residual solves Σx = e_j for some columns j on the device and forms Σx − e_j on
// the host, with Σ recomputed by package kernel.
func (j *job) residual() error {
	return j.eachProblem(func(n int, p *likelihood, w device.DenseWorkspace) error {
		start := time.Now()
		if err := p.form(j.ctx, w); err != nil {
			return err
		}
		columns := sample(n, j.columns)
		x := make([]float64, n*len(columns))
		for k, c := range columns {
			x[k*n+c] = 1
		}
		if err := w.Solve(j.ctx, x, len(columns)); err != nil {
			return err
		}
		solved := time.Now()
		residual := p.residual(x, columns)
		r := map[string]any{
			"type": "residual", "device": j.b.Info().Name, "n": n, "d": j.d, "kernel": p.prog.Text, "columns": columns,
			"residual": finite(residual), "seconds_solve": solved.Sub(start).Seconds(), "seconds_check": time.Since(solved).Seconds(),
		}
		if j.gradient {
			if err := j.diagonals(p, w, x, columns, r); err != nil {
				return err
			}
		}
		j.emit(r)
		return nil
	})
}

// diagonals compares Σ⁻¹_jj and (Σ⁻¹CΣ⁻¹)_jj from the gradient's computation with the
// elements from the solutions x, relative to their sums of absolute terms.
func (j *job) diagonals(p *likelihood, w device.DenseWorkspace, x []float64, columns []int, r map[string]any) error {
	n := p.x.N
	diag, middle, signs := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range signs {
		signs[i] = float64(1 - 2*(i/3%2))
	}
	if err := w.InverseDiagonal(j.ctx, diag); err != nil {
		return err
	}
	start := time.Now()
	if err := w.Contract(j.ctx, device.Adjoint{Diagonal: signs}, p.prog, p.theta, make([]float64, len(p.theta)), middle); err != nil {
		return err
	}
	r["seconds_middle"] = time.Since(start).Seconds()
	worst, worstMiddle := 0.0, 0.0
	for k, c := range columns {
		column := x[k*n : (k+1)*n]
		worst = max(worst, math.Abs(diag[c]-column[c])/math.Abs(column[c]))
		sum, scale := 0.0, 0.0
		for i, v := range column {
			sum += signs[i] * v * v
			scale += v * v
		}
		worstMiddle = max(worstMiddle, math.Abs(middle[c]-sum)/scale)
	}
	r["middle_diagonal_difference"], r["inverse_diagonal_difference"] = finite(worstMiddle), finite(worst)
	return nil
}

// sample returns m different columns, including the first and the last.
func sample(n, m int) []int {
	columns := []int{0}
	if n > 1 && m > 1 {
		columns = append(columns, n-1)
	}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	for len(columns) < min(m, n) {
		if c := rng.IntN(n); !slices.Contains(columns, c) {
			columns = append(columns, c)
		}
	}
	return columns
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
	var next atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	worst := 0.0
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			e := kernel.NewEvaluator(p.prog)
			e.Bind(p.theta)
			for {
				i0 := int(next.Add(residualRows)) - residualRows
				if i0 >= p.x.N {
					return
				}
				local := p.residualOf(e, i0, min(i0+residualRows, p.x.N), x, columns)
				mu.Lock()
				worst = max(worst, local) // NaN stays
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return worst
}

// residualRows is the number of rows that a processor works on at a time.
const residualRows = 256

// residualOf is residual for rows i0 … i1−1.
func (p *likelihood) residualOf(e *kernel.Evaluator, i0, i1 int, x []float64, columns []int) float64 {
	const chunk = 2048 // columns that stay in a core's cache
	n, m := p.x.N, len(columns)
	row, sums, worst := make([]float64, chunk), make([]float64, (i1-i0)*m), 0.0
	for j0 := 0; j0 < n; j0 += chunk {
		j1 := min(j0+chunk, n)
		for i := i0; i < i1; i++ {
			e.Row(row, p.x, i, p.x, j0, j1)
			for k := range m {
				sums[(i-i0)*m+k] += floats.Dot(row[:j1-j0], x[k*n+j0:k*n+j1])
			}
		}
	}
	for i := i0; i < i1; i++ {
		for k, c := range columns {
			r := sums[(i-i0)*m+k] + p.noise[0]*x[k*n+i]
			if i == c {
				r--
			}
			worst = max(worst, math.Abs(r))
		}
	}
	return worst
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
	hosts, err := j.open("cpu")
	if err != nil {
		return err
	}
	host := hosts[0]
	defer host.Close()
	bad := 0
	err = j.each(func(n int) error {
		data := speed.Synthetic(n, j.d, j.seed)
		for _, text := range agreeKernels() {
			task, err := fit.Prepare(data, problem.Options{Mean: "zero", Kernel: text}, problem.Events{})
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
			r, difference := compareReports(reports[0], reports[1])
			r["seconds"], r["seconds_cpu"], r["ok"] = seconds[1], seconds[0], difference <= j.tolerance
			if !(difference <= j.tolerance) {
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

// compareReports returns a line of `measure agree` and the larger of two differences: of the
// NLML, relative, and of the gradient, relative to its largest component. The line has also
// the largest difference of a component relative to itself.
func compareReports(want, got summary.Report) (line map[string]any, difference float64) {
	nlml := finite(math.Abs(got.NLML-want.NLML) / math.Abs(want.NLML))
	scale, worst, each := 0.0, 0.0, 0.0
	for name, v := range want.GradientLog {
		difference := math.Abs(got.GradientLog[name] - v)
		scale = max(scale, math.Abs(v))
		worst = max(worst, difference)
		each = max(each, difference/math.Abs(v))
	}
	gradient := finite(worst / scale)
	return map[string]any{"type": "agree", "device": got.Device, "n": got.N, "d": got.D, "kernel": got.Kernel, "nlml": want.NLML,
		"nlml_difference": nlml, "gradient_difference": gradient, "gradient_difference_each": finite(each)}, max(nlml, gradient)
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
	most := 1 << 24
	if limit := j.sizes[0]; limit > 0 { // for trials
		most = limit
	}
	lo := sort.Search(most, func(n int) bool { return !fits(n + 1) })
	planned := lo
	for try := 1; ; try++ {
		seconds, bytes, err := j.value(lo)
		r := map[string]any{"type": "largest", "device": j.b.Info().Name, "planned": planned, "n": lo, "try": try,
			"gradient": j.gradient, "seconds": seconds, "used_bytes": bytes, "memory_free": free, "ok": err == nil}
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
func (j *job) value(n int) (seconds float64, bytes int64, err error) {
	err = j.with(n, func(p *likelihood, w device.DenseWorkspace) error {
		start := time.Now()
		defer func() { seconds, bytes = time.Since(start).Seconds(), used(j) }()
		if err := p.form(j.ctx, w); err != nil {
			return err
		}
		_, alpha, err := p.solve(j.ctx, w)
		if err == nil && j.gradient {
			_, err = p.gradient(j.ctx, w, alpha)
		}
		return err
	})
	return seconds, bytes, err
}
