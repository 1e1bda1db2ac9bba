package method

import (
	"errors"
	"testing"

	"gpfit/cpu"
	"gpfit/device"
	"gpfit/internal/testcheck"
	"gpfit/kernel"
)

// TestRoom asks about a table that fits on no machine, and about one that fits on this one.
func TestRoom(t *testing.T) {
	none := errors.New("no room")
	dev := testcheck.Get(cpu.Open(device.Options{}))(t)
	const d = 4 // more than the method tree takes
	prog := testcheck.Get(kernel.CompileText("rbf", d))(t)
	if dev.Info().MemoryFree == 0 {
		t.Skip("free memory is not known on this system")
	}
	large := device.Workload{N: 500_000, D: d, Program: prog}
	testcheck.Words(t, Room(large, device.Dense{}.On(dev), none).Error(),
		"no room; or keep half of the matrix in a file: set GPFIT_SCRATCH to a folder on a fast disk with 9", "GiB of room, and option method tiles, about",
		"machines like this one by mpirun or srun, with option method mpi, about")
	small := device.Workload{N: 1000, D: d, Program: prog}
	testcheck.Words(t, Room(small, device.Dense{}.On(dev), none).Error(), "no room; or take half of the matrix: option method tiles needs ")
	flat := device.Workload{N: 200_000, D: 2, Program: testcheck.Get(kernel.CompileText("rbf", 2))(t)}
	testcheck.Words(t, Room(flat, device.Dense{}.On(dev), none).Error(), "no room; or take a method that is not exact, but bounds its error (option tolerance): option method tree needs ")
	if err := Room(device.Workload{N: 1000, D: d, Program: prog, Diagonal: true}, device.Dense{}.On(dev), none); err != none {
		t.Errorf("advice for a leave-one-out objective: %v", err)
	}
}
