package device

import (
	"context"
	"io"
	"slices"
	"strings"

	"gpfit/kernel"
)

// Request asks for backends: devices, and a method on them.
type Request struct {
	// Device is "auto" (or ""), a device's name, a kind for the first usable
	// device of it, or several with commas.
	Device string
	// Method is how to compute there; nil means [Exact].
	Method Method
	// N is the number of points of the job; auto takes an accelerator only from
	// its crossover on. 0 if unknown: then one is taken where there is one.
	N int
	// Kernel is the covariance function of the job, nil if unknown: auto passes
	// over a device that cannot evaluate it, and of one that was asked for by name
	// it is an error.
	Kernel *kernel.Program
	// Fallback is the device to take where one that was asked for by name
	// cannot be had; "" means none.
	Fallback string
	Options  Options
	// Crossover says from which n an accelerator is faster than the host; nil means
	// that it always is.
	Crossover *Crossover
}

// Dispatch finds the devices of this machine and opens those of a request; see
// [Found.Open].
func Dispatch(ctx context.Context, req Request, drivers []Driver) ([]Backend, Choice, error) {
	return Find(ctx, drivers).Open(ctx, req)
}

// Open opens the devices of a request, puts its method on them and says why
// these. Several devices are opened all or none. Errors: [*UnavailableError],
// [*UnsupportedKernelError].
func (f Found) Open(ctx context.Context, req Request) ([]Backend, Choice, error) {
	c := f.asked(req.Device)
	if c.Asked == Auto {
		backends, err := f.openAuto(ctx, req, &c)
		return backends, c, err
	}
	backends, err := f.backends(ctx, req, strings.Split(req.Device, ",")...)
	if err == nil {
		c.Device, c.Reason = req.Device, "asked for"
		return backends, c, nil
	}
	if req.Fallback == "" || ctx.Err() != nil {
		return nil, c, err
	}
	cause := err
	if backends, err = f.backends(ctx, req, req.Fallback); err != nil {
		return nil, c, err
	}
	c.Device, c.Reason, c.FellBack = req.Fallback, cause.Error(), true
	return backends, c, nil
}

// backends opens the devices of these names, all or none, and puts the method on
// them, if it can evaluate the kernel there.
func (f Found) backends(ctx context.Context, req Request, names ...string) ([]Backend, error) {
	var devices []Device
	for _, name := range names {
		d, err := f.open(ctx, strings.TrimSpace(name), req.Options)
		if err != nil {
			closeAll(devices)
			return nil, err
		}
		devices = append(devices, d)
	}
	method := req.Method
	if method == nil {
		method = Exact{}
	}
	backends, err := method.Backends(devices)
	if err != nil {
		closeAll(devices)
		return nil, err
	}
	for _, b := range backends {
		if req.Kernel == nil {
			break
		}
		if err := b.Supports(req.Kernel); err != nil {
			closeAll(backends)
			return nil, err
		}
	}
	return backends, nil
}

func closeAll[C io.Closer](all []C) {
	for _, c := range all {
		_ = c.Close()
	}
}

// openAuto opens the first device that works and pays. Why others were passed
// over becomes the reason.
func (f Found) openAuto(ctx context.Context, req Request, c *Choice) ([]Backend, error) {
	var passed []string
	for _, g := range f.Findings {
		if !g.Usable {
			passed = append(passed, g.refusal())
			continue
		}
		if why := f.notWorthOpening(req, g); why != "" {
			passed = append(passed, why)
			continue
		}
		backends, err := f.backends(ctx, req, g.Name)
		if ctx.Err() != nil {
			closeAll(backends)
			return nil, ctx.Err()
		}
		if err != nil {
			passed = append(passed, err.Error())
			continue
		}
		why, err := f.tooSmall(ctx, req, g, backends[0])
		if err == nil && why == "" {
			c.take(g.Name, passed)
			return backends, nil
		}
		closeAll(backends)
		if err != nil {
			return nil, err
		}
		passed = append(passed, why)
	}
	return nil, &UnavailableError{Device: Auto, Reason: strings.Join(passed, "; ")}
}

// weighs says that a job's size decides about an accelerator, and returns what was
// found of the host.
func (f Found) weighs(req Request, g Finding) (host Finding, ok bool) {
	host, err := f.named(f.Host())
	return host, err == nil && !g.Host && req.N > 0 && req.Crossover != nil
}

// notWorthOpening says why a job is not for an accelerator, from what is known
// without opening it, or "".
func (f Found) notWorthOpening(req Request, g Finding) string {
	host, ok := f.weighs(req, g)
	if !ok {
		return ""
	}
	return req.Crossover.worthOpening(g, host, req.N)
}

// MayPay says, without opening anything, whether auto might take an accelerator for
// a request.
func (f Found) MayPay(req Request) bool {
	return slices.ContainsFunc(f.Accelerators(), func(g Finding) bool { return f.notWorthOpening(req, g) == "" })
}

// tooSmall says why a job does not pay on an accelerator that is open, or "".
func (f Found) tooSmall(ctx context.Context, req Request, g Finding, accelerator Backend) (string, error) {
	if _, ok := f.weighs(req, g); !ok {
		return "", nil
	}
	n, err := f.Crossover(ctx, req.Crossover.Of, g.Name, accelerator)
	if err != nil || req.N >= n {
		return "", err
	}
	return paysFrom(g.Name, n, req.N), nil
}

// Crossover opens the host beside an open accelerator that is called name, and asks
// for their crossover: what is known or measured ([Crossover.Of]), or measured
// ([Crossover.Renew]).
func (f Found) Crossover(ctx context.Context, ask func(ctx context.Context, found, hostFound Finding, accelerator, host Backend) (int, error), name string, accelerator Backend) (int, error) {
	found, err := f.named(name)
	if err != nil {
		return 0, err
	}
	hostFound, err := f.named(f.Host())
	if err != nil {
		return 0, err
	}
	host, err := f.backends(ctx, Request{}, hostFound.Name)
	if err != nil {
		return 0, err
	}
	defer closeAll(host)
	return ask(ctx, found, hostFound, accelerator, host[0])
}
