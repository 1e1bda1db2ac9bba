package tiles

import (
	"os"
	"syscall"
	"unsafe"
)

// mapFile reserves the space of a file and maps it.
func mapFile(f *os.File, numbers int64) (memory []float64, free func() error, err error) {
	if err := syscall.Fallocate(int(f.Fd()), 0, 0, 8*numbers); err != nil {
		return nil, nil, err
	}
	bytes, err := syscall.Mmap(int(f.Fd()), 0, int(8*numbers), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(&bytes[0])), numbers), func() error { return syscall.Munmap(bytes) }, nil
}

// available returns the free bytes of the file system of a folder.
func available(folder string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(folder, &s) != nil {
		return 0
	}
	return int64(s.Bavail) * s.Bsize
}
