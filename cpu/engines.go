package cpu

import (
	"sync"

	"gpfit/internal/spd"
)

// engines are the threads of a device: an engine with all of them, and others for workspaces
// that leave some to others, so that workspaces can compute side by side.
type engines struct {
	all *spd.Engine
	mu  sync.Mutex
	// spare holds what workspaces have given back.
	spare []*spd.Engine
}

// borrow returns an engine for one workspace.
func (e *engines) borrow() *spd.Engine {
	e.mu.Lock()
	defer e.mu.Unlock()
	if last := len(e.spare) - 1; last >= 0 {
		one := e.spare[last]
		e.spare = e.spare[:last]
		return one
	}
	return spd.NewEngine(e.all.Variant(), 1)
}

// giveBack takes an engine back, which may be nil.
func (e *engines) giveBack(one *spd.Engine) {
	if one == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.spare = append(e.spare, one)
}
