package device

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// Found lists the devices of a machine in order of preference.
type Found struct {
	Findings []Finding
	drivers  []Driver
	methods  []Method
}

// Find probes all drivers. Their order is the order of preference. Requests choose among
// the methods; none means only [Dense].
func Find(ctx context.Context, drivers []Driver, methods ...Method) Found {
	if len(methods) == 0 {
		methods = []Method{Dense{}}
	}
	f := Found{drivers: drivers, methods: methods}
	for _, d := range drivers {
		f.Findings = append(f.Findings, d.Probe(ctx)...)
	}
	return f
}

// Choice is the decision for a device, with its reason for the user.
type Choice struct {
	// Asked is the requested name, Device the name of the chosen device.
	Asked, Device string
	// Reason explains the choice.
	Reason string
	// Findings are the results of all probes, in order of preference.
	Findings []Finding
	// FellBack means that Device is the fallback for an unavailable device.
	FellBack bool
}

// Auto is the name that leaves the choice to this package, as does the empty name.
const Auto = "auto"

// asked returns an undecided choice for a requested name.
func asked(f Found, name string) Choice {
	return Choice{Asked: cmp.Or(name, Auto), Findings: f.Findings}
}

// Choose decides which device a name stands for, without opening it. "auto" or ""
// means the first usable device, and a kind means the first usable device of that
// kind; any other name is the name of a device. Errors are [*UnavailableError].
func (f Found) Choose(name string) (Choice, error) {
	c := asked(f, name)
	if c.Asked != Auto {
		found, err := f.named(name)
		if err == nil {
			c.Device, c.Reason = found.Name, "requested by the user"
		}
		return c, err
	}
	err := f.first(&c, func(Finding) (string, error) { return "", nil })
	return c, err
}

// first chooses the first usable device against which try has no reason. The reasons against
// the devices before become the reason of the choice, or of the [*UnavailableError]. An error of
// try ends the search.
func (f Found) first(c *Choice, try func(g Finding) (why string, err error)) error {
	var passed []string
	for _, g := range f.Findings {
		if g.ByName {
			continue
		}
		why := g.Name + ": " + g.Detail
		if g.Usable {
			var err error
			if why, err = try(g); err != nil {
				return err
			}
			if why == "" {
				c.Device, c.Reason = g.Name, cmp.Or(strings.Join(passed, "; "), "first usable device")
				return nil
			}
		}
		passed = append(passed, why)
	}
	return &UnavailableError{Device: Auto, Reason: strings.Join(passed, "; ")}
}

// Kind returns the word before the colon of a device's name.
func Kind(name string) string {
	word, _, _ := strings.Cut(name, ":")
	return word
}

// means reports whether name selects the device, by its name or by its kind.
func means(name, device string) bool { return name == device || name == Kind(device) }

// answers reports whether a finding concerns the requested name. A finding with the name of a kind
// is the only device of that kind, index 0, or explains why no device was found.
func (f Finding) answers(name string) bool {
	_, index, _ := strings.Cut(name, ":")
	return means(name, f.Name) || Kind(name) == f.Name && (index == "0" || !f.Usable)
}

// named returns the first usable finding that name selects.
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

// unknown returns the message that no finding concerns name.
func (f Found) unknown(name string) string {
	var names []string
	for _, g := range f.Findings {
		if g.Usable {
			names = append(names, g.Name)
		}
	}
	known := "usable here: auto, " + strings.Join(names, ", ")
	if slices.ContainsFunc(f.Findings, func(g Finding) bool { return Kind(g.Name) == Kind(name) }) {
		return fmt.Sprintf("no such %s device exists (%s)", Kind(name), known)
	}
	return fmt.Sprintf("no such kind of device (%s)", known)
}

// Host returns the name of the device that is the host itself, "" if no driver reports it.
func (f Found) Host() string {
	for _, g := range f.Findings {
		if g.Host && !g.ByName {
			return g.Name
		}
	}
	return ""
}

// OnHost returns the name of the device that name selects if it computes on the host.
func (f Found) OnHost(name string) (device string, ok bool) {
	i := slices.IndexFunc(f.Findings, func(g Finding) bool { return g.Host && g.answers(name) })
	if i < 0 {
		return "", false
	}
	return f.Findings[i].Name, true
}

// Accelerators returns the usable devices other than the host.
func (f Found) Accelerators() []Finding {
	return slices.DeleteFunc(slices.Clone(f.Findings), func(g Finding) bool { return g.Host || !g.Usable })
}

// Typical returns the backend of the method called method on a typical device of a name's
// kind, which can only plan, and the model of that device. It is nil if the driver or the
// method cannot plan for a device that this machine does not have.
func (f Found) Typical(name, method string) (b Backend, model string) {
	for _, driver := range f.drivers {
		if planner, can := driver.(Planner); can && driver.Kind() == Kind(name) {
			d, model := planner.Typical()
			if found, err := backends(method, f.methods, []Device{d}, Workload{}); err == nil {
				return found[0], model
			}
		}
	}
	return nil, ""
}

// AcceleratorKind returns the first kind of devices other than the host, usable or
// not; "" if there is none.
func (f Found) AcceleratorKind() string {
	for _, g := range f.Findings {
		if !g.Host {
			return Kind(g.Name)
		}
	}
	return ""
}

// On returns the backends of the method called name, or [Chosen], for a workload on open devices.
// Closing them closes the devices. The function [For] turns a chosen backend into that for another
// workload. Errors: see [Method.Backends] and [Backend.Supports].
func (f Found) On(name string, devices []Device, w Workload) ([]Backend, error) {
	if name == "" || name == Chosen {
		name = w.State.Method
	}
	found, err := backends(name, f.methods, devices, w)
	if (name == "" || name == Chosen) && len(f.methods) > 1 {
		found = undecided(found, f.methods, w)
	}
	return found, err
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
	return nil, &UnavailableError{Device: found.Name, Reason: "this program has no driver for it"}
}
