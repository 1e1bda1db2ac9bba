package spec

import (
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Error is a mistake in a spec file, with its place. The command line maps it to exit code 2.
type Error struct {
	// Source is the file's name. Line and Column count from 1; they are 0 if the error
	// belongs to no place.
	Source       string
	Line, Column int
	Msg          string
	// Err is the cause, if there is one.
	Err error
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Source + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Source, e.Line, e.Column, e.Msg)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// places maps the path of a node, such as "kernels[1].kernel", to its place.
type places map[string]place

type place struct{ line, column int }

func (p places) note(path string, n ast.Node) {
	if t := n.GetToken(); t != nil && t.Position != nil {
		p[path] = place{t.Position.Line, t.Position.Column}
	}
}

// errorAt returns an error in the file source, at the node of a path or at the nearest
// node above it.
func (p places) errorAt(source, path string, err error, msg string) error {
	out := &Error{Source: source, Msg: msg, Err: err}
	for {
		if at, ok := p[path]; ok {
			out.Line, out.Column = at.line, at.column
			return out
		}
		if path == "" {
			return out
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}
