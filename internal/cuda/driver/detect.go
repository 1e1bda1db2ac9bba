package driver

import (
	"fmt"
	"strings"
	"sync"
)

// gpfit needs a driver for CUDA 12.0 (the 64-bit entry points of cuBLAS) and an Ampere
// card or later (its kernels are compiled for sm_80).
const (
	MinDriver  = 12000
	MinCompute = 80 // compute capability, ten times the major plus the minor
)

// LibraryVariable is the environment variable that names a libcuda to open instead of
// the system's. Tests set it to the emulated one.
const LibraryVariable = "GPFIT_CUDA_DRIVER"

// Status classifies the reason that no device is usable.
type Status int

// The statuses are listed in the order in which they are checked.
const (
	OK             Status = iota
	Unsupported           // this build or platform has no GPU code
	NoLibrary             // libcuda does not exist
	BadLibrary            // the library is not a driver: it is a stub, or lacks functions
	InitFailed            // cuInit failed
	DriverTooOld          // older than MinDriver
	NoDevices             // there is a driver but no GPU
	NoUsableDevice        // every GPU is too old or not accessible to this process
)

// UnavailableError reports why CUDA, or one device, cannot be used.
type UnavailableError struct {
	Status Status
	// Reason is a sentence for the user.
	Reason string
	// Err is the error of the system or of CUDA, if any.
	Err error
}

func (e *UnavailableError) Error() string { return "cuda: " + e.Reason }

// Unwrap returns Err.
func (e *UnavailableError) Unwrap() error { return e.Err }

// DeviceInfo describes one GPU.
type DeviceInfo struct {
	// Index is the device's number in the order of the driver, to which
	// CUDA_VISIBLE_DEVICES applies.
	Index int
	Name  string
	// Major and Minor are the compute capability.
	Major, Minor int
	// TotalMemory is in bytes. The free memory requires a context: [Device.MemInfo].
	TotalMemory     int64
	Multiprocessors int
	// ClockHz is the peak clock of the multiprocessors.
	ClockHz float64
	// MemoryBandwidth is the peak in bytes per second, from clock and bus width; 0 if
	// the driver does not report them.
	MemoryBandwidth float64
	// Unusable is the reason why gpfit cannot use the device, empty if it can.
	Unusable string
}

// Compute returns ten times the major plus the minor compute capability.
func (d DeviceInfo) Compute() int { return 10*d.Major + d.Minor }

// Detection is the result of [Detect].
type Detection struct {
	Status Status
	// Reason is a sentence that explains any status but OK.
	Reason string
	// Library is the path of the open libcuda, Implementation the way gpfit calls it
	// ("dlopen" or "gorgonia.org/cu").
	Library, Implementation string
	// DriverVersion is the newest version of CUDA that the driver supports, as
	// 1000·major + 10·minor.
	DriverVersion int
	// Devices are all GPUs, usable or not.
	Devices []DeviceInfo
}

// loaded is the driver of the process. There can be only one, because libcuda is never
// closed.
type loaded struct {
	api     api
	path    string
	version int
	fail    *UnavailableError
}

var load = sync.OnceValue(func() loaded {
	a, path, fail := open()
	if fail != nil {
		return loaded{path: path, fail: fail}
	}
	v, c := a.driverVersion()
	switch {
	case c != Success:
		fail = &UnavailableError{Status: InitFailed, Reason: "the driver does not report its version", Err: describe(a, "cuDriverGetVersion", c, "")}
	case v < MinDriver:
		fail = tooOld(v)
	}
	return loaded{api: a, path: path, version: v, fail: fail}
})

func tooOld(v int) *UnavailableError {
	return &UnavailableError{Status: DriverTooOld, Reason: fmt.Sprintf(
		"the NVIDIA driver supports CUDA %s, but gpfit needs %s or later (driver 525 or later)", Version(v), Version(MinDriver))}
}

// Version formats a CUDA version number, such as 12040, as "12.4".
func Version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// Detect looks for the driver and its devices. It is quick, creates no context and
// never fails; the result describes what is wrong. The first call opens the driver and
// keeps the outcome. Every call queries the devices again.
func Detect() Detection {
	l := load()
	d := Detection{Library: l.path, DriverVersion: l.version}
	if l.api != nil {
		d.Implementation = l.api.name()
	}
	if l.fail != nil {
		d.Status, d.Reason = l.fail.Status, l.fail.Reason
		return d
	}
	n, c := l.api.deviceCount()
	if c != Success || n == 0 {
		d.Status, d.Reason = NoDevices, "there is an NVIDIA driver but no GPU (or CUDA_VISIBLE_DEVICES hides it)"
		return d
	}
	var reasons []string
	for i := range n {
		info := inspect(l.api, i)
		d.Devices = append(d.Devices, info)
		if info.Unusable != "" {
			reasons = append(reasons, fmt.Sprintf("cuda:%d: %s", i, info.Unusable))
		}
	}
	if len(reasons) == n {
		d.Status, d.Reason = NoUsableDevice, strings.Join(reasons, "; ")
	}
	return d
}

// inspect queries the properties of a device.
func inspect(a api, index int) DeviceInfo {
	info := DeviceInfo{Index: index}
	dev, c := a.device(index)
	if c != Success {
		info.Unusable = describe(a, "cuDeviceGet", c, "").Error()
		return info
	}
	attribute := func(which int) int {
		v, c := a.deviceAttribute(dev, which)
		if c != Success {
			return 0
		}
		return v
	}
	info.Name, _ = a.deviceName(dev)
	info.TotalMemory, _ = a.deviceMemory(dev)
	info.Major, info.Minor = attribute(attrComputeMajor), attribute(attrComputeMinor)
	info.Multiprocessors = attribute(attrMultiprocessors)
	info.ClockHz = 1e3 * float64(attribute(attrClock))
	// Memory transfers data twice per clock. The clock is in kHz, the bus width in
	// bits.
	info.MemoryBandwidth = 2 * 1e3 * float64(attribute(attrMemoryClock)) * float64(attribute(attrMemoryBus)) / 8
	switch {
	case info.Compute() < MinCompute:
		info.Unusable = fmt.Sprintf("%s has compute capability %d.%d, but gpfit needs %d.%d or later (Ampere)",
			info.Name, info.Major, info.Minor, MinCompute/10, MinCompute%10)
	case attribute(attrComputeMode) == computeModeProhibited:
		info.Unusable = info.Name + " is in compute mode \"prohibited\" (nvidia-smi -c 0 opens it)"
	}
	return info
}
