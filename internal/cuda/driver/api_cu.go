//go:build cu && linux && (amd64 || arm64) && !nogpu

package driver

/*
#cgo LDFLAGS: -L${SRCDIR}/stub -Wl,--as-needed -ldl
void gpfit_cu_bind(void *library);
*/
import "C"

import (
	"reflect"
	"unsafe"

	"gorgonia.org/cu"
)

// cuAPI calls the driver through gorgonia.org/cu. It inherits from dlopenAPI the calls
// that the package lacks: copies of blocks, the compiler's log and the text of errors.
type cuAPI struct{ dlopenAPI }

// wrap binds the symbols that cu is linked to (forward.c) to the open library.
func wrap(a *dlopenAPI, library uintptr) api {
	C.gpfit_cu_bind(*(*unsafe.Pointer)(unsafe.Pointer(&library)))
	return &cuAPI{*a}
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

// handleOf converts a pointer to one of cu's structs of a single C pointer.
func handleOf[T cu.CUContext | cu.Stream | cu.Event | cu.Module | cu.Function](h uintptr) T {
	var t T
	*(*uintptr)(unsafe.Pointer(&t)) = h
	return t
}

// pointerOf is the inverse of handleOf.
func pointerOf[T cu.CUContext | cu.Stream | cu.Event | cu.Module | cu.Function](t T) uintptr {
	return *(*uintptr)(unsafe.Pointer(&t))
}

func (*cuAPI) name() string { return "gorgonia.org/cu" }

func (*cuAPI) driverVersion() (int, Code) {
	if v := cu.Version(); v >= 0 {
		return v, Success
	}
	return 0, CodeUnknown
}

func (*cuAPI) deviceCount() (int, Code) {
	n, err := cu.NumDevices()
	return n, code(err)
}

func (*cuAPI) device(index int) (int32, Code) {
	d, err := cu.GetDevice(index)
	return int32(d), code(err)
}

func (*cuAPI) deviceName(dev int32) (string, Code) {
	s, err := cu.Device(dev).Name()
	return s, code(err)
}

func (*cuAPI) deviceMemory(dev int32) (int64, Code) {
	n, err := cu.Device(dev).TotalMem()
	return n, code(err)
}

func (*cuAPI) deviceAttribute(dev int32, attribute int) (int, Code) {
	v, err := cu.Device(dev).Attribute(cu.DeviceAttribute(attribute))
	return v, code(err)
}

func (*cuAPI) contextRetain(dev int32) (uintptr, Code) {
	ctx, err := cu.Device(dev).RetainPrimaryCtx()
	return pointerOf(ctx), code(err)
}

func (*cuAPI) contextRelease(dev int32) Code { return code(cu.Device(dev).ReleasePrimaryCtx()) }

func (*cuAPI) contextCurrent(ctx uintptr) Code {
	return code(cu.SetCurrentContext(handleOf[cu.CUContext](ctx)))
}

func (*cuAPI) contextSync() Code { return code(cu.Synchronize()) }

func (*cuAPI) memInfo() (free, total int64, c Code) {
	free, total, err := cu.MemInfo()
	return free, total, code(err)
}

func (*cuAPI) memAlloc(bytes int64) (Ptr, Code) {
	p, err := cu.MemAlloc(bytes)
	return Ptr(p), code(err)
}

func (*cuAPI) memFree(p Ptr) Code { return code(cu.MemFree(cu.DevicePtr(p))) }

func (*cuAPI) copyHtoD(dst Ptr, src unsafe.Pointer, n int64, s uintptr) Code {
	return code(cu.MemcpyHtoDAsync(cu.DevicePtr(dst), src, n, handleOf[cu.Stream](s)))
}

func (*cuAPI) copyDtoH(dst unsafe.Pointer, src Ptr, n int64, s uintptr) Code {
	return code(cu.MemcpyDtoHAsync(dst, cu.DevicePtr(src), n, handleOf[cu.Stream](s)))
}

func (*cuAPI) memset(p Ptr, value byte, n int64, s uintptr) Code {
	return code(cu.MemsetD8Async(cu.DevicePtr(p), value, n, handleOf[cu.Stream](s)))
}

func (*cuAPI) streamCreate() (uintptr, Code) {
	s, err := cu.MakeStream(0)
	return pointerOf(s), code(err)
}

func (*cuAPI) streamDestroy(s uintptr) Code {
	stream := handleOf[cu.Stream](s)
	return code(stream.Destroy())
}

func (*cuAPI) streamSync(s uintptr) Code { return code(handleOf[cu.Stream](s).Synchronize()) }

func (*cuAPI) eventCreate() (uintptr, Code) {
	e, err := cu.MakeEvent(0)
	return pointerOf(e), code(err)
}

func (*cuAPI) eventDestroy(e uintptr) Code {
	event := handleOf[cu.Event](e)
	return code(cu.DestroyEvent(&event))
}

func (*cuAPI) eventRecord(e, s uintptr) Code {
	return code(handleOf[cu.Event](e).Record(handleOf[cu.Stream](s)))
}

func (*cuAPI) eventSync(e uintptr) Code { return code(handleOf[cu.Event](e).Synchronize()) }

func (*cuAPI) eventMs(a, b uintptr) (float64, Code) {
	ms, err := handleOf[cu.Event](a).Elapsed(handleOf[cu.Event](b))
	return ms, code(err)
}

// moduleLoad uses the default implementation if the image is refused, to get the
// compiler's log.
func (a *cuAPI) moduleLoad(image []byte) (m uintptr, log string, c Code) {
	module, err := cu.LoadData(string(image[:len(image)-1]))
	c = code(err)
	if (&Error{Code: c}).InvalidModule() {
		return a.dlopenAPI.moduleLoad(image)
	}
	return pointerOf(module), "", c
}

func (*cuAPI) moduleUnload(m uintptr) Code { return code(handleOf[cu.Module](m).Unload()) }

func (*cuAPI) moduleFunction(m uintptr, name string) (uintptr, Code) {
	f, err := handleOf[cu.Module](m).Function(name)
	return pointerOf(f), code(err)
}

func (*cuAPI) functionAttribute(f uintptr, attribute int) (int, Code) {
	v, err := handleOf[cu.Function](f).Attribute(cu.FunctionAttribute(attribute))
	return v, code(err)
}

func (*cuAPI) launch(f uintptr, blocks, threads uint32, s uintptr, params []uint64) Code {
	addresses := make([]unsafe.Pointer, len(params))
	for i := range params {
		addresses[i] = unsafe.Pointer(&params[i])
	}
	return code(handleOf[cu.Function](f).Launch(int(blocks), 1, 1, int(threads), 1, 1, 0, handleOf[cu.Stream](s), addresses))
}
