package driver_test

import (
	"testing"

	"gpfit/internal/cuda/driver"
	"gpfit/internal/cuda/emulator"
	"gpfit/internal/must"
)

// BenchmarkCall measures a call that does nothing, from another goroutine and within Do.
func BenchmarkCall(b *testing.B) {
	emulator.Need(b)
	d := must.Get(driver.Open(0))(b)
	defer d.Close()
	s := must.Get(d.NewStream())(b)
	defer s.Destroy()
	b.Run("Thread", func(b *testing.B) {
		for b.Loop() {
			_ = s.Synchronize()
		}
	})
	b.Run("Within", func(b *testing.B) {
		b.ReportAllocs()
		_ = d.Do(func() error {
			for b.Loop() {
				_ = s.Synchronize()
			}
			return nil
		})
	})
}
