package message

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"gpfit/internal/cuda/native"
)

// Variable names a library of MPI to open in place of the usual ones.
const Variable = "GPFIT_MPI_LIBRARY"

// The usual names of the libraries of the two binary interfaces.
var (
	openMPI = []string{"libmpi.so.40"}
	mpich   = []string{"libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12"}
)

// library is an opened library of MPI.
type library struct {
	handle uintptr
	// open means the interface of Open MPI, whose handles are addresses of symbols. Otherwise it is the one of
	// MPICH, whose handles are numbers: Intel MPI, MVAPICH2 and Cray's MPI have it, too.
	open bool
	// The handles, and the value that stands for no status.
	world, bytes, doubles, sum, largest, noStatus uintptr
}

// candidates returns the names to try, those of the launcher's MPI first.
func candidates() []string {
	if name := os.Getenv(Variable); name != "" {
		return []string{name}
	}
	if _, ofMPICH := os.LookupEnv("PMI_RANK"); ofMPICH && os.Getenv("OMPI_COMM_WORLD_RANK") == "" && os.Getenv("PMIX_RANK") == "" {
		return append(mpich[:len(mpich):len(mpich)], openMPI...)
	}
	return append(openMPI[:len(openMPI):len(openMPI)], mpich...)
}

// openLibrary opens the first library of MPI that there is. Its plug-ins need its symbols, which [native.Open] makes
// visible to all.
func openLibrary() (*library, error) {
	if !native.Supported {
		return nil, errors.New("this build of gpfit cannot open libraries")
	}
	handle, err := OpenFirst(candidates())
	if err != nil {
		return nil, fmt.Errorf("no library of MPI: install Open MPI or MPICH, or name the library in %s (%w)", Variable, err)
	}
	l := &library{handle: handle}
	if world := native.Symbol(handle, "ompi_mpi_comm_world"); world != 0 {
		l.open, l.world = true, world
		for name, to := range map[string]*uintptr{"byte": &l.bytes, "double": &l.doubles, "op_sum": &l.sum, "op_max": &l.largest} {
			if *to = native.Symbol(handle, "ompi_mpi_"+name); *to == 0 {
				return nil, fmt.Errorf("the library of MPI lacks ompi_mpi_%s", name)
			}
		}
		return l, nil
	}
	l.world, l.bytes, l.doubles, l.sum, l.largest, l.noStatus = 0x44000000, 0x4c00010d, 0x4c00080b, 0x58000003, 0x58000001, 1
	return l, nil
}

// OpenFirst opens the first library of a list that there is.
func OpenFirst(names []string) (handle uintptr, err error) {
	var all []string
	for _, name := range names {
		if handle, err = native.Open(name); err == nil {
			return handle, nil
		}
		all = append(all, err.Error())
	}
	return 0, errors.New(strings.Join(all, "; "))
}
