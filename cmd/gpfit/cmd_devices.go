package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"gpfit"
	"gpfit/cmd/gpfit/internal/cli"
	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/method/mpi"
)

// devicesView is the output of the command. JSON has the fields in the order of their names.
type devicesView struct {
	Chosen        string          `json:"chosen"`
	Devices       []deviceView    `json:"devices"`
	Methods       []methodView    `json:"methods"`
	Reason        string          `json:"reason"`
	SchemaVersion int             `json:"schema_version"`
	Tests         []devices.Check `json:"tests,omitzero"`
	Type          string          `json:"type"`
	// Asked is the value of --device. Unknown says that there is no such device, and
	// Accelerated that the chosen one is no host.
	Asked                string `json:"-"`
	Unknown, Accelerated bool   `json:"-"`
}

type deviceView struct {
	Name   string `json:"name"`
	Found  bool   `json:"found"`
	Detail string `json:"detail"`
}

type methodView struct {
	Name  string `json:"name"`
	Exact bool   `json:"exact"`
	// Bounded says that the method is not exact, but bounds its error.
	Bounded bool   `json:"bounded,omitempty"`
	About   string `json:"about"`
	// Detail says what the method finds on this machine, if it needs more than the program.
	Detail string `json:"detail,omitempty"`
}

func runDevices(c *cli.Command) error {
	o := c.Compute
	choice, err := devices.Choose(c.Ctx, o.Device)
	v := &devicesView{Type: "devices", SchemaVersion: 1, Chosen: choice.Device, Reason: choice.Reason, Asked: choice.Asked, Unknown: err != nil}
	for _, f := range choice.Findings {
		v.Devices = append(v.Devices, deviceView{f.Name, f.Usable, f.Detail})
		v.Accelerated = v.Accelerated || f.Name == choice.Device && !f.Host
	}
	for _, m := range gpfit.Methods() {
		about := m.About()
		one := methodView{Name: about.Name, Exact: about.Exact, Bounded: about.Bounded, About: about.Text}
		if about.Name == mpi.Name {
			one.Detail = mpi.Describe()
		}
		v.Methods = append(v.Methods, one)
	}
	test := o.Test && err == nil
	if c.Output.JSON {
		if test {
			v.Tests = []devices.Check{}
			err = devices.CheckAll(c.Ctx, o.Device, o.Sizes, func(check devices.Check) { v.Tests = append(v.Tests, check.Finite()) })
		}
		return errors.Join(err, json.NewEncoder(c.Out).Encode(v))
	}
	if o.Calibrate {
		text, err := devices.Calibrate(c.Ctx, o.Device)
		if err != nil {
			return err
		}
		fmt.Fprint(c.Out, text, "\n\n")
	}
	_, _ = io.WriteString(c.Out, view("devices", v))
	if !test {
		return err
	}
	fmt.Fprintln(c.Out)
	return devices.CheckAll(c.Ctx, o.Device, o.Sizes, func(check devices.Check) { fmt.Fprintln(c.Out, check) })
}
