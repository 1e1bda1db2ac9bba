package serve

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"gpfit/cmd/gpfit/internal/exit"
	"gpfit/cmd/gpfit/internal/messages"
	"gpfit/cmd/gpfit/internal/modelcache"
	"gpfit/internal/hostmem"
)

// Commands runs a command line and returns its exit code.
type Commands func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int

// Serve says hello on out, and runs the requests that it reads from in, until in ends or ctx is done.
// It then interrupts the commands that run and waits for them. The error says what is wrong with a
// message or with out.
func Serve(ctx context.Context, in io.Reader, out io.Writer, version string, run Commands) error {
	s := &server{run: run, out: &answers{to: out}, running: map[uint64]context.CancelFunc{}, store: modelcache.NewStore()}
	defer s.store.Close()
	if err := s.out.send(Hello{Protocol, version}); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { stop(s.read(ctx, bufio.NewReader(in))) }()
	<-ctx.Done()
	s.work.Wait()
	if err := context.Cause(ctx); !errors.Is(err, io.EOF) && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// server is a run of [Serve].
type server struct {
	run   Commands
	out   *answers
	store *modelcache.Store
	work  sync.WaitGroup
	// mu protects running, which holds what interrupts the commands that run.
	mu      sync.Mutex
	running map[uint64]context.CancelFunc
}

// read starts the requests, and returns an error at the end of in.
func (s *server) read(ctx context.Context, in io.Reader) error {
	for {
		q, err := receive(in)
		if err != nil || ctx.Err() != nil {
			return err
		}
		if err := s.accept(ctx, q); err != nil {
			return err
		}
	}
}

// accept starts or interrupts a command.
func (s *server) accept(ctx context.Context, q *Request) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	cancel, known := s.running[q.ID]
	switch {
	case q.Cancel:
		if known { // it has not ended
			cancel()
		}
		return nil
	case known:
		return fmt.Errorf("the request %d is there twice", q.ID)
	case len(q.Command) == 0 || q.Command[0] == "serve":
		return fmt.Errorf("the request %d has no command to run", q.ID)
	}
	ctx, s.running[q.ID] = context.WithCancel(s.store.In(ctx))
	s.work.Go(func() { s.answer(ctx, q) })
	return nil
}

// answer runs a command and sends its end.
func (s *server) answer(ctx context.Context, q *Request) {
	var stdout bytes.Buffer
	stderr := &listener{server: s, id: q.ID, wanted: q.Progress}
	code := s.guarded(ctx, q, &stdout, stderr)
	s.mu.Lock()
	s.running[q.ID]()
	delete(s.running, q.ID)
	if len(s.running) == 0 {
		hostmem.Relax()
	}
	s.mu.Unlock()
	// A client that has gone reads nothing; the end of in tells.
	_ = s.out.send(Response{q.ID, code, stdout.String(), stderr.String()})
}

// guarded runs a command. A panic ends this command alone.
func (s *server) guarded(ctx context.Context, q *Request, stdout, stderr io.Writer) (code int) {
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(stderr, "gpfit: this is a fault of gpfit, please report it with what follows: %v\n%s", p, debug.Stack())
			code = exit.Failure
		}
	}()
	return s.run(ctx, q.Command, strings.NewReader(""), stdout, stderr)
}

// interval is the shortest time between two events of a command.
const interval = 50 * time.Millisecond

// listener holds the messages of a command, and sends its progress.
type listener struct {
	bytes.Buffer
	server *server
	id     uint64
	wanted bool
	last   time.Time
}

// Wants implements [messages.Listener].
func (l *listener) Wants() bool { return l.wanted && time.Since(l.last) >= interval }

// Show implements [messages.Listener].
func (l *listener) Show(status messages.Status) {
	if l.last = time.Now(); !l.wanted {
		return
	}
	_ = l.server.out.send(Event{l.id, status})
}
