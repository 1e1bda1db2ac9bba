//go:build textbook

package gpfit

import (
	"gpfit/device"
	"gpfit/device/devicetest/textbook"
)

var testMethods = []device.Method{textbook.Method{}}
