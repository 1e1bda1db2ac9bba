package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/cuda"
	"gpfit/fit"
	"gpfit/kernel"
)

// drivers are all kinds of devices, in the order in which "auto" takes them.
func drivers() []device.Driver { return []device.Driver{cuda.Driver{}, cpu.Driver{}} }

// open opens the devices of the flags for a job of n points (0 if that does not
// matter) and the kernel prog (nil likewise) and says which and why.
func (f *deviceFlags) open(ctx context.Context, out *messages, n int, prog *kernel.Program) ([]device.Backend, error) {
	if f.threads < 0 {
		return nil, usagef("--threads %d: must not be negative", f.threads)
	}
	if f.threads > 0 {
		runtime.GOMAXPROCS(f.threads)
	}
	backends, choice, err := device.Dispatch(ctx, device.Request{
		Device: f.device, N: n, Kernel: prog, Fallback: f.fallback, Options: f.backendOptions(), Crossover: device.CachedCrossover(false),
	}, drivers())
	if err != nil {
		return nil, err
	}
	if choice.FellBack {
		f.warning = fmt.Sprintf("device %s cannot be had: taking %s, as --fallback allows (%s)", f.device, choice.Device, choice.Reason)
		out.warn(f.warning)
	}
	for _, b := range backends {
		info := b.Info()
		out.note("device %s: %s (%s)", info.Name, info.Description, choice.Reason)
	}
	return backends, nil
}

func closeAll(backends []device.Backend) {
	for _, b := range backends {
		_ = b.Close()
	}
}

// openOne is open for commands that use one device.
func (f *deviceFlags) openOne(ctx context.Context, out *messages, n int, prog *kernel.Program) (device.Backend, error) {
	backends, err := f.open(ctx, out, n, prog)
	if err != nil {
		return nil, err
	}
	closeAll(backends[1:])
	return backends[0], nil
}

func (f *deviceFlags) backendOptions() device.Options { return device.Options{Threads: f.threads} }

// reopen returns the function that opens the fallback device in mid-job, nil if
// there is none.
func (f *deviceFlags) reopen() func(ctx context.Context) (device.Backend, error) {
	if f.fallback == "" {
		return nil
	}
	return func(ctx context.Context) (device.Backend, error) {
		backends, _, err := device.Dispatch(ctx, device.Request{Device: f.fallback, Options: f.backendOptions()}, drivers())
		if err != nil {
			return nil, err
		}
		return backends[0], nil
	}
}

// notePlan says what a large job needs before it begins.
func notePlan(out *messages, plan device.Plan) {
	const large = 4000
	if plan.N < large {
		return
	}
	out.note("n = %d: %s of memory, about %s for each value with gradient", plan.N, device.FormatBytes(plan.HostBytes()+plan.DeviceBytes()), plan.GradientTime().Round(100*time.Millisecond))
}

// checkPlan says what the task needs, and refuses it if a device has too little
// memory, unless it may move to a fallback.
func (f *deviceFlags) checkPlan(out *messages, t *fit.Task, backends ...device.Backend) error {
	notePlan(out, t.Plan(backends[0]))
	for _, b := range backends {
		if err := t.CheckMemory(b); err != nil && f.fallback == "" {
			return err
		}
	}
	return nil
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
	cmd.Flags().BoolVar(&flags.calibrate, "calibrate", false, "measure anew from which size on a GPU pays, and remember it")
	cmd.Flags().BoolVar(&flags.json, "json", false, "print one JSON object instead of text")
	return cmd
}

func runDevices(cmd *cobra.Command, flags *deviceFlags) error {
	choice, err := device.Find(cmd.Context(), drivers()).Choose(flags.device)
	if flags.json {
		type finding struct {
			Name   string `json:"name"`
			Usable bool   `json:"usable"`
			Detail string `json:"detail"`
		}
		var found []finding
		for _, f := range choice.Findings {
			found = append(found, finding{f.Name, f.Usable, f.Detail})
		}
		return encodeJSON(cmd.OutOrStdout(), map[string]any{
			"type": "devices", "schema_version": 1, "devices": found, "chosen": choice.Device, "reason": choice.Reason,
		}, err)
	}
	w := cmd.OutOrStdout()
	if flags.calibrate {
		if err := calibrate(cmd, flags); err != nil {
			return err
		}
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

// calibrate measures the crossover of the GPU that auto takes.
func calibrate(cmd *cobra.Command, flags *deviceFlags) error {
	ctx := cmd.Context()
	b, _, err := device.Dispatch(ctx, device.Request{Device: flags.device}, drivers())
	if err != nil {
		return err
	}
	defer b[0].Close()
	name := b[0].Info().Name
	if b[0].Info().Host {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "nothing to calibrate: there is no GPU that can be used\n\n")
		return err
	}
	c, err := cpu.New(device.Options{})
	if err != nil {
		return err
	}
	n, err := device.CachedCrossover(true)(ctx, b[0], c)
	if err != nil {
		return err
	}
	if n == device.NeverPays {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s was not faster than the CPU at any size tried\n\n", name)
	} else {
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s pays from n = %d on\n\n", name, n)
	}
	return err
}

// printReport prints a result as --json says.
func (f *deviceFlags) printReport(w io.Writer, r interface{ Text() string }) error {
	if f.json {
		return encodeJSON(w, r, nil)
	}
	_, err := io.WriteString(w, r.Text())
	return err
}

// encodeJSON prints one object on one line and returns err, or what went wrong
// in writing.
func encodeJSON(w io.Writer, v any, err error) error {
	text, jsonErr := json.Marshal(v)
	if jsonErr != nil {
		return jsonErr
	}
	if _, writeErr := w.Write(append(text, '\n')); writeErr != nil && err == nil {
		return writeErr
	}
	return err
}
