package device

import (
	"context"
	"fmt"
	"strings"
)

// Driver finds and opens the devices of one kind. The list of drivers is a
// value of the program (see cmd/gpfit), not a global registry.
type Driver interface {
	// Kind is the word before the colon of a device name: "cpu", "cuda".
	Kind() string
	// Probe reports the devices of this kind, usable or not. It is quick, has
	// no side effects, and never fails: why there is none is in the findings.
	Probe(ctx context.Context) []Finding
	// Open opens the device of that name.
	Open(ctx context.Context, name string, opts Options) (Backend, error)
}

// Options are what a user may ask of a backend. The zero value takes the
// backend's defaults.
type Options struct {
	// Threads is the number of CPU threads, 0 for all.
	Threads int
}

// Finding is what a driver found.
type Finding struct {
	// Name is what --device takes, such as "cuda:0", or the driver's kind
	// where no device was found.
	Name string
	// Usable says whether Open can be expected to work.
	Usable bool
	// Detail describes the device, or says what was looked for and why it
	// cannot be used.
	Detail string
}

// Choice is the outcome of [Dispatch], for the user to see.
type Choice struct {
	// Asked is the name asked for, Device the one taken.
	Asked, Device string
	// Reason says why.
	Reason string
	// Findings is all that was looked at, in order of preference.
	Findings []Finding
	// FellBack says that Device is the fallback for one that cannot be had.
	FellBack bool
}

// Choose decides which device name stands for, without opening it: "auto" (or
// "") takes the first usable device in the order of drivers, anything else is
// a device's name. Errors: [*UnavailableError].
func Choose(ctx context.Context, name string, drivers []Driver) (Choice, error) {
	return pick(name, probe(ctx, drivers))
}

// probe asks all drivers what they find.
func probe(ctx context.Context, drivers []Driver) []Finding {
	var out []Finding
	for _, d := range drivers {
		out = append(out, d.Probe(ctx)...)
	}
	return out
}

// pick is Choose among what was found.
func pick(name string, findings []Finding) (Choice, error) {
	if name == "" {
		name = "auto"
	}
	c := Choice{Asked: name, Findings: findings}
	var passed []string
	for _, f := range c.Findings {
		switch {
		case name == "auto" && !f.Usable:
			passed = append(passed, f.Name+": "+f.Detail)
			continue
		case name == "auto":
			c.Device, c.Reason = f.Name, "first usable device"
			if len(passed) > 0 {
				c.Reason = strings.Join(passed, "; ")
			}
			return c, nil
		case f.Name == name || sameDevice(name, f.Name):
			if !f.Usable {
				return c, &UnavailableError{Device: name, Reason: f.Detail}
			}
			c.Device, c.Reason = f.Name, "asked for"
			return c, nil
		}
	}
	return c, &UnavailableError{Device: name, Reason: unavailableReason(name, c.Findings)}
}

// sameDevice says whether a driver's finding for its whole kind ("cuda": no
// driver) answers for a device of it ("cuda:0"), or "cpu:0" means "cpu".
func sameDevice(name, found string) bool {
	kind, index, ok := strings.Cut(name, ":")
	return ok && kind == found && (index == "0" || kind != "cpu")
}

func unavailableReason(name string, findings []Finding) string {
	kind, _, _ := strings.Cut(name, ":")
	var names []string
	for _, f := range findings {
		if f.Usable {
			names = append(names, f.Name)
		}
	}
	known := "usable here: auto, " + strings.Join(names, ", ")
	for _, f := range findings {
		if k, _, _ := strings.Cut(f.Name, ":"); k == kind {
			return fmt.Sprintf("there is no such %s device (%s)", kind, known)
		}
	}
	return fmt.Sprintf("no such kind of device (%s)", known)
}
