//go:build linux && (amd64 || arm64) && !nogpu

package driver

import (
	"runtime"
	"unsafe"
)

func (a dlopenWork) memInfo() (free, total int64, c Code) {
	c = call(a.fn[fnMemGetInfo], uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	return free, total, c
}

func (a dlopenWork) memAlloc(bytes int64) (Ptr, Code) {
	var p Ptr
	c := call(a.fn[fnMemAlloc], uintptr(unsafe.Pointer(&p)), uintptr(bytes))
	return p, c
}

func (a dlopenWork) memFree(p Ptr) Code { return call(a.fn[fnMemFree], uintptr(p)) }

func (a dlopenWork) copyHtoD(dst Ptr, src unsafe.Pointer, n int64, s uintptr) Code {
	return call(a.fn[fnMemcpyHtoD], uintptr(dst), uintptr(src), uintptr(n), s)
}

func (a dlopenWork) copyDtoH(dst unsafe.Pointer, src Ptr, n int64, s uintptr) Code {
	return call(a.fn[fnMemcpyDtoH], uintptr(dst), uintptr(src), uintptr(n), s)
}

func (a dlopenWork) copy2D(m *memcpy2D, s uintptr) Code {
	return call(a.fn[fnMemcpy2D], uintptr(unsafe.Pointer(m)), s)
}

func (a dlopenWork) memset(p Ptr, value byte, n int64, s uintptr) Code {
	return call(a.fn[fnMemsetD8], uintptr(p), uintptr(value), uintptr(n), s)
}

// create calls a function that writes a handle and takes flags, which are 0.
func (a dlopenWork) create(fn int) (uintptr, Code) {
	var h uintptr
	c := call(a.fn[fn], uintptr(unsafe.Pointer(&h)), 0)
	return h, c
}

func (a dlopenWork) streamCreate() (uintptr, Code) { return a.create(fnStreamCreate) }
func (a dlopenWork) streamDestroy(s uintptr) Code  { return call(a.fn[fnStreamDestroy], s) }
func (a dlopenWork) streamSync(s uintptr) Code     { return call(a.fn[fnStreamSynchronize], s) }
func (a dlopenWork) eventCreate() (uintptr, Code)  { return a.create(fnEventCreate) }
func (a dlopenWork) eventDestroy(e uintptr) Code   { return call(a.fn[fnEventDestroy], e) }
func (a dlopenWork) eventRecord(e, s uintptr) Code { return call(a.fn[fnEventRecord], e, s) }
func (a dlopenWork) eventSync(e uintptr) Code      { return call(a.fn[fnEventSynchronize], e) }

func (a dlopenWork) eventMs(x, y uintptr) (float64, Code) {
	var ms float32
	c := call(a.fn[fnEventElapsedTime], uintptr(unsafe.Pointer(&ms)), x, y)
	return float64(ms), c
}

func (a dlopenWork) moduleLoad(image []byte) (m uintptr, log string, c Code) {
	buffer := make([]byte, 8<<10)
	var pin runtime.Pinner
	defer pin.Unpin()
	pin.Pin(&buffer[0])
	options := [2]int32{errorLogBuffer, errorLogBufferSize}
	values := [2]uintptr{uintptr(unsafe.Pointer(&buffer[0])), uintptr(len(buffer))}
	c = call(a.fn[fnModuleLoadDataEx], uintptr(unsafe.Pointer(&m)), uintptr(unsafe.Pointer(&image[0])),
		uintptr(len(options)), uintptr(unsafe.Pointer(&options)), uintptr(unsafe.Pointer(&values)))
	return m, gostring(buffer), c
}

func (a dlopenWork) moduleUnload(m uintptr) Code { return call(a.fn[fnModuleUnload], m) }

func (a dlopenWork) moduleFunction(m uintptr, name string) (uintptr, Code) {
	var f uintptr
	b := cstring(name)
	c := call(a.fn[fnModuleGetFunction], uintptr(unsafe.Pointer(&f)), m, uintptr(unsafe.Pointer(&b[0])))
	return f, c
}

func (a dlopenWork) functionAttribute(f uintptr, attribute int) (int, Code) {
	var v int32
	c := call(a.fn[fnFuncGetAttribute], uintptr(unsafe.Pointer(&v)), uintptr(attribute), f)
	return int(v), c
}

func (a dlopenWork) launch(f uintptr, blocks, threads uint32, s uintptr, params []uint64) Code {
	var addresses [maxParams]*uint64
	for i := range params {
		addresses[i] = &params[i]
	}
	return call(a.fn[fnLaunchKernel], f, uintptr(blocks), 1, 1, uintptr(threads), 1, 1, 0, s, uintptr(unsafe.Pointer(&addresses)), 0)
}
