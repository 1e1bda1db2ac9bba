package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"os"
	"slices"
	"time"

	"gpfit/compare/speed"
	"gpfit/device"
	"gpfit/fit"
	"gpfit/fit/problem"
)

// dgemm times the matrix product at every n.
func (j *job) dgemm() error {
	timer, ok := speed.Timer(j.b)
	if !ok {
		return errors.New("this device cannot measure its matrix product")
	}
	return j.each(func(n int) error {
		var rates []float64
		for range j.repeat {
			rate, err := timer.DgemmRate(j.ctx, n)
			if err != nil {
				return err
			}
			rates = append(rates, rate/1e9)
		}
		j.emit(map[string]any{"type": "dgemm", "device": j.b.Info().Name, "n": n, "gflops": slices.Max(rates), "all_gflops": rates})
		return nil
	})
}

// stagesResult is a line of `measure stages`. Seconds are medians.
type stagesResult struct {
	Type   string `json:"type"`
	Device string `json:"device"`
	N      int    `json:"n"`
	D      int    `json:"d"`
	Kernel string `json:"kernel"`
	Repeat int    `json:"repeat"`
	// Fill and Potrf together compute the factor. Alpha is the log-determinant and
	// the solve, Inverse is Σ⁻¹ from the factor, and Contract its contraction with
	// ∂K. A value includes the first three, a value and gradient all five.
	Fill     float64 `json:"seconds_fill"`
	Potrf    float64 `json:"seconds_potrf"`
	Alpha    float64 `json:"seconds_alpha"`
	Inverse  float64 `json:"seconds_inverse"`
	Contract float64 `json:"seconds_contract"`
	speed.Seconds
	// Objective is value and gradient through a fit's expression graph, 0 if not requested.
	Objective float64 `json:"seconds_objective"`
	// GFlops is n³ operations over SecondsValueGradient; Flops is the counted number.
	GFlops   float64            `json:"gflops"`
	Flops    float64            `json:"flops"`
	NLML     float64            `json:"nlml"`
	Gradient map[string]float64 `json:"gradient_log"`
	// Began and Ended are the times of the first and after the last timed evaluation, in
	// seconds since 1970, for programs that sample the power at the same time.
	Began float64 `json:"began"`
	Ended float64 `json:"ended"`
	// WorkspaceBytes is the backend's count, PlanBytes its plan, and UsedBytes the
	// memory in use on the GPU at the end.
	WorkspaceBytes int64 `json:"workspace_bytes"`
	MatrixBytes    int64 `json:"matrix_bytes"`
	PlanBytes      int64 `json:"plan_bytes"`
	UsedBytes      int64 `json:"used_bytes"`
}

// warmLarge is the order of the warm-up if a warm-up at full size would take long.
// It exceeds the block sizes of all stages.
const warmLarge = 12000

func (j *job) stages() error {
	return j.each(func(n int) error {
		warm := 1
		if n > 2*warmLarge {
			warm = 0
			if _, err := j.measureStages(warmLarge, 1, 0); err != nil {
				return err
			}
		}
		r, err := j.measureStages(n, j.repeat, warm)
		if err == nil && warm > 0 && j.objective {
			r.Objective, err = j.measureObjective(n)
		}
		if err == nil {
			j.emit(r)
		}
		return err
	})
}

// measureStages evaluates repeat times after some warm-ups.
func (j *job) measureStages(n, repeat, warm int) (*stagesResult, error) {
	plan := j.b.Plan(device.Workload{N: n, D: j.d})
	r := &stagesResult{Type: "stages", Device: j.b.Info().Name, N: n, D: j.d, Repeat: repeat, PlanBytes: plan.HostBytes() + plan.DeviceBytes()}
	err := j.with(n, func(p *likelihood, w device.DenseWorkspace) (err error) {
		r.Kernel = p.prog.Text
		var factor, alpha, gradient []float64
		for i := -warm; i < repeat; i++ {
			before, start := w.Work().Flops, time.Now()
			if err := p.form(j.ctx, w); err != nil {
				return err
			}
			factored := time.Now()
			value, a, err := p.solve(j.ctx, w)
			if err != nil {
				return err
			}
			solved := time.Now()
			if r.Gradient, err = p.gradient(j.ctx, w, a); err != nil {
				return err
			}
			end := time.Now()
			if i < 0 {
				continue
			}
			if i == 0 {
				r.Began = unix(start)
			}
			r.Ended = unix(end)
			r.NLML, r.Flops = value, w.Work().Flops-before
			factor = append(factor, factored.Sub(start).Seconds())
			alpha = append(alpha, solved.Sub(factored).Seconds())
			gradient = append(gradient, end.Sub(solved).Seconds())
			r.AllSecondsValue = append(r.AllSecondsValue, solved.Sub(start).Seconds())
			r.AllSecondsValueGradient = append(r.AllSecondsValueGradient, end.Sub(start).Seconds())
			if i == repeat-1 {
				// The inverse already exists, so this measures only the contraction.
				if _, err := p.gradient(j.ctx, w, a); err != nil {
					return err
				}
				r.Contract = time.Since(end).Seconds()
			}
		}
		if r.Fill, err = j.measureFill(p, w); err != nil {
			return err
		}
		r.Alpha = speed.Median(alpha)
		r.SecondsValue, r.SecondsValueGradient = speed.Median(r.AllSecondsValue), speed.Median(r.AllSecondsValueGradient)
		r.Potrf = speed.Median(factor) - r.Fill
		r.Inverse = speed.Median(gradient) - r.Contract
		r.GFlops = float64(n) * float64(n) * float64(n) / r.SecondsValueGradient / 1e9
		work := w.Work()
		r.WorkspaceBytes, r.MatrixBytes, r.UsedBytes = work.Bytes, work.MatrixBytes, used(j)
		return nil
	})
	return r, err
}

func unix(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }

// measureFill times only Fill. Fill may return before the device is done, so a tiny product on the
// same stream waits for it; the cost of that product is subtracted.
func (j *job) measureFill(p *likelihood, w device.DenseWorkspace) (float64, error) {
	wait := func() error {
		if timer, ok := speed.Timer(j.b); ok {
			_, err := timer.DgemmRate(j.ctx, 32)
			return err
		}
		return nil
	}
	var times [3]time.Time
	for i, step := range []func() error{wait, wait, func() error { return errors.Join(w.Fill(j.ctx, p.prog, p.theta, p.noise), wait()) }} {
		if err := step(); err != nil {
			return 0, err
		}
		times[i] = time.Now()
	}
	waited := times[1].Sub(times[0])
	return max(times[2].Sub(times[1])-waited, 0).Seconds(), nil
}

// measureObjective times value and gradient, evaluated as in a fit.
func (j *job) measureObjective(n int) (float64, error) {
	task, err := fit.Prepare(speed.Synthetic(n, j.d, j.seed), problem.Options{Mean: "zero", Kernel: j.kernel}, problem.Events{})
	if err != nil {
		return 0, err
	}
	var seconds []float64
	err = fit.Measure(j.ctx, task, j.b, func(p *fit.Parts) error {
		z, grad := append([]float64(nil), p.Start...), make([]float64, len(p.Start))
		for i := range j.repeat + 1 {
			start := time.Now()
			if _, err := p.Objective.ValueGradient(j.ctx, z, grad); err != nil {
				return err
			}
			if i > 0 {
				seconds = append(seconds, time.Since(start).Seconds())
			}
			for k := range z { // at another point, so that nothing is reused
				z[k] += 1e-6
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return speed.Median(seconds), nil
}

// data writes the synthetic data for other programs.
func (j *job) data() (err error) {
	if j.file == "" {
		return errors.New("data: --out FILE is missing")
	}
	f, err := os.Create(j.file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	n := j.sizes[0]
	data := speed.Synthetic(n, j.d, j.seed)
	w := bufio.NewWriterSize(f, 1<<20)
	if err := errors.Join(binary.Write(w, binary.LittleEndian, data.X), binary.Write(w, binary.LittleEndian, data.Y), w.Flush()); err != nil {
		return err
	}
	j.emit(map[string]any{"type": "data", "n": n, "d": j.d, "seed": j.seed, "text": speed.SyntheticText})
	return nil
}
