package hostmem

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Free returns the number of bytes that can be allocated without swapping: the
// kernel's MemAvailable, or the rest of the limits of a control group or of the
// process (ulimit -v, -d) if that is less. 0 means unknown.
func Free() int64 {
	last.Lock()
	defer last.Unlock()
	if now := time.Now(); last.read.IsZero() || now.Sub(last.read) > fresh {
		last.free, last.read = read(), now
	}
	return last.free
}

// A reading takes 0.1 ms, as long as a small evaluation. It is reused for a short
// time, less than a small fit, in which even a fast machine cannot fill much memory.
const fresh = 20 * time.Millisecond

var last struct {
	sync.Mutex
	free int64
	read time.Time
}

func read() int64 {
	free := int64(0)
	for _, left := range append(groupsLeft(), available(), limitLeft()) {
		if left > 0 && (free == 0 || left < free) {
			free = left
		}
	}
	return free
}

// available returns the kernel's MemAvailable; 0 means unknown.
func available() int64 { return kilobytes("/proc/meminfo", "MemAvailable:") }

// Peak returns the largest resident memory of this process in bytes, VmHWM; 0 means unknown.
func Peak() int64 { return kilobytes("/proc/self/status", "VmHWM:") }

// kilobytes returns in bytes a number of kB that a line of a file has behind a name, 0 if there is none.
func kilobytes(path, name string) int64 {
	text, _ := os.ReadFile(path)
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}

// groupsLeft returns the unused parts of the limits of the process's control groups
// and their ancestors.
func groupsLeft() []int64 {
	var left []int64
	for _, version := range []struct{ root, controller, limit, used string }{
		{"/sys/fs/cgroup", "", "memory.max", "memory.current"},
		{"/sys/fs/cgroup/memory", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
	} {
		for dir := groupOf(version.controller); ; dir = filepath.Dir(dir) {
			at := filepath.Join(version.root, dir)
			limit, ok1 := readInt(filepath.Join(at, version.limit))
			used, ok2 := readInt(filepath.Join(at, version.used))
			if ok1 && ok2 && limit < 1<<60 {
				left = append(left, max(limit-used, 1))
			}
			if dir == "/" {
				break
			}
		}
	}
	return left
}

// Kills returns how many processes of this one's control group the system has killed for lack of memory.
func Kills() (n int64) {
	for _, at := range []string{filepath.Join("/sys/fs/cgroup", groupOf(""), "memory.events"), filepath.Join("/sys/fs/cgroup/memory", groupOf("memory"), "memory.oom_control")} {
		text, _ := os.ReadFile(at)
		for line := range strings.Lines(string(text)) {
			if number, ok := strings.CutPrefix(line, "oom_kill "); ok {
				kills, _ := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
				n += kills
			}
		}
	}
	return n
}

// groupOf returns the process's group in the hierarchy of a controller, as a path
// from its root; "" means version 2.
func groupOf(controller string) string {
	text, _ := os.ReadFile("/proc/self/cgroup")
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) == 3 && fields[1] == controller {
			return filepath.Clean("/" + fields[2])
		}
	}
	return "/"
}

// Arenas is the variable that says how many arenas for all threads the C library has.
const Arenas = "MALLOC_ARENA_MAX"

const (
	// spare is the memory that the runtime maps without being asked.
	spare = 32 << 20
	// stackSpace is the address space of a thread's stack. The C library reserves arenaSpace more
	// for what the thread allocates, unless the variable [Arenas] is 1.
	stackSpace, arenaSpace = 8 << 20, 64 << 20
	// moreThreads is how many threads a process has at most besides the threads that run Go
	// code at a time: threads that wait for the system, and the runtime's own.
	moreThreads = 8
	// heapStep is the address space by which the runtime's heap grows.
	heapStep = 64 << 20
)

// limitLeft returns the unused part of the limits on the process's address space
// and data. 0 means no limit.
func limitLeft() int64 {
	least := int64(0)
	keep := func(left int64) {
		if left = max(left-spare, 1); least == 0 || left < least {
			least = left
		}
	}
	if l := addressSpaceLeft(); l < unlimited {
		keep(l - threadsToCome())
	}
	if l := left(syscall.RLIMIT_DATA, 5); l < unlimited {
		keep(l)
	}
	return least
}

// CheckLimit returns an [ErrAddressSpace] if the limit on the process's address space
// (ulimit -v) leaves too little for the threads and the heap of a small job. Without its
// threads a process of Go ends by an abort.
func CheckLimit() error {
	left := addressSpaceLeft()
	if left >= unlimited {
		return nil
	}
	if needed := threadsToCome() + spare + heapStep; left < needed {
		left = max(left, 0)
		return fmt.Errorf("%w leaves %d MiB, and a small job needs %d MiB: raise it with 'ulimit -v' by %d MiB or more, or set GOMAXPROCS=1",
			ErrAddressSpace, left>>20, needed>>20, (needed-left)>>20+1)
	}
	return nil
}

func addressSpaceLeft() int64 { return left(syscall.RLIMIT_AS, 0) }

// hasLibc says whether the threads of the process are the C library's.
var hasLibc = sync.OnceValue(func() bool {
	maps, _ := os.ReadFile("/proc/self/maps")
	return bytes.Contains(maps, []byte("libc."))
})

// threadsToCome is the address space of the threads that the process may start yet. It is
// next to nothing without the C library.
func threadsToCome() int64 {
	if !hasLibc() {
		return 0
	}
	running, _ := os.ReadDir("/proc/self/task")
	space := stackSpace + arenaSpace
	if os.Getenv(Arenas) == "1" {
		space = stackSpace
	}
	return int64(max(runtime.GOMAXPROCS(0)+moreThreads-len(running), 0) * space)
}

// Limits names the limits on the process's address space and data; "" if it has none.
func Limits() string {
	var all []string
	for _, l := range []struct {
		resource     int
		name, option string
	}{{syscall.RLIMIT_AS, "address space", "-v"}, {syscall.RLIMIT_DATA, "data", "-d"}} {
		var r syscall.Rlimit
		if err := syscall.Getrlimit(l.resource, &r); err == nil && r.Cur <= uint64(unlimited) {
			all = append(all, fmt.Sprintf("the limit of %d MiB on the %s of this process (ulimit %s)", r.Cur>>20, l.name, l.option))
		}
	}
	return strings.Join(all, " and ")
}

// unlimited stands for what is left where there is no limit.
const unlimited = int64(1) << 60

// left returns the unused part of a limit of the process, whose use is an entry of /proc/self/statm.
func left(resource, entry int) int64 {
	var r syscall.Rlimit
	if err := syscall.Getrlimit(resource, &r); err != nil || r.Cur > uint64(unlimited) {
		return unlimited
	}
	return int64(r.Cur) - pages(entry)
}

// pages is an entry of /proc/self/statm in bytes, 0 if it cannot be read.
func pages(entry int) int64 {
	text, _ := os.ReadFile("/proc/self/statm")
	fields := strings.Fields(string(text))
	if entry >= len(fields) {
		return 0
	}
	n, _ := strconv.ParseInt(fields[entry], 10, 64)
	return n * int64(os.Getpagesize())
}

func readInt(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return v, err == nil
}
