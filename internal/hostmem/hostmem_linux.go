package hostmem

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Free returns the bytes that can be allocated without swapping: what
// the kernel calls MemAvailable, or what is left of a control group's limit if
// that is less. 0 means unknown.
func Free() int64 {
	last.Lock()
	defer last.Unlock()
	if now := time.Now(); last.read.IsZero() || now.Sub(last.read) > fresh {
		last.free, last.read = read(), now
	}
	return last.free
}

// A reading takes 0.1 ms, as long as a small evaluation: it serves for a little
// while, in which not even a fast machine fills much memory.
const fresh = 5 * time.Millisecond

var last struct {
	sync.Mutex
	free int64
	read time.Time
}

func read() int64 {
	free := int64(0)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
				kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
				free = kib << 10
			}
		}
	}
	for _, group := range [][2]string{
		{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
		{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"},
	} {
		limit, ok1 := readInt(group[0])
		used, ok2 := readInt(group[1])
		if ok1 && ok2 && limit < 1<<60 && (free == 0 || limit-used < free) {
			free = max(limit-used, 1)
		}
	}
	return free
}

func readInt(path string) (int64, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return v, err == nil
}
