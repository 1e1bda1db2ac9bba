// Package device finds, chooses and opens devices. It defines the interfaces between gpfit's
// models, its methods of computation and its devices.
//
// A [Driver] finds and opens each [Device]. A [Method], such as [Dense], one factorization on one
// device, turns devices into a [Backend]. A backend opens a [Workspace] for n points, which does
// the n³ work of a likelihood or gradient in its own memory.
//
// Start with [Workspace], which every method implements. Small separate interfaces, found by
// [Capability], describe what only some methods can do. Package devicetest tests methods and
// devices. [Find] lists the devices, and [Dispatch] opens the requested ones ("auto", "cpu",
// "cuda:0") and explains the choice. [Plan] is the memory and the work of a job; it is compared
// with the free memory before any allocation of size n².
package device
