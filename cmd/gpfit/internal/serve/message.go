// Package serve runs commands that another process sends: it ends when that process closes its
// pipe. The Python package keeps such a process, so that a call needs no start of a program and
// models stay loaded.
//
// Messages are JSON objects in UTF-8, each after its length in bytes as four bytes, the highest
// first. The process that serves begins with a [Hello]. It then reads [Request] and writes [Event] and
// [Response] in any order: requests run at the same time. Tables and models are files that both processes see,
// in shared memory where the system has it. Start at [Serve].
package serve

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"gpfit/cmd/gpfit/internal/messages"
)

// Protocol is the version of the messages. It changes with every change that an older reader
// would not understand.
const Protocol = 1

// Hello is the first message.
type Hello struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
}

// Request asks to run a command, or to interrupt one.
type Request struct {
	// ID names the request in the answers.
	ID uint64 `json:"id"`
	// Command has the name of the command, its flags and arguments, as a shell has them after "gpfit".
	Command []string `json:"command,omitempty"`
	// Progress asks for events.
	Progress bool `json:"progress,omitempty"`
	// Cancel interrupts the command of the request with this ID, as Ctrl-C does.
	Cancel bool `json:"cancel,omitempty"`
}

// Event says how far a command is.
type Event struct {
	ID       uint64          `json:"id"`
	Progress messages.Status `json:"progress"`
}

// Response is the end of a command: its exit code and what it printed.
type Response struct {
	ID     uint64 `json:"id"`
	Code   int    `json:"code"`
	Stdout string `json:"stdout"`
	Stderr string `json:"stderr"`
}

// largest bounds a message that is read, in bytes: a length above it is no length.
const largest = 1 << 28

// answers writes messages. It is safe for concurrent use.
type answers struct {
	mu sync.Mutex
	to io.Writer
}

func (w *answers) send(message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	framed := binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(text)), uint32(len(text)))
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err = w.to.Write(append(framed, text...))
	return err
}

// receive reads a request. The error is [io.EOF] at the end.
func receive(r io.Reader) (*Request, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > largest {
		return nil, fmt.Errorf("a message of %d bytes: standard input is not from a client of gpfit serve", n)
	}
	text, err := io.ReadAll(io.LimitReader(r, int64(n))) // takes no more memory than there are bytes
	if err == nil && len(text) < int(n) {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, fmt.Errorf("a message of %d bytes ends early: %w", n, err)
	}
	q := new(Request)
	if err := json.Unmarshal(text, q); err != nil {
		return nil, fmt.Errorf("a message is no request: %w", err)
	}
	return q, nil
}
