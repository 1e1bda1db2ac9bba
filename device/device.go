package device

import "context"

// Device is a processor that can compute. Its further abilities depend on the
// methods that it serves; see [DenseDevice]. It is safe for concurrent use.
type Device interface {
	// Info describes the device.
	Info() Info
	// Close releases the device.
	Close() error
}

// Laned is a device that has lanes.
type Laned interface {
	Device
	// Lane opens another lane of the same accelerator: a device whose work waits for the work of no other lane. The bits of
	// results do not depend on the lane.
	Lane() (Device, error)
}

// Info describes a device, or the devices of a [Backend].
type Info struct {
	// Name is the name for --device: "cpu" or "cuda:0".
	Name string
	// Description names the processor or card and its cores or memory, for display.
	Description string
	// Host means that it computes on the host's cores and in the host's memory. All
	// other devices are accelerators.
	Host bool
	// Threads is the number of CPU threads that it uses.
	Threads int
	// MemoryFree is the memory that it can allocate, in bytes; 0 if unknown.
	MemoryFree int64
}

// Driver finds and opens the devices of one kind. A program passes its list of
// drivers (see cmd/gpfit); there is no global registry.
type Driver interface {
	// Kind returns the word before the colon of a device name: "cpu", "cuda".
	Kind() string
	// Probe reports the devices of this kind, usable or not. It is fast, has no
	// side effects and never fails. If no device is found, a finding explains why.
	Probe(ctx context.Context) []Finding
	// Open opens the named device. Errors are [*UnavailableError].
	Open(ctx context.Context, name string, opts Options) (Device, error)
}

// Planner is a driver that can plan jobs for a device that this machine does not have, for
// example on a cluster's login node.
type Planner interface {
	Driver
	// Typical returns a typical device of this kind, whose backends can only plan, and the
	// name of its model.
	Typical() (d Device, model string)
}

// MaxThreads is the largest Options.Threads. Each thread has its own buffers.
const MaxThreads = 1024

// Options configures a device. The zero value selects the device's defaults.
type Options struct {
	// Threads is the number of CPU threads, at most MaxThreads; 0 means all.
	Threads int
}

// Finding is the result of a probe for one device.
type Finding struct {
	// Name is the name for --device, such as "cuda:0", or the driver's kind if it found no device.
	Name string
	// Host is as in [Info].
	Host bool
	// Usable reports whether Open is expected to succeed.
	Usable bool
	// ByName means that only a request for its name selects the device, never [Auto].
	ByName bool
	// Detail describes the device, or explains what the driver looked for and why
	// the device is unusable.
	Detail string
}
