//go:build !linux

package vec

var guarded []placement
