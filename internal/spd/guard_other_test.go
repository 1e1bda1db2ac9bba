//go:build !linux

package spd

var guarded []placement
