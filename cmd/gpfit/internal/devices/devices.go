// Package devices finds devices, compares them with the CPU, and measures from which size on
// they are faster.
package devices

import (
	"context"
	"fmt"

	"gpfit"
	"gpfit/cpu"
	"gpfit/device"
)

// Choose returns the devices found, and the one that gpfit would choose for name.
func Choose(ctx context.Context, name string) (device.Choice, error) {
	return device.Find(ctx, gpfit.Drivers(), gpfit.Methods()...).Choose(name)
}

// CPU returns a description of the processor.
func CPU() string { return cpu.Driver{}.Probe(context.Background())[0].Detail }

// Calibrate measures from which n on the GPU called name is faster than the CPU, and
// returns the result as a sentence.
func Calibrate(ctx context.Context, name string) (string, error) {
	found := device.Find(ctx, gpfit.Drivers(), gpfit.Methods()...)
	b, _, err := found.Open(ctx, device.Request{Device: name})
	if err != nil {
		return "", err
	}
	defer b[0].Close()
	name = b[0].Info().Name
	if b[0].Info().Host {
		return "nothing to calibrate: there is no usable GPU", nil
	}
	n, err := found.Crossover(ctx, device.NewCrossover().Renew, name, b[0])
	if err != nil {
		return "", err
	}
	if n == device.NeverPays {
		return name + " was not faster than the CPU at any size tried", nil
	}
	return fmt.Sprintf("%s is faster than the CPU from n = %d on", name, n), nil
}
