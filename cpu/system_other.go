//go:build !linux

package cpu

func processorName() string { return "CPU" }
