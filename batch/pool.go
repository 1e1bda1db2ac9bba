package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"

	"gpfit/device"
)

// pool holds the machine's cores, memory and GPUs, and what of them is in use.
// Only the scheduler's goroutine calls it, but for backends.
type pool struct {
	drivers []device.Driver
	// cores is how many there are, coresUsed those in use, which a job with more
	// threads than cores may exceed when it runs alone.
	cores, coresUsed   int
	memory, memoryUsed int64 // of the host, in bytes; memory 0 is unlimited
	gpus               []*gpu
	gpusAsked          bool
	gpuJobs            int
	running            int

	mu   sync.Mutex
	free map[string][]device.Backend // CPU backends by threads, not in use
}

// gpu is a device that jobs share by its memory.
type gpu struct {
	name         string
	backend      device.Backend
	memory, used int64
	jobs         int
	lost         bool
}

// place is where a job runs and what it takes there.
type place struct {
	gpu     *gpu // nil for the CPU
	threads int
	cores   int
	host    int64
	device  int64
}

func newPool(o Options) (*pool, error) {
	p := &pool{drivers: o.Drivers, cores: o.Cores, memory: o.Memory, gpuJobs: max(1, o.GPUJobs), free: map[string][]device.Backend{}}
	if p.cores <= 0 {
		p.cores = runtime.GOMAXPROCS(0)
	}
	if p.memory == 0 {
		b, err := p.takeCPU(context.Background(), 1)
		if err != nil {
			return nil, err
		}
		p.memory = b.Info().MemoryFree / 10 * 9
		p.giveCPU(1, b)
	}
	return p, nil
}

// takeCPU returns a CPU backend that nobody else uses: backends of one thread
// count are alike, but calls to one of them compete for its threads.
func (p *pool) takeCPU(ctx context.Context, threads int) (device.Backend, error) {
	key := deviceKey(threads)
	p.mu.Lock()
	if list := p.free[key]; len(list) > 0 {
		b := list[len(list)-1]
		p.free[key] = list[:len(list)-1]
		p.mu.Unlock()
		return b, nil
	}
	p.mu.Unlock()
	b, _, err := device.Dispatch(ctx, device.Request{Device: "cpu", Options: device.Options{Threads: threads}}, p.drivers)
	if err != nil {
		return nil, err
	}
	return b[0], nil
}

func (p *pool) giveCPU(threads int, b device.Backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free[deviceKey(threads)] = append(p.free[deviceKey(threads)], b)
}

// openGPUs opens every usable GPU, once, when the first job asks for one.
func (p *pool) openGPUs(ctx context.Context, note func(string)) {
	if p.gpusAsked {
		return
	}
	p.gpusAsked = true
	found := device.Find(ctx, p.drivers)
	for _, f := range found.Accelerators() {
		b, _, err := found.Open(ctx, device.Request{Device: f.Name})
		if err != nil {
			note(err.Error())
			continue
		}
		info := b[0].Info()
		note(fmt.Sprintf("device %s: %s", f.Name, info.Description))
		p.gpus = append(p.gpus, &gpu{name: f.Name, backend: b[0], memory: info.MemoryFree})
	}
}

// errLater says that a job fits, but not now.
var errLater = errors.New("no room now")

// find looks for a place for a task. Errors: errLater, or why there is none and
// will be none.
func (p *pool) find(t *task) (place, error) {
	name := value(t.job.Options.Device)
	if t.onFallback {
		name = value(t.job.Options.Fallback)
	}
	if name == "cpu" || name == "cpu:0" {
		return p.findCPU(t)
	}
	at, err := p.findGPU(t, name)
	if err == nil || errors.Is(err, errLater) || value(t.job.Options.Fallback) == "" || t.onFallback {
		return at, err
	}
	t.onFallback = true
	t.notes = append(t.notes, fmt.Sprintf("device %s cannot be had: taking %s, as fallback allows (%v)", name, *t.job.Options.Fallback, err))
	return p.find(t)
}

func (p *pool) findCPU(t *task) (place, error) {
	threads := max(1, value(t.job.Options.Threads))
	at := place{threads: threads, cores: min(threads, p.cores)}
	b, err := p.takeCPU(context.Background(), threads)
	if err != nil {
		return at, err
	}
	defer p.giveCPU(threads, b)
	plan := p.plan(t, b)
	at.host = plan.HostBytes()
	if err := p.limits(t, plan); err != nil {
		return at, err
	}
	if p.coresUsed+at.cores > p.cores || !p.hostFits(at.host) || t.alone && p.running > 0 {
		return at, errLater
	}
	return at, nil
}

// plan is what a task needs on a backend: that of the backend, and the table.
func (p *pool) plan(t *task, b device.Backend) device.Plan {
	if t.job.N == 0 {
		return device.Plan{} // it fails when it is read
	}
	table := 32 * int64(t.job.N) * int64(t.job.D+2)
	return b.Plan(t.job.N, t.job.D).With(device.Need{Bytes: table, What: "the table"})
}

// limits refuses what will never fit.
func (p *pool) limits(t *task, plan device.Plan) error {
	if limit := int64(value(t.job.Options.Memory)); limit > 0 {
		if err := plan.CheckLimit(limit); err != nil {
			return err
		}
	}
	return plan.Check(device.Info{Host: true, MemoryFree: p.memory})
}

func (p *pool) hostFits(bytes int64) bool { return p.memory == 0 || p.memoryUsed+bytes <= p.memory }

func (p *pool) findGPU(t *task, name string) (place, error) {
	err := error(&device.UnavailableError{Device: name, Reason: "there is no such device on this machine"})
	for _, g := range p.gpus {
		if kind, _, _ := strings.Cut(g.name, ":"); g.name != name && kind != name {
			continue
		}
		if g.lost {
			err = firstOf(err, &device.UnavailableError{Device: g.name, Reason: "it was lost"})
			continue
		}
		plan := p.plan(t, g.backend)
		at := place{gpu: g, threads: max(1, value(t.job.Options.Threads)), cores: 1, host: plan.HostBytes(), device: plan.DeviceBytes()}
		if e := errors.Join(p.limits(t, plan), plan.Check(device.Info{Name: g.name, MemoryFree: g.memory})); e != nil {
			err = e
			continue
		}
		full := g.jobs >= p.gpuJobs || g.memory > 0 && g.used+at.device > g.memory || t.alone && g.jobs > 0
		if full || !p.hostFits(at.host) || t.avoid[g.name] && p.otherGPU(g, name, t) {
			err = errLater
			continue
		}
		return at, nil
	}
	return place{}, err
}

// otherGPU says whether a task has another GPU to go to than g.
func (p *pool) otherGPU(g *gpu, name string, t *task) bool {
	for _, o := range p.gpus {
		kind, _, _ := strings.Cut(o.name, ":")
		if o != g && !o.lost && !t.avoid[o.name] && (o.name == name || kind == name) {
			return true
		}
	}
	return false
}

func firstOf(err, otherwise error) error {
	if errors.Is(err, errLater) {
		return err
	}
	return otherwise
}

// full says that nothing can be started: no core and no GPU is free.
func (p *pool) full() bool {
	for _, g := range p.gpus {
		if !g.lost && g.jobs < p.gpuJobs {
			return false
		}
	}
	return p.coresUsed >= p.cores
}

// take reserves a place, give frees it.
func (p *pool) take(at place) {
	p.running++
	p.memoryUsed += at.host
	if at.gpu != nil {
		at.gpu.jobs++
		at.gpu.used += at.device
		return // a GPU's job leaves the cores to others
	}
	p.coresUsed += at.cores
}

func (p *pool) give(at place) {
	p.running--
	p.memoryUsed -= at.host
	if at.gpu != nil {
		at.gpu.jobs--
		at.gpu.used -= at.device
		return
	}
	p.coresUsed -= at.cores
}

// backend returns the backend of a place and a function that gives it back.
func (p *pool) backend(ctx context.Context, at place) (device.Backend, func(), error) {
	if at.gpu != nil {
		return at.gpu.backend, func() {}, nil
	}
	b, err := p.takeCPU(ctx, at.threads)
	if err != nil {
		return nil, nil, err
	}
	return b, func() { p.giveCPU(at.threads, b) }, nil
}

func (p *pool) close() {
	for _, list := range p.free {
		for _, b := range list {
			_ = b.Close()
		}
	}
	for _, g := range p.gpus {
		_ = g.backend.Close()
	}
}
