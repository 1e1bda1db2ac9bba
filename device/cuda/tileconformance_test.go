package cuda

import (
	"fmt"
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/must"
	"gpfit/internal/tiles"
)

// conformTiles runs the suite of methods on so many devices with room for a sixth of the suite's largest matrix each.
func conformTiles(t *testing.T, count int) {
	const order, largest = 48, 500
	side := (largest + order - 1) / order
	j := newJob(t, largest)
	var on []device.Device
	for i := range count {
		d := openBare(t, i)
		roomForTiles(d, j, order, 1+side*(side+1)/12+side+4)
		on = append(on, d)
	}
	devicetest.Run(t, func(t *testing.T) device.Backend {
		return must.Get(tiles.Method{Order: order}.Backends(on))(t)[0]
	})
}

// TestConformanceOfTiles runs the suite of methods on several devices.
func TestConformanceOfTiles(t *testing.T) {
	for _, count := range []int{1, 2, 4} {
		t.Run(fmt.Sprint(count), func(t *testing.T) {
			if !emulator.Rerun(t, emulator.Config{Devices: count}) {
				conformTiles(t, count)
			}
		})
	}
}
