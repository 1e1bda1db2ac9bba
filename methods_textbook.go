//go:build textbook

package gpfit

import (
	"gpfit/device"
	"gpfit/device/devicetest/testmethod"
)

var testMethods = []device.Method{testmethod.Method{}}
