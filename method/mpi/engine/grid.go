package engine

import (
	"fmt"
	"slices"

	"gpfit/method/mpi/message"
	"gpfit/method/mpi/part"
)

// Grid is the ranks as they divide matrices, with what computes on these.
type Grid struct {
	part.Shape
	// Row and Col are the place of this rank.
	Row, Col int
	// Engine names what computes: ScaLAPACK, or ELPA with it.
	Engine  string
	context int32
	scalapack
	elpa *elpa
}

// Variable is an environment variable for experts and tests that names the engine.
const Variable = "GPFIT_MPI_ENGINE"

// The names of the engines.
const (
	ScaLAPACK = "scalapack"
	ELPA      = "elpa"
)

// Describe says which libraries there are for a library of MPI.
func Describe(l *message.Library) string {
	s, err := openScaLAPACK(l)
	if err != nil {
		return err.Error()
	}
	text := "ScaLAPACK"
	if s.Slow() {
		text += " with the reference BLAS, which takes many times as long as OpenBLAS"
	}
	if _, err := openELPA(l); err == nil {
		text += "; ELPA"
	}
	return text
}

// Slow reports whether the products of a library of MPI are the reference BLAS's.
func Slow(l *message.Library) bool {
	s, err := openScaLAPACK(l)
	return err == nil && s.Slow()
}

// Open opens the libraries and makes the grid, with the engine of a name, "" for the default. It is a collective call, on the thread of [message.World.Do].
func Open(w *message.World, shape part.Shape, asked string) (*Grid, error) {
	if !slices.Contains([]string{"", ScaLAPACK, ELPA}, asked) {
		return nil, fmt.Errorf("%s=%s: must be %s or %s", Variable, asked, ELPA, ScaLAPACK)
	}
	g := &Grid{Shape: shape, Row: w.Rank / shape.Cols, Col: w.Rank % shape.Cols, Engine: ScaLAPACK}
	if w.Library == nil {
		_, err := message.Load()
		return nil, err
	}
	var err error
	if g.scalapack, err = openScaLAPACK(w.Library); err == nil && asked == ELPA {
		if g.elpa, err = openELPA(w.Library); err == nil {
			err = g.elpa.begin(w)
		}
		g.Engine = ELPA
	}
	if err = w.FirstError(err); err != nil {
		return nil, err
	}
	g.world = w
	context := []int32{0}
	g.run(g.blacsGet, -1, 0, context)
	g.run(g.blacsGridinit, context, "R", shape.Rows, shape.Cols)
	g.context = context[0]
	return g, nil
}
