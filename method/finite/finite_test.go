package finite

import (
	"testing"

	"gpfit/device"
	"gpfit/device/devicetest"
)

func TestConformance(t *testing.T) {
	devicetest.Run(t, func(t *testing.T) device.Backend { return open(t) })
}
