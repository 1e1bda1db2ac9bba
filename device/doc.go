// Package device is the contract between what gpfit computes and where: a
// [Backend] opens a [Workspace] for n points, and a workspace does the n³ work
// of one likelihood or gradient in one n×n buffer of its own, which no caller
// ever sees.
//
// Start with [Workspace]; a backend passes the suite in device/devicetest.
// [Dispatch] chooses backends by name ("auto", "cpu", "cuda:0") and says why.
// [Plan] is the memory and the work of a job, compared with what is free
// before anything of size n² is allocated.
package device
