package main

import (
	"errors"
	"fmt"
	"time"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
)

// kernelInfo is what the driver's compiler made of a kernel.
type kernelInfo struct {
	Name      string `json:"name"`
	Registers int    `json:"registers"`
	// LocalBytes are spilled registers and local arrays, per thread.
	LocalBytes    int `json:"local_bytes"`
	SharedBytes   int `json:"shared_bytes"`
	ConstantBytes int `json:"constant_bytes"`
	MaxThreads    int `json:"max_threads"`
}

// kernels loads the module without the rest of the backend: where a device cannot
// be opened, this tells the driver from the libraries and the self-test.
func (j *job) kernels() (err error) {
	info, ok := gpu(j.device)
	if !ok {
		return fmt.Errorf("there is no GPU %s: %s", j.device, driver.Detect().Reason)
	}
	dev, err := driver.Open(info.Index)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	code, err := kernels.Module(info.Major, info.Minor)
	if err != nil {
		return err
	}
	start := time.Now()
	module, err := dev.LoadModule(code)
	if err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	defer func() { err = errors.Join(err, module.Unload()) }()
	var all []kernelInfo
	for _, k := range kernels.Table() {
		f, err := module.Function(k.Name)
		if err != nil {
			return err
		}
		one := kernelInfo{Name: k.Name}
		for a, to := range map[driver.FunctionAttribute]*int{
			driver.Registers: &one.Registers, driver.LocalBytes: &one.LocalBytes, driver.StaticSharedBytes: &one.SharedBytes,
			driver.ConstantBytes: &one.ConstantBytes, driver.MaxThreadsPerBlock: &one.MaxThreads,
		} {
			if *to, err = f.Attribute(a); driver.IsSticky(err) {
				return err
			} else if err != nil {
				*to = -1 // this driver does not tell
			}
		}
		all = append(all, one)
	}
	j.emit(map[string]any{"type": "kernels", "device": j.device, "bytes": len(code), "seconds_load": seconds, "kernels": all})
	return nil
}
