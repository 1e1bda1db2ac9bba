// Package messages prints notes, warnings and progress on standard error.
package messages

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"gpfit/device"
	"gpfit/fit/problem"
	"gpfit/internal/textform"
	"gpfit/option"
	"gpfit/table/feature"
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

// Status is the progress of long work.
type Status struct {
	// Text says it in words.
	Text string `json:"text"`
	// Done of Total parts are done, such as jobs of a batch, or percent of the work of a fit; both are 0 if that is not known.
	Done  float64 `json:"done"`
	Total float64 `json:"total,omitempty"`
	// SecondsLeft is about how much time is left; 0 if that is not known.
	SecondsLeft float64 `json:"seconds_left,omitempty"`
	// Value is the objective at the current parameters of a fit. Best is the lowest over all rows so far, and the result's at the end.
	Value *float64 `json:"value,omitempty"`
	Best  *float64 `json:"best,omitempty"`
}

// Listener takes the progress of long work. A [Writer] to one shows it there, too, also if it is quiet.
type Listener interface {
	// Wants reports whether the listener takes a status now.
	Wants() bool
	// Show takes a status.
	Show(Status)
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
	// running evaluation. With a fit, its state takes the place of status.
	status string
	fit    *fitting
	// A fit is the part of the work from one share to another, and what names it. ends is true at the end of the work, and
	// printed after the first line.
	from, to      float64
	what          string
	ends, printed bool
	// counted is when Count began, and done and all are its last numbers.
	counted   time.Time
	done, all int
	left      time.Duration
	listener  Listener
	// mu protects the writer from the clock, which redraws the line on a terminal.
	mu      sync.Mutex
	ticking bool
	// Objective names the optimizer's values; "" means NLML.
	Objective string
}

// New returns a Writer to w. A quiet one prints only warnings.
func New(w io.Writer, quiet bool) *Writer {
	m := &Writer{w: w, quiet: quiet, interval: 5 * time.Second, began: time.Now(), last: time.Now(), to: 1}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb" {
		m.terminal, m.interval = true, 100*time.Millisecond
	}
	m.listener, _ = w.(Listener)
	return m
}

// heard reports whether a listener takes a status now.
func (m *Writer) heard() bool { return m.listener != nil && m.listener.Wants() }

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

// Warn prints a line for each text, even with --quiet.
func (m *Writer) Warn(texts ...string) {
	for _, text := range texts {
		m.line("gpfit: warning: " + text)
	}
}

func (m *Writer) line(text string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
	fmt.Fprintln(m.w, textform.Printable(Flags(text), longest))
}

// Clear removes the progress line from a terminal.
func (m *Writer) Clear() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clear()
}

func (m *Writer) clear() {
	if m.drawn {
		fmt.Fprint(m.w, "\r\x1b[K")
		m.drawn = false
	}
}

// named matches the form in which the library names an option.
var named = regexp.MustCompile(`\boption ([a-z]+(?:-[a-z]+)*)`)

// Flags returns a text of the library with its options as flags: "option restarts"
// becomes "--restarts".
func Flags(text string) string {
	if !strings.Contains(text, "option ") {
		return text
	}
	table := option.All()
	return named.ReplaceAllStringFunc(text, func(match string) string {
		name := strings.TrimPrefix(match, "option ")
		if !table.Has(name) {
			return match
		}
		return "--" + name
	})
}

// AllFlags is Flags for every text of a list, in place.
func AllFlags(texts []string) {
	for i := range texts {
		texts[i] = Flags(texts[i])
	}
}

// errorText returns the text of an error for the command line. It writes options, and
// parameters to continue from, as flags.
func errorText(err error) string {
	text := err.Error()
	if unfinished, ok := errors.AsType[*problem.UnfinishedError](err); ok {
		var set strings.Builder
		for i, a := range unfinished.Parameters {
			if i > 0 {
				set.WriteByte(' ')
			}
			set.WriteString("--set " + textform.ShellQuote(fmt.Sprintf("%s=%.10g", a.Name, a.Value)))
		}
		text = strings.Replace(text, unfinished.Error(), unfinished.Err.Error()+"\n"+unfinished.Found()+set.String(), 1)
	}
	if _, ok := errors.AsType[*device.UnavailableError](err); ok {
		text += "; 'gpfit devices' lists what gpfit found"
	}
	return Flags(interrupted(text))
}

// interrupted returns a text with the word for a context that a signal has ended, and without its repetition on lines of their own.
func interrupted(text string) string {
	lines := strings.Split(text, "\n")
	kept := slices.DeleteFunc(lines, func(l string) bool { return len(lines) > 1 && l == context.Canceled.Error() })
	return strings.ReplaceAll(strings.Join(kept, "\n"), context.Canceled.Error()+": ", "interrupted: ")
}
