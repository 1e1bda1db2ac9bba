// Package messages prints notes, warnings and the progress of long work on standard
// error.
package messages

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"gpfit/device"
	"gpfit/feature"
	"gpfit/hyperopt/descent"
	"gpfit/internal/textform"
)

// longest is the largest number of characters of a message's line.
const longest = 2000

// Error prints the error that ends a command. toGoOn allows a longer text: it may name
// many parameters to continue from.
func Error(w io.Writer, err error, toGoOn bool) {
	most := longest
	if toGoOn {
		most = 100 * longest
	}
	fmt.Fprintf(w, "gpfit: %s\n", textform.Printable(errorText(err), most))
}

// Writer writes messages. On a terminal it redraws one line of progress; elsewhere it
// prints a line per interval.
type Writer struct {
	w        io.Writer
	quiet    bool
	terminal bool
	interval time.Duration
	last     time.Time
	began    time.Time
	drawn    bool
	// status is the last line drawn. Progress shows it again with the progress of the
	// running evaluation.
	status string
	// Objective names the optimiser's values; "" means NLML.
	Objective string
}

// New returns a Writer to w. A quiet one prints only warnings.
func New(w io.Writer, quiet bool) *Writer {
	m := &Writer{w: w, quiet: quiet, interval: 5 * time.Second, began: time.Now(), last: time.Now()}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		m.terminal, m.interval = true, 100*time.Millisecond
	}
	return m
}

// Note prints a line unless --quiet.
func (m *Writer) Note(format string, args ...any) {
	if !m.quiet {
		m.line("gpfit: " + fmt.Sprintf(format, args...))
	}
}

// Say prints a line as it is unless --quiet.
func (m *Writer) Say(text string) { m.Note("%s", text) }

// Columns says how the columns of a table were read, if not all are numbers.
func (m *Writer) Columns(e *feature.Encoding) {
	if e == nil {
		return
	}
	for i := range e.Columns {
		m.Note("column %s: %s", e.Columns[i].Name, e.Columns[i].Text())
	}
}

// Warn prints a line even with --quiet.
func (m *Writer) Warn(text string) { m.line("gpfit: warning: " + text) }

func (m *Writer) line(text string) {
	m.Clear()
	fmt.Fprintln(m.w, textform.Printable(Flags(text), longest))
}

// Clear removes the progress line from a terminal.
func (m *Writer) Clear() {
	if m.drawn {
		fmt.Fprint(m.w, "\r\x1b[K")
		m.drawn = false
	}
}

// Iteration shows the optimiser's state. It always shows the first one.
func (m *Writer) Iteration(it descent.Iteration) {
	m.status = ""
	if it.Rows > 0 {
		m.status = fmt.Sprintf("%d rows, ", it.Rows)
	}
	m.status += fmt.Sprintf("start %d, iteration %d: %s %.6f, gradient %.2g, best %.6f, %d values, %d gradients",
		it.Start, it.Iteration, cmp.Or(m.Objective, "NLML"), it.F, it.GradientNorm, it.Best, it.Total.Value, it.Total.Gradient)
	m.draw(m.status, it.Start == 0 && it.Iteration == 0)
}

// Step shows which part of a long command begins.
func (m *Writer) Step(format string, args ...any) {
	m.status = fmt.Sprintf(format, args...)
	m.draw(m.status, m.terminal)
}

// Status is Step for a state that changes often.
func (m *Writer) Status(format string, args ...any) {
	m.status = fmt.Sprintf(format, args...)
	m.draw(m.status, false)
}

// Progress shows how far a long evaluation is.
func (m *Writer) Progress(p device.Progress) {
	if time.Since(m.last) < m.interval {
		return
	}
	status := m.status
	if status != "" {
		status += "; "
	}
	m.draw(fmt.Sprintf("%s%s %.0f %%", status, p.Stage, min(100, 100*p.Done/p.Total)), false)
}

func (m *Writer) draw(text string, always bool) {
	if m.quiet || !always && time.Since(m.last) < m.interval {
		return
	}
	m.last = time.Now()
	text = fmt.Sprintf("[%s] %s", time.Since(m.began).Round(time.Second/10), text)
	text = textform.Printable(text, longest)
	if !m.terminal {
		fmt.Fprintln(m.w, "gpfit: "+text)
		return
	}
	if width, _, err := term.GetSize(int(m.w.(*os.File).Fd())); err == nil && len(text) >= width {
		text = text[:max(width-1, 0)]
	}
	fmt.Fprint(m.w, "\r"+text+"\x1b[K")
	m.drawn = true
}
