// Command curve draws the times of NLML and gradient on a GPU and on the CPU of the same
// machine against n, a chart for each kernel, from results of part curve of ../run.py:
//
//	go run -C benchmarks ./gpu/curve OUT.svg RESULT.jsonl…
//
// Vertical lines show from which n the GPU is faster, as does the title of a chart, with
// the number of columns in brackets.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"gpfit/show/plotting"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: curve OUT.svg RESULT.jsonl…")
		os.Exit(2)
	}
	if err := draw(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "curve:", err)
		os.Exit(1)
	}
}

func draw(out string, results []string) error {
	var all []record
	for _, path := range results {
		found, err := read(path)
		if err != nil {
			return err
		}
		all = append(all, found...)
	}
	f, err := figure(all)
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Join(results, ", "), err)
	}
	return f.Write(context.Background(), out, true)
}

// record is a record of a result: the machine, a measurement of value and gradient, or from
// which N on the GPU is faster; then N is 0 if it is not.
type record struct {
	Type           string
	NvidiaSMI      string `json:"nvidia_smi"`
	CPU            string
	CPUs           int
	Kernel, Device string
	D              int
	N              float64
	Seconds        float64 `json:"seconds_value_gradient"`
}

// read returns the machine and the records of part curve.
func read(path string) (found []record, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := json.NewDecoder(file)
	for i := 1; ; i++ {
		var line json.RawMessage
		var kind struct{ Type, Step string }
		var r record
		err := lines.Decode(&line)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err == nil {
			err = json.Unmarshal(line, &kind)
		}
		wanted := kind.Type == "machine" || kind.Step == "curve" && (kind.Type == "stages" || kind.Type == "crossover")
		if err == nil && wanted { // other records may have other types under the same names
			err = json.Unmarshal(line, &r)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: record %d: %w", path, i, err)
		}
		if wanted {
			found = append(found, r)
		}
	}
}

// figure has a chart for each kernel.
func figure(all []record) (*plotting.Figure, error) {
	f := &plotting.Figure{Title: "NLML with gradient", SharedY: true, Columns: 3}
	var kernels []string
	for _, r := range all {
		if r.Type == "machine" {
			card, _, _ := strings.Cut(r.NvidiaSMI, ",")
			f.Title = fmt.Sprintf("NLML with gradient: %s and %d threads of %s", card, r.CPUs, strings.NewReplacer("(R)", "", "(TM)", "").Replace(r.CPU))
		} else if !slices.Contains(kernels, r.Kernel) {
			kernels = append(kernels, r.Kernel)
		}
	}
	if kernels == nil {
		return nil, errors.New("no results of part curve")
	}
	slices.SortStableFunc(all, func(a, b record) int { return cmp.Compare(a.N, b.N) })
	for _, name := range kernels {
		f.Charts = append(f.Charts, chart(name, all))
	}
	return f, nil
}

// shapes keep points visible where lines of different numbers of columns coincide.
var shapes = []plotting.Shape{plotting.Dot, plotting.Ring}

// chart has a line for each number of columns and each device.
func chart(name string, all []record) plotting.Chart {
	c := plotting.Chart{Title: name, X: plotting.Axis{Label: "rows n", Log: true}, Y: plotting.Axis{Label: "seconds", Log: true}}
	var columns []int
	for _, r := range all {
		if r.Kernel == name && !slices.Contains(columns, r.D) {
			columns = append(columns, r.D)
		}
	}
	slices.Sort(columns)
	var crossings []string
	for color, d := range columns {
		gpu := &plotting.Line{Name: fmt.Sprintf("GPU, %d columns", d), Color: color}
		cpu := &plotting.Line{Name: fmt.Sprintf("CPU, %d columns", d), Color: color, Dashed: true}
		for _, r := range all {
			if r.Kernel != name || r.D != d {
				continue
			}
			if r.Type == "stages" {
				line := gpu
				if r.Device == "cpu" {
					line = cpu
				}
				line.X, line.Y = append(line.X, r.N), append(line.Y, r.Seconds)
			} else if r.N > 0 {
				c.Layers = append(c.Layers, &plotting.Guide{At: r.N, Color: color, Vertical: true})
				crossings = append(crossings, fmt.Sprintf("%g (%d)", r.N, d))
			}
		}
		for _, line := range []*plotting.Line{cpu, gpu} {
			if len(line.X) > 0 {
				c.Layers = append(c.Layers, line, &plotting.Points{X: line.X, Y: line.Y, Color: color, Shape: shapes[color%len(shapes)]})
			}
		}
	}
	if crossings != nil {
		c.Title += ": GPU from " + strings.Join(crossings, ", ")
	}
	return c
}
