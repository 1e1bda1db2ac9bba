package cuda

import (
	"errors"
	"fmt"

	"gpfit/device"
	"gpfit/device/cuda/driver"
)

// translate turns the driver's and the libraries' errors into those of package
// device: out of memory and a lost device have types of their own there. On a
// device that is lost every error is one of that.
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

// reason is why a device cannot be opened, as the rest of a sentence.
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

// argumentError is a call with arguments that do not fit.
type argumentError struct{ msg string }

func (e *argumentError) Error() string { return "cuda: " + e.msg }

func argumentf(format string, args ...any) error { return &argumentError{fmt.Sprintf(format, args...)} }
