package textbook

import (
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
)

func TestConformance(t *testing.T) {
	devicetest.RunDense(t, func(*testing.T) device.DenseDevice { return gonum{} })
}
