package tuning

import (
	"sync/atomic"

	"gpfit/device"
)

// sideBySide is the number of rows up to which starts on one host are evaluated at the same
// time, each with its share of the threads. An evaluation does not get faster in proportion
// to its threads, and least on few rows. sideBySideBytes limits the memory of the matrices.
const (
	sideBySide      = 2000
	sideBySideBytes = 1 << 29
)

// Crew counts the sessions that are evaluating on the threads of a host.
type Crew struct{ busy atomic.Int32 }

// CrewSize returns how many sessions over a number of rows share a host with a number of
// threads.
func CrewSize(rows, threads int) int {
	if rows > sideBySide {
		return 1
	}
	return max(1, min(threads, sideBySideBytes/(8*max(rows, 1)*max(rows, 1))))
}

// enter gives a workspace that begins an evaluation its share of a host's threads. The
// shares of others change with their next evaluation. Call leave after the evaluation.
func (c *Crew) enter(ws device.Workspace, threads int) (leave func()) {
	limiter, ok := ws.(device.ThreadLimiter)
	if c == nil || !ok {
		return func() {}
	}
	limiter.LimitThreads(threads / int(c.busy.Add(1)))
	return func() { c.busy.Add(-1) }
}
