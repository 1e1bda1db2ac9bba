package cuda

import (
	"errors"
	"fmt"

	"gpfit/device"
	"gpfit/device/cuda/driver"
)

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
