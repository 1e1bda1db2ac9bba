package mpi

import "gpfit/method/mpi/message"

// Serve does what rank 0 asks of this rank, until the program ends there, and returns its exit code.
func Serve() (code int, err error) {
	g, err := openRanks()
	if err != nil {
		return 0, err
	}
	g.world.Do(func() {
		for {
			c := g.receive()
			if c.Op == opEnd {
				code = c.Code
				return
			}
			g.perform(c)
		}
	})
	g.world.Finalize()
	return code, nil
}

// End ends the program on the other ranks, with an exit code, if there are any, and MPI if something has opened it.
func End(code int) error {
	if opened.Load() == nil && message.Launched().Size == 1 {
		return nil
	}
	g, err := openRanks()
	if err != nil {
		return err
	}
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.world.Do(func() { g.send(&call{Op: opEnd, Code: code}) })
	g.ended = true
	g.world.Finalize()
	return nil
}
