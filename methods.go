//go:build !textbook

package gpfit

import "gpfit/device"

// testMethods are further methods of [Methods], for a test with the build tag textbook.
var testMethods []device.Method
