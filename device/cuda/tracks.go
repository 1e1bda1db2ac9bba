package cuda

import (
	"errors"
	"os"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/mathlib"
)

// streams is the number of streams on which products that do not need one another run at the same time, so that the
// tiles of one fill the multiprocessors that another leaves idle. More gain nothing by the clock of the emulated card.
const streams = 4

// lockstepStreams is the number of streams among which the jobs of a step are divided, so that the long tiles of some hide
// the short steps of others.
const lockstepStreams = 3

// workspaceOfStream is the memory in bytes of cuBLAS on a stream.
const workspaceOfStream = 32 << 20

// track is a stream with a cuBLAS handle of its own, since cuBLAS gives the same bits again only if streams do not share a
// workspace. done marks the end of its part of a phase.
type track struct {
	stream *driver.Stream
	handle *mathlib.Handle
	done   *driver.Event
}

// tracks are the streams besides the main one. begun marks the place in the main stream after which they begin.
type tracks struct {
	main    *driver.Stream
	library *mathlib.Library
	all     []*track
	begun   *driver.Event
	// ends are the ends of the last phase, for which the main stream does not wait yet.
	ends []*driver.Event
}

// open opens the streams at the first use.
func (t *tracks) open() (err error) {
	dev := t.main.Device()
	if t.begun == nil {
		if t.begun, err = dev.NewEvent(); err != nil {
			return err
		}
	}
	for len(t.all) < streams {
		one := &track{}
		if one.stream, err = dev.NewStream(); err == nil {
			one.done, err = dev.NewEvent()
		}
		if err == nil {
			one.handle, err = t.library.New(one.stream, mathlib.RequestedEmulation(os.Getenv))
		}
		if err != nil {
			return errors.Join(err, one.close())
		}
		t.all = append(t.all, one)
	}
	return nil
}

func (t *track) close() error {
	var err error
	if t.handle != nil {
		err = t.handle.Close()
	}
	return errors.Join(err, t.done.Destroy(), t.stream.Destroy())
}

// close destroys the streams.
func (t *tracks) close() error {
	errs := []error{t.begun.Destroy()}
	for _, one := range t.all {
		errs = append(errs, one.close())
	}
	t.all, t.begun = nil, nil
	return errors.Join(errs...)
}

// run computes the products of a phase on all streams, after what is in the main stream. What comes after it in the main
// stream waits for them.
func (t *tracks) run(p phase) error {
	if err := t.start(p); err != nil {
		return err
	}
	return t.join()
}

// start is run, but what comes after it in the main stream waits for the products only from join on.
func (t *tracks) start(p phase) error {
	var lists [][]task
	for _, part := range p.assign() {
		var list []task
		for _, p := range part {
			list = append(list, func(one *track) error {
				return one.handle.Gemm(plain, p.opB, p.m, p.n, p.k, p.alpha, p.a, p.b, p.beta, p.c)
			})
		}
		lists = append(lists, list)
	}
	return t.begin(lists)
}

// task starts work on a track.
type task func(*track) error

// begin starts a list of tasks on each stream, after what is in the main stream, until [tracks.join]. It starts the first task
// of each list before the second of any.
func (t *tracks) begin(lists [][]task) error {
	if err := t.open(); err != nil {
		return err
	}
	if err := t.begun.Record(t.main); err != nil {
		return err
	}
	for round, left := 0, true; left; round++ {
		left = false
		for i, list := range lists {
			if round >= len(list) {
				continue
			}
			if round == 0 {
				if err := t.all[i].stream.Wait(t.begun); err != nil {
					return err
				}
			}
			left = true
			if err := list[round](t.all[i]); err != nil {
				return err
			}
		}
	}
	for i, list := range lists {
		if len(list) > 0 {
			if err := t.all[i].done.Record(t.all[i].stream); err != nil {
				return err
			}
			t.ends = append(t.ends, t.all[i].done)
		}
	}
	return nil
}

// join makes the main stream wait for the last phase.
func (t *tracks) join() (err error) {
	for _, e := range t.ends {
		err = errors.Join(err, t.main.Wait(e))
	}
	t.ends = t.ends[:0]
	return err
}

// settle waits for all streams, after an error: they may be at work on a matrix that the main stream is about to change.
func (t *tracks) settle() {
	t.ends = t.ends[:0]
	for _, one := range t.all {
		_ = one.stream.Synchronize() // the error that came first counts
	}
}
