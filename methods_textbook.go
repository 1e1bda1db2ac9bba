//go:build textbook

package gpfit

import (
	"gpfit/device"
	"gpfit/internal/testmethod"
)

var testMethods = []device.Method{testmethod.Method{}}
