package grid

import (
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/internal/hosted"
	"gpfit/internal/must"
)

// fake is a host called cpu with unknown memory.
type fake struct{}

func (fake) Info() device.Info {
	return device.Info{Name: hosted.Name, Description: "a host", Host: true, Threads: 1}
}
func (fake) Close() error { return nil }

// open returns the method on a host.
func open(t testing.TB) device.Backend {
	t.Helper()
	return must.Get(Method{}.Backends([]device.Device{fake{}}))(t)[0]
}

func TestConformance(t *testing.T) {
	devicetest.Run(t, func(t *testing.T) device.Backend { return open(t) })
}
