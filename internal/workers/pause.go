//go:build amd64 || arm64

package workers

// pause executes n > 0 PAUSE instructions on amd64 and ISB instructions on arm64.
func pause(n int)
