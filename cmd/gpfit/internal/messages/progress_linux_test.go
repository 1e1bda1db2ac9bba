package messages

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"gpfit/hyperopt"
	"gpfit/hyperopt/descent"
	"gpfit/internal/testcheck"
)

// openTerminal returns both ends of a pseudo-terminal with a number of columns.
func openTerminal(t *testing.T, columns uint16) (screen, program *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("SKIPPED: no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { screen.Close() })
	testcheck.Do(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	number := testcheck.Get(unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN))(t)
	program = testcheck.Get(os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { program.Close() })
	testcheck.Do(t, unix.IoctlSetWinsize(int(program.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}))
	return screen, program
}

// readUntil returns what the program wrote, up to a word.
func readUntil(t *testing.T, screen *os.File, word string) string {
	t.Helper()
	var text []byte
	for !strings.Contains(string(text), word) {
		buf := make([]byte, 4096)
		n, err := screen.Read(buf)
		if err != nil {
			t.Fatalf("%v after %q", err, text)
		}
		text = append(text, buf[:n]...)
	}
	return string(text)
}

// simulate reports a fit of 4,000 rows as the library does.
func simulate(m *Writer) {
	for i := range 240 {
		p := hyperopt.FitProgress{Share: float64(i) / 240, Left: time.Duration(300-i) * time.Second, Best: -12346, Evaluations: i, Begun: i > 0}
		p.Iteration = descent.Iteration{Iteration: i, Rows: 500 * (i / 60), F: -12345.678912, GradientNorm: 1.234e-5}
		m.last = time.Time{} // as if the interval had passed
		m.Fit(p)
	}
}

// TestProgressOnTerminals draws the progress of a fit on terminals of many widths. No line
// may reach the last column, where it would wrap, and every line ends with a whole clause.
func TestProgressOnTerminals(t *testing.T) {
	clause := regexp.MustCompile(`^\[[^]]+\]( \d+( %(; [^;]*)*)?)?$`)
	whole := regexp.MustCompile(`(\]|\d+|%|left|rows|e-05)$`)
	for _, columns := range []uint16{8, 14, 20, 32, 40, 60, 80, 132, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			screen, program := openTerminal(t, columns)
			done := make(chan string)
			go func() { done <- readUntil(t, screen, "the end") }()
			m := New(program, false)
			if !m.terminal {
				t.Fatal("the pseudo-terminal is not seen as one")
			}
			simulate(m)
			m.Note("the end")
			drawn, _, _ := strings.Cut(<-done, "\r\x1b[Kgpfit")
			longest := 0
			for _, line := range strings.Split(drawn, "\r")[1:] {
				line, drawn := strings.CutSuffix(line, "\x1b[K")
				width := utf8.RuneCountInString(line)
				longest = max(longest, width)
				switch {
				case !drawn || strings.Contains(line, "\n") || width >= int(columns):
					t.Fatalf("%q", line)
				case line != "" && (!clause.MatchString(line) || !whole.MatchString(line)):
					t.Fatalf("not in whole clauses: %q", line)
				}
			}
			if longest < int(min(columns, 120))/3 {
				t.Errorf("the longest line has only %d characters", longest)
			}
		})
	}
}

// TestStandingLine checks that the line on a terminal goes on without any report.
func TestStandingLine(t *testing.T) {
	screen, program := openTerminal(t, 80)
	m := New(program, false)
	m.Count("fold", 0, 2, "")
	if text := readUntil(t, screen, "[1"); !strings.Contains(text, "] fold 1 of 2\x1b[K\r[1") {
		t.Errorf("%q", text)
	}
	m.Clear()
	if text := readUntil(t, screen, "\x1b[K"); m.drawn {
		t.Errorf("%q", text)
	}
}
