package message

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"gpfit/device/cuda/native"
)

// Variable names a library of MPI to open in place of the usual ones.
const Variable = "GPFIT_MPI_LIBRARY"

// The usual names of the libraries of the two binary interfaces.
var (
	openMPI = []string{"libmpi.so.40"}
	mpich   = []string{"libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12"}
)

// Library is an opened library of MPI.
type Library struct {
	// Version is the library's own name and version, in short.
	Version string
	handle  uintptr
	// open means the interface of Open MPI, whose handles are addresses of symbols. The other one is the interface of
	// MPICH, whose handles are numbers: Intel MPI, MVAPICH2 and Cray's MPI have it, too.
	open bool
	// The handles, and the value that stands for no status.
	world, bytes, doubles, sum, largest, noStatus uintptr
}

// candidates returns the names to try, first the names of the launcher's MPI.
func candidates() []string {
	if name := os.Getenv(Variable); name != "" {
		return []string{name}
	}
	if _, ofMPICH := os.LookupEnv("PMI_RANK"); ofMPICH && os.Getenv("OMPI_COMM_WORLD_RANK") == "" && os.Getenv("PMIX_RANK") == "" {
		return append(mpich[:len(mpich):len(mpich)], openMPI...)
	}
	return append(openMPI[:len(openMPI):len(openMPI)], mpich...)
}

// Load opens the first library of MPI that there is, once. Its plug-ins need its symbols, which [native.Open] makes visible
// to all.
var Load = sync.OnceValues(load)

func load() (*Library, error) {
	if !native.Supported {
		return nil, errors.New("this build of gpfit cannot open libraries")
	}
	handle, err := OpenFirst(candidates())
	if err != nil {
		return nil, fmt.Errorf("no library of MPI: install Open MPI or MPICH, or name the library in %s (%w)", Variable, err)
	}
	l := &Library{handle: handle}
	if world := native.Symbol(handle, "ompi_mpi_comm_world"); world != 0 {
		l.open, l.world = true, world
		for name, to := range map[string]*uintptr{"byte": &l.bytes, "double": &l.doubles, "op_sum": &l.sum, "op_max": &l.largest} {
			if *to = native.Symbol(handle, "ompi_mpi_"+name); *to == 0 {
				return nil, fmt.Errorf("the library of MPI lacks ompi_mpi_%s", name)
			}
		}
	} else {
		l.world, l.bytes, l.doubles, l.sum, l.largest, l.noStatus = 0x44000000, 0x4c00010d, 0x4c00080b, 0x58000003, 0x58000001, 1
	}
	// This is one of the few functions that may be called before the library is initialized.
	if version := native.Symbol(handle, "MPI_Get_library_version"); version != 0 {
		text, length := make([]byte, 8192), make([]int32, 1)
		native.Pass(version, text, length)
		line, _, _ := bytes.Cut(text[:length[0]], []byte("\n"))
		l.Version, _, _ = strings.Cut(strings.Join(strings.Fields(strings.Trim(string(line), "\x00")), " "), ",")
	}
	return l, nil
}

// Uses reports whether a library that uses MPI uses this one, as far as its symbols and the symbols of what it
// opens say.
func (l *Library) Uses(library uintptr) bool {
	own := native.Symbol(library, "ompi_mpi_comm_world")
	return l.open && own == l.world || !l.open && own == 0
}

// IsOpenMPI reports whether the library has the binary interface of Open MPI.
func (l *Library) IsOpenMPI() bool { return l.open }

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
