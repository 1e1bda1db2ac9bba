package driver

import (
	"fmt"
	"strings"
	"unsafe"
)

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
	// SinglePerDouble is how many times as fast float32 is as float64; 0 if the driver does not report it.
	SinglePerDouble int
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

// These are values of CUdevice_attribute.
const (
	attrClock             = 13
	attrMultiprocessors   = 16
	attrComputeMode       = 20
	attrMemoryClock       = 36
	attrMemoryBus         = 37
	attrComputeMajor      = 75
	attrComputeMinor      = 76
	attrSinglePerDouble   = 87
	computeModeProhibited = 2
)

// Detect looks for the driver and its devices. It is quick, creates no context and
// never fails; the result describes what is wrong. The first call opens the driver and
// keeps the outcome. Every call queries the devices again.
func Detect() Detection {
	l := load()
	d := Detection{Library: l.path, DriverVersion: l.version}
	if l.api != nil {
		d.Implementation = l.api.name
	}
	if l.fail != nil {
		d.Status, d.Reason = l.fail.Status, l.fail.Reason
		return d
	}
	n := l.api.devices()
	if n == 0 {
		d.Status, d.Reason = NoDevices, noDevice
		return d
	}
	var reasons []string
	for i := range n {
		info := l.api.inspect(i)
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

// devices returns the number of GPUs, 0 if the driver does not know it.
func (a *api) devices() int {
	var n int32
	if a.call(deviceGetCount, uintptr(unsafe.Pointer(&n))) != Success {
		return 0
	}
	return int(n)
}

// inspect queries the properties of a device.
func (a *api) inspect(index int) DeviceInfo {
	info := DeviceInfo{Index: index}
	var dev int32
	if c := a.call(deviceGet, uintptr(unsafe.Pointer(&dev)), uintptr(index)); c != Success {
		info.Unusable = a.describe(deviceGet, c, "").Error()
		return info
	}
	attribute := func(which int) int {
		var v int32
		if a.call(deviceGetAttribute, uintptr(unsafe.Pointer(&v)), uintptr(which), uintptr(dev)) != Success {
			return 0
		}
		return int(v)
	}
	name := make([]byte, 256)
	a.call(deviceGetName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(dev))
	a.call(deviceTotalMem, uintptr(unsafe.Pointer(&info.TotalMemory)), uintptr(dev))
	info.Name = text(name)
	info.Major, info.Minor = attribute(attrComputeMajor), attribute(attrComputeMinor)
	info.Multiprocessors = attribute(attrMultiprocessors)
	info.SinglePerDouble = attribute(attrSinglePerDouble)
	info.ClockHz = 1e3 * float64(attribute(attrClock))
	// Memory transfers data twice per clock. The clock is in kHz, the bus width in bits.
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
