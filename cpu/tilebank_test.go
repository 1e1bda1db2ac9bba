package cpu

import (
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/device/tiling"
	"gpfit/internal/isa"
	"gpfit/internal/testcheck"
)

// TestTiles runs the suite of tiles with each variant, or with the chosen variant if -short.
func TestTiles(t *testing.T) {
	variants := isa.Supported()
	if testing.Short() {
		variants = []isa.Variant{testcheck.Get(isa.Choose())(t)}
	}
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Setenv(isa.Env, v.String())
			devicetest.RunTiles(t, func(t *testing.T) tiling.Device {
				return testcheck.Get(Open(device.Options{Threads: 3}))(t)
			})
		})
	}
}
