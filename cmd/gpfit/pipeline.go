package main

import (
	"context"

	"gpfit/cmd/gpfit/internal/flags"
	"gpfit/cmd/gpfit/internal/frame"
	"gpfit/internal/rows"
)

// A readAhead reads the next rows of a table while the caller works with the rows
// before them.
type readAhead struct {
	table *rows.ModelRows
	path  string
	next  chan rowsRead // of the read under way; nil if there is none
}

// rowsRead is what one read returned, with the state of the reader after it.
type rowsRead struct {
	rows     rows.Rows
	progress float64
	warnings []string
	err      error
}

// read reads the next rows.
func (a *readAhead) read() (rowsRead, error) {
	piece, err := a.table.Next()
	return a.state(piece), err
}

// readAll reads all remaining rows.
func (a *readAhead) readAll() (rowsRead, error) {
	all, err := a.table.All()
	return a.state(all), err
}

// state adds the state of the reader to a copy of the rows, which remains valid during
// the next read.
func (a *readAhead) state(piece rows.Rows) rowsRead {
	return rowsRead{rows: piece.Clone(), progress: a.table.Progress(), warnings: a.table.Warnings()}
}

// start begins to read the next rows.
func (a *readAhead) start() {
	next := make(chan rowsRead, 1)
	a.next = next
	go func() {
		r, err := a.read()
		r.err = err
		next <- r
	}()
}

// await returns the rows of the read under way. It returns when ctx is done, too.
func (a *readAhead) await(ctx context.Context) (rowsRead, error) {
	r, err := flags.Await(ctx, a.path, func() (rowsRead, error) {
		r := <-a.next
		return r, r.err
	})
	if ctx.Err() == nil {
		a.next = nil
	}
	return r, frame.RowsError(err)
}

// close waits for the read under way and closes the table. It does not wait for
// standard input, which may never end and which it does not close.
func (a *readAhead) close(ctx context.Context) error {
	if a.next != nil && a.path != "-" {
		select {
		case <-a.next:
		case <-ctx.Done():
		}
	}
	return a.table.Close()
}

// A writeBehind writes results while the caller computes the next ones.
type writeBehind struct{ done chan error }

// start begins to write. The caller must have waited for the last write.
func (b *writeBehind) start(write func() error) {
	done := make(chan error, 1)
	b.done = done
	go func() { done <- write() }()
}

// wait waits for the write under way and returns its error.
func (b *writeBehind) wait() error {
	if b.done == nil {
		return nil
	}
	err := <-b.done
	b.done = nil
	return err
}
