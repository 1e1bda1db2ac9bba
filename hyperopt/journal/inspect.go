package journal

import (
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"gpfit/internal/filelock"
)

// Contents describes the evaluations in a journal.
type Contents struct {
	// Job is the word that names the job.
	Job string
	// Values and Gradients count evaluations, Undefined the evaluations where the
	// objective is not defined.
	Values, Gradients, Undefined int
	// Streams are the descents of the stages, in order.
	Streams []StreamContents
	// InUse says that a process is writing the journal.
	InUse bool
	// Incomplete says that the last line is incomplete, as after a kill. It does not count.
	Incomplete bool
}

// StreamContents describes one sequence of evaluations of a journal.
type StreamContents struct {
	Name        string
	Evaluations int
	// Best is the lowest value, +∞ if there is none.
	Best float64
}

// Inspect reads the journal at path without changing it. Errors are [*Error].
func Inspect(path string) (*Contents, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, systemError(path, err)
	}
	defer file.Close()
	s := &Contents{InUse: errors.Is(filelock.Try(file, false, 0), filelock.ErrBusy)}
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, systemError(path, err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	s.Job = strings.TrimPrefix(first, head)
	j := &Journal{path: path, past: map[string][]record{}}
	good, err := j.read(string(text), head+s.Job+"\n")
	if err != nil {
		return nil, err
	}
	s.Incomplete = good < int64(len(text))
	for name, records := range j.past {
		s.add(name, records)
	}
	slices.SortFunc(s.Streams, func(a, b StreamContents) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// IsJournal reports whether the file at path begins as a journal does, of any version.
func IsJournal(path string) bool {
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	begin := make([]byte, len(anyHead))
	_, err = io.ReadFull(file, begin)
	return err == nil && string(begin) == anyHead
}

func (s *Contents) add(name string, records []record) {
	stream := StreamContents{Name: name, Evaluations: len(records), Best: math.Inf(1)}
	for _, r := range records {
		switch r.kind {
		case valueRecord:
			s.Values++
			stream.Best = min(stream.Best, r.numbers[0])
		case gradientRecord:
			s.Gradients++
			stream.Best = min(stream.Best, r.numbers[0])
		case matrixRecord:
			stream.Evaluations--
		default:
			s.Undefined++
		}
	}
	s.Streams = append(s.Streams, stream)
}
