//go:build !linux

package spd

func adviseHugePages([]float64) {}
