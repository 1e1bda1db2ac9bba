package cuda

import (
	"errors"

	"gpfit/device"
	"gpfit/device/cuda/driver"
)

// translate turns the driver's and the libraries' errors into those of package
// device: out of memory and a lost device have types of their own there.
func (b *Backend) translate(err error, plan device.Plan) error {
	if err == nil {
		return nil
	}
	var lost interface{ Sticky() bool }
	if errors.As(err, &lost) && lost.Sticky() {
		return &device.LostError{Device: b.name, Err: err}
	}
	var memory interface{ OutOfMemory() bool }
	if errors.As(err, &memory) && memory.OutOfMemory() {
		free, _, _ := b.dev.MemInfo()
		return errors.Join(&device.MemoryError{Plan: plan, Where: "device", Need: plan.DeviceBytes, Free: free}, err)
	}
	var unavailable *driver.UnavailableError
	if errors.As(err, &unavailable) {
		return &device.UnavailableError{Device: b.name, Reason: unavailable.Reason}
	}
	return err
}
