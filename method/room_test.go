package method

import (
	"errors"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/device/part"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// TestRoom asks about a table that fits on no machine, and about one that fits on this one.
func TestRoom(t *testing.T) {
	none := errors.New("no room")
	dev := testcheck.Get(cpu.Open(device.Options{}))(t)
	prog := testcheck.Get(kernel.CompileText("rbf", 2))(t)
	if dev.Info().MemoryFree == 0 {
		t.Skip("free memory is not known on this system")
	}
	large := device.Workload{N: 500_000, D: 2, Program: prog}
	testcheck.Words(t, Room(large, device.Dense{}.On(dev), none).Error(),
		"no room; or keep half of the matrix in a file: set GPFIT_SCRATCH to a folder on a fast disk with 9", "GiB of room, and option method tiles, about",
		"machines like this one by mpirun or srun, with option method mpi, about")
	small := device.Workload{N: 1000, D: 2, Program: prog}
	testcheck.Words(t, Room(small, device.Dense{}.On(dev), none).Error(), "no room; or take half of the matrix: option method tiles needs ")
	if err := Room(device.Workload{N: 1000, D: 2, Program: prog, Diagonal: true}, device.Dense{}.On(dev), none); err != none {
		t.Errorf("advice for a leave-one-out objective: %v", err)
	}
}

// cardOf is a card with the memory and plans of an H100 that cannot compute.
type cardOf struct {
	device.DenseDevice
	part.Device
}

func (c cardOf) Info() device.Info { return device.Info{Name: "cuda:0", MemoryFree: 80e9} }
func (c cardOf) Close() error      { return nil }

func (cardOf) PartPlan(n, d int, s part.Shape) device.Plan {
	rows, cols := s.Largest(n)
	p := device.MatrixPlan(n, d, "cuda:0", 8*int64(rows)*int64(cols))
	p.FlopRate = 5e13 * float64(s.Rows*s.Cols)
	return p
}

func (c cardOf) Plan(n, d int) device.Plan {
	return c.PartPlan(n, d, part.Shape{Rows: 1, Cols: 1, Block: part.CardBlock})
}

func (cardOf) Supports(*kernel.Program) error { return nil }

// TestRoomOnCards asks about a table that fits on 28 cards of 80 GB.
func TestRoomOnCards(t *testing.T) {
	prog := testcheck.Get(kernel.CompileText("rbf", 2))(t)
	w := device.Workload{N: 500_000, D: 2, Program: prog}
	testcheck.Words(t, Room(w, device.Dense{}.On(cardOf{}), errors.New("no room")).Error(), "start a rank of gpfit for each of 28 cards like this one by mpirun or srun, with option method mpi and option device cuda, about 2m")
}
