package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gpfit"
	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/device"
)

func newDevices() *cobra.Command {
	return frame.New("devices", &cobra.Command{
		Use:   "devices",
		Short: "Show the devices and methods, and which device gpfit would choose and why",
		Long: "Show the devices that gpfit finds, the methods that --method names, and which device it would choose and why. A device that it finds may still not work: " +
			"--test opens the device and compares its likelihoods, gradients and predictions: a GPU's with the CPU's, and the CPU's with those of plain formulas, the device gonum.",
	}, runDevices)
}

func runDevices(c *frame.Command) error {
	o, w := c.Compute, c.Out
	choice, err := devices.Choose(c.Ctx, o.Device)
	if c.Output.JSON {
		return printDevices(c, choice, err)
	}
	if o.Calibrate {
		text, err := devices.Calibrate(c.Ctx, o.Device)
		if err != nil {
			return err
		}
		fmt.Fprint(w, text, "\n\n")
	}
	takes := "takes"
	for _, f := range choice.Findings {
		mark := "none "
		if f.Usable {
			mark = "found"
		}
		if f.Name == choice.Device && !f.Host {
			takes = "tries"
		}
		fmt.Fprintf(w, "%-8s  %s  %s\n", f.Name, mark, f.Detail)
	}
	fmt.Fprintln(w)
	for _, m := range gpfit.Methods() {
		kind := "approximate"
		if m.Exact() {
			kind = "exact"
		}
		fmt.Fprintf(w, "%-8s  %-11s  %s\n", m.Name(), kind, m.About())
	}
	if err == nil {
		fmt.Fprintf(w, "\n--device %s %s %s: %s\n", choice.Asked, takes, choice.Device, choice.Reason)
	}
	if !o.Test || err != nil {
		return err
	}
	fmt.Fprintln(w)
	return devices.CheckAll(c.Ctx, o.Device, o.Sizes, func(check devices.Check) { fmt.Fprintln(w, check) })
}

// printDevices prints the devices, the choice and the outcome of --test as JSON.
func printDevices(c *frame.Command, choice device.Choice, err error) error {
	type finding struct {
		Name   string `json:"name"`
		Found  bool   `json:"found"`
		Detail string `json:"detail"`
	}
	var found []finding
	for _, f := range choice.Findings {
		found = append(found, finding{f.Name, f.Usable, f.Detail})
	}
	type method struct {
		Name  string `json:"name"`
		Exact bool   `json:"exact"`
		About string `json:"about"`
	}
	var methods []method
	for _, m := range gpfit.Methods() {
		methods = append(methods, method{m.Name(), m.Exact(), m.About()})
	}
	object := map[string]any{
		"type": "devices", "schema_version": 1, "devices": found, "methods": methods, "chosen": choice.Device, "reason": choice.Reason,
	}
	if c.Compute.Test && err == nil {
		checks := []devices.Check{}
		err = devices.CheckAll(c.Ctx, c.Compute.Device, c.Compute.Sizes, func(check devices.Check) { checks = append(checks, check.Finite()) })
		object["tests"] = checks
	}
	return errors.Join(err, json.NewEncoder(c.Out).Encode(object))
}
