//go:build !linux

package cpu

// freeMemory returns 0, unknown: the memory plan is then not checked.
func freeMemory() int64 { return 0 }

func processorName() string { return "CPU" }
