package device

import "context"

// Device is one place to compute. What else it can do depends on the methods
// that it serves, such as [ExactDevice]. It is safe for concurrent use.
type Device interface {
	// Info describes the device.
	Info() Info
	// Close releases it.
	Close() error
}

// Info describes a device, or the devices of a [Backend].
type Info struct {
	// Name is what --device takes: "cpu" or "cuda:0".
	Name string
	// Description is for people: processor or card, cores or memory.
	Description string
	// Host says that it computes on the host's cores and in the host's memory.
	// All other devices are accelerators.
	Host bool
	// Threads is the number of CPU threads that it uses.
	Threads int
	// MemoryFree is the memory it can allocate, in bytes; 0 if unknown.
	MemoryFree int64
}

// Driver finds and opens the devices of one kind. The list of drivers is a
// value of the program (see cmd/gpfit), not a global registry.
type Driver interface {
	// Kind is the word before the colon of a device name: "cpu", "cuda".
	Kind() string
	// Probe reports the devices of this kind, usable or not. It is quick, has
	// no side effects, and never fails: why there is none is in the findings.
	Probe(ctx context.Context) []Finding
	// Open opens the device of that name. Errors: [*UnavailableError].
	Open(ctx context.Context, name string, opts Options) (Device, error)
}

// MaxThreads bounds Options.Threads: each has buffers of its own.
const MaxThreads = 1024

// Options are what a user may ask of a device. The zero value takes the
// device's defaults.
type Options struct {
	// Threads is the number of CPU threads, 0 for all, at most MaxThreads.
	Threads int
}

// Finding is what a driver found.
type Finding struct {
	// Name is what --device takes, such as "cuda:0", or the driver's kind
	// where no device was found.
	Name string
	// Host is that of [Info].
	Host bool
	// Usable says whether Open can be expected to work.
	Usable bool
	// Detail describes the device, or says what was looked for and why it
	// cannot be used.
	Detail string
}
