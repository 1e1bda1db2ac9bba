package device

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

// Request describes the wanted backends: devices and a method.
type Request struct {
	// Device is "auto" (or ""), the name of a device, a kind for its first usable
	// device, or several of these separated by commas.
	Device string
	// Method is the name of a method, or [Chosen] or empty.
	Method string
	// Workload is the known part of the job's work. Auto chooses an accelerator only from its
	// crossover on, or if the number of points is unknown. It skips a device on which the
	// method cannot compute the workload; for a device requested by name this is an error.
	Workload Workload
	// Parts is the number of parts of the job that can run at the same time, each with the workload at most. An accelerator
	// that one part does not keep busy then has several lanes ([Laned]), with a backend each, after the devices. 0 means 1.
	Parts int
	// Fallback is the device to use if a device requested by name is unavailable; "" means none.
	Fallback string
	Options  Options
	// Crossover determines from which n an accelerator is faster than the host; nil
	// means that it always is.
	Crossover *Crossover
}

// Dispatch finds the devices of this machine and opens the requested ones; see [Find] and
// [Found.Open].
func Dispatch(ctx context.Context, req Request, drivers []Driver, methods ...Method) ([]Backend, Choice, error) {
	return Find(ctx, drivers, methods...).Open(ctx, req)
}

// Open opens the requested devices and returns the backends of the method on them,
// with the reason for the choice. It opens either all of several devices or none.
// Errors are [*UnavailableError] and [*UnsupportedKernelError].
func (f Found) Open(ctx context.Context, req Request) ([]Backend, Choice, error) {
	c := asked(f, req.Device)
	if c.Asked == Auto {
		backends, err := f.openAuto(ctx, req, &c)
		return backends, c, err
	}
	backends, err := f.backends(ctx, req, strings.Split(req.Device, ",")...)
	if err == nil {
		c.Device, c.Reason = req.Device, "requested by the user"
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

// backends opens either all named devices or none, and returns the backends of the
// method on them if it can compute the workload there.
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
	found, err := f.On(req.Method, devices, req.Workload)
	if all := devices; err == nil && req.Parts > len(devices) {
		if devices = withLanes(req, all, found); len(devices) > len(all) {
			found, err = f.On(req.Method, devices, req.Workload)
		}
	}
	if err != nil {
		closeAll(devices)
	}
	return found, err
}

func closeAll[C io.Closer](all []C) {
	for _, c := range all {
		_ = c.Close()
	}
}

// openAuto opens the first device that works and pays off.
func (f Found) openAuto(ctx context.Context, req Request, c *Choice) (opened []Backend, err error) {
	err = f.first(c, func(g Finding) (string, error) {
		if why := f.notWorthOpening(req, g); why != "" {
			return why, nil
		}
		backends, err := f.backends(ctx, req, g.Name)
		if ctx.Err() != nil {
			closeAll(backends)
			return "", ctx.Err()
		}
		if IsOfMethod(err) {
			return "", err // on no device
		}
		if err != nil {
			return err.Error(), nil
		}
		why, err := f.tooSmall(ctx, req, g, backends[0])
		if err != nil || why != "" {
			closeAll(backends)
			return why, err
		}
		opened = backends
		return "", nil
	})
	return opened, err
}

// weighs reports whether a job's size decides about an accelerator, and returns the
// finding of the host.
func (f Found) weighs(req Request, g Finding) (host Finding, ok bool) {
	host, err := f.named(f.Host())
	return host, err == nil && !g.Host && req.Workload.N > 0 && req.Crossover != nil
}

// notWorthOpening returns why an accelerator is not worth opening for a job, or "".
// It opens nothing.
func (f Found) notWorthOpening(req Request, g Finding) string {
	host, ok := f.weighs(req, g)
	if !ok {
		return ""
	}
	return req.Crossover.worthOpening(g, host, req.Workload.N)
}

// MayPay reports whether auto might choose an accelerator for a request. It opens nothing.
func (f Found) MayPay(req Request) bool {
	return slices.ContainsFunc(f.Accelerators(), func(g Finding) bool { return f.notWorthOpening(req, g) == "" })
}

// tooSmall returns why a job does not pay off on an open accelerator, or "".
func (f Found) tooSmall(ctx context.Context, req Request, g Finding, accelerator Backend) (string, error) {
	if _, ok := f.weighs(req, g); !ok {
		return "", nil
	}
	n, err := f.Crossover(ctx, req.Crossover.Of, g.Name, accelerator)
	size := min(DenseSize(accelerator.Plan(req.Workload), req.Workload.N), f.hostSize(ctx, req))
	if err != nil || size >= n {
		return "", err
	}
	if size < req.Workload.N && n != NeverPays {
		return fmt.Sprintf("%s pays off from n = %d on, but this job takes no more operations than n = %d", g.Name, n, size), nil
	}
	return paysFrom(g.Name, n, size), nil
}

// hostSize is DenseSize of the host: a method that only the host has may take fewer operations there
// than another one on an accelerator. From the crossover on, the accelerator takes longer than these.
func (f Found) hostSize(ctx context.Context, req Request) int {
	host, err := f.backends(ctx, Request{Method: req.Method, Workload: req.Workload, Options: req.Options}, f.Host())
	if err != nil {
		return req.Workload.N
	}
	defer closeAll(host)
	return DenseSize(host[0].Plan(req.Workload), req.Workload.N)
}

// DenseSize returns the number of points for which [Dense] takes as many operations as a plan for n points, or n if that
// is fewer.
func DenseSize(p Plan, n int) int {
	if p.FlopsGradient > 0 {
		return min(n, int(math.Round(math.Cbrt(p.FlopsGradient))))
	}
	return n
}

// Crossover opens the host next to the open accelerator with the given name and
// returns their crossover from ask, which is [Crossover.Of] or [Crossover.Renew].
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

// One matrix of busyRows rows keeps an accelerator busy. Below, the share of the time in which it does something is about
// the share of the rows (benchmarks/results has the rates of an H100).
const (
	busyRows  = 12000
	mostLanes = 16
)

// LaneFree reports whether work on a matrix of more rows may join the work on an accelerator: matrices with the
// given rows in all, each in a lane of its own.
func LaneFree(matrices, rows, more int) bool {
	return matrices == 0 || matrices < mostLanes && rows+more <= busyRows
}

// Lanes returns how many matrices of a number of rows keep an accelerator busy.
func Lanes(rows int) (lanes int) {
	for lanes = 1; LaneFree(lanes, lanes*rows, rows); lanes++ {
	}
	return lanes
}

// withLanes adds lanes to open devices for the parts of a request, as many as keep them busy and fit in their memory.
// The first devices stay the first. A lane that cannot be opened is no error: there are fewer.
func withLanes(req Request, devices []Device, on []Backend) []Device {
	all := devices
	for wanted, round := req.Parts, 1; len(all) < wanted; round++ {
		before := len(all)
		for i, d := range devices {
			laned, ok := d.(Laned)
			if !ok || len(all) == wanted || i >= len(on) || round >= room(on[i], req.Workload) {
				continue
			}
			if lane, err := laned.Lane(); err == nil {
				all = append(all, lane)
			}
		}
		if len(all) == before {
			break
		}
	}
	return all
}

// room returns how many matrices of a workload keep the device of a backend busy and fit in its memory.
func room(b Backend, w Workload) int {
	if w.N == 0 || b.Info().Host {
		return 1
	}
	plan := b.Plan(w)
	lanes, bytes, free := Lanes(DenseSize(plan, plan.N)), plan.DeviceBytes(), b.Info().MemoryFree
	if free > 0 && bytes > 0 {
		const spare = 1 // for a matrix that stays while others are made
		lanes = min(lanes, int(free/10*9/bytes)-spare)
	}
	return max(1, lanes)
}
