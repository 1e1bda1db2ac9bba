// Package tuning runs a prepared problem on devices: a [Job] opens on a backend as a
// [Placement], which the optimizer evaluates and which moves to another device if its own
// fails. A [Workplace] is a job with all its devices.
package tuning
