package modelcache

import (
	"fmt"
	"slices"
	"testing"
)

// closer records that it was closed.
type closer struct {
	name   string
	closed *[]string
}

func (c closer) Close() error {
	*c.closed = append(*c.closed, c.name)
	return nil
}

// TestStore follows predictors through a store with room for 100 bytes.
func TestStore(t *testing.T) {
	var closed []string
	s := &Store{room: 100}
	put := func(name string, bytes int64) {
		if err := s.Put(name, closer{name, &closed}, bytes); err != nil {
			t.Fatal(err)
		}
	}
	check := func(want ...string) {
		t.Helper()
		if !slices.Equal(closed, want) {
			t.Fatalf("closed: %v, want %v", closed, want)
		}
	}
	put("large", 101)
	check("large")
	put("a", 40)
	put("b", 40)
	if s.Take("c") != nil || s.Take("a") == nil || s.Take("a") != nil {
		t.Fatal("a is there once, and c is not there")
	}
	put("a", 40) // b was used longest ago now
	put("c", 40)
	check("large", "b")
	if err := s.Trim(40); err != nil {
		t.Fatal(err)
	}
	check("large", "b", "a")
	for i := range most + 2 {
		put(fmt.Sprint(i), 0)
	}
	check("large", "b", "a", "c", "0", "1")
	if err := s.Close(); err != nil || len(closed) != 4+most+2-1+1 {
		t.Errorf("%v; closed: %v", err, closed)
	}
}

// TestNoStore checks that without a store nothing is kept.
func TestNoStore(t *testing.T) {
	var closed []string
	var s *Store
	if err := s.Put("a", closer{"a", &closed}, 1); err != nil || len(closed) != 1 || s.Take("a") != nil || s.Trim(0) != nil {
		t.Error("a nil store keeps something")
	}
}
