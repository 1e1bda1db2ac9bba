//go:build cu && linux && (amd64 || arm64) && !nogpu

package driver

/*
#cgo LDFLAGS: -L${SRCDIR}/stub -Wl,--as-needed -ldl
void gpfit_cu_bind(void *library);
*/
import "C"

import (
	"reflect"
	"slices"
	"unsafe"

	"gorgonia.org/cu"

	"gpfit/device/cuda/native"
)

// replace sends the calls through gorgonia.org/cu, which lacks copies of blocks, the
// compiler's log and the text of errors. It binds the symbols that cu is linked to (forward.c)
// to the open library.
func (a *api) replace(library uintptr) {
	C.gpfit_cu_bind(*(*unsafe.Pointer)(unsafe.Pointer(&library)))
	a.name, a.replaced = "gorgonia.org/cu", replacements
	a.replaced[moduleLoadData] = a.loadModule
}

// code returns the number of an error of cu, whose type is not exported.
func code(err error) Code {
	if err == nil {
		return Success
	}
	if v := reflect.ValueOf(err); v.Kind() == reflect.Int {
		return Code(v.Int())
	}
	return CodeUnknown
}

// as converts an argument to what it stands for: a pointer, or one of cu's structs of a
// single C pointer.
func as[T any](arg uintptr) T { return *(*T)(unsafe.Pointer(&arg)) }

// store writes a result, which may be such a struct, to the address in an argument.
func store[T any](to uintptr, value T, err error) Code {
	*as[*T](to) = value
	return code(err)
}

var replacements = map[function]func(a []uintptr) Code{
	driverGetVersion: func(a []uintptr) Code {
		v := cu.Version()
		if v < 0 {
			return CodeUnknown
		}
		return store(a[0], int32(v), nil)
	},
	deviceGetCount: func(a []uintptr) Code {
		n, err := cu.NumDevices()
		return store(a[0], int32(n), err)
	},
	deviceGet: func(a []uintptr) Code {
		d, err := cu.GetDevice(int(a[1]))
		return store(a[0], int32(d), err)
	},
	deviceGetName: func(a []uintptr) Code {
		name, err := cu.Device(a[2]).Name()
		copy(unsafe.Slice(as[*byte](a[0]), a[1]-1), name)
		return code(err)
	},
	deviceTotalMem: func(a []uintptr) Code {
		n, err := cu.Device(a[1]).TotalMem()
		return store(a[0], n, err)
	},
	deviceGetAttribute: func(a []uintptr) Code {
		v, err := cu.Device(a[2]).Attribute(cu.DeviceAttribute(a[1]))
		return store(a[0], int32(v), err)
	},
	primaryCtxRetain: func(a []uintptr) Code {
		ctx, err := cu.Device(a[1]).RetainPrimaryCtx()
		return store(a[0], ctx, err)
	},
	primaryCtxRelease: func(a []uintptr) Code { return code(cu.Device(a[0]).ReleasePrimaryCtx()) },
	ctxSetCurrent:     func(a []uintptr) Code { return code(cu.SetCurrentContext(as[cu.CUContext](a[0]))) },
	ctxSynchronize:    func([]uintptr) Code { return code(cu.Synchronize()) },
	memGetInfo: func(a []uintptr) Code {
		free, total, err := cu.MemInfo()
		store(a[0], free, nil)
		return store(a[1], total, err)
	},
	memAlloc: func(a []uintptr) Code {
		p, err := cu.MemAlloc(int64(a[1]))
		return store(a[0], Ptr(p), err)
	},
	memFree: func(a []uintptr) Code { return code(cu.MemFree(cu.DevicePtr(a[0]))) },
	memcpyHtoD: func(a []uintptr) Code {
		return code(cu.MemcpyHtoDAsync(cu.DevicePtr(a[0]), as[unsafe.Pointer](a[1]), int64(a[2]), as[cu.Stream](a[3])))
	},
	memcpyDtoH: func(a []uintptr) Code {
		return code(cu.MemcpyDtoHAsync(as[unsafe.Pointer](a[0]), cu.DevicePtr(a[1]), int64(a[2]), as[cu.Stream](a[3])))
	},
	memsetD8: func(a []uintptr) Code {
		return code(cu.MemsetD8Async(cu.DevicePtr(a[0]), byte(a[1]), int64(a[2]), as[cu.Stream](a[3])))
	},
	streamCreate: func(a []uintptr) Code {
		s, err := cu.MakeStreamWithPriority(int(int32(a[2])), 0)
		return store(a[0], s, err)
	},
	streamDestroy: func(a []uintptr) Code {
		stream := as[cu.Stream](a[0])
		return code(stream.Destroy())
	},
	streamSynchronize: func(a []uintptr) Code { return code(as[cu.Stream](a[0]).Synchronize()) },
	eventCreate: func(a []uintptr) Code {
		e, err := cu.MakeEvent(0)
		return store(a[0], e, err)
	},
	eventDestroy: func(a []uintptr) Code {
		event := as[cu.Event](a[0])
		return code(cu.DestroyEvent(&event))
	},
	eventRecord:      func(a []uintptr) Code { return code(as[cu.Event](a[0]).Record(as[cu.Stream](a[1]))) },
	eventSynchronize: func(a []uintptr) Code { return code(as[cu.Event](a[0]).Synchronize()) },
	eventElapsedTime: func(a []uintptr) Code {
		ms, err := as[cu.Event](a[1]).Elapsed(as[cu.Event](a[2]))
		return store(a[0], float32(ms), err)
	},
	moduleUnload: func(a []uintptr) Code { return code(as[cu.Module](a[0]).Unload()) },
	moduleGetFunction: func(a []uintptr) Code {
		f, err := as[cu.Module](a[1]).Function(cstring(a[2]))
		return store(a[0], f, err)
	},
	funcGetAttribute: func(a []uintptr) Code {
		v, err := as[cu.Function](a[2]).Attribute(cu.FunctionAttribute(a[1]))
		return store(a[0], int32(v), err)
	},
	launchKernel: func(a []uintptr) Code {
		addresses := as[*[maxParams]unsafe.Pointer](a[9])[:]
		if end := slices.Index(addresses, nil); end >= 0 {
			addresses = addresses[:end]
		}
		return code(as[cu.Function](a[0]).Launch(int(a[1]), 1, 1, int(a[4]), 1, 1, 0, as[cu.Stream](a[8]), addresses))
	},
}

// loadModule makes the default call if the image is refused, to get the compiler's log.
func (a *api) loadModule(args []uintptr) Code {
	module, err := cu.LoadData(cstring(args[1]))
	c := code(err)
	if (&Error{Code: c}).InvalidModule() {
		return Code(int32(native.Call(a.addresses[moduleLoadData], args...)))
	}
	return store(args[0], module, err)
}

// cstring copies a text that ends in a zero byte.
func cstring(at uintptr) string { return C.GoString(as[*C.char](at)) }
