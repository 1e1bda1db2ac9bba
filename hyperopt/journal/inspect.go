package journal

import (
	"errors"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"gpfit/internal/filelock"
	"gpfit/internal/userfile"
)

// Contents describes the evaluations in a journal.
type Contents struct {
	// Job is the word that names the job.
	Job string `json:"job"`
	// InUse says that a process is writing the journal.
	InUse bool `json:"in_use"`
	// Incomplete says that the last line is incomplete, as after a kill. It does not count.
	Incomplete bool `json:"incomplete_line"`
	// Values and Gradients count evaluations, Undefined the evaluations where the
	// objective is not defined.
	Values    int `json:"values"`
	Gradients int `json:"gradients"`
	Undefined int `json:"undefined"`
	// Descents are the sequences of evaluations, in the order of their names.
	Descents []Descent `json:"descents"`
}

// Descent describes one sequence of evaluations of a journal: a descent of a stage. Stages with few rows
// have another scale.
type Descent struct {
	Name        string `json:"name"`
	Evaluations int    `json:"evaluations"`
	// Best is the lowest finite value, nil if there is none.
	Best *float64 `json:"best"`
}

// Inspect reads the journal at path without changing it. Errors are [*Error].
func Inspect(path string) (*Contents, error) {
	file, err := userfile.Open(path, os.O_RDONLY)
	if err != nil {
		return nil, systemError(path, err)
	}
	defer file.Close()
	s := &Contents{Descents: []Descent{}, InUse: errors.Is(filelock.Try(file, false, 0), filelock.ErrBusy)}
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
	slices.SortFunc(s.Descents, func(a, b Descent) int { return strings.Compare(a.Name, b.Name) })
	return s, nil
}

// IsJournal reports whether the file at path begins as a journal does, of any version.
func IsJournal(path string) bool {
	return string(userfile.Begin(path, len(anyHead))) == anyHead
}

func (s *Contents) add(name string, records []record) {
	of, best := Descent{Name: name, Evaluations: len(records)}, math.Inf(1)
	for _, r := range records {
		switch r.kind {
		case valueRecord:
			s.Values++
			best = min(best, r.numbers[0])
		case gradientRecord:
			s.Gradients++
			best = min(best, r.numbers[0])
		case matrixRecord:
			of.Evaluations--
		default:
			s.Undefined++
		}
	}
	if best-best == 0 {
		of.Best = &best
	}
	s.Descents = append(s.Descents, of)
}
