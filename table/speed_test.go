//go:build unix

package table

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpfit/internal/must"
)

// writeRows writes n rows of d numbers with a header: with 15 to 17 digits, or
// with 3 decimals.
func writeRows(tb testing.TB, path string, n, d int, short bool) {
	f := must.Get(os.Create(path))(tb)
	w := bufio.NewWriter(f)
	for j := range d {
		if j > 0 {
			w.WriteByte(',')
		}
		fmt.Fprintf(w, "c%d", j)
	}
	var number []byte
	for i := range n {
		for j := range d {
			sep := byte(',')
			if j == 0 {
				sep = '\n'
			}
			number = append(number[:0], sep)
			v := math.Sin(float64(d*i + j))
			if short {
				number = strconv.AppendFloat(number, 100*v, 'f', 3, 64)
			} else {
				number = strconv.AppendFloat(number, v, 'g', -1, 64)
			}
			w.Write(number)
		}
	}
	w.WriteByte('\n')
	must.Do(tb, w.Flush())
	must.Do(tb, f.Close())
}

// processorTime returns the processor time that the process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkMillion reads CSV files of 1,000,000 × 20, as a whole and as a subsample.
// cpu-MB/s is the speed by processor time, which other processes on the machine
// hardly affect; table-bytes is the size of the result, and heap-bytes the heap that
// the process has taken from the system after the first reading.
func BenchmarkMillion(b *testing.B) {
	if testing.Short() {
		b.Skip("writes 530 MB")
	}
	const n, d = 1_000_000, 20
	dir := b.TempDir()
	for _, c := range []struct {
		name string
		opts Options
	}{
		{"long/subsample=10000", Options{Subsample: 10_000}},
		{"short/subsample=10000", Options{Subsample: 10_000}},
		{"long/all", Options{}},
		{"short/all", Options{}},
	} {
		path := filepath.Join(dir, c.name[:4])
		if _, err := os.Stat(path); err != nil {
			writeRows(b, path, n, d, strings.HasPrefix(c.name, "short"))
		}
		info := must.Get(os.Stat(path))(b)
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(info.Size())
			var held, heap uint64
			begin := processorTime()
			for b.Loop() {
				t := must.Get(Read(path, c.opts))(b)
				var m runtime.MemStats
				runtime.ReadMemStats(&m)
				held = uint64(8 * (len(t.X) + len(t.Y) + len(t.Line) + len(t.Row)))
				if heap == 0 {
					heap = m.HeapSys
				}
			}
			used := processorTime() - begin
			b.ReportMetric(float64(info.Size())*float64(b.N)/1e6/used.Seconds(), "cpu-MB/s")
			b.ReportMetric(float64(held), "table-bytes")
			b.ReportMetric(float64(heap), "heap-bytes")
		})
	}
}
