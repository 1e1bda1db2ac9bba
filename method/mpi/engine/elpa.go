package engine

import (
	"fmt"

	"gpfit/device/cuda/native"
	"gpfit/method/mpi/message"
)

// elpa is the library ELPA, which inverts triangles. Its Cholesky factorization is not used: where a
// matrix is not positive definite, the rank that finds out leaves it and the others wait forever.
type elpa struct {
	initialize, allocate, deallocate, set, setup, invertTriangle uintptr
	world                                                        int32
	// handle belongs to matrices of this part.
	handle uintptr
	of     elpaPart
}

// elpaPart describes an n×n matrix of which this rank has a part of rows and columns.
type elpaPart struct{ n, rows, cols, block, row, col int }

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

// invert overwrites the upper triangle of a matrix by its inverse.
func (e *elpa) invert(local []float64, of elpaPart) error {
	if err := e.prepare(of); err != nil {
		return err
	}
	code := []int32{0}
	native.Pass(e.invertTriangle, e.handle, local, code)
	return e.check("elpa_invert_trm", code[0])
}

// prepare makes the handle for a matrix.
func (e *elpa) prepare(of elpaPart) error {
	if e.handle != 0 && e.of == of {
		return nil
	}
	code := []int32{0}
	if e.handle != 0 {
		native.Pass(e.deallocate, e.handle, code)
	}
	e.of, e.handle = of, native.Pass(e.allocate, code)
	if err := e.check("elpa_allocate", code[0]); err != nil {
		return err
	}
	for _, p := range []struct {
		name  string
		value int
	}{ // in this order
		{"na", of.n}, {"nev", of.n}, {"local_nrows", of.rows}, {"local_ncols", of.cols}, {"nblk", of.block},
		{"mpi_comm_parent", int(e.world)}, {"process_row", of.row}, {"process_col", of.col},
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
