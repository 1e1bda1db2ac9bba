//go:build textbook

package method

import (
	"gpfit/device"
	"gpfit/device/devicetest/testmethod"
)

var testMethods = []device.Method{testmethod.Method{}}
