// Package pool finds places for fits on cores and accelerators: as many side by side as the cores
// and the planned memory allow. Start with [New]. Package queue divides the jobs between both
// sides.
package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"

	"gpfit/device"
	"gpfit/device/queue"
)

// Options are the machine of a pool, as far as it is not found.
type Options struct {
	Drivers []device.Driver
	Methods []device.Method
	// Cores is the number of cores, 0 for all; Memory is the memory of the host, 0 for most of what is free,
	// negative for no limit.
	Cores  int
	Memory int64
	// JobsPerDevice is the number of jobs that may share an accelerator; 0 means as many as keep it busy.
	JobsPerDevice int
}

// Pool keeps track of the host's cores and memory and of the accelerators. Only
// the scheduler's goroutine calls it, except for open and backend.
type Pool struct {
	Found device.Found
	// Cores is the number of cores, and coresUsed the number in use. A job with
	// more threads than cores takes all of them.
	Cores, coresUsed   int
	Memory, memoryUsed int64 // host memory in bytes; at most 0 means no limit
	Accelerators       []*Accelerator
	asked              bool // a job has asked for accelerators
	jobsPerDevice      int  // 0 for as many as keep an accelerator busy
	Running            int  // jobs that have a place

	mu sync.Mutex
	// unused are the unused backends of the host, and the unused lanes of accelerators.
	unused map[Key][]device.Backend
}

// Key identifies equal backends. Backends on the host also differ in their threads.
type Key struct {
	Name, Method string
	Threads      int
}

// Accelerator is a device other than the host. Jobs share its memory. Each has a lane of its own: another
// backend of the device, whose work waits for no other job's.
type Accelerator struct {
	Name         string
	Backend      device.Backend // the first lane, which plans
	memory, used int64
	jobs, rows   int
	Lost         bool
}

// takes reports whether a job of a number of rows may join the jobs of an accelerator, which may have allowed jobs.
func (a *Accelerator) takes(rows, allowed int) bool {
	if allowed > 0 {
		return a.jobs < allowed
	}
	return device.LaneFree(a.jobs, a.rows, rows)
}

// laneKey is the key of the unused lanes of an accelerator.
func (a *Accelerator) laneKey() Key { return Key{Name: a.Name} }

// Place is a device for a job, with the resources that the job reserves: cores,
// and bytes of host and device memory.
type Place struct {
	Accelerator *Accelerator // nil for the host
	On          Key          // what to open on the host
	Cores       int
	Rows        int // of the job
	Host        int64
	Device      int64
}

// Side returns the side of a place.
func (at Place) Side() queue.Side {
	if at.Accelerator != nil {
		return queue.Cards
	}
	return queue.Cores
}

// DeviceName returns the name of the device of a place.
func (at Place) DeviceName() string {
	if at.Accelerator != nil {
		return at.Accelerator.Name
	}
	return at.On.Name
}

// Demand describes what a job requires of the machine.
type Demand struct {
	// Rows is 0 if the rows are not known; the job then fails when it reads its data.
	Rows, Columns int
	// Device and Fallback are names of devices. Threads are for the host, 0 means one.
	Device, Method, Fallback string
	Threads                  int
	// Memory is the most bytes that the job may take, 0 for no limit.
	Memory int64
	// Workload are its evaluations. Structured, if set, is the plan on the host of the method that was
	// chosen for its rows.
	Workload   device.Workload
	Structured *device.Plan
	// Evaluations is the expected number of values with gradient.
	Evaluations float64

	// Alone asks for a device without other jobs. Avoid holds the names of the
	// devices on which the job has failed.
	Alone bool
	Avoid map[string]bool
	// Home is the device on which the job began, "" if it has not begun.
	Home string
	// OnFallback means that the job's own device is unavailable; Notes gives the reason.
	OnFallback bool
	Notes      []string
}

func (d *Demand) device() string {
	if d.OnFallback {
		return d.Fallback
	}
	return d.Device
}

// Auto reports whether cores and accelerators may take the job.
func (d *Demand) Auto() bool { return !d.OnFallback && d.Device == device.Auto }

func (d *Demand) threads() int { return max(1, d.Threads) }

// Key returns the key of a backend of the named device for the job.
func (d *Demand) Key(name string) Key { return Key{Name: name, Method: d.Method, Threads: d.threads()} }

// Plan returns what the evaluations take on a backend.
func (d *Demand) Plan(b device.Backend) device.Plan {
	if b.Info().Host && d.Structured != nil {
		return *d.Structured
	}
	return b.Plan(d.Workload)
}

// Cost is a relative measure of the work of the job. Besides the n³ operations, small jobs spend time on n² and on their graph.
func (d *Demand) Cost() float64 {
	n := float64(d.Rows)
	return (n*n*n + 200*n*n + 1e7) * d.Evaluations
}

// plan returns what the fit and the table need on a backend.
func (d *Demand) plan(b device.Backend) device.Plan {
	if d.Rows == 0 {
		return device.Plan{} // the job fails when it reads its data
	}
	table := 32 * int64(d.Rows) * int64(d.Columns+2)
	return d.Plan(b).With(device.Need{Bytes: table, What: "the table"})
}

// launches is the least time of an evaluation on an accelerator, in seconds: many small steps begin one after the other.
const launches = 1e-3

// expected is roughly how many seconds a job takes on a backend of a side, for the choice between the sides before a job is
// measured.
func (d *Demand) expected(s queue.Side, b device.Backend) float64 {
	one := d.GradientTime(b)
	if s == queue.Cards {
		one = max(one, launches)
	}
	return one * d.Evaluations
}

// GradientTime returns the seconds of one value with gradient on a backend, 0 if unknown.
func (d *Demand) GradientTime(b device.Backend) float64 {
	if d.Rows == 0 {
		return 0 // the job fails when it reads its data
	}
	if p := d.Plan(b); d.Structured != nil && b.Info().Host {
		return p.GradientTime().Seconds()
	}
	return device.GradientTime(b, d.Workload).Seconds()
}

// New returns the pool of this machine.
func New(ctx context.Context, o Options) (*Pool, error) {
	p := &Pool{
		Found: device.Find(ctx, o.Drivers, o.Methods...), Cores: o.Cores, Memory: o.Memory, jobsPerDevice: max(0, o.JobsPerDevice), unused: map[Key][]device.Backend{},
	}
	if p.Cores <= 0 {
		p.Cores = runtime.GOMAXPROCS(0)
	}
	if p.Memory == 0 {
		host := Key{Name: p.Found.Host(), Threads: 1}
		b, err := p.Take(ctx, host)
		if err != nil {
			return nil, err
		}
		p.Memory = b.Info().MemoryFree / 10 * 9
		p.Give(host, b)
	}
	return p, nil
}

// Open opens the first device that a key means.
func (p *Pool) Open(ctx context.Context, key Key) (device.Backend, error) {
	b, _, err := p.Found.Open(ctx, device.Request{Device: key.Name, Method: key.Method, Options: device.Options{Threads: key.Threads}})
	if err != nil {
		return nil, err
	}
	return b[0], nil
}

// Take returns a backend that no other job uses. Backends with the same key are equal, but calls to one
// backend compete for its threads, or for the stream of its device.
func (p *Pool) Take(ctx context.Context, key Key) (device.Backend, error) {
	p.mu.Lock()
	list := p.unused[key]
	if last := len(list) - 1; last >= 0 {
		b := list[last]
		p.unused[key] = list[:last]
		p.mu.Unlock()
		return b, nil
	}
	p.mu.Unlock()
	return p.Open(ctx, key)
}

// Give returns a backend of Take.
func (p *Pool) Give(key Key, b device.Backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unused[key] = append(p.unused[key], b)
}

// OpenAccelerators opens every usable accelerator when the first job asks for one.
func (p *Pool) OpenAccelerators(ctx context.Context, note func(string)) {
	if p.asked {
		return
	}
	p.asked = true
	for _, f := range p.Found.Accelerators() {
		b, err := p.Open(ctx, Key{Name: f.Name})
		if err != nil {
			note(err.Error())
			continue
		}
		info := b.Info()
		note(fmt.Sprintf("device %s: %s", f.Name, info.Description))
		a := &Accelerator{Name: f.Name, Backend: b, memory: info.MemoryFree}
		p.Accelerators = append(p.Accelerators, a)
		p.Give(a.laneKey(), b)
	}
}

// ErrLater means that a job fits the machine, but not now.
var ErrLater = errors.New("no room now")

// Sides returns the names of the devices that a job may take on each side, "" for none. A job that began on a device
// continues there, or else on another one of its kind, if there is one.
func (p *Pool) Sides(d *Demand) (names [2]string) {
	name := d.device()
	if host, ok := p.Found.OnHost(name); ok {
		names[queue.Cores] = host
		return names
	}
	if !d.Auto() {
		names[queue.Cards] = name
		return names
	}
	host, onHost := p.Found.OnHost(d.Home)
	for _, same := range []string{d.Home, device.Kind(d.Home)} {
		if same != "" && !onHost && p.Has(same) {
			names[queue.Cards] = same
			return names
		}
	}
	names[queue.Cores] = p.Found.Host()
	if onHost {
		names[queue.Cores] = host
	} else if p.Has(device.Auto) {
		names[queue.Cards] = device.Auto
	}
	return names
}

// Has reports whether an accelerator that a name means is there and not lost.
func (p *Pool) Has(name string) bool {
	return slices.ContainsFunc(p.Accelerators, func(a *Accelerator) bool { return !a.Lost && a.Means(name) })
}

// Means reports whether a name means the accelerator.
func (a *Accelerator) Means(name string) bool {
	return name == device.Auto || name == a.Name || name == device.Kind(a.Name)
}

// Load returns the time and the share of a job on both sides, as its plans say.
func (p *Pool) Load(d *Demand) queue.Load {
	w, names := queue.Load{Rows: d.Rows, Planned: [2]float64{queue.Never, queue.Never}}, p.Sides(d)
	if names[queue.Cores] != "" {
		at := d.Key(names[queue.Cores])
		if b, err := p.Take(context.Background(), at); err == nil {
			if plan := d.plan(b); p.limits(d, plan) == nil {
				w.Planned[queue.Cores] = d.expected(queue.Cores, b)
			}
			w.Share[queue.Cores] = float64(min(d.threads(), p.Cores)) / float64(p.Cores)
			p.Give(at, b)
		}
	}
	alive := 0.
	for _, a := range p.Accelerators {
		if names[queue.Cards] == "" || a.Lost || !a.Means(names[queue.Cards]) {
			continue
		}
		b, plan, err := planOn(p, d, a)
		if err != nil {
			continue
		}
		alive++
		w.Planned[queue.Cards] = min(w.Planned[queue.Cards], d.expected(queue.Cards, b))
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
func planOn(p *Pool, d *Demand, a *Accelerator) (device.Backend, device.Plan, error) {
	backends, err := p.Found.On(d.Method, a.Backend.Capabilities().Devices, d.Workload)
	if err != nil {
		return nil, device.Plan{}, err
	}
	plan := d.plan(backends[0])
	return backends[0], plan, errors.Join(p.limits(d, plan), plan.Check(device.Info{Name: a.Name, MemoryFree: a.memory}))
}

// Find returns a place for a job on a side. Errors: ErrLater, or the reason why this machine can never run the job there.
func (p *Pool) Find(d *Demand, s queue.Side) (Place, error) {
	name := p.Sides(d)[s]
	if s == queue.Cores {
		return p.findHost(d, name)
	}
	at, err := p.findAccelerator(d, name)
	if err == nil || errors.Is(err, ErrLater) || d.Fallback == "" || d.OnFallback {
		return at, err
	}
	d.OnFallback = true
	d.Notes = append(d.Notes, fmt.Sprintf("device %s is not available: using %s, as fallback allows (%v)", name, d.device(), err))
	if p.Sides(d)[queue.Cores] != "" {
		s = queue.Cores
	}
	return p.Find(d, s)
}

func (p *Pool) findHost(d *Demand, name string) (Place, error) {
	at := Place{On: d.Key(name), Cores: min(d.threads(), p.Cores)}
	b, err := p.Take(context.Background(), at.On)
	if err != nil {
		return at, err
	}
	defer p.Give(at.On, b)
	plan := d.plan(b)
	at.Host = plan.HostBytes()
	if err := p.limits(d, plan); err != nil {
		return at, err
	}
	if p.coresUsed+at.Cores > p.Cores || !p.hostFits(at.Host) || d.Alone && p.Running > 0 {
		return at, ErrLater
	}
	return at, nil
}

// limits returns an error if a plan can never fit.
func (p *Pool) limits(d *Demand, plan device.Plan) error {
	if limit := int64(d.Memory); limit > 0 {
		if err := plan.CheckLimit(limit); err != nil {
			return err
		}
	}
	return plan.Check(device.Info{Host: true, MemoryFree: p.Memory})
}

func (p *Pool) hostFits(bytes int64) bool { return p.Memory == 0 || p.memoryUsed+bytes <= p.Memory }

func (p *Pool) findAccelerator(d *Demand, name string) (Place, error) {
	err := error(&device.UnavailableError{Device: name, Reason: "this machine has no such device"})
	least := slices.SortedStableFunc(slices.Values(p.Accelerators), func(a, b *Accelerator) int { return cmp.Compare(a.rows, b.rows) })
	for _, a := range least {
		if !a.Means(name) {
			continue
		}
		if a.Lost {
			if !errors.Is(err, ErrLater) {
				err = &device.UnavailableError{Device: a.Name, Reason: "it was lost"}
			}
			continue
		}
		_, plan, e := planOn(p, d, a)
		if e != nil {
			err = e
			continue
		}
		at := Place{Accelerator: a, On: d.Key(a.Name), Cores: 1, Rows: device.DenseSize(plan, plan.N), Host: plan.HostBytes(), Device: plan.DeviceBytes()}
		full := !a.takes(at.Rows, p.jobsPerDevice) || a.memory > 0 && a.used+at.Device > a.memory || d.Alone && a.jobs > 0
		if full || !p.hostFits(at.Host) || d.Avoid[a.Name] && p.hasAnother(a, name, d) {
			err = ErrLater
			continue
		}
		return at, nil
	}
	return Place{}, err
}

// hasAnother reports whether a job can use an accelerator other than a.
func (p *Pool) hasAnother(a *Accelerator, name string, d *Demand) bool {
	return slices.ContainsFunc(p.Accelerators, func(o *Accelerator) bool {
		return o != a && !o.Lost && !d.Avoid[o.Name] && o.Means(name)
	})
}

// Full reports whether no job can start on a side: no core is free, or there are accelerators and none is free.
func (p *Pool) Full(s queue.Side) bool {
	if s == queue.Cores {
		return p.coresUsed >= p.Cores
	}
	free := func(a *Accelerator) bool { return !a.Lost && a.takes(0, p.jobsPerDevice) }
	return p.Has(device.Auto) && !slices.ContainsFunc(p.Accelerators, free)
}

// Reserve reserves a place, and Free frees it.
func (p *Pool) Reserve(at Place) { p.reserve(at, 1) }

// Free is the opposite of Reserve.
func (p *Pool) Free(at Place) { p.reserve(at, -1) }

func (p *Pool) reserve(at Place, sign int) {
	p.Running += sign
	p.memoryUsed += int64(sign) * at.Host
	if at.Accelerator == nil {
		p.coresUsed += sign * at.Cores
		return
	}
	// A job on an accelerator reserves no cores.
	at.Accelerator.jobs += sign
	at.Accelerator.rows += sign * at.Rows
	at.Accelerator.used += int64(sign) * at.Device
}

// Backend returns the backend of a place and a function that returns it to the pool.
func (p *Pool) Backend(ctx context.Context, at Place) (device.Backend, func(), error) {
	key := at.On
	if at.Accelerator != nil {
		key = at.Accelerator.laneKey()
	}
	b, err := p.Take(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	return b, func() { p.Give(key, b) }, nil
}

// Close closes the backends that no job uses.
func (p *Pool) Close() {
	for _, list := range p.unused {
		for _, b := range list {
			_ = b.Close()
		}
	}
}
