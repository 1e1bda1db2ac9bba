package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"gpfit/cmd/gpfit/internal/devices"
)

type devicesFlags struct {
	device          string
	calibrate, json bool
}

func newDevices() *cobra.Command {
	var f devicesFlags
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "Show the devices, and which would be chosen and why",
		RunE:  func(cmd *cobra.Command, _ []string) error { return runDevices(cmd, &f) },
	}
	cmd.Flags().StringVar(&f.device, "device", "auto", "the device to choose: auto, or a name")
	cmd.Flags().BoolVar(&f.calibrate, "calibrate", false, "measure anew from which size on a GPU pays, and remember it")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object instead of text")
	return cmd
}

func runDevices(cmd *cobra.Command, f *devicesFlags) error {
	w := cmd.OutOrStdout()
	choice, err := devices.Choose(cmd.Context(), f.device)
	if f.json {
		type finding struct {
			Name   string `json:"name"`
			Usable bool   `json:"usable"`
			Detail string `json:"detail"`
		}
		var found []finding
		for _, f := range choice.Findings {
			found = append(found, finding{f.Name, f.Usable, f.Detail})
		}
		return errors.Join(err, json.NewEncoder(w).Encode(map[string]any{
			"type": "devices", "schema_version": 1, "devices": found, "chosen": choice.Device, "reason": choice.Reason,
		}))
	}
	if f.calibrate {
		text, err := devices.Calibrate(cmd.Context(), f.device)
		if err != nil {
			return err
		}
		fmt.Fprint(w, text, "\n\n")
	}
	for _, f := range choice.Findings {
		mark := "no "
		if f.Usable {
			mark = "yes"
		}
		fmt.Fprintf(w, "%-8s  usable: %s  %s\n", f.Name, mark, f.Detail)
	}
	if err == nil {
		fmt.Fprintf(w, "\n--device %s takes %s: %s\n", choice.Asked, choice.Device, choice.Reason)
	}
	return err
}
