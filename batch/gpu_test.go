package batch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/kernel"
)

// gpuDriver is a kind of device for tests: CPUs that pretend to be GPUs, have
// little memory and fail on demand.
type gpuDriver struct {
	count  int
	memory int64
	mu     sync.Mutex
	// now and most count the workspaces open on one device, and shared the workspaces that were opened on a lane
	// beside another one.
	now, most, shared map[string]int
	// meet, if not nil, is closed when two workspaces are open on one device. Until
	// then their jobs wait, for at most ten seconds.
	meet chan struct{}
	met  sync.Once
	// fail, if not nil, runs before a device opens a workspace of n rows. If it
	// returns an error, the device returns that error.
	fail func(name string, n int) error
}

func (d *gpuDriver) Kind() string { return "cuda" }

func (d *gpuDriver) Probe(context.Context) []device.Finding {
	var out []device.Finding
	for i := range d.count {
		out = append(out, device.Finding{Name: fmt.Sprintf("cuda:%d", i), Usable: true, Detail: "a test's"})
	}
	return out
}

func (d *gpuDriver) Open(_ context.Context, name string, o device.Options) (device.Device, error) {
	host, err := cpu.Open(device.Options{Threads: 1})
	return &gpuDevice{DenseDevice: host, d: d, name: name}, err
}

type gpuDevice struct {
	device.DenseDevice
	d    *gpuDriver
	name string
	open int // workspaces
}

func (b *gpuDevice) Info() device.Info {
	return device.Info{Name: b.name, Description: "a test's", Threads: 1, MemoryFree: b.d.memory}
}

func (b *gpuDevice) Plan(n, d int) device.Plan {
	p := b.DenseDevice.Plan(n, d)
	p.Needs = []device.Need{{Device: b.name, Bytes: int64(8 * n * n)}, {Bytes: 1000}}
	return p
}

func (b *gpuDevice) NewWorkspace(ctx context.Context, x *kernel.Points) (device.DenseWorkspace, error) {
	ws, err := b.newWorkspace(ctx, x)
	if err == nil && b.d.meet != nil {
		select {
		case <-b.d.meet:
		case <-time.After(10 * time.Second):
		}
	}
	return ws, err
}

func (b *gpuDevice) newWorkspace(ctx context.Context, x *kernel.Points) (device.DenseWorkspace, error) {
	b.d.mu.Lock()
	defer b.d.mu.Unlock()
	if b.d.fail != nil {
		if err := b.d.fail(b.name, x.N); err != nil {
			return nil, err
		}
	}
	ws, err := b.DenseDevice.NewWorkspace(ctx, x)
	if err != nil {
		return nil, err
	}
	if b.open++; b.open > 1 {
		b.d.shared[b.name]++
	}
	b.d.now[b.name]++
	b.d.most[b.name] = max(b.d.most[b.name], b.d.now[b.name])
	if b.d.meet != nil && b.d.now[b.name] == 2 {
		b.d.met.Do(func() { close(b.d.meet) })
	}
	return &gpuWorkspace{DenseWorkspace: ws, b: b}, nil
}

type gpuWorkspace struct {
	device.DenseWorkspace
	b    *gpuDevice
	once sync.Once
}

func (w *gpuWorkspace) Close() error {
	w.once.Do(func() {
		w.b.d.mu.Lock()
		w.b.open--
		w.b.d.now[w.b.name]--
		w.b.d.mu.Unlock()
	})
	return w.DenseWorkspace.Close()
}

func newGPUs(count int, memory int64) *gpuDriver {
	return &gpuDriver{count: count, memory: memory, now: map[string]int{}, most: map[string]int{}, shared: map[string]int{}}
}
