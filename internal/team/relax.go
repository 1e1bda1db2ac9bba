package team

import (
	"runtime"
	"time"
)

// The phases of waiting for another thread: pauseSpins iterations of some 0.1 µs;
// then, up to relaxSpins iterations, some 0.3 µs each while other goroutines can
// run; then sleeps. While another program used one of two processors, a
// factorisation of n = 500 ran at 50 to 60 GFLOP/s on two threads with the sleep,
// at 6 to 15 without it, and at 68 on one thread.
const (
	pauseSpins = 64
	relaxSpins = 256
	relaxSleep = 20 * time.Microsecond
)

// Relax is the body of the i-th iteration of a loop that waits for another thread.
// Usually that thread is busy with an item and finishes within tens of
// microseconds. If it takes longer, the operating system may be running another
// program on its processor. This thread then sleeps, so that the other one can move
// here.
func Relax(i int) {
	switch {
	case i < pauseSpins:
		pause(4)
	case i < relaxSpins:
		pause(4)
		runtime.Gosched()
	default:
		time.Sleep(relaxSleep)
	}
}
