package method

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gpfit/device"
	"gpfit/kernel"
	"gpfit/method/markov"
	"gpfit/method/mpi"
	"gpfit/method/tiles"
)

// Room adds to an error about memory, of a workload on a backend, what would fit and about how long it takes.
func Room(w device.Workload, b device.Backend, err error) error {
	texts := []string{states(w, b), nearly(w, b), inTiles(w, b)}
	if texts[2] == "" {
		texts = append(texts, inFile(w, b), onMachines(w, b))
	}
	for _, text := range texts {
		if text != "" {
			err = fmt.Errorf("%w; or %s", err, text)
		}
	}
	return err
}

// states names the kernels with which a series needs no matrix.
func states(w device.Workload, b device.Backend) string {
	const example = "matern32"
	if w.Program, _ = kernel.CompileText(example, w.D); w.Program == nil || w.D != 1 || w.Points == nil {
		return ""
	}
	for _, one := range device.Weigh([]device.Method{markov.Method()}, b.Capabilities().Devices, w) {
		if one.Err == nil && device.Room(one.Backends[0], one.Plan) == nil {
			return fmt.Sprintf("take a kernel that needs no matrix of a series: matern12, matern32, matern52, cosine, linear, constant, and sums and products of these (with %s a value with gradient takes %s and about %s)",
				example, device.FormatBytes(one.Plan.HostBytes()), one.Plan.GradientTime().Round(time.Millisecond))
		}
	}
	return ""
}

// nearly names a method that is not exact but bounds its error, if it has room.
func nearly(w device.Workload, b device.Backend) string {
	bounded := slices.DeleteFunc(All(), func(m device.Method) bool { return !m.About().Bounded })
	for _, one := range device.Weigh(bounded, b.Capabilities().Devices, w) {
		if one.Err == nil && device.Room(one.Backends[0], one.Plan) == nil {
			name := one.Method.About().Name
			return fmt.Sprintf("take a method that is not exact, but bounds its error (option tolerance): option method %s needs %s%s", name, device.FormatBytes(one.Plan.HostBytes()), timeOf(one.Plan))
		}
	}
	return ""
}

// inTiles names the method tiles if it fits in memory.
func inTiles(w device.Workload, b device.Backend) string {
	for _, one := range device.Weigh([]device.Method{tiles.Method{}}, b.Capabilities().Devices, w) {
		if one.Err == nil && device.Room(one.Backends[0], one.Plan) == nil {
			return fmt.Sprintf("take half of the matrix: option method %s needs %s%s", tiles.Name, device.FormatBytes(one.Plan.HostBytes()+one.Plan.DeviceBytes()), timeOf(one.Plan))
		}
	}
	return ""
}

// inFile names the method tiles with a file.
func inFile(w device.Workload, b device.Backend) string {
	plan, bytes, err := tiles.InFile(b.Capabilities().Devices, w)
	if err != nil {
		return ""
	}
	return fmt.Sprintf("keep half of the matrix in a file: set %s to a folder on a fast disk with %s of room, and option method %s%s", tiles.Scratch, device.FormatBytes(bytes), tiles.Name, timeOf(plan))
}

// onMachines names the method mpi on more machines with the memory of this one.
func onMachines(w device.Workload, b device.Backend) string {
	if b.Supports(w) != nil {
		return ""
	}
	for _, d := range b.Capabilities().Devices {
		info := d.Info()
		if info.MemoryFree == 0 {
			continue
		}
		if host, ok := d.(device.DenseDevice); ok && info.Host {
			if machines, plan := mpi.Machines(host, w.N, w.D, info.MemoryFree); machines > 1 {
				return fmt.Sprintf("start gpfit on %d machines like this one by mpirun or srun, with option method %s%s", machines, mpi.Name, timeOf(plan))
			}
		}
	}
	return ""
}

// timeOf describes the time of a value with gradient, "" if it is unknown.
func timeOf(p device.Plan) string {
	d, unit := p.GradientTime(), time.Second
	switch {
	case d == 0:
		return ""
	case d > time.Hour:
		unit = 10 * time.Minute
	case d > 5*time.Minute:
		unit = time.Minute
	}
	text := max(d, unit).Round(unit).String()
	if unit > time.Second {
		text = strings.TrimSuffix(text, "0s")
	}
	return fmt.Sprintf(", about %s for a value with gradient", text)
}
