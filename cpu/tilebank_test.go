package cpu

import (
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/device/tiling"
	"gpfit/internal/must"
	"gpfit/internal/variant"
)

// TestTiles runs the suite of tiles with each variant, or with the chosen variant if -short.
func TestTiles(t *testing.T) {
	variants := variant.Supported()
	if testing.Short() {
		variants = []variant.Variant{must.Get(variant.Choose())(t)}
	}
	for _, v := range variants {
		t.Run(v.String(), func(t *testing.T) {
			t.Setenv(variant.Env, v.String())
			devicetest.RunTiles(t, func(t *testing.T) tiling.Device {
				return must.Get(Open(device.Options{Threads: 3}))(t)
			})
		})
	}
}
