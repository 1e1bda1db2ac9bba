package batch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"gpfit/device"
	"gpfit/internal/queue"
	"gpfit/internal/rundir"
)

// pool keeps track of the host's cores and memory and of the accelerators. Only
// the scheduler's goroutine calls it, except for open and backend.
type pool struct {
	found device.Found
	// cores is the number of cores, and coresUsed the number in use. A job with
	// more threads than cores takes all of them.
	cores, coresUsed   int
	memory, memoryUsed int64 // host memory in bytes; memory 0 means no limit
	accelerators       []*accelerator
	asked              bool // a job has asked for accelerators
	jobsPerDevice      int  // 0 for as many as keep an accelerator busy
	running            int

	mu sync.Mutex
	// free are the unused backends of the host, and the unused lanes of accelerators.
	free map[deviceKey][]device.Backend
}

// accelerator is a device other than the host. Jobs share its memory. Each has a lane of its own: another
// backend of the device, whose work waits for no other job's.
type accelerator struct {
	name         string
	backend      device.Backend // the first lane, which plans
	memory, used int64
	jobs, rows   int
	lost         bool
}

// takes reports whether a job of that many rows may join the jobs of an accelerator, of which so many are allowed.
func (a *accelerator) takes(rows, allowed int) bool {
	if allowed > 0 {
		return a.jobs < allowed
	}
	return device.LaneFree(a.jobs, a.rows, rows)
}

// laneKey is the key of the unused lanes of an accelerator.
func (a *accelerator) laneKey() deviceKey { return deviceKey{name: a.name} }

// place is a device for a job, with the resources that the job reserves: cores,
// and bytes of host and device memory.
type place struct {
	accelerator *accelerator // nil for the host
	on          deviceKey    // what to open on the host
	cores       int
	rows        int // of the job
	host        int64
	device      int64
}

// demand describes what a job requires of the machine.
type demand struct {
	job rundir.PlannedJob
	// alone asks for a device without other jobs. avoid holds the names of the
	// devices on which the job has failed.
	alone bool
	avoid map[string]bool
	// home is the device on which the job began, "" if it has not begun.
	home string
	// onFallback means that the job's own device is unavailable; notes gives the reason.
	onFallback bool
	notes      []string
}

func (d *demand) device() string {
	if d.onFallback {
		return value(d.job.Options.Fallback)
	}
	return value(d.job.Options.Device)
}

// auto reports whether cores and accelerators may take the job.
func (d *demand) auto() bool { return !d.onFallback && value(d.job.Options.Device) == device.Auto }

func (d *demand) threads() int { return max(1, value(d.job.Options.Threads)) }

func (d *demand) key(name string) deviceKey {
	return deviceKey{name: name, method: value(d.job.Options.Method), threads: d.threads()}
}

// plan returns what the fit and the table need on a backend.
func (d *demand) plan(b device.Backend) device.Plan {
	if d.job.N == 0 {
		return device.Plan{} // the job fails when it reads its data
	}
	plan := b.Plan(workload(d.job))
	if b.Info().Host && d.job.Structure != nil {
		plan = structured(d.job)
	}
	table := 32 * int64(d.job.N) * int64(d.job.D+2)
	return plan.With(device.Need{Bytes: table, What: "the table"})
}

func newPool(ctx context.Context, o Options) (*pool, error) {
	p := &pool{
		found: device.Find(ctx, o.Drivers, o.Methods...), cores: o.Cores, memory: o.Memory, jobsPerDevice: max(0, o.JobsPerDevice), free: map[deviceKey][]device.Backend{},
	}
	if p.cores <= 0 {
		p.cores = runtime.GOMAXPROCS(0)
	}
	if p.memory == 0 {
		host := deviceKey{name: p.found.Host(), threads: 1}
		b, err := p.takeFree(ctx, host)
		if err != nil {
			return nil, err
		}
		p.memory = b.Info().MemoryFree / 10 * 9
		p.giveFree(host, b)
	}
	return p, nil
}

// open opens a device.
func (p *pool) open(ctx context.Context, key deviceKey) (device.Backend, error) {
	return openDevice(ctx, p.found, key)
}

// takeFree returns a backend that no other job uses. Backends with the same key are equal, but calls to one
// backend compete for its threads, or for the stream of its device.
func (p *pool) takeFree(ctx context.Context, key deviceKey) (device.Backend, error) {
	p.mu.Lock()
	list := p.free[key]
	if last := len(list) - 1; last >= 0 {
		b := list[last]
		p.free[key] = list[:last]
		p.mu.Unlock()
		return b, nil
	}
	p.mu.Unlock()
	return p.open(ctx, key)
}

func (p *pool) giveFree(key deviceKey, b device.Backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free[key] = append(p.free[key], b)
}

// openAccelerators opens every usable accelerator when the first job asks for one.
func (p *pool) openAccelerators(ctx context.Context, note func(string)) {
	if p.asked {
		return
	}
	p.asked = true
	for _, f := range p.found.Accelerators() {
		b, err := p.open(ctx, deviceKey{name: f.Name})
		if err != nil {
			note(err.Error())
			continue
		}
		info := b.Info()
		note(fmt.Sprintf("device %s: %s", f.Name, info.Description))
		a := &accelerator{name: f.Name, backend: b, memory: info.MemoryFree}
		p.accelerators = append(p.accelerators, a)
		p.giveFree(a.laneKey(), b)
	}
}

// errLater means that a job fits the machine, but not now.
var errLater = errors.New("no room now")

// sidesOf returns the names of the devices that a job may take on each side, "" for none. A job that began on a device
// continues there, or else on another one of its kind, if there is one.
func sidesOf(p *pool, d *demand) (names [2]string) {
	name := d.device()
	if host, ok := p.found.OnHost(name); ok {
		names[queue.Cores] = host
		return names
	}
	if !d.auto() {
		names[queue.Cards] = name
		return names
	}
	host, onHost := p.found.OnHost(d.home)
	for _, same := range []string{d.home, device.Kind(d.home)} {
		if same != "" && !onHost && p.has(same) {
			names[queue.Cards] = same
			return names
		}
	}
	names[queue.Cores] = p.found.Host()
	if onHost {
		names[queue.Cores] = host
	} else if p.has(device.Auto) {
		names[queue.Cards] = device.Auto
	}
	return names
}

// has reports whether an accelerator that a name means is there and not lost.
func (p *pool) has(name string) bool {
	return slices.ContainsFunc(p.accelerators, func(a *accelerator) bool { return !a.lost && a.means(name) })
}

// means reports whether a name means the accelerator.
func (a *accelerator) means(name string) bool {
	return name == device.Auto || device.Means(name, a.name)
}

// workOf returns what a job takes on both sides, as its plans say.
func workOf(p *pool, d *demand) queue.Load {
	w, names := queue.Load{Rows: d.job.N, Planned: [2]float64{queue.Never, queue.Never}}, sidesOf(p, d)
	if names[queue.Cores] != "" {
		at := d.key(names[queue.Cores])
		if b, err := p.takeFree(context.Background(), at); err == nil {
			if plan := d.plan(b); p.limits(d, plan) == nil {
				w.Planned[queue.Cores] = expected(d.job, plan, queue.Cores, b)
			}
			w.Share[queue.Cores] = float64(min(d.threads(), p.cores)) / float64(p.cores)
			p.giveFree(at, b)
		}
	}
	alive := 0.
	for _, a := range p.accelerators {
		if names[queue.Cards] == "" || a.lost || !a.means(names[queue.Cards]) {
			continue
		}
		b, plan, err := planOn(p, d, a)
		if err != nil {
			continue
		}
		alive++
		w.Planned[queue.Cards] = min(w.Planned[queue.Cards], expected(d.job, plan, queue.Cards, b))
		w.Share[queue.Cards] = 1 / float64(device.Lanes(device.DenseSize(plan, plan.N)))
		if p.jobsPerDevice > 0 {
			w.Share[queue.Cards] = 1 / float64(p.jobsPerDevice)
		}
		if a.memory > 0 { // no more of them fit at a time
			w.Share[queue.Cards] = max(w.Share[queue.Cards], 1/float64(max(1, a.memory/max(1, plan.DeviceBytes()))))
		}
	}
	w.Share[queue.Cards] /= max(alive, 1)
	return w
}

// planOn plans a job on an accelerator. An error means that the job can never run there.
func planOn(p *pool, d *demand, a *accelerator) (device.Backend, device.Plan, error) {
	backends, err := p.found.On(value(d.job.Options.Method), a.backend.Capabilities().Devices, workload(d.job))
	if err != nil {
		return nil, device.Plan{}, err
	}
	plan := d.plan(backends[0])
	return backends[0], plan, errors.Join(p.limits(d, plan), plan.Check(device.Info{Name: a.name, MemoryFree: a.memory}))
}

// find returns a place for a job on a side. Errors: errLater, or the reason why this machine can never run the job there.
func (p *pool) find(d *demand, s queue.Side) (place, error) {
	name := sidesOf(p, d)[s]
	if s == queue.Cores {
		return p.findHost(d, name)
	}
	at, err := p.findAccelerator(d, name)
	if err == nil || errors.Is(err, errLater) || value(d.job.Options.Fallback) == "" || d.onFallback {
		return at, err
	}
	d.onFallback = true
	d.notes = append(d.notes, fmt.Sprintf("device %s is not available: using %s, as fallback allows (%v)", name, d.device(), err))
	if sidesOf(p, d)[queue.Cores] != "" {
		s = queue.Cores
	}
	return p.find(d, s)
}

func (p *pool) findHost(d *demand, name string) (place, error) {
	at := place{on: d.key(name), cores: min(d.threads(), p.cores)}
	b, err := p.takeFree(context.Background(), at.on)
	if err != nil {
		return at, err
	}
	defer p.giveFree(at.on, b)
	plan := d.plan(b)
	at.host = plan.HostBytes()
	if err := p.limits(d, plan); err != nil {
		return at, err
	}
	if p.coresUsed+at.cores > p.cores || !p.hostFits(at.host) || d.alone && p.running > 0 {
		return at, errLater
	}
	return at, nil
}

// limits returns an error if a plan can never fit.
func (p *pool) limits(d *demand, plan device.Plan) error {
	if limit := int64(value(d.job.Options.Memory)); limit > 0 {
		if err := plan.CheckLimit(limit); err != nil {
			return err
		}
	}
	return plan.Check(device.Info{Host: true, MemoryFree: p.memory})
}

func (p *pool) hostFits(bytes int64) bool { return p.memory == 0 || p.memoryUsed+bytes <= p.memory }

func (p *pool) findAccelerator(d *demand, name string) (place, error) {
	err := error(&device.UnavailableError{Device: name, Reason: "this machine has no such device"})
	least := slices.SortedStableFunc(slices.Values(p.accelerators), func(a, b *accelerator) int { return cmp.Compare(a.rows, b.rows) })
	for _, a := range least {
		if !a.means(name) {
			continue
		}
		if a.lost {
			if !errors.Is(err, errLater) {
				err = &device.UnavailableError{Device: a.name, Reason: "it was lost"}
			}
			continue
		}
		_, plan, e := planOn(p, d, a)
		if e != nil {
			err = e
			continue
		}
		at := place{accelerator: a, on: d.key(a.name), cores: 1, rows: device.DenseSize(plan, plan.N), host: plan.HostBytes(), device: plan.DeviceBytes()}
		full := !a.takes(at.rows, p.jobsPerDevice) || a.memory > 0 && a.used+at.device > a.memory || d.alone && a.jobs > 0
		if full || !p.hostFits(at.host) || d.avoid[a.name] && p.hasAnother(a, name, d) {
			err = errLater
			continue
		}
		return at, nil
	}
	return place{}, err
}

// hasAnother reports whether a job can use an accelerator other than a.
func (p *pool) hasAnother(a *accelerator, name string, d *demand) bool {
	return slices.ContainsFunc(p.accelerators, func(o *accelerator) bool {
		return o != a && !o.lost && !d.avoid[o.name] && o.means(name)
	})
}

// full reports whether no job can start on a side: no core is free, or there are accelerators and none is free.
func (p *pool) full(s queue.Side) bool {
	if s == queue.Cores {
		return p.coresUsed >= p.cores
	}
	free := func(a *accelerator) bool { return !a.lost && a.takes(0, p.jobsPerDevice) }
	return p.has(device.Auto) && !slices.ContainsFunc(p.accelerators, free)
}

// take reserves a place; give frees it.
func (p *pool) take(at place) { p.reserve(at, 1) }
func (p *pool) give(at place) { p.reserve(at, -1) }

func (p *pool) reserve(at place, sign int) {
	p.running += sign
	p.memoryUsed += int64(sign) * at.host
	if at.accelerator == nil {
		p.coresUsed += sign * at.cores
		return
	}
	// A job on an accelerator reserves no cores.
	at.accelerator.jobs += sign
	at.accelerator.rows += sign * at.rows
	at.accelerator.used += int64(sign) * at.device
}

// backend returns the backend of a place and a function that returns it to the pool.
func (p *pool) backend(ctx context.Context, at place) (device.Backend, func(), error) {
	key := at.on
	if at.accelerator != nil {
		key = at.accelerator.laneKey()
	}
	b, err := p.takeFree(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	return b, func() { p.giveFree(key, b) }, nil
}

// deviceName returns the name of the device of a place.
func (p *pool) deviceName(at place) string {
	if at.accelerator != nil {
		return at.accelerator.name
	}
	return at.on.name
}

func (p *pool) close() {
	for _, list := range p.free {
		for _, b := range list {
			_ = b.Close()
		}
	}
}
