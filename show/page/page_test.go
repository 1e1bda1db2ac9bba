package page

import (
	"encoding/json"
	"strings"
	"testing"

	"gpfit/fit/fields"
	"gpfit/internal/testcheck"
)

// TestWrite checks that a page shows what it has, escapes all text, leaves out empty
// sections, has no script but its own, and loads nothing.
func TestWrite(t *testing.T) {
	p := Page{
		Title: "a <b>", Headline: []string{"First <i>.", "Second."}, About: "by & for",
		Sections: []Section{
			{Title: "Nothing"},
			{Title: "Points", Points: []Remark{{"It is <script>alert(1)</script>.", "Do \"this\"."}}},
			{Title: "Table", Tables: []fields.Table{
				{Caption: "c <d>", Heads: append(fields.Words("name"), fields.Numbers("v")...), Rows: []fields.Row{
					{Cells: []fields.Cell{{Text: "</td><script>"}, {Text: "1", Bar: 0.25}}, Best: true}, {Cells: []fields.Cell{{Text: "short"}}, Note: "<noted>"}}},
				{Caption: "more", Heads: fields.Numbers("v"), Rows: []fields.Row{{Cells: []fields.Cell{{Text: "2"}}}}, Folded: true},
			}},
			{Title: "Pictures", Pictures: []Picture{{SVG: `<svg class="plot"></svg>`, Caption: "x < y"}}},
			{Title: "Controls", WhatIf: testcheck.Get(json.Marshal(map[string]string{"name": "</script>"}))(t)},
		},
	}
	var b strings.Builder
	testcheck.Do(t, p.Write(&b))
	text := b.String()
	if n := strings.Count(text, "<script"); n != 2 || !strings.Contains(text, `<script type="application/json">{"name":"\u003c/script\u003e"}</script>`) {
		t.Errorf("%d scripts", n)
	}
	for _, want := range []string{
		"<title>a &lt;b&gt;</title>", `<p class="headline">First &lt;i&gt;.</p>`, `<p class="second">Second.</p>`, "by &amp; for",
		"&lt;script&gt;alert(1)", `<span class="advice">Do &#34;this&#34;.</span>`, `<tr class="best">`, "&lt;/td&gt;&lt;script&gt;",
		`style="width: 25%"`, "<details><summary>more</summary>", `<td class="words">short</td><td></td><td class="words">&lt;noted&gt;</td>`, `<svg class="plot"></svg>`, "x &lt; y", `<a href="#s2">Table</a>`, `<section id="s2">`,
		"prefers-color-scheme: dark", "@media print", `name="viewport"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	for _, not := range []string{"Nothing", "src=", "url(", "@import", "http:", "https:", "<link"} {
		if strings.Contains(text, not) {
			t.Errorf("the page has %q", not)
		}
	}
}

// TestWithoutFolders checks that paths lose their folders, and that other text stays.
func TestWithoutFolders(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"/home/me/my.csv:3: no number", "my.csv:3: no number"},
		{"open \"/a/b/c.csv\": no such file", "open \"c.csv\": no such file"},
		{`C:\Users\me\x.csv: bad`, "x.csv: bad"},
		{"a/b.csv and 3 / 4 and rbf(dims=0)/2", "a/b.csv and 3 / 4 and rbf(dims=0)/2"},
		{"mask=/data/x/mask.csv:1", "mask=mask.csv:1"},
		{"/srv/my data/in.csv: empty", "in.csv: empty"},
		{"", ""},
	} {
		if got := WithoutFolders(c.text, "/srv/my data/in.csv", "relative/x.csv", "/root.csv"); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.text, got, c.want)
		}
	}
}
