package tiles

import (
	"context"
	"errors"
	"slices"

	"gpfit/device/tiling"
	"gpfit/internal/each"
	"gpfit/kernel"
)

// machine is a matrix with the workers that compute with it.
type machine struct {
	*matrix
	workers []*worker
	// limit is the number of workers that may compute.
	limit  int
	worked func(flops float64)
	unmap  func() error
}

// owned reports whether each task belongs to one worker, because homes or caches differ. Otherwise workers share a list.
func (m *machine) owned() bool { return m.workers[0].cache != nil || len(m.banks) > 1 }

// report reports the operations of all workers since the last report.
func (m *machine) report() {
	done := int64(0)
	for _, w := range m.workers {
		done += w.flops.Swap(0)
	}
	if m.worked != nil {
		m.worked(float64(done))
	}
}

// newMachine makes the banks of a plan on devices, and workers.
func newMachine(ctx context.Context, x *kernel.Points, a arrangement, devices []tiling.Device) (m *machine, err error) {
	m = &machine{matrix: &matrix{layout: a.layout, numbers: int(a.tileBytes / 8), strips: a.strips}}
	homes, used := a.place()
	m.homes = homes
	stored := a.hostTiles
	if a.folder != "" && stored == 0 {
		stored = a.slots[0]
	}
	if stored > 0 {
		if m.store, m.unmap, err = allocate(int64(stored)*int64(m.numbers), a.folder); err != nil {
			return nil, err
		}
	}
	shared := m.store
	if a.folder != "" && a.cache > 0 {
		shared = nil // cards cannot lock a mapped file
	}
	for i, d := range devices {
		b, err := d.NewTileBank(ctx, x, a.order, a.slots[i], shared)
		if err != nil {
			return nil, errors.Join(err, m.close())
		}
		m.banks = append(m.banks, b)
		m.hire(i, a, used[i])
	}
	m.limit = len(m.workers)
	m.versions, m.steps = newCounters(len(m.homes)), newCounters(len(m.homes))
	return m, nil
}

// hire makes the workers of a bank. The slots from first on are for copies.
func (m *machine) hire(bank int, a arrangement, first int) {
	for lane := range a.lanes {
		w := &worker{matrix: m.matrix, Bank: m.banks[bank], number: len(m.workers), bank: bank, lane: lane, spare: lane}
		if a.cache > 0 {
			var free []int
			for s := first; s < a.slots[bank]; s++ {
				free = append(free, s)
			}
			w.cache = newCache(free)
		}
		m.workers = append(m.workers, w)
	}
}

// close frees the banks and the memory of the host.
func (m *machine) close() error {
	errs := each.Of(m.banks, func(b tiling.Bank) error { return b.Close() })
	if m.unmap != nil {
		errs = append(errs, m.unmap())
	}
	m.banks, m.store, m.unmap = nil, nil, nil
	return errors.Join(errs...)
}

// bind gives all banks the matrix to evaluate.
func (m *machine) bind(b tiling.Binding) error {
	for _, bank := range m.banks {
		if err := bank.Bind(b); err != nil {
			return err
		}
	}
	return nil
}

// sum adds parts to total, part after part.
func sum(total []float64, parts []float64) {
	for part := range slices.Chunk(parts, max(1, len(total))) {
		for i, v := range part {
			total[i] += v
		}
	}
}
