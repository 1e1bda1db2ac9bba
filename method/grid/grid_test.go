package grid

import (
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/device/devicetest/methodtest"
)

// open returns the method on a host.
func open(t testing.TB) device.Backend {
	t.Helper()
	return methodtest.Open(t, Method())
}

func TestConformance(t *testing.T) {
	devicetest.Run(t, func(t *testing.T) device.Backend { return open(t) })
}
