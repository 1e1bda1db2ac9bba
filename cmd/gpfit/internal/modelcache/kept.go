// Package modelcache keeps models and their predictors between commands of one process.
package modelcache

import (
	"cmp"
	"context"
	"io"
	"os"
	"slices"
	"sync"

	"gpfit/gp"
	"gpfit/internal/hostmem"
)

// most is the largest number of models, and of predictors, that a store keeps.
const most = 16

// Store keeps models and predictors. A nil Store keeps nothing. It is safe for concurrent use.
type Store struct {
	mu         sync.Mutex
	clock      int
	count      uint64
	models     []*loaded
	predictors []*ready
	// room is the number of bytes that predictors may have together.
	room int64
}

// loaded is the contents of a file as it was when it was read, with the checksum in it.
type loaded struct {
	path string
	file os.FileInfo
	sum  string
	gp   *gp.Model
	// number differs from the numbers of other contents, also of the same file at other times.
	number uint64
	used   int
}

// ready is a predictor that needs no further preparation.
type ready struct {
	key   string
	value io.Closer
	bytes int64
}

// NewStore returns an empty store, whose predictors have at most an eighth of the memory that is free now.
func NewStore() *Store { return &Store{room: max(hostmem.Free()/8, 256<<20)} }

type contextKey struct{}

// In returns a context whose commands keep what they load in s.
func (s *Store) In(ctx context.Context) context.Context {
	return context.WithValue(ctx, contextKey{}, s)
}

// Of returns the store of a context, or nil.
func Of(ctx context.Context) *Store {
	s, _ := ctx.Value(contextKey{}).(*Store)
	return s
}

// Model returns the model in a file, and its number, which is 0 for a model that is not kept. A copy
// stands for a model that is kept: its fields may be changed, but not what they refer to. It returns
// the errors of [gp.Load].
func (s *Store) Model(path string) (*gp.Model, uint64, error) {
	file, err := os.Stat(path)
	if s == nil || err != nil || !file.Mode().IsRegular() {
		m, err := gp.Load(path)
		return m, 0, err
	}
	sum, err := gp.Checksum(path)
	if err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	i := slices.IndexFunc(s.models, func(m *loaded) bool { return m.path == path })
	if i >= 0 && os.SameFile(s.models[i].file, file) && s.models[i].file.Size() == file.Size() && s.models[i].file.ModTime().Equal(file.ModTime()) && s.models[i].sum == sum {
		s.models[i].used = s.clock
		of := *s.models[i].gp
		return &of, s.models[i].number, nil
	}
	read, err := gp.Load(path)
	if err != nil {
		return nil, 0, err
	}
	if i < 0 {
		s.models = trimmed(s.models, func(m *loaded) int { return m.used })
		s.models = append(s.models, nil)
		i = len(s.models) - 1
	}
	s.count++
	s.models[i] = &loaded{path, file, sum, read, s.count, s.clock}
	of := *read
	return &of, s.count, nil
}

// trimmed leaves out the entry that was used first if there are too many.
func trimmed[E any](entries []E, used func(E) int) []E {
	if len(entries) < most {
		return entries
	}
	oldest := slices.MinFunc(entries, func(a, b E) int { return cmp.Compare(used(a), used(b)) })
	return slices.DeleteFunc(entries, func(e E) bool { return used(e) == used(oldest) })
}

// Take returns the predictor with a key, which then belongs to the caller, or nil.
func (s *Store) Take(key string) io.Closer {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.predictors, func(p *ready) bool { return p.key == key })
	if i < 0 {
		return nil
	}
	value := s.predictors[i].value
	s.predictors = slices.Delete(s.predictors, i, i+1)
	return value
}

// Put keeps a predictor with its size in bytes, or closes it if it is too large. It closes others that were used
// longer ago if they do not fit together. It returns an error if closing fails.
func (s *Store) Put(key string, value io.Closer, bytes int64) error {
	if s == nil || bytes > s.room {
		return value.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.predictors = append(s.predictors, &ready{key, value, bytes})
	return s.trim(s.room)
}

// bytes returns the size of all predictors.
func (s *Store) bytes() (sum int64) {
	for _, p := range s.predictors {
		sum += p.bytes
	}
	return sum
}

// Trim closes predictors in the order of their last use, until the others hold at most the given bytes.
func (s *Store) Trim(bytes int64) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trim(bytes)
}

func (s *Store) trim(bytes int64) (err error) {
	for len(s.predictors) > 0 && (s.bytes() > bytes || len(s.predictors) > most) { // in the order of their last use
		err = cmp.Or(err, s.predictors[0].value.Close())
		s.predictors = slices.Delete(s.predictors, 0, 1)
	}
	return err
}

// Close closes all predictors.
func (s *Store) Close() error { return s.Trim(-1) }
