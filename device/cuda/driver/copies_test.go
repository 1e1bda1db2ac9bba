package driver_test

import (
	"slices"
	"testing"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/emulator"
	"gpfit/internal/testcheck"
)

// numbered returns count numbers.
func numbered(count, from int) []float64 {
	v := make([]float64, count)
	for i := range v {
		v[i] = float64(from + i)
	}
	return v
}

// TestQueuedCopies copies there and back on a device whose streams work late, from memory that is locked.
func TestQueuedCopies(t *testing.T) {
	d := open(t)
	in, out := stream(t, d), stream(t, d)
	const count = 50
	p := alloc(t, d, 8*count)
	loaded := testcheck.Get(d.NewEvent())(t)
	defer func() { testcheck.Do(t, loaded.Destroy()) }()
	memory := numbered(2*count, 1)
	l := testcheck.Get(d.LockHost(memory))(t)
	for seed := range 10 {
		emulator.Order(t, 1+seed)
		clear(memory[count:])
		testcheck.Do(t, driver.QueueToDevice(in, p, memory[:count]))
		testcheck.Do(t, loaded.Record(in))
		testcheck.Do(t, out.Wait(loaded))
		testcheck.Do(t, driver.QueueToHost(out, memory[count:], p))
		testcheck.Do(t, out.Synchronize())
		if !slices.Equal(memory[:count], memory[count:]) {
			t.Errorf("order %d: %v came back", seed, memory[count:])
		}
	}
	testcheck.Do(t, l.Free(d))
	testcheck.Do(t, l.Free(d))
}

// TestDestroyedEvent checks that a stream does not wait for an event that was destroyed.
func TestDestroyedEvent(t *testing.T) {
	d := open(t)
	e := testcheck.Get(d.NewEvent())(t)
	testcheck.Do(t, e.Destroy())
	testcheck.Do(t, stream(t, d).Wait(e))
}

// TestHostLock locks memory for several holders: the first locks it and the last unlocks it.
func TestHostLock(t *testing.T) {
	d := open(t)
	memory := make([]float64, 100)
	if l, err := d.LockHost(nil); l != nil || err != nil {
		t.Errorf("no memory: %v, error %v", l, err)
	}
	emulator.Reset()
	var holds []*driver.HostLock
	for range 3 {
		holds = append(holds, testcheck.Get(d.LockHost(memory))(t))
	}
	if overlap, err := d.LockHost(memory[10:]); overlap != nil || err != nil { // is locked already
		t.Errorf("a part: %v, error %v", overlap, err)
	}
	for i, l := range holds {
		if n := emulator.Calls("cuMemHostUnregister"); n != 0 {
			t.Errorf("unlocked after %d of 3 holds", i)
		}
		testcheck.Do(t, l.Free(d))
	}
	if lock, unlock := emulator.Calls("cuMemHostRegister_v2"), emulator.Calls("cuMemHostUnregister"); lock != 2 || unlock != 1 {
		t.Errorf("locked %d times and unlocked %d times", lock, unlock)
	}
	emulator.Inject(t, "cuMemHostRegister_v2", 1, int(driver.CodeOutOfMemory))
	if _, err := d.LockHost(memory); !driver.IsOutOfMemory(err) {
		t.Errorf("error %v, want one of memory", err)
	}
	// A device that died gives up its hold, and another one can lock the memory.
	dying := testcheck.Get(driver.Open(0))(t)
	l := testcheck.Get(dying.LockHost(memory))(t)
	emulator.Inject(t, "cuCtxSynchronize", 1, int(driver.CodeIllegalAddress))
	if err := dying.Synchronize(); !driver.IsSticky(err) {
		t.Errorf("error %v, want a sticky one", err)
	}
	testcheck.Do(t, l.Free(dying))
	testcheck.Do(t, dying.Close())
	emulator.Reset()
	testcheck.Do(t, testcheck.Get(d.LockHost(memory))(t).Free(d))
}

// TestPeers copies between two devices, with and without a direct way between them.
func TestPeers(t *testing.T) {
	for name, env := range map[string]string{"direct": "GPFIT_EMU_PEER=1", "none": "GPFIT_EMU_PEER=0"} {
		t.Run(name, func(t *testing.T) {
			if emulator.Rerun(t, emulator.Config{Devices: 2, Env: []string{env}}) {
				return
			}
			emulator.Check(t)
			one, two := open(t), testcheck.Get(driver.Open(1))(t)
			t.Cleanup(func() { testcheck.Do(t, two.Close()) })
			for range 2 { // the second time the way is open already
				if direct := testcheck.Get(one.Reach(two))(t); direct != (name == "direct") {
					t.Errorf("direct: %v", direct)
				}
			}
			s, other := stream(t, one), stream(t, two)
			const count = 40
			p, q := alloc(t, one, 8*count), alloc(t, two, 8*count)
			written := testcheck.Get(two.NewEvent())(t)
			defer func() { testcheck.Do(t, written.Destroy()) }()
			for seed := range 10 {
				emulator.Order(t, 1+seed)
				want, got := numbered(count, seed), make([]float64, count)
				testcheck.Do(t, two.Do(func() error { return driver.QueueToDevice(other, q, want) }))
				testcheck.Do(t, written.Record(other))
				testcheck.Do(t, s.Wait(written))
				testcheck.Do(t, s.QueueFrom(p, two, q, 8*count/2))
				testcheck.Do(t, s.QueueFrom(p.Offset(8*count/2), two, q.Offset(8*count/2), 8*count/2))
				testcheck.Do(t, driver.CopyToHost(s, got, p))
				if !slices.Equal(got, want) {
					t.Errorf("order %d: %v, want %v", seed, got, want)
				}
				testcheck.Do(t, s.QueueFrom(p, one, p.Offset(8), 8)) // within a device
				testcheck.Do(t, driver.CopyToHost(s, got, p))
				if got[0] != want[1] {
					t.Errorf("order %d: %v within a device, want %v", seed, got[0], want[1])
				}
			}
			if err := s.QueueFrom(p, two, p, 8); err == nil {
				t.Error("memory of the wrong device: no error")
			}
		})
	}
}
