//go:build !textbook

package method

import "gpfit/device"

// testMethods are further methods of [All], for a test with the build tag textbook.
var testMethods []device.Method
