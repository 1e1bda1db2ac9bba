package engine

import (
	"fmt"

	"gpfit/internal/cuda/native"
	"gpfit/internal/mpi/message"
)

// elpa is the library ELPA, which inverts triangles. Its Cholesky factorization is not used: where a
// matrix is not positive definite, the rank that finds out leaves it and the others wait forever.
type elpa struct {
	initialize, allocate, deallocate, set, setup, invertTriangle uintptr
	world                                                        int32
	// handle belongs to matrices of the order n.
	handle uintptr
	n      int
}

// elpaVersion is the version of the interface in use.
const elpaVersion = 20211125

// openELPA opens the library of the same MPI.
func openELPA(l *message.Library) (*elpa, error) {
	handle, err := message.OpenFirst([]string{"libelpa.so.19", "libelpa.so.17", "libelpa.so"})
	if err != nil {
		return nil, fmt.Errorf("no library of ELPA: %w", err)
	}
	if !l.Uses(handle) {
		return nil, fmt.Errorf("the library of ELPA belongs to another MPI than %s", l.Version)
	}
	e := &elpa{}
	for name, to := range map[string]*uintptr{
		"init": &e.initialize, "allocate": &e.allocate, "deallocate": &e.deallocate, "set_integer": &e.set, "setup": &e.setup, "invert_trm_a_h_a_d": &e.invertTriangle,
	} {
		if *to = native.Symbol(handle, "elpa_"+name); *to == 0 {
			return nil, fmt.Errorf("the library of ELPA lacks elpa_%s", name)
		}
	}
	return e, nil
}

// begin initializes the library.
func (e *elpa) begin(w *message.World) error {
	e.world = w.Fortran()
	if code := int32(native.Pass(e.initialize, elpaVersion)); code != 0 {
		return fmt.Errorf("the library of ELPA does not know the version %d of its interface", elpaVersion)
	}
	return nil
}

// invert overwrites the upper triangle of a by its inverse.
func (e *elpa) invert(a *Matrix) error {
	if err := e.prepare(a); err != nil {
		return err
	}
	code := []int32{0}
	native.Pass(e.invertTriangle, e.handle, a.Local, code)
	return e.check("elpa_invert_trm", code[0])
}

// prepare makes the handle that belongs to a.
func (e *elpa) prepare(a *Matrix) error {
	if e.handle != 0 && e.n == a.Cols.N {
		return nil
	}
	code := []int32{0}
	if e.handle != 0 {
		native.Pass(e.deallocate, e.handle, code)
	}
	e.n, e.handle = a.Cols.N, native.Pass(e.allocate, code)
	if err := e.check("elpa_allocate", code[0]); err != nil {
		return err
	}
	for _, p := range []struct {
		name  string
		value int
	}{ // in this order
		{"na", e.n}, {"nev", e.n}, {"local_nrows", a.Stride}, {"local_ncols", a.Cols.Count(e.n)}, {"nblk", a.grid.Block},
		{"mpi_comm_parent", int(e.world)}, {"process_row", a.grid.Row}, {"process_col", a.grid.Col},
	} {
		native.Pass(e.set, e.handle, []byte(p.name+"\x00"), p.value, code)
		if err := e.check("elpa_set "+p.name, code[0]); err != nil {
			return err
		}
	}
	return e.check("elpa_setup", int32(native.Pass(e.setup, e.handle)))
}

func (e *elpa) check(what string, code int32) error {
	if code != 0 {
		return fmt.Errorf("%s failed with code %d", what, code)
	}
	return nil
}
