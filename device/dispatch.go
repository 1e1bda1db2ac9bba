package device

import (
	"context"
	"fmt"
	"strings"

	"gpfit/kernel"
)

// Request asks [Dispatch] for devices.
type Request struct {
	// Device is "auto" (or ""), a device's name, or several with commas.
	Device string
	// N is the number of points of the job; auto takes a GPU only from its
	// crossover on. 0 if unknown: then a GPU is taken where there is one.
	N int
	// Kernel is the covariance function of the job, nil if unknown: auto passes
	// over a device that cannot evaluate it, and of one that was asked for by name
	// it is an error.
	Kernel *kernel.Program
	// Fallback is the device to take where one that was asked for by name
	// cannot be had; "" means none.
	Fallback string
	Options  Options
	// Crossover returns the n from which gpu is faster than cpu, for example
	// by [CachedCrossover]; nil means that the GPU always is.
	Crossover func(ctx context.Context, gpu, cpu Backend) (int, error)
}

// Dispatch opens the devices of a request and says why these. Several devices
// are opened all or none. Errors: [*UnavailableError], [*UnsupportedKernelError].
func Dispatch(ctx context.Context, req Request, drivers []Driver) ([]Backend, Choice, error) {
	findings := probe(ctx, drivers)
	choice, err := pick(firstName(req.Device), findings)
	choice.Asked = req.Device
	if req.Device == "" || req.Device == "auto" {
		if err != nil {
			return nil, choice, err
		}
		b, err := openAuto(ctx, req, &choice, drivers)
		if err != nil {
			return nil, choice, err
		}
		return []Backend{b}, choice, nil
	}
	var backends []Backend
	for _, name := range strings.Split(req.Device, ",") {
		b, err := openNamed(ctx, strings.TrimSpace(name), findings, req, drivers)
		if err != nil {
			closeAll(backends)
			return openFallback(ctx, req, choice, drivers, err)
		}
		backends = append(backends, b)
	}
	choice.Device, choice.Reason = req.Device, "asked for"
	return backends, choice, nil
}

func firstName(names string) string {
	name, _, _ := strings.Cut(names, ",")
	return strings.TrimSpace(name)
}

func closeAll(backends []Backend) {
	for _, b := range backends {
		_ = b.Close()
	}
}

// openNamed opens the device that name stands for among the findings.
func openNamed(ctx context.Context, name string, findings []Finding, req Request, drivers []Driver) (Backend, error) {
	choice, err := pick(name, findings)
	if err != nil {
		return nil, err
	}
	return openFound(ctx, choice.Device, req, drivers)
}

// openFound opens the device of a finding, if it can evaluate the kernel.
func openFound(ctx context.Context, name string, req Request, drivers []Driver) (Backend, error) {
	kind, _, _ := strings.Cut(name, ":")
	for _, d := range drivers {
		if d.Kind() != kind {
			continue
		}
		b, err := d.Open(ctx, name, req.Options)
		if err != nil || req.Kernel == nil {
			return b, err
		}
		if err := b.Supports(req.Kernel); err != nil {
			_ = b.Close()
			return nil, err
		}
		return b, nil
	}
	return nil, &UnavailableError{Device: name, Reason: "no driver for it in this program"}
}

func openFallback(ctx context.Context, req Request, choice Choice, drivers []Driver, cause error) ([]Backend, Choice, error) {
	if req.Fallback == "" || ctx.Err() != nil {
		return nil, choice, cause
	}
	b, err := openNamed(ctx, req.Fallback, choice.Findings, req, drivers)
	if err != nil {
		return nil, choice, err
	}
	choice.Device, choice.Reason, choice.FellBack = req.Fallback, cause.Error(), true
	return []Backend{b}, choice, nil
}

// openAuto opens the first finding that works and pays. Why others were passed
// over becomes the reason.
func openAuto(ctx context.Context, req Request, choice *Choice, drivers []Driver) (Backend, error) {
	var passed []string
	for _, f := range choice.Findings {
		if !f.Usable {
			passed = append(passed, f.Name+": "+f.Detail)
			continue
		}
		b, err := openFound(ctx, f.Name, req, drivers)
		if err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			passed = append(passed, err.Error())
			continue
		}
		why, err := tooSmall(ctx, req, f.Name, b, drivers)
		if err != nil || why != "" {
			_ = b.Close()
			if err != nil {
				return nil, err
			}
			passed = append(passed, why)
			continue
		}
		choice.Device, choice.Reason = f.Name, "first usable device"
		if len(passed) > 0 {
			choice.Reason = strings.Join(passed, "; ")
		}
		return b, nil
	}
	return nil, &UnavailableError{Device: "auto", Reason: strings.Join(passed, "; ")}
}

// tooSmall says why a job does not pay on a GPU, or "".
func tooSmall(ctx context.Context, req Request, name string, gpu Backend, drivers []Driver) (string, error) {
	if name == "cpu" || req.N == 0 || req.Crossover == nil {
		return "", nil
	}
	cpu, err := openFound(ctx, "cpu", req, drivers)
	if err != nil {
		return "", nil // no CPU to compare with
	}
	defer cpu.Close()
	n, err := req.Crossover(ctx, gpu, cpu)
	if err != nil || req.N >= n {
		return "", err
	}
	return fmt.Sprintf("%s pays from n = %d on, this job has %d", name, n, req.N), nil
}
