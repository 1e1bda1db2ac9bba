//go:build !cu || !linux || !(amd64 || arm64) || nogpu

package driver

// replace leaves the calls as they are; see api_cu.go.
func (*api) replace(uintptr) {}
