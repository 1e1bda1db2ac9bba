package device

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// Found is what a machine has to compute on, in order of preference.
type Found struct {
	Findings []Finding
	drivers  []Driver
}

// Find asks all drivers what they find. The order of drivers is that of
// preference.
func Find(ctx context.Context, drivers []Driver) Found {
	f := Found{drivers: drivers}
	for _, d := range drivers {
		f.Findings = append(f.Findings, d.Probe(ctx)...)
	}
	return f
}

// Choice is a decision for a device, for the user to see.
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

// Auto is the name that leaves the choice to this package, as the empty one does.
const Auto = "auto"

// asked is the choice to make for what a user asks for.
func (f Found) asked(name string) Choice {
	if name == "" {
		name = Auto
	}
	return Choice{Asked: name, Findings: f.Findings}
}

// Choose decides which device a name stands for, without opening it: "auto" (or
// "") takes the first usable device, a kind the first usable one of it, anything
// else is a device's name. Errors: [*UnavailableError].
func (f Found) Choose(name string) (Choice, error) {
	c := f.asked(name)
	if c.Asked != Auto {
		found, err := f.named(name)
		if err == nil {
			c.Device, c.Reason = found.Name, "asked for"
		}
		return c, err
	}
	var passed []string
	for _, g := range f.Findings {
		if g.Usable {
			c.take(g.Name, passed)
			return c, nil
		}
		passed = append(passed, g.refusal())
	}
	return c, &UnavailableError{Device: Auto, Reason: strings.Join(passed, "; ")}
}

// take decides for a device that comes after those that were passed over.
func (c *Choice) take(device string, passed []string) {
	c.Device, c.Reason = device, "first usable device"
	if len(passed) > 0 {
		c.Reason = strings.Join(passed, "; ")
	}
}

func (f Finding) refusal() string { return f.Name + ": " + f.Detail }

// Kind is the word before the colon of a device's name.
func Kind(name string) string {
	word, _, _ := strings.Cut(name, ":")
	return word
}

// Means says whether name asks for the device: by its name or by its kind.
func Means(name, device string) bool { return name == device || name == Kind(device) }

// answers says whether a finding is about what name asks for. One that has the
// name of a kind is its only device, index 0, or says why there is none.
func (f Finding) answers(name string) bool {
	_, index, _ := strings.Cut(name, ":")
	return Means(name, f.Name) || Kind(name) == f.Name && (index == "0" || !f.Usable)
}

// named returns the first usable finding that name asks for.
func (f Found) named(name string) (Finding, error) {
	var answers []Finding
	for _, g := range f.Findings {
		if g.answers(name) {
			answers = append(answers, g)
		}
	}
	if i := slices.IndexFunc(answers, func(g Finding) bool { return g.Usable }); i >= 0 {
		return answers[i], nil
	}
	reason := f.unknown(name)
	if len(answers) > 0 {
		reason = answers[0].Detail
	}
	return Finding{}, &UnavailableError{Device: name, Reason: reason}
}

// unknown says that no finding is about name.
func (f Found) unknown(name string) string {
	var names []string
	for _, g := range f.Findings {
		if g.Usable {
			names = append(names, g.Name)
		}
	}
	known := "usable here: auto, " + strings.Join(names, ", ")
	if slices.ContainsFunc(f.Findings, func(g Finding) bool { return Kind(g.Name) == Kind(name) }) {
		return fmt.Sprintf("there is no such %s device (%s)", Kind(name), known)
	}
	return fmt.Sprintf("no such kind of device (%s)", known)
}

// Host returns the name of the device that is the host itself, "" if no driver
// knows it.
func (f Found) Host() string {
	for _, g := range f.Findings {
		if g.Host {
			return g.Name
		}
	}
	return ""
}

// IsHost says whether name asks for the host itself.
func (f Found) IsHost(name string) bool {
	return slices.ContainsFunc(f.Findings, func(g Finding) bool { return g.Host && g.answers(name) })
}

// Accelerators returns the usable devices beside the host.
func (f Found) Accelerators() []Finding {
	return slices.DeleteFunc(slices.Clone(f.Findings), func(g Finding) bool { return g.Host || !g.Usable })
}

// AcceleratorKind returns the first kind of devices beside the host, whether
// there is a usable one or not; "" if no driver knows any.
func (f Found) AcceleratorKind() string {
	for _, g := range f.Findings {
		if !g.Host {
			return Kind(g.Name)
		}
	}
	return ""
}

// open opens the device that a name stands for.
func (f Found) open(ctx context.Context, name string, opts Options) (Device, error) {
	found, err := f.named(name)
	if err != nil {
		return nil, err
	}
	for _, d := range f.drivers {
		if d.Kind() == Kind(found.Name) {
			return d.Open(ctx, found.Name, opts)
		}
	}
	return nil, &UnavailableError{Device: found.Name, Reason: "no driver for it in this program"}
}
