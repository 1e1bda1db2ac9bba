//go:build race

package spd

const raceEnabled = true
