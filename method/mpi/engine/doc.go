// Package engine factors and inverts a symmetric matrix divided among ranks: each rank has some of
// its blocks, dealt out in two directions ([part.Axis]). ScaLAPACK does the work, in panels that
// are wider than its own; if [Variable] says so, ELPA inverts triangles. Both are opened when they
// are needed, without cgo.
//
// All functions that compute are collective, and are called on the thread of [message.World.Do].
package engine
