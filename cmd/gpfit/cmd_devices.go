package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gpfit"
	"gpfit/cmd/gpfit/internal/devices"
	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/device"
)

type devicesFlags struct {
	device                string
	calibrate, test, json bool
	sizes                 []int
}

func newDevices() *cobra.Command {
	var f devicesFlags
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "Show the devices and methods, and which device gpfit would choose and why",
		Long: "Show the devices that gpfit finds, the methods that --method names, and which device it would choose and why. A device that it finds may still not work: " +
			"--test opens the device and compares its likelihoods, gradients and predictions: a GPU's with the CPU's, and the CPU's with those of plain formulas, the device gonum.",
		RunE: func(cmd *cobra.Command, _ []string) error { return runDevices(cmd, &f) },
	}
	cmd.Flags().StringVar(&f.device, "device", device.Auto, "the device to choose: auto, or a name")
	cmd.Flags().BoolVar(&f.calibrate, "calibrate", false, "measure again from which number of rows on a GPU is faster than the CPU, and remember it")
	cmd.Flags().BoolVar(&f.test, "test", false, "open the device, or the CPU and all GPUs, and compare the results of a GPU with the CPU's, and the CPU's with those of device gonum; the exit code is 12 if a device does not open or computes wrong results")
	cmd.Flags().IntSliceVar(&f.sizes, "n", devices.CheckSizes, "numbers of points for --test, as far as memory and time permit")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object instead of text")
	return cmd
}

func runDevices(cmd *cobra.Command, f *devicesFlags) error {
	for _, n := range f.sizes {
		if n < 1 {
			return exit.Usagef("--n %d: must be positive", n)
		}
	}
	choice, err := devices.Choose(cmd.Context(), f.device)
	if f.json {
		return f.printJSON(cmd, choice, err)
	}
	w := cmd.OutOrStdout()
	if f.calibrate {
		text, err := devices.Calibrate(cmd.Context(), f.device)
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
	if !f.test || err != nil {
		return err
	}
	fmt.Fprintln(w)
	return devices.CheckAll(cmd.Context(), f.device, f.sizes, func(c devices.Check) { fmt.Fprintln(w, c) })
}

// printJSON prints what was found and chosen, and the outcome of --test.
func (f *devicesFlags) printJSON(cmd *cobra.Command, choice device.Choice, err error) error {
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
	if f.test && err == nil {
		checks := []devices.Check{}
		err = devices.CheckAll(cmd.Context(), f.device, f.sizes, func(c devices.Check) { checks = append(checks, c.Finite()) })
		object["tests"] = checks
	}
	return errors.Join(err, json.NewEncoder(cmd.OutOrStdout()).Encode(object))
}
