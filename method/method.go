// Package method lists the methods: each is a package below it. [Room] says what to do about
// a job that does not fit in memory: kernels that need no matrix, and methods that fit here, in a file, or on more
// machines or cards.
package method

import (
	"gpfit/device"
	"gpfit/method/experts"
	"gpfit/method/finite"
	"gpfit/method/grid"
	"gpfit/method/markov"
	"gpfit/method/merged"
	"gpfit/method/mpi"
	"gpfit/method/tiles"
	"gpfit/method/tree"
)

// All returns the methods, the default first.
func All() []device.Method {
	return append([]device.Method{device.Dense{}, merged.Method{}, markov.Method(), grid.Method(), finite.Method(), tiles.Method{}, mpi.Method{}, tree.Method{}, experts.Method{}}, testMethods...)
}
