package team

import (
	"runtime"
	"time"
)

// The phases of waiting for another thread: pauseSpins iterations of some 0.1 µs; then, up to
// relaxSpins iterations, some 0.3 µs each while other goroutines can run; then sleeps, which
// take far longer than asked. Items of up to 0.2 ms are common, so a wait must be able to last
// as long: with 256 spins, a product of n = 500 on two threads with AVX2 ran at 72 GFLOP/s,
// with 1,000 at 91. While another program uses one of two processors, a sleep lets the other
// thread move here: then a factorisation of n = 500 runs at 56 GFLOP/s with 256 spins, at 41
// with 1,000, and at 6 to 15 without the sleep.
const (
	pauseSpins = 64
	relaxSpins = 1000
	relaxSleep = 20 * time.Microsecond
)

// Relax is the body of the i-th iteration of a loop that waits for another thread. Usually that
// thread is busy with an item and finishes within tens of microseconds. If it takes longer, the
// operating system may be running another program on its processor. This thread then sleeps, so
// that the other one can move here.
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
