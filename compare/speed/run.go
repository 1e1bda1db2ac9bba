// Package speed measures how fast a device evaluates the objective: it compares this with the speed
// of the device's matrix product, for `gpfit bench`.
//
// Start with [Run], which measures one job (a table of n rows, a kernel, parameters) on one device
// and returns a [Result]. [DgemmRate] measures the limit, [Synthetic] generates data if none are
// given, and memory_linux.go reads the peak memory.
package speed

import (
	"context"
	"slices"
	"time"

	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/tuning"
	"gpfit/internal/hostmem"
)

// SchemaVersion is the version of [Result] as JSON.
const SchemaVersion = 1

// Result is one line of `gpfit bench --json`: one n on one device.
type Result struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	Device        string `json:"device"`
	// N and D count the rows and the columns in use.
	N      int    `json:"n"`
	D      int    `json:"d"`
	Kernel string `json:"kernel"`
	// NLML, Parameters and GradientLog are the values at the given parameters, in
	// units of the scaled problem as in `gpfit nlml --json`.
	NLML        float64            `json:"nlml"`
	Parameters  map[string]float64 `json:"parameters"`
	GradientLog map[string]float64 `json:"gradient_log"`
	Seconds
	Repeat int `json:"repeat"`
	// GFlops is n³ operations over SecondsValueGradient, in 10⁹ per second. DgemmGFlops is the rate
	// of the device's matrix product, measured at order DgemmN, and FractionOfDgemm their ratio.
	// The last three are 0 if the device has no such measurement.
	GFlops          float64 `json:"gflops"`
	DgemmGFlops     float64 `json:"dgemm_gflops"`
	DgemmN          int     `json:"dgemm_n"`
	FractionOfDgemm float64 `json:"fraction_of_dgemm"`
	// PeakBytes is the largest resident memory of the process since the measurement of this n
	// began, or since the process began if PeakIsCumulative; 0 if the system does not report it.
	// WorkspaceBytes is the memory that the backend holds, on a GPU in the GPU's memory.
	PeakBytes        int64 `json:"peak_bytes"`
	PeakIsCumulative bool  `json:"peak_is_cumulative"`
	WorkspaceBytes   int64 `json:"workspace_bytes"`
	Threads          int   `json:"threads"`
	// PredictRowsPerSecond counts rows with mean and standard deviation, from
	// batches of PredictRows.
	PredictRowsPerSecond float64  `json:"predict_rows_per_second"`
	PredictRows          int      `json:"predict_rows"`
	Warnings             []string `json:"warnings"`
}

// Seconds are the times of evaluations. Each includes forming the covariance matrix.
type Seconds struct {
	// SecondsValue and SecondsValueGradient are medians of several evaluations after one warm-up.
	SecondsValue         float64 `json:"seconds_value"`
	SecondsValueGradient float64 `json:"seconds_value_gradient"`
	// AllSecondsValue and AllSecondsValueGradient are the individual times.
	AllSecondsValue         []float64 `json:"all_seconds_value"`
	AllSecondsValueGradient []float64 `json:"all_seconds_value_gradient"`
}

// predictRows is the number of rows predicted at once: enough for efficient matrix
// products, few enough to keep their n² operations each small compared with n³.
const predictRows = 1000

// step is the distance in log-parameters between timed evaluations. It prevents
// reuse of the factor but changes neither the work nor the conditioning.
const step = 1e-6

// Run measures the job on b, whose matrix product has the given rate. It evaluates the job's
// expression graph, as a fit does. It returns the errors of [fit.Evaluate].
func Run(ctx context.Context, job *tuning.Job, b device.Backend, limit Limit, repeat int) (*Result, error) {
	var r *Result
	exclusive := resetPeak()
	err := fit.Measure(ctx, job, b, func(p *fit.Parts) error {
		var err error
		r, err = measure(ctx, p, repeat)
		return err
	})
	if err != nil {
		return nil, err
	}
	r.PeakBytes, r.PeakIsCumulative = hostmem.Peak(), !exclusive
	r.Threads = b.Info().Threads
	n := float64(r.N)
	r.GFlops = n * n * n / r.SecondsValueGradient / 1e9
	r.DgemmGFlops, r.DgemmN = limit.Rate/1e9, limit.N
	if limit.Rate > 0 {
		r.FractionOfDgemm = r.GFlops / r.DgemmGFlops
	}
	return r, nil
}

func measure(ctx context.Context, p *fit.Parts, repeat int) (*Result, error) {
	// The warm-up uses the given parameters; its result is reported.
	report, err := p.Evaluate(ctx)
	if err != nil {
		return nil, err
	}
	r := &Result{
		Type: "bench", SchemaVersion: SchemaVersion, Device: report.Device,
		N: report.N, D: report.D, Kernel: report.Kernel,
		NLML: report.NLML, Parameters: report.Parameters, GradientLog: report.GradientLog,
		Repeat: repeat, Warnings: report.Warnings,
	}
	z, grad := slices.Clone(p.Start), make([]float64, len(p.Start))
	count := 0
	// away moves to a different point before every evaluation.
	away := func() {
		count++
		for i, v := range p.Start {
			z[i] = v + step*float64(count)
		}
	}
	r.AllSecondsValueGradient, err = times(repeat, func() error {
		away()
		_, err := p.Objective.ValueGradient(ctx, z, grad)
		return err
	})
	if err != nil {
		return nil, err
	}
	if r.AllSecondsValue, err = times(repeat, func() error {
		away()
		_, err := p.Objective.Value(ctx, z)
		return err
	}); err != nil {
		return nil, err
	}
	r.SecondsValue, r.SecondsValueGradient = Median(r.AllSecondsValue), Median(r.AllSecondsValueGradient)
	if err := measurePredictions(ctx, p, r, z, repeat); err != nil {
		return nil, err
	}
	r.WorkspaceBytes = p.Workspace.Work().Bytes
	return r, nil
}

// measurePredictions predicts training rows at the point z, whose factor the workspace holds.
func measurePredictions(ctx context.Context, p *fit.Parts, r *Result, z []float64, repeat int) error {
	post, err := p.Posterior(z)
	if err != nil {
		return err
	}
	r.PredictRows = min(predictRows, r.N)
	rows := p.Rows(r.PredictRows)
	predict := func() error {
		_, err := post.Predict(ctx, rows, r.PredictRows)
		return err
	}
	if err := predict(); err != nil {
		return err
	}
	seconds, err := times(repeat, predict)
	if err != nil {
		return err
	}
	r.PredictRowsPerSecond = float64(r.PredictRows) / Median(seconds)
	return nil
}

// times calls f repeat times and returns the time of each call in seconds.
func times(repeat int, f func() error) ([]float64, error) {
	seconds := make([]float64, repeat)
	for i := range seconds {
		start := time.Now()
		if err := f(); err != nil {
			return nil, err
		}
		seconds[i] = max(time.Since(start), time.Nanosecond).Seconds()
	}
	return seconds, nil
}

// Median returns the median of v, the mean of the middle two if len(v) is even. v
// must not be empty and is not changed.
func Median(v []float64) float64 {
	s := slices.Sorted(slices.Values(v))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// Limit is the speed of a device's matrix product at its fastest order. The zero
// value means that it is unknown.
type Limit struct {
	// Rate is in floating-point operations per second.
	Rate float64
	// N is the order of the matrices.
	N int
}

// Again repeats the measurement at the same order, so that a fraction of the limit
// compares measurements close in time. It keeps the better rate.
func (l *Limit) Again(ctx context.Context, b device.Backend) error {
	timer, ok := Timer(b)
	if !ok || l.Rate == 0 {
		return nil
	}
	rate, err := timer.DgemmRate(ctx, l.N)
	l.Rate = max(l.Rate, rate)
	return err
}

// DgemmTimer is a device that can measure its matrix product.
type DgemmTimer interface {
	// DgemmRate returns the rate of the product of two n×n matrices in
	// floating-point operations per second.
	DgemmRate(ctx context.Context, n int) (float64, error)
}

// Timer returns the device of b if it can measure its matrix product.
func Timer(b device.Backend) (timer DgemmTimer, ok bool) {
	devices := b.Capabilities().Devices
	if len(devices) == 1 {
		timer, ok = devices[0].(DgemmTimer)
	}
	return timer, ok
}

// DgemmRate measures the matrix product of b at growing orders and returns the best
// rate. It skips orders whose product would take more than about a quarter of a
// second. The result is the zero value if b cannot measure its product.
func DgemmRate(ctx context.Context, b device.Backend) (Limit, error) {
	const longest = 250 * time.Millisecond
	var best Limit
	timer, ok := Timer(b)
	if !ok {
		return best, nil
	}
	// The largest orders are for GPUs.
	for _, n := range []int{256, 512, 1024, 1536, 2048, 3072, 4096, 8192, 16384} {
		nf := float64(n)
		if best.Rate > 0 && 2*nf*nf*nf/best.Rate > longest.Seconds() {
			break
		}
		rate, err := timer.DgemmRate(ctx, n)
		if err != nil {
			return Limit{}, err
		}
		if rate > best.Rate {
			best = Limit{Rate: rate, N: n}
		}
	}
	return best, nil
}
