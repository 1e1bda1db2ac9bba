package table

import "slices"

// Names returns the names of all columns of the table.
func (r *Reader) Names() []string { return slices.Clone(r.src.begun().names) }
