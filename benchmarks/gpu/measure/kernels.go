package main

import (
	"errors"
	"fmt"
	"time"

	"gpfit/device/cuda/driver"
	"gpfit/device/cuda/kernels"
	"gpfit/device/cuda/ptx"
	"gpfit/kernel"
)

// kernelInfo describes a kernel as compiled by the driver.
type kernelInfo struct {
	Name      string `json:"name"`
	Registers int    `json:"registers"`
	// LocalBytes are spilled registers and local arrays, per thread.
	LocalBytes    int `json:"local_bytes"`
	SharedBytes   int `json:"shared_bytes"`
	ConstantBytes int `json:"constant_bytes"`
	MaxThreads    int `json:"max_threads"`
}

// functions are the covariance functions whose kernels are examined, on 8 columns.
var functions = []string{"rbf(ard)", "matern52(ard)", "periodic", "rbf(ard) + matern32 + periodic"}

// kernels loads the kernels without the rest of the backend. If a device cannot be opened, this
// shows whether the driver is the cause, or the libraries or the self-test.
func (j *job) kernels() (err error) {
	info, ok := gpu(j.device)
	if !ok {
		return fmt.Errorf("no GPU %s exists: %s", j.device, driver.Detect().Reason)
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
	var names []string
	for _, k := range kernels.Table() {
		names = append(names, k.Name)
	}
	if err := j.compile(dev, "matrices", code, names...); err != nil {
		return err
	}
	target, err := ptx.Target(info.Major, info.Minor)
	if err != nil {
		return err
	}
	for _, text := range functions {
		for _, e := range ptx.Entries() {
			code, err := generated(text, e, target)
			if err != nil {
				return err
			}
			if err := j.compile(dev, text, code, e.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

func generated(text string, e *ptx.Entry, target string) ([]byte, error) {
	prog, err := kernel.CompileText(text, 8)
	if err != nil {
		return nil, err
	}
	k, err := ptx.For(prog, e)
	if err != nil {
		return nil, err
	}
	return k.Text(e, target), nil
}

// compile loads a module and reports how its kernels were compiled.
func (j *job) compile(dev *driver.Device, of string, code []byte, names ...string) (err error) {
	start := time.Now()
	module, err := dev.LoadModule(code)
	if err != nil {
		return err
	}
	seconds := time.Since(start).Seconds()
	defer func() { err = errors.Join(err, module.Unload()) }()
	var all []kernelInfo
	for _, name := range names {
		f, err := module.Function(name)
		if err != nil {
			return err
		}
		one := kernelInfo{Name: name}
		for a, to := range map[driver.FunctionAttribute]*int{
			driver.Registers: &one.Registers, driver.LocalBytes: &one.LocalBytes, driver.StaticSharedBytes: &one.SharedBytes,
			driver.ConstantBytes: &one.ConstantBytes, driver.MaxThreadsPerBlock: &one.MaxThreads,
		} {
			if *to, err = f.Attribute(a); driver.IsSticky(err) {
				return err
			} else if err != nil {
				*to = -1 // this driver does not report it
			}
		}
		all = append(all, one)
	}
	j.emit(map[string]any{"type": "kernels", "device": j.device, "of": of, "bytes": len(code), "seconds_load": seconds, "kernels": all})
	return nil
}
