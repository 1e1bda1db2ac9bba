package workers

import (
	"runtime"
	"time"
)

// The phases of waiting for another thread: pauseSpins iterations of some 0.1 µs; then, up to
// relaxSpins, some 0.3 µs each while other goroutines can run; then sleeps. Items of up to 0.2 ms
// are common: with 256 spins, a product of n = 500 on two threads with AVX2 ran at 72 GFLOP/s, with
// 1,000 at 91. While another program has one of two processors, a factorization of n = 500 runs at
// 56 GFLOP/s with 256 spins, at 41 with 1,000, and at 6 to 15 without the sleep.
const (
	pauseSpins = 64
	relaxSpins = 1000
	relaxSleep = 20 * time.Microsecond
)

// Relax is the body of the i-th iteration of a loop that waits for another thread. If that takes
// long, the operating system may be running another program on the processor of that thread. This
// thread then sleeps, so that the other one can move here.
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
