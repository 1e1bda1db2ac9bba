package tiles

import (
	"fmt"
	"os"

	"gpfit/device"
)

// Scratch is the environment variable that names a folder for tiles that do not fit in memory.
const Scratch = "GPFIT_SCRATCH"

// allocate returns memory for a count of numbers: of the process, or, if folder is not empty, a file there that is mapped into
// memory and has no name. free returns it.
func allocate(numbers int64, folder string) (memory []float64, free func() error, err error) {
	if folder == "" {
		return make([]float64, numbers), func() error { return nil }, nil
	}
	f, err := os.CreateTemp(folder, ".gpfit-tiles-*")
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", Scratch, err)
	}
	defer f.Close()
	_ = os.Remove(f.Name()) // the memory keeps the file until it is returned
	memory, free, err = mapFile(f, numbers)
	if err != nil {
		err = fmt.Errorf("%s: a file of %s for tiles in %s: %w", Scratch, device.FormatBytes(8*numbers), folder, err)
	}
	return memory, free, err
}
