package speed

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"time"

	"gpfit/device"
	"gpfit/show/plotting"
)

// Machine describes the hardware and the software of a measurement.
type Machine struct {
	Type          string `json:"type"`
	SchemaVersion int    `json:"schema_version"`
	// CPU describes the processor; CPUs is the number of usable CPUs.
	CPU  string `json:"cpu"`
	CPUs int    `json:"cpus"`
	OS   string `json:"os"`
	Arch string `json:"arch"`
	// Go, Gpfit and Revision are the versions.
	Go       string `json:"go"`
	Gpfit    string `json:"gpfit"`
	Revision string `json:"revision"`
	// Date is the date and time in UTC, RFC 3339.
	Date      string   `json:"date"`
	Arguments []string `json:"arguments"`
	// Data names the table or describes how it was generated.
	Data        string `json:"data"`
	Kernel      string `json:"kernel"`
	Standardize string `json:"standardize"`
	Repeat      int    `json:"repeat"`
}

// Printer writes results incrementally, as one JSON object per line or as a table.
type Printer struct {
	W    io.Writer
	JSON bool
	// headed means that the head of the table has been written.
	headed bool
}

// Machine writes the header. It fills in what the process can determine.
func (p *Printer) Machine(m *Machine) error {
	m.Type, m.SchemaVersion = "machine", SchemaVersion
	m.CPUs, m.OS, m.Arch, m.Go = runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version()
	m.Date, m.Arguments = time.Now().UTC().Format(time.RFC3339), os.Args[1:]
	if p.JSON {
		return json.NewEncoder(p.W).Encode(m)
	}
	_, err := fmt.Fprintf(p.W, "machine   %s, %d CPUs\nsoftware  gpfit %s (%s), %s\ndate      %s\ndata      %s\nmodel     %s, standardize %s; medians of %d after a warm-up\n",
		m.CPU, m.CPUs, m.Gpfit, m.Revision, m.Go, m.Date, m.Data, m.Kernel, m.Standardize, m.Repeat)
	return err
}

// Result writes one line.
func (p *Printer) Result(r *Result) error {
	if p.JSON {
		return json.NewEncoder(p.W).Encode(r)
	}
	if !p.headed {
		p.headed = true
		head := fmt.Sprintf("\n%-8s %7s %4s  %12s %13s  %8s %8s %8s  %10s  %14s  %16s\n",
			"device", "n", "d", "value, s", "+ gradient, s", "GFLOP/s", "dgemm", "of dgemm", "peak", "predicted/s", "NLML")
		if _, err := io.WriteString(p.W, head); err != nil {
			return err
		}
	}
	dgemm, fraction, peak, note := "-", "-", "-", ""
	if r.DgemmGFlops > 0 {
		dgemm, fraction = fmt.Sprintf("%.1f", r.DgemmGFlops), fmt.Sprintf("%.0f %%", 100*r.FractionOfDgemm)
	}
	if r.PeakBytes > 0 {
		peak = device.FormatBytes(r.PeakBytes)
		if r.PeakIsCumulative {
			note = "  (peak since the process began)"
		}
	}
	_, err := fmt.Fprintf(p.W, "%-8s %7d %4d  %12.6f %13.6f  %8.1f %8s %8s  %10s  %14.0f  %16.6f%s\n",
		r.Device, r.N, r.D, r.SecondsValue, r.SecondsValueGradient, r.GFlops, dgemm, fraction, peak, r.PredictRowsPerSecond, r.NLML, note)
	return err
}

// Plot returns a plot of time against n, with the time for n³ operations at the
// rate of each device's matrix product.
func Plot(results []*Result) *plotting.Figure {
	chart := plotting.Chart{X: plotting.Axis{Label: "rows n", Log: true}, Y: plotting.Axis{Label: "seconds", Log: true}}
	var devices []string
	for _, r := range results {
		if !slices.Contains(devices, r.Device) {
			devices = append(devices, r.Device)
		}
	}
	for group, name := range devices {
		gradient := &plotting.Line{Name: name + ": value and gradient", Color: group}
		value := &plotting.Line{Name: name + ": value", Color: group, Dashed: true}
		of := sortedByN(results, name)
		rate := slices.MaxFunc(of, func(a, b *Result) int { return cmp.Compare(a.DgemmGFlops, b.DgemmGFlops) }).DgemmGFlops
		limit := &plotting.Line{Color: group, Thin: true, Dashed: true}
		limit.Name = fmt.Sprintf("%s: limit of value and gradient, n³ at %s GFLOP/s", name, threeDigits(rate))
		for _, r := range of {
			n := float64(r.N)
			gradient.X, gradient.Y = append(gradient.X, n), append(gradient.Y, r.SecondsValueGradient)
			value.X, value.Y = append(value.X, n), append(value.Y, r.SecondsValue)
			if rate > 0 {
				limit.X, limit.Y = append(limit.X, n), append(limit.Y, n*n*n/(rate*1e9))
			}
		}
		chart.X.Ticks = append(chart.X.Ticks, gradient.X...)
		chart.Layers = append(chart.Layers, gradient, &plotting.Points{X: gradient.X, Y: gradient.Y, Color: group})
		chart.Layers = append(chart.Layers, value, &plotting.Points{X: value.X, Y: value.Y, Color: group, Shape: plotting.Ring})
		if len(limit.X) > 0 {
			chart.Layers = append(chart.Layers, limit)
		}
	}
	slices.Sort(chart.X.Ticks)
	chart.X.Ticks = slices.Compact(chart.X.Ticks)
	title := fmt.Sprintf("One evaluation, %s, %d columns", results[0].Kernel, results[0].D)
	return &plotting.Figure{Title: title, Charts: []plotting.Chart{chart}}
}

// threeDigits formats a rate without an exponent.
func threeDigits(v float64) string {
	if v >= 100 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}

func sortedByN(results []*Result, name string) []*Result {
	var of []*Result
	for _, r := range results {
		if r.Device == name {
			of = append(of, r)
		}
	}
	slices.SortStableFunc(of, func(a, b *Result) int { return a.N - b.N })
	return of
}
