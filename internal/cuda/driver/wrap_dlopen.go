//go:build linux && (amd64 || arm64) && !nogpu && !cu

package driver

// wrap returns the default implementation; see api_cu.go.
func wrap(a *dlopenAPI, _ uintptr) api { return a }
