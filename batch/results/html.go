package results

import (
	"io"

	"gpfit/batch/rundir"
)

func WriteHTML(w io.Writer, r *rundir.Run, rows []Row) error { return nil }
