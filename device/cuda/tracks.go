package cuda

import (
	"errors"
	"os"

	"gpfit/internal/cuda/driver"
	"gpfit/internal/cuda/mathlib"
)

// streams is the number of streams on which products that do not need one another run at the same time, so that the
// tiles of one fill the multiprocessors that another leaves idle (see [phase.waves]).
const streams = 12

// workspaceOfStream is the memory in bytes of cuBLAS on a stream.
const workspaceOfStream = 32 << 20

// track is a stream with a cuBLAS handle of its own, since cuBLAS gives the same bits again only if streams do not share a
// workspace. done marks the end of its part of a phase.
type track struct {
	stream *driver.Stream
	handle *mathlib.Handle
	done   *driver.Event
}

// tracks are the streams beside the main one. begun marks the place in the main stream after which they begin.
type tracks struct {
	all   []*track
	begun *driver.Event
}

// open opens the streams at the first use.
func (t *tracks) open(g *gpu) (err error) {
	if t.begun == nil {
		if t.begun, err = g.dev.NewEvent(); err != nil {
			return err
		}
	}
	for len(t.all) < streams {
		one := &track{}
		t.all = append(t.all, one)
		if one.stream, err = g.dev.NewStream(); err == nil {
			one.done, err = g.dev.NewEvent()
		}
		if err == nil {
			one.handle, err = g.library.New(one.stream, mathlib.RequestedEmulation(os.Getenv))
		}
		if err != nil {
			return errors.Join(err, one.close(), t.drop())
		}
	}
	return nil
}

// drop forgets the last track.
func (t *tracks) drop() error {
	t.all = t.all[:len(t.all)-1]
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

// phase computes the products of a phase on all streams, after what is in the main stream. What comes after it in the main
// stream waits for them. A long phase is several short ones.
func (q *queue) phase(p phase) {
	for len(p) > 0 && q.err == nil {
		end, flops := 0, 0.0
		for end < len(p) && (end == 0 || flops+p[end].flops() <= q.limit) {
			flops += p[end].flops()
			end++
		}
		q.then(func() error { return q.gpu.tracks.run(q.gpu, p[:end].assign(streams)) })
		q.worked(flops)
		p = p[end:]
	}
}

// run starts the parts of a phase, the first product of each part before the second of any.
func (t *tracks) run(g *gpu, parts [][]product) error {
	if err := t.open(g); err != nil {
		return err
	}
	if err := t.begun.Record(g.stream); err != nil {
		return err
	}
	for round, left := 0, true; left; round++ {
		left = false
		for i, part := range parts {
			if round >= len(part) {
				continue
			}
			one, p := t.all[i], part[round]
			if round == 0 {
				if err := one.stream.Wait(t.begun); err != nil {
					return err
				}
			}
			left = true
			if err := one.handle.Gemm(plain, p.opB, p.m, p.n, p.k, p.alpha, p.a, p.b, 0, p.c); err != nil {
				return err
			}
		}
	}
	for i, part := range parts {
		if len(part) == 0 {
			continue
		}
		if err := errors.Join(t.all[i].done.Record(t.all[i].stream), g.stream.Wait(t.all[i].done)); err != nil {
			return err
		}
	}
	return nil
}
