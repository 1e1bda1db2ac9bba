package bench

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// resetPeak returns unused memory to the system and resets the peak. It reports
// whether the system supports the reset (proc(5), /proc/pid/clear_refs).
func resetPeak() bool {
	debug.FreeOSMemory()
	return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) == nil
}

// peakBytes returns the largest resident memory of this process, VmHWM.
func peakBytes() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10
		}
	}
	return 0
}
