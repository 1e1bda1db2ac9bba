package driver_test

import (
	"slices"
	"testing"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

// TestStaging sends and receives more than the staging holds, on a device whose streams work late.
func TestStaging(t *testing.T) {
	d := open(t)
	s := stream(t, d)
	const count, length = 40, 30
	p := alloc(t, d, 8*count*length)
	for seed := range 5 {
		emulator.Order(t, 1+seed)
		g := testcheck.Get(s.NewStaging(2048))(t)
		var want, got [count][]float64
		buffer := make([]float64, length)
		for i := range count {
			for k := range buffer {
				buffer[k] = float64(100*i + k + seed)
			}
			want[i], got[i] = slices.Clone(buffer), make([]float64, length)
			testcheck.Do(t, driver.Send(g, p.Offset(int64(8*length*i)), buffer))
			testcheck.Do(t, driver.Receive(g, got[i], p.Offset(int64(8*length*i))))
		}
		large := make([]float64, count*length)
		testcheck.Do(t, driver.Receive(g, large, p)) // larger than the staging
		testcheck.Do(t, driver.Send(g, p, large))
		testcheck.Do(t, g.Synchronize())
		for i := range count {
			if !slices.Equal(got[i], want[i]) || !slices.Equal(large[length*i:length*(i+1)], want[i]) {
				t.Errorf("order %d: array %d is %v, want %v", seed, i, got[i], want[i])
			}
		}
		testcheck.Do(t, g.Free())
		testcheck.Do(t, g.Free())
	}
}

// TestStagingFails makes the calls of a staging fail.
func TestStagingFails(t *testing.T) {
	d := open(t)
	s := stream(t, d)
	p, v := alloc(t, d, 800), make([]float64, 60)
	emulator.Inject(t, "cuMemHostAlloc", 1, int(driver.CodeOutOfMemory))
	if _, err := s.NewStaging(1024); !driver.IsOutOfMemory(err) {
		t.Errorf("error %v, want one of memory", err)
	}
	g := testcheck.Get(s.NewStaging(2048))(t)
	defer func() { testcheck.Do(t, g.Free()) }()
	for entry, call := range map[string]func() error{
		"cuMemcpyHtoDAsync_v2": func() error { return driver.Send(g, p, v) },
		"cuMemcpyDtoHAsync_v2": func() error { return driver.Receive(g, v, p) },
		"cuStreamSynchronize":  g.Synchronize,
	} {
		emulator.Inject(t, entry, 1, 1)
		if call() == nil {
			t.Errorf("%s fails without an error", entry)
		}
		emulator.Reset()
		testcheck.Do(t, g.Synchronize())
	}
}

// TestStagingForgets checks that the destination of a forgotten copy stays as it is.
func TestStagingForgets(t *testing.T) {
	d := open(t)
	s := stream(t, d)
	p, v := alloc(t, d, 80), make([]float64, 10)
	g := testcheck.Get(s.NewStaging(1024))(t)
	defer func() { testcheck.Do(t, g.Free()) }()
	testcheck.Do(t, driver.Send(g, p, []float64{1, 2, 3}))
	testcheck.Do(t, driver.Receive(g, v[:3], p))
	g.Forget()
	testcheck.Do(t, driver.Receive(g, v[5:8], p))
	testcheck.Do(t, g.Synchronize())
	if !slices.Equal(v, []float64{0, 0, 0, 0, 0, 1, 2, 3, 0, 0}) {
		t.Errorf("received %v", v)
	}
}
