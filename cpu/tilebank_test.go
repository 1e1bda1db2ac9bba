package cpu

import (
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/internal/must"
	"gpfit/internal/variant"
)

// TestTiles runs the suite of tiles with each variant.
func TestTiles(t *testing.T) {
	for _, v := range variant.Supported() {
		t.Run(v.String(), func(t *testing.T) {
			t.Setenv(variant.Env, v.String())
			devicetest.RunTiles(t, func(t *testing.T) device.TileDevice {
				return must.Get(Open(device.Options{Threads: 3}))(t)
			})
		})
	}
}
