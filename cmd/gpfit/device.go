package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/cuda"
)

// drivers are all kinds of devices, in the order in which "auto" takes them.
func drivers() []device.Driver { return []device.Driver{cuda.Driver{}, cpu.Driver{}} }

// open opens the device of the flags and says which and why.
func (f *deviceFlags) open(ctx context.Context, out *messages) (device.Backend, error) {
	if f.threads < 0 {
		return nil, usagef("--threads %d: must not be negative", f.threads)
	}
	if f.threads > 0 {
		runtime.GOMAXPROCS(f.threads)
	}
	b, choice, err := device.Open(ctx, f.device, drivers(), device.Options{Threads: f.threads})
	if err != nil {
		return nil, err
	}
	out.note("device %s: %s (%s)", choice.Device, b.Info().Description, choice.Reason)
	return b, nil
}

// notePlan says what a large job needs before it begins.
func notePlan(out *messages, b device.Backend, n, d int) {
	const large = 4000
	if n < large {
		return
	}
	plan := b.Plan(n, d)
	out.note("n = %d: %s of memory, about %s for each value with gradient", n, device.FormatBytes(plan.HostBytes+plan.DeviceBytes), plan.GradientTime().Round(100*time.Millisecond))
}

func newDevices() *cobra.Command {
	var flags deviceFlags
	cmd := &cobra.Command{
		Use:   "devices",
		Short: "Show the devices, and which would be chosen and why",
		Args:  exactArgs(0, "none"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return runDevices(cmd, &flags)
		},
	}
	cmd.Flags().StringVar(&flags.device, "device", "auto", "the device to choose: auto, or a name")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print one JSON object instead of text")
	return cmd
}

func runDevices(cmd *cobra.Command, flags *deviceFlags) error {
	choice, err := device.Choose(cmd.Context(), flags.device, drivers())
	if flags.json {
		type finding struct {
			Name   string `json:"name"`
			Usable bool   `json:"usable"`
			Detail string `json:"detail"`
		}
		var found []finding
		for _, f := range choice.Findings {
			found = append(found, finding(f))
		}
		return encodeJSON(cmd.OutOrStdout(), map[string]any{
			"type": "devices", "schema_version": 1, "devices": found, "chosen": choice.Device, "reason": choice.Reason,
		}, err)
	}
	w := cmd.OutOrStdout()
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

// encodeJSON prints one object on one line and returns err, or what went wrong
// in writing.
func encodeJSON(w interface{ Write([]byte) (int, error) }, v any, err error) error {
	text, jsonErr := json.Marshal(v)
	if jsonErr != nil {
		return jsonErr
	}
	if _, writeErr := w.Write(append(text, '\n')); writeErr != nil && err == nil {
		return writeErr
	}
	return err
}
