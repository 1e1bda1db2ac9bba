// Package engine divides a symmetric matrix among the ranks of a program and factors, solves and inverts it there: each
// rank has some of its blocks, dealt out in two directions ([part.Axis]). ScaLAPACK does the work, in
// panels that are wider than its own; if [Variable] says so, ELPA inverts triangles. Both are opened when they are
// needed, without cgo.
//
// All functions that compute are collective, and are called on the thread of [message.World.Do].
package engine
