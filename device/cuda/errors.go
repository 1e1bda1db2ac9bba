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
func (b *Backend) translate(err error, plan device.Plan) error {
	if err == nil {
		return nil
	}
	var lost interface{ Sticky() bool }
	if b.dev.Err() != nil || errors.As(err, &lost) && lost.Sticky() {
		return &device.LostError{Device: b.name, Err: err}
	}
	var memory interface{ OutOfMemory() bool }
	if errors.As(err, &memory) && memory.OutOfMemory() {
		free, _, _ := b.dev.MemInfo()
		return fmt.Errorf("%w (%w)", &device.MemoryError{Plan: plan, Where: "device", Need: plan.DeviceBytes(), Free: free}, err)
	}
	var unavailable *driver.UnavailableError
	if errors.As(err, &unavailable) {
		return &device.UnavailableError{Device: b.name, Reason: unavailable.Reason}
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
