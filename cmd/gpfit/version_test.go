package main

import (
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// TestBuild checks what a program says about its source, for each way to build it.
func TestBuild(t *testing.T) {
	vcs := func(modified string) []debug.BuildSetting {
		return []debug.BuildSetting{{Key: "vcs.revision", Value: "965db3562a6f"}, {Key: "vcs.time", Value: "2026-11-22T14:26:33Z"}, {Key: "vcs.modified", Value: modified}}
	}
	const pseudo = "v0.0.0-20261122142633-965db3562a6f"
	for _, c := range []struct {
		name, released, module string
		settings               []debug.BuildSetting
		version, revision      string
	}{
		{"make release", "0.2.0", pseudo, vcs("false"), "0.2.0", "965db3562a6f"},
		{"go install at a tag", "", "v0.2.0", nil, "0.2.0", "unknown revision"},
		{"go install of a candidate", "", "v0.2.0-rc.1", nil, "0.2.0-rc.1", "unknown revision"},
		{"go install at a commit", "", pseudo, nil, version + "-dev", "965db3562a6f"},
		{"go build at a tag", "", "v0.2.0", vcs("false"), "0.2.0", "965db3562a6f"},
		{"go build at a tag with changes", "", "v0.2.0+dirty", vcs("true"), version + "-dev", "965db3562a6f+changes"},
		{"go build", "", pseudo, vcs("false"), version + "-dev", "965db3562a6f"},
		{"go build -buildvcs=false", "", "(devel)", nil, version + "-dev", "unknown revision"},
		{"no information", "", "", nil, version + "-dev", "unknown revision"},
	} {
		b := newBuild(&debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings}, c.released)
		if b.Version != c.version || b.Revision != c.revision || b.Modified != strings.HasSuffix(c.revision, "+changes") || (b.Time == nil) != (c.settings == nil) {
			t.Errorf("%s: %+v", c.name, b)
		}
	}
	b := newBuild(&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "-tags", Value: "nogpu,cu"}}}, "")
	if !slices.Equal(b.Tags, []string{"cu", "nogpu"}) {
		t.Errorf("tags %v", b.Tags)
	}
}
