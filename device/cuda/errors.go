package cuda

import (
	"errors"
	"fmt"

	"gpfit/device"
	"gpfit/internal/cuda/driver"
)

// translate converts errors of the driver and the libraries to the errors of package
// device, which has types for exhausted memory and a lost device. On a lost device it
// converts every error to a lost device.
func (g *gpu) translate(err error, plan device.Plan) error {
	if err == nil {
		return nil
	}
	if g.dev.Err() != nil || driver.IsSticky(err) {
		return &device.LostError{Device: g.name, Err: err}
	}
	if driver.IsOutOfMemory(err) {
		free, _ := g.free()
		return fmt.Errorf("%w (%w)", &device.MemoryError{Plan: plan, Where: "device", Need: plan.DeviceBytes(), Free: free}, err)
	}
	var unavailable *driver.UnavailableError
	if errors.As(err, &unavailable) {
		return &device.UnavailableError{Device: g.name, Reason: unavailable.Reason}
	}
	return err
}

// reason returns why a device cannot be opened, as the end of a sentence.
func reason(err error) string {
	var byDriver *driver.UnavailableError
	if errors.As(err, &byDriver) {
		return byDriver.Reason
	}
	var unavailable *device.UnavailableError
	if errors.As(err, &unavailable) {
		return unavailable.Reason
	}
	return err.Error()
}

// errArgument marks a call with inconsistent arguments.
var errArgument = errors.New("cuda: inconsistent arguments")

func argumentf(format string, args ...any) error {
	return fmt.Errorf("cuda: "+format+"%.0w", append(args, errArgument)...) // the text alone
}
