// Package device is the contract between what gpfit computes, where and how.
//
// Where is a [Device], one place to compute, found and opened by a [Driver]. How
// is a [Method], which makes a [Backend] of the devices that it computes on;
// [Exact], one factorisation on one device, is the only one so far. A backend
// opens a [Workspace] for n points, and a workspace does the n³ work of one
// likelihood or gradient, in memory that no caller ever sees.
//
// Start with [Workspace], the core that every method gives; what only some give
// is in small interfaces of its own, found by [Capability]. device/devicetest
// has the suites that a method and a device pass. [Find] looks what devices there
// are, and [Dispatch] opens those of a request ("auto", "cpu", "cuda:0") and says
// why. [Plan] is the memory and the work of a job, compared with what is free
// before anything of size n² is allocated.
package device
