package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"gpfit/compare/speed"
	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/cuda"
	"gpfit/device/cuda/driver"
	"gpfit/kernel"
)

// job is a command with its flags and the open device.
type job struct {
	ctx context.Context
	out *json.Encoder
	// all are the method dense on each device, and b is the first of them.
	all []device.Backend
	b   device.Backend

	device, kernel, file string
	sizes                []int
	d, repeat, columns   int
	threads              int
	seed                 uint64
	tolerance            float64
	objective, gradient  bool
	// ways, onHost, order and rows are of command tiles.
	ways        string
	onHost      float64
	order, rows int
}

// open opens devices.
func (j *job) open(name string) ([]device.Backend, error) {
	b, _, err := device.Dispatch(j.ctx, device.Request{Device: name, Options: device.Options{Threads: j.threads}}, []device.Driver{cuda.Driver{}, cpu.Driver{}})
	return b, err
}

// emit prints one object on one line.
func (j *job) emit(v any) { _ = j.out.Encode(v) }

// each runs f for every n. It reports a failure and continues with the next n,
// unless the device is lost or time is up.
func (j *job) each(f func(n int) error) error {
	var errs []error
	for _, n := range j.sizes {
		err := f(n)
		if err == nil {
			continue
		}
		j.emit(map[string]any{"type": "error", "n": n, "error": err.Error()})
		errs = append(errs, fmt.Errorf("n = %d: %w", n, err))
		if j.ctx.Err() != nil || errors.As(err, new(*device.LostError)) {
			break
		}
	}
	return errors.Join(errs...)
}

// describe prints a description of the device.
func describe(j *job) {
	info := j.b.Info()
	r := map[string]any{"type": "device", "device": info.Name, "description": info.Description, "threads": info.Threads, "memory_free": info.MemoryFree}
	if d, ok := gpu(info.Name); ok {
		r["name"], r["memory_total"], r["compute"], r["multiprocessors"] = d.Name, d.TotalMemory, d.Compute(), d.Multiprocessors
		r["clock_hz"], r["bandwidth"] = d.ClockHz, d.MemoryBandwidth
		found := driver.Detect()
		r["driver_cuda"], r["driver_library"], r["driver_calls"] = driver.Version(found.DriverVersion), found.Library, found.Implementation
	}
	j.emit(r)
}

// gpu returns the properties of the named CUDA device.
func gpu(name string) (driver.DeviceInfo, bool) {
	number, ok := strings.CutPrefix(name, "cuda:")
	if !ok {
		return driver.DeviceInfo{}, false
	}
	for _, d := range driver.Detect().Devices {
		if strconv.Itoa(d.Index) == number {
			return d, true
		}
	}
	return driver.DeviceInfo{}, false
}

// used returns the bytes of the GPU's memory that are not free, also taken by other
// programs and by the driver; 0 if unknown.
func used(j *job) int64 {
	info := j.b.Info()
	d, ok := gpu(info.Name)
	if !ok || info.MemoryFree == 0 {
		return 0
	}
	return d.TotalMemory - info.MemoryFree
}

// The parameters of stages, residual and largest. benchmarks/peers has the same. They
// give a well-conditioned covariance matrix, as in the middle of a fit.
const (
	lengthscale    = 2.0
	signalVariance = 1.5
	noiseVariance  = 0.1
)

// likelihood is a likelihood on synthetic data, without scaling.
type likelihood struct {
	x     *kernel.Points
	y     []float64
	prog  *kernel.Program
	theta []float64
	noise []float64
}

func (j *job) problem(n int) (*likelihood, error) {
	prog, err := kernel.CompileText(j.kernel, j.d)
	if err != nil {
		return nil, err
	}
	data := speed.Synthetic(n, j.d, j.seed)
	p := &likelihood{x: kernel.NewPoints(data.X, n, j.d), y: data.Y, prog: prog, noise: []float64{noiseVariance}}
	p.theta = make([]float64, prog.NumParams)
	for _, param := range prog.Params {
		for i := range param.Size {
			p.theta[param.Offset+i] = lengthscale
			if param.Kind == kernel.Variance {
				p.theta[param.Offset+i] = signalVariance
			}
		}
	}
	return p, nil
}

// with runs f with the problem of n points and a workspace of the exact method, whose steps
// are measured separately.
func (j *job) with(n int, f func(p *likelihood, w device.DenseWorkspace) error) error {
	p, err := j.problem(n)
	if err != nil {
		return err
	}
	w, err := j.b.NewWorkspace(j.ctx, p.x)
	if err != nil {
		return err
	}
	defer w.Close()
	steps, err := device.Capability[device.DenseWorkspace](w, "the steps of a factorization")
	if err != nil {
		return err
	}
	return f(p, steps)
}

// eachProblem does the same for every n.
func (j *job) eachProblem(f func(n int, p *likelihood, w device.DenseWorkspace) error) error {
	return j.each(func(n int) error {
		return j.with(n, func(p *likelihood, w device.DenseWorkspace) error { return f(n, p, w) })
	})
}

// form prepares w for solving.
func (p *likelihood) form(ctx context.Context, w device.Workspace) error {
	return w.Form(ctx, p.prog, p.theta, p.noise)
}

// solve returns the NLML and α after form.
func (p *likelihood) solve(ctx context.Context, w device.Workspace) (nlml float64, alpha []float64, err error) {
	alpha = append([]float64(nil), p.y...)
	if err := w.Solve(ctx, alpha, 1); err != nil {
		return 0, nil, err
	}
	logDet, _, err := w.LogDet()
	if err != nil {
		return 0, nil, err
	}
	nlml = (logDet + float64(p.x.N)*math.Log(2*math.Pi)) / 2
	return nlml + floats.Dot(alpha, p.y)/2, alpha, nil
}

// gradient returns the derivatives of the NLML by the logarithms of the kernel's
// parameters and of the noise variance, by name.
func (p *likelihood) gradient(ctx context.Context, w device.Workspace, alpha []float64) (map[string]float64, error) {
	grad, diag := make([]float64, len(p.theta)), make([]float64, p.x.N)
	if err := w.Contract(ctx, device.Adjoint{Inv: 0.5, Outer: []float64{-0.5}, Vectors: alpha}, p.prog, p.theta, grad, diag); err != nil {
		return nil, err
	}
	named := map[string]float64{}
	for i, name := range p.prog.Names() {
		named[name] = grad[i]
	}
	named["noise_variance"] = floats.Sum(diag) * noiseVariance
	return named, nil
}
