package table

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"gpfit/table/feature"
)

// errorCases are texts and options that must be rejected, with the message, which has the place.
var errorCases = []struct {
	name, text string
	opts       Options
	want       string
}{
	// Cells.
	{name: "text", text: "t,co2,ppm\n1,2,3\n4,5,n/a\n", want: `T:3: column 3 ("ppm"): not a number: "n/a" (option missing drop leaves out such rows)`},
	{name: "NaN", text: "1,2\nNaN,3\n", want: `T:2: column 1: not a number: "NaN" (option missing drop leaves out such rows)`},
	{name: "NA in the first row", text: "1,NA\n2,3\n", want: `T:1: column 2: not a number: "NA" (option missing drop leaves out such rows)`},
	{name: "spreadsheet error at the line's beginning", text: "a,b\n#N/A,2\n", want: `T:2: column 1 ("a"): not a number: "#N/A" (option missing drop leaves out such rows)`},
	{name: "spreadsheet error in the first row", text: "#DIV/0!,2\n", want: `T:1: column 1: not a number: "#DIV/0!" (option missing drop leaves out such rows)`},
	{name: "Inf", text: "1,2\n1,-Inf\n", want: `T:2: column 2: not a finite number: "-Inf"`},
	{name: "infinity", text: "1,2\n1,infinity\n", want: `T:2: column 2: not a finite number: "infinity"`},
	{name: "overflow", text: "1,2\n1e999,2\n", want: `T:2: column 1: number too large for a 64-bit float: "1e999"`},
	{name: "overflow in the first row", text: "1,-1e309\n", want: `T:1: column 2: number too large for a 64-bit float: "-1e309"`},
	{name: "empty", text: "a,b,c\n1, ,3\n", want: `T:2: column 2 ("b"): empty cell (option missing drop leaves out such rows)`},
	{name: "empty at the end", text: "1,2,3\n1,2,\n", want: `T:2: column 3: empty cell (option missing drop leaves out such rows)`},
	{name: "empty between tabs", text: "1\t2\t3\n1\t\t3\n", want: `T:2: column 2: empty cell (option missing drop leaves out such rows)`},
	{name: "only tabs", text: "1\t2\t3\n\t\t\n", want: `T:2: column 1: empty cell (option missing drop leaves out such rows)`},
	{name: "empty quotes in a single column", text: "1\n\"\"\n", opts: Options{NoTarget: true}, want: `T:2: column 1: empty cell (option missing drop leaves out such rows)`},
	{name: "hexadecimal", text: "1,2\n0x1p-2,3\n", want: `T:2: column 1: not a number: "0x1p-2"`},
	{name: "underscore", text: "1,2\n1_000,3\n", want: `T:2: column 1: not a number: "1_000"`},
	{name: "hexadecimal integer", text: "1,2\n0x10,3\n", want: `T:2: column 1: not a number: "0x10"`},
	{name: "signs only", text: "1,2\n+-,3\n", want: `T:2: column 1: not a number: "+-"`},
	{name: "blank inside", text: "1,2\n1 0,3\n", want: `T:2: column 1: not a number: "1 0"`},
	{name: "decimal comma", text: "a;b\n1,5;2,5\n", want: `T:2: column 1 ("a"): not a number: "1,5" (write a decimal point, not a comma; or see option decimal)`},
	{name: "thousands", text: "a,b\n\"1,234.5\",2\n", want: `T:2: column 1 ("a"): not a number: "1,234.5" (option thousands , reads it)`},
	{name: "long text", text: "a,b\n1," + strings.Repeat("z", 100) + "\n", want: `T:2: column 2 ("b"): not a number: "` + strings.Repeat("z", 60) + `"…; the last column is the target by default: option target names another`},
	{name: "the leftmost of several, whatever the order of features", text: "a,b,c\nx,x,x\n", opts: Options{Target: "a", Features: []string{"c", "b"}}, want: `T:2: column 1 ("a"): not a number: "x"`},
	{name: "after comments, blank lines and line ends in quotes", text: "# c\n# d\n\n\"a\n\n\",y\n\n1,\"\n2\"\n3,\"\n\n4z\"\n", want: `T:10: column 2 ("y"): not a number: "4z"`},
	{name: "second line of a record", text: "1,2,3\n\"\n1\",2,z\n", want: `T:3: column 3: not a number: "z"`},
	{name: "CRLF", text: "1,2\r\n\r\n1,z\r\n", want: `T:3: column 2: not a number: "z"`},
	{name: "a carriage return in a line", text: "1,2\r3,4\n", want: `T:1: column 2: a carriage return within the line: end each line with a line feed, or quote the cell`, opts: Options{Header: HeaderNo}},
	{name: "a carriage return in a line with quotes", text: "\"1\",2\r3,4\n", want: `T:1: column 2: a carriage return within the line: end each line with a line feed, or quote the cell`},
	{name: "a comment behind the first row", text: "a,y\n1,2\n# the end\n", want: `T:3: column 2 ("y"): found 1 cell where line 1 has 2; a line that begins with # is a comment only before the first row: remove it if it is one`},
	{name: "a comment behind the first row", text: "a,y\n1,2\n# 3,4\n", want: `T:3: column 1 ("a"): not a number: "# 3"; a line that begins with # is a comment only before the first row: remove it if it is one`},
	{name: "a comment with a quote", text: "a,y\n1,2\n# the \"end\n", want: `T:3: column 1 ("a"): a quote inside a cell that does not begin with one: "# the \"end"; a line that begins with # is a comment only before the first row: remove it if it is one`},

	// Text in other encodings.
	{name: "Latin-1 in a cell", text: "a,city,y\n1,caf\xe9,2\n", opts: Options{Exclude: []string{"city"}}, want: `T:2: column 2 ("city"): "caf\xe9" has bytes that are not UTF-8 (e9): option encoding names the encoding of the file, such as windows-1252, which reads this as "café", or windows-1251, which reads it as "cafй"`},
	{name: "Latin-1 in the header", text: "temp \xb0C,y\n1,2\n", want: `T:1: column 1: "temp \xb0C" has bytes that are not UTF-8 (b0): option encoding names the encoding of the file, such as windows-1252, which reads this as "temp °C", or windows-1251, which reads it as "temp °C"`},
	{name: "Latin-1 in quotes over lines", text: "a,y\n\"1\n\xe9\",2\n", want: `T:2: column 1 ("a"): "1\n\xe9" has bytes that are not UTF-8 (e9): option encoding names the encoding of the file, such as windows-1252, which reads this as "1\né", or windows-1251, which reads it as "1\nй"`},
	{name: "bytes without a letter", text: "a,y\n\x98,2\n", opts: Options{Text: feature.Text{TextEncoding: "cp1251"}}, want: `T:2: column 1 ("a"): "�" has bytes that are no text in the encoding cp1251: option encoding names the right one`},
	{name: "half of a character of UTF-16", text: "\xff\xfea\x00,\x00y\x00\n\x00\x00\xd8,\x002\x00", want: `T:2: column 1 ("a"): "�" has bytes that are no text in the encoding UTF-16: option encoding names the right one`},
	{name: "UTF-32", text: "\xff\xfe\x00\x001\x00\x00\x00", want: `T: this is UTF-32 text; save it as UTF-8`},
	{name: "JSON in Latin-1", text: "{\"a\":\"u\",\"y\":2}\n{\"a\":\"caf\xe9\",\"y\":2}\n", opts: Options{Columns: &feature.Rules{}}, want: `T:2: column 1 ("a"): "caf\xe9" has bytes that are not UTF-8 (e9): option encoding names the encoding of the file, such as windows-1252, which reads this as "café", or windows-1251, which reads it as "cafй"`},
	{name: "JSON with half of a character", text: "{\"a\":\"\\ud800\",\"y\":2}\n", opts: Options{Columns: &feature.Rules{}}, want: `T:1: column 1 ("a"): has half of a character: a surrogate without its pair`},
	{name: "a key of JSON in Latin-1", text: "{\"a\xe9\":1,\"y\":2}\n", want: `T:1: the line has bytes that are not UTF-8: option encoding names the encoding of the file, such as windows-1252`},

	// Headers that may be data.
	{name: "years above decimals", text: "2019,2020\n1.5,2.5\n2.5,3\n0.5,1.5\n", want: `T:1: is this row the header or data? As the header, its cells "2019", "2020" are the names of the columns; as data, they are the values of the first row. Its whole numbers rise from left to right, and most numbers below have decimals. Option header yes or no says which`},
	{name: "years above counts", text: "2019,2020,2021\n5,7,9\n6,8,9\n1,1,8\n", want: `T:1: is this row the header or data? As the header, its cells "2019", "2020", "2021" are the names of the columns; as data, they are the values of the first row. Its whole numbers count, and lie far off the numbers below. Option header yes or no says which`},
	{name: "a year above a column of decimals", text: "2019\n1.5\n2.5\n3.5\n", opts: Options{NoTarget: true}, want: `T:1: is this row the header or data? As the header, its cells "2019" are the names of the columns; as data, they are the values of the first row. Its whole numbers count, and lie far off the numbers below. Option header yes or no says which`},
	{name: "a frame without names", text: "0,1,2\n5,3,2\n1,1,0\n7,8,3\n", want: `T:1: is this row the header or data? As the header, its cells "0", "1", "2" are the names of the columns; as data, they are the values of the first row. Its cells count the columns, as the header of a data frame without names does. Option header yes or no says which`},
	{name: "wavelengths", text: "400.5,401,401.5,402,402.5,403\n3,1,2,5,4,3\n2,1,2,5,4,4\n", want: `T:1: is this row the header or data? As the header, its cells "400.5", "401", "401.5", … are the names of the columns; as data, they are the values of the first row. Its numbers rise from left to right, unlike those of most rows below. Option header yes or no says which`},
	{name: "a number above texts", text: "1,2\na,3\nb,4\n", want: `T:1: is this row the header or data? As the header, its cells "1", "2" are the names of the columns; as data, they are the values of the first row. It has a number in column 1, which has texts below. Option header yes or no says which`},
	{name: "a first row with a label", text: "5.1,3.5,setosa\n4.9,3.0,setosa\n6.1,2.9,virginica\n", want: `T:1: is this row the header or data? As the header, its cells "5.1", "3.5", "setosa" are the names of the columns; as data, they are the values of the first row. Column 3 has "setosa" again below. Option header yes or no says which`},
	{name: "a first row with another label", text: "5.1,3.5,setosa\n4.9,3.0,virginica\n", want: `T:1: is this row the header or data? As the header, its cells "5.1", "3.5", "setosa" are the names of the columns; as data, they are the values of the first row. Column 1 has numbers below, and "5.1" is no usual name. Option header yes or no says which`},
	{name: "a first row with an error", text: "5,x\n4,1\n6,2\n", want: `T:1: is this row the header or data? As the header, its cells "5", "x" are the names of the columns; as data, they are the values of the first row. Column 1 has numbers such as 5 below. Option header yes or no says which`},
	{name: "header taken as data", text: "a,b\n1,2\n", opts: Options{Header: HeaderNo}, want: `T:1: column 1: not a number: "a"`},

	// Rows.
	{name: "row too short", text: "a,b,c\n1,2,3\n4,5\n", want: `T:3: column 3 ("c"): found 2 cells where line 1 has 3`},
	{name: "row too long", text: "1,2\n\n3,4,5,6\n", want: `T:3: column 3: found 4 cells where line 1 has 2`},
	{name: "row of one cell", text: "# c\n1,2\n3\n", want: `T:3: column 2: found 1 cell where line 2 has 2`},
	{name: "row too short between blanks", text: "1 2 3\n4 5\n", want: `T:2: column 3: found 2 cells where line 1 has 3`},
	{name: "row too short after cells with blanks", text: "1, 2, 3\n4, 5, 6\n7, 8 9\n", want: `T:3: column 3: found 2 cells where line 1 has 3`},
	{name: "empty file", text: "", want: "T: the file is empty"},
	{name: "byte order mark alone", text: "\ufeff", want: "T: the file is empty"},
	{name: "comments alone", text: "# a\n\n# b\n", want: "T: no data rows, only comments and blank lines"},
	{name: "header alone", text: "# a\nx,y\n", want: "T:2: no data rows, only a header"},
	{name: "header alone, though of numbers", text: "1,2\n", opts: Options{Header: HeaderYes}, want: "T:1: no data rows, only a header"},

	// Quotes.
	{name: "quote never closed", text: "a,b\n1,\"2\n3,4\n", want: `T:2: column 2 ("b"): a quote opens here that is never closed`},
	{name: "quote inside a cell", text: "a,b\n1,2\"\n", want: `T:2: column 2 ("b"): a quote inside a cell that does not begin with one: "2\""`},
	{name: "text after a quote", text: "1,2\n\"3\"4,5\n", want: `T:2: column 1: text after the closing quote of "3"`},
	{name: "text after a quote between blanks", text: "1 2\n1 \"3\"4\n", want: `T:2: column 2: text after the closing quote of "3"`},

	// Selection.
	{name: "unknown target", text: "year,co2\n1,2\n", opts: Options{Target: "CO_2"}, want: `T:1: no column named "CO_2" for the target (did you mean "co2"?); columns: "year", "co2"`},
	{name: "unknown target, nothing like it", text: "year,co2\n1,2\n", opts: Options{Target: "pressure"}, want: `T:1: no column named "pressure" for the target; columns: "year", "co2"`},
	{name: "unknown feature, no header", text: "1,2\n", opts: Options{Features: []string{"age"}}, want: `T:1: no column named "age" for the feature; there is no header; columns: "x0", "x1"`},
	{name: "many columns", text: strings.Repeat("1,", 24) + "2\n", opts: Options{Target: "y"}, want: `T:1: no column named "y" for the target; there is no header; columns: "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19" and 5 more`},
	{name: "target out of range", text: "1,2\n", opts: Options{Target: "2"}, want: `T:1: target column 2 is out of range: there are 2 columns, 0 to 1`},
	{name: "target out of range, negative", text: "1,2\n", opts: Options{Target: "-3"}, want: `T:1: target column -3 is out of range: there are 2 columns, 0 to 1`},
	{name: "feature out of range", text: "1,2\n", opts: Options{Features: []string{"5"}}, want: `T:1: feature column 5 is out of range: there are 2 columns, 0 to 1`},
	{name: "range out of range", text: "1,2\n", opts: Options{Features: []string{"0-2"}}, want: `T:1: feature column 0-2 is out of range: there are 2 columns, 0 to 1`},
	{name: "range backwards", text: "1,2,3\n", opts: Options{Features: []string{"1-0"}}, want: `T:1: feature range "1-0" runs backwards`},
	{name: "target among features", text: "a,b\n1,2\n", opts: Options{Target: "b", Features: []string{"0-1"}}, want: `T:1: column 2 ("b"): the target is also listed as a feature ("0-1")`},
	{name: "feature twice", text: "1,2,3\n", opts: Options{Features: []string{"x1", "1"}}, want: `T:1: column 2: listed twice as a feature (again by "1")`},
	{name: "duplicate target", text: "a,y,y\n1,2,3\n", opts: Options{Target: "y"}, want: `T:1: column 3 ("y"): the target column shares its name with column 2; select it by index`},
	{name: "duplicate feature", text: "a,a,y\n1,2,3\n", opts: Options{Features: []string{"a"}}, want: `T:1: column 2 ("a"): the feature column shares its name with column 1; select it by index`},
	{name: "a blank line in a column", text: "x\n1\n\n2\n", opts: Options{NoTarget: true}, want: `T:3: a blank line between rows of one cell: delete it, or write NA if it stands for a missing value`},
	{name: "features that are names", text: "a,b\n1,2\n", opts: Options{NoTarget: true, ByName: true, Features: []string{"0"}}, want: `T:1: no column named "0" for the feature; columns: "a", "b"; option features names the columns in the order of the model`},
	{name: "a row of the encoding as header", text: "red,3\nblue,4\n", opts: Options{NoTarget: true, Features: []string{"0-1"}, Encoding: func(int) ([]feature.Coding, error) {
		return []feature.Coding{{Name: "c", Kind: feature.Category, Categories: []string{"blue", "red"}}, {Name: "x", Kind: feature.Number}}, nil
	}}, want: `T:1: is this row the header or data? Its cells are values of the features; say so by option header yes or no`},
	{name: "row names of R without a name", text: "a y\n1 1 2\n2 3 4\n", want: `T:2: column 3: found 3 cells where line 1 has 2: the header lacks the name of a column, such as the one of row names, which R does not name`},
	{name: "separators at the ends of rows", text: "a,y\n1,2,\n3,4,\n", want: `T:2: column 3: found 3 cells where line 1 has 2: the rows end with a separator, but the header does not`},
	{name: "columns of a spreadsheet without cells", text: "a,y,,\n1,2,,\n", want: `T:2: column 3 ("x2"): empty cell (option missing drop leaves out such rows); the column has no name: option exclude leaves it out`},
	{name: "two columns of a name", text: "a,b,a,y\n1,2,3,4\n", want: `T:1: column 3 ("a"): shares its name with column 1: rename one of them, or leave one out by its index (option exclude 0 or 2)`},
	{name: "a target that shares its name", text: "y,y\n1,2\n", want: `T:1: column 2 ("y"): shares its name with column 1: rename one of them, or leave one out by its index (option exclude 0 or 1)`},
	{name: "unknown column to exclude", text: "year,co2\n1,2\n", opts: Options{Exclude: []string{"yaer"}}, want: `T:1: no column named "yaer" to exclude (did you mean "year"?); columns: "year", "co2"`},
	{name: "excluded column out of range", text: "1,2\n", opts: Options{Exclude: []string{"5"}}, want: `T:1: excluded column 5 is out of range: there are 2 columns, 0 to 1`},
	{name: "target excluded", text: "a,b,y\n1,2,3\n", opts: Options{Target: "y", Exclude: []string{"1-2"}}, want: `T:1: column 3 ("y"): option exclude names the target`},
	{name: "all but the target excluded", text: "a,b,y\n1,2,3\n", opts: Options{Exclude: []string{"0-1"}}, want: `T:1: no feature column: every column has another use`},
	{name: "nothing but the target", text: "1\n2\n", want: "T:1: no feature column: the only column is the target"},

	// No text.
	{name: "zero byte", text: "a,b\n1,2\n1,\x00\n", want: "T:3: contains a zero byte: this is binary data, not text; of UTF-16 text without a byte order mark, option encoding says utf-16le or utf-16be"},
	{name: "zip", text: "PK\x03\x04\x00\x00", want: "T: this is a zip archive (Excel workbooks are, too), not text; give an archive of one table by name, or export the workbook as CSV"},
	{name: "NumPy", text: "\x93NUMPY\x01\x00", want: "T: this is a NumPy file, not text; give such a file by name and uncompressed"},

	// Uses of columns.
	{name: "no such extra", text: weather, opts: Options{Extra: []string{"winds"}}, want: `T:1: no column named "winds" (did you mean "wind"?); columns: "site", "temp", "rain", "sd", "wind"`},
	{name: "extra is the target", text: weather, opts: Options{Extra: []string{"wind"}}, want: `T:1: column 5 ("wind"): "wind" is selected for another use, but is also the target; name another column as the target`},
	{name: "extra is no number", text: weather, opts: Options{Target: "temp", Features: []string{"sd"}, Extra: []string{"site"}}, want: `T:2: column 1 ("site"): not a number: "a"`},
	{name: "extra is missing", text: weather, opts: Options{Target: "temp", Features: []string{"sd"}, Extra: []string{"wind"}}, want: `T:4: column 5 ("wind"): not a number: "NA" (option missing drop leaves out such rows)`},
	{name: "label is missing", text: "a,g,y\n1,x,2\n1,,2\n", opts: Options{ExtraText: []string{"g"}}, want: `T:3: column 2 ("g"): empty cell (option missing drop leaves out such rows)`},
	{name: "nothing but extras", text: "a,y\n1,2\n", opts: Options{Extra: []string{"a"}}, want: "T:1: no feature column: every column has another use"},
	{name: "target twice", text: weather, opts: Options{Targets: []string{"rain", "2"}}, want: `T:1: column 3 ("rain"): listed twice as a target (again by "2")`},
	{name: "target is a feature", text: weather, opts: Options{Targets: []string{"rain"}, Features: []string{"2-3"}}, want: `T:1: column 3 ("rain"): a target is also listed as a feature`},
	{name: "target is text", text: weather, opts: Options{Targets: []string{"site"}, Features: []string{"sd"}}, want: `T:2: column 1 ("site"): not a number: "a"`},
	{name: "one target and several", text: weather, opts: Options{Target: "temp", Targets: []string{"rain"}}, want: "T:1: several targets cannot be combined with a single target or none"},
	{name: "wrong, though missing are dropped", text: "a,b,y\n1,,2\nNA,x,3\n", opts: Options{Missing: MissingDrop}, want: `T:3: column 2 ("b"): not a number: "x"`},
	{name: "infinite is not missing", text: "a,y\n1,2\ninf,3\n", opts: Options{Missing: MissingDrop}, want: `T:3: column 1 ("a"): not a finite number: "inf"`},
	{name: "all missing", text: "a,y\n1,\n.,3\n", opts: Options{Missing: MissingDrop}, want: `T: no rows left: all 2 have missing values (first: T:2: column 2 ("y"): empty cell)`},

	// Kinds of columns.
	{name: "text in numbers", text: "c,y\n1,2\nred,4\n", opts: Options{Columns: &feature.Rules{}}, want: `T:3: column 1 ("c"): not a number: "red"; name the column in option categories if it has categories`},
	{name: "number in texts", text: "c,y\nred,2\n1,4\n", opts: Options{Columns: &feature.Rules{}}, want: `T:3: column 1 ("c"): "1" is a number, but the column has a text before ("red" in line 2); name it in option categories to read all of it as categories`},
	{name: "date in texts", text: "c,y\nred,2\n2024-01-31,4\n", opts: Options{Columns: &feature.Rules{}}, want: `T:3: column 1 ("c"): "2024-01-31" is a date, but the column has a text before ("red" in line 2); name it in option categories to read all of it as categories`},
	{name: "text in dates", text: "c,y\n2024-01-31,2\nred,4\n", opts: Options{Columns: &feature.Rules{}}, want: `T:3: column 1 ("c"): "red" is a text, but the column has a date before ("2024-01-31" in line 2); name it in option categories to read all of it as categories`},
	{name: "unclear date", text: "c,y\n01/02/2024,2\n", opts: Options{Columns: &feature.Rules{}}, want: `T:2: column 1 ("c"): is the day or the month first in "01/02/2024"? Say so by option date-order dmy or mdy; name the column in option categories if it has categories`},
	{name: "not a date", text: "c,y\nred,2\n", opts: Options{Columns: &feature.Rules{Dates: []string{"c"}}}, want: `T:2: column 1 ("c"): not a date such as 2024-01-31 or 2024-01-31T14:30:00Z: "red"`},
	{name: "not a number", text: "c,y\nred,2\n", opts: Options{Columns: &feature.Rules{Numbers: []string{"c"}}}, want: `T:2: column 1 ("c"): not a number: "red"`},
	{name: "thousands", text: "c,y\n\"1,234.5\",2\n", opts: Options{Columns: &feature.Rules{}}, want: `T:2: column 1 ("c"): not a number: "1,234.5" (option thousands , reads it); name the column in option categories if it has categories`},
	{name: "per cent", text: "c,y\n5%,2\n", opts: Options{Columns: &feature.Rules{}}, want: `T:2: column 1 ("c"): not a number: "5%" (option strip-units reads it); name the column in option categories if it has categories`},
	{name: "no exponent", text: "c,y\n1.5e-,2\n3,4\n", opts: Options{Columns: &feature.Rules{}}, want: `T:2: column 1 ("c"): not a number: "1.5e-"; name the column in option categories if it has categories`},
	{name: "hexadecimal", text: "c,y\n0x1p2,2\n", opts: Options{Columns: &feature.Rules{}}, want: `T:2: column 1 ("c"): not a number: "0x1p2"; name the column in option categories if it has categories`},
	{name: "infinite", text: "c,y\ninf,2\n", opts: Options{Columns: &feature.Rules{}}, want: `T:2: column 1 ("c"): not a finite number: "inf"; name the column in option categories if it has categories`},
	{name: "gap", text: "c,y\nred,1\nNA,2\n", opts: Options{Columns: &feature.Rules{}}, want: `T:3: column 1 ("c"): missing value: "NA" (option missing drop leaves out such rows)`},
	{name: "identifies", text: "c,y\na,1\nb,2\nc,3\n", opts: Options{Columns: &feature.Rules{Categories: []string{"c"}}}, want: `T:1: column 1 ("c"): each of the 3 rows has another text, such as "a": the column identifies rows and says nothing of others; leave it out with option exclude`},
	{name: "seems to identify", text: "c,y\na,1\nb,2\na,3\n", opts: Options{Columns: &feature.Rules{}}, want: `T:1: column 1 ("c"): 2 different texts in 3 rows, such as "a": the column seems to identify rows; leave it out with option exclude, or name it in option categories`},
	{name: "no feature", text: "c,y\n1,1\n", opts: Options{Columns: &feature.Rules{Dates: []string{"y"}}}, want: `T:1: column 2 ("y"): option dates names "y", which is not a feature`},
	{name: "two kinds", text: "c,y\n1,1\n", opts: Options{Columns: &feature.Rules{Dates: []string{"c"}, Numbers: []string{"0"}}}, want: `T:1: column 1 ("c"): option numbers names "0", which another kind is asked for`},
	{name: "no column", text: "c,y\n1,1\n", opts: Options{Columns: &feature.Rules{Dates: []string{"d"}}}, want: `T:1: no column named "d" for the feature; columns: "c", "y"`},
	{name: "same name", text: "a,a_x,y\nx,1,1\nx,2,2\nz,1,3\nz,2,4\n", opts: Options{Columns: &feature.Rules{}}, want: `T:1: column 2 ("a_x"): two features would be called "a_x", of the columns "a" and "a_x": rename a column`},
	{name: "target", text: "c,y\n1,red\n", opts: Options{Columns: &feature.Rules{}}, want: `T:2: column 2 ("y"): not a number: "red"; the last column is the target by default: option target names another`},
	{name: "decimal comma", text: "a;y\n1.5;2\n", opts: Options{Columns: &feature.Rules{}, Text: feature.Text{Decimal: ","}}, want: `T:2: column 1 ("a"): not a number: "1.5" (the decimal sign is a comma here; see option decimal); name the column in option categories if it has categories`},
	{name: "decimal comma", text: "a,y\n1,2\n", opts: Options{Columns: &feature.Rules{}, Text: feature.Text{Decimal: ","}}, want: `T:1: commas do not separate cells here, because the decimal sign is a comma: separate them by semicolons, tabs or blanks, or give option decimal as a point`},

	// JSON lines.
	{name: "JSON", text: "{\"a\":1,\"y\":2}\n\n{\"a\":null,\"y\":2}\n", want: `T:3: column 1 ("a"): missing value: null (option missing drop leaves out such rows)`},
	{name: "JSON", text: "{\"a\":1,\"y\":2}\n{\"y\":2}\n", want: `T:2: column 1 ("a"): the key is missing (option missing drop leaves out such rows)`},
	{name: "JSON", text: "{\"a\":1,\"y\":2}\n{\"a\":\"x\",\"y\":2}\n", want: `T:2: column 1 ("a"): not a number: "x"`},
	{name: "JSON", text: "{\"a\":1,\"y\":2}\n{\"a\":1e999,\"y\":2}\n", want: `T:2: column 1 ("a"): number too large for a 64-bit float: "1e999"`},
	{name: "JSON", text: "{\"a\":1,\"y\":2}\n{\"a\":[1],\"y\":2}\n", want: `T:2: column 1 ("a"): holds a list or an object, not a value: write an object for each row on a line of its own`},
	{name: "JSON", text: "{\"a\":1,\"y\":2}\n{\"a\":1,\"a\":2}\n", want: `T:2: the key "a" comes twice`},
	{name: "JSON", text: "{\"a\":1,\"a\":2}\n", want: `T:1: the key "a" comes twice`},
	{name: "JSON", text: "{\"a\":1,\"y\":2}\n{\"a\":1\n", want: `T:2: the JSON object does not end on its line`},
	{name: "JSON", text: "{\"a\":1,\"y\":2}\n{\"a\":NaN}\n", want: `T:2: not JSON: invalid character 'N' looking for beginning of value`},
	{name: "JSON", text: "{\"a\":1,\"y\":2} {}\n", want: `T:1: something follows the JSON object on the line`},
	{name: "JSON", text: "{\"a\":1,\"y\":2}\na,y\n", want: `T:2: the line is not a JSON object`},
	{name: "JSON", text: "{}\n{}\n", want: `T:1: the objects have no keys`},
	{name: "JSON", text: "[{\"a\":1,\"y\":2}]\n", want: `T: this is a JSON array; write an object on each line instead, as jq -c '.[]' does`},
	{name: "JSON", text: "[\n {\"a\":1,\"y\":2}]\n", want: `T: this is a JSON array; write an object on each line instead, as jq -c '.[]' does`},
	{name: "JSON", text: "{\"a\":1,\"y\":2}\n" + strings.Repeat("{\"a\":1,\"y\":2}\n", 1<<15) + "{\"b\":1}\n", want: `T:32770: the key "b" is not in the first lines, which decide the columns: give it there as null, or select columns`},
}

func TestReadErrors(t *testing.T) {
	for _, c := range errorCases {
		for _, text := range []string{c.text, gzipped(t, c.text)} {
			got, err := ReadFrom(strings.NewReader(text), "T", c.opts)
			var e *Error
			if got != nil || !errors.As(err, &e) || e.Error() != c.want {
				t.Errorf("%s: %v, error\n%v\nwant\n%s", c.name, got, err, c.want)
				continue
			}
			selected := ""
			if strings.Contains(c.want, "no column named") || strings.Contains(c.want, "out of range") {
				selected = strings.Join(slices.Concat(c.opts.Features, c.opts.Exclude, c.opts.Extra, []string{c.opts.Target}), "")
				if c.opts.Columns != nil {
					selected = strings.Join(c.opts.Columns.Dates, "")
				}
			}
			if e.Selected != selected {
				t.Errorf("%s: selected %q, want %q", c.name, e.Selected, selected)
			}
		}
	}
}

// TestDamagedGzip cuts and changes compressed data. The line counts all rows that were unpacked.
func TestDamagedGzip(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		text.WriteString(strings.Repeat("1", 1+i%7) + ",2\n")
	}
	whole := gzipped(t, text.String())
	flip := func(at int) string {
		b := []byte(whole)
		b[at] ^= 0xff
		return string(b)
	}
	for _, c := range []struct{ name, text, msg string }{
		{"cut in the middle", whole[:len(whole)/2], "the gzip data is cut short"},
		{"cut in the checksum", whole[:len(whole)-3], "the gzip data is cut short"},
		{"cut in the header", whole[:5], "the gzip data is cut short"},
		{"wrong checksum", flip(len(whole) - 6), "the gzip data is damaged: gzip: invalid checksum"},
		{"wrong method", flip(2), "the gzip data is damaged: gzip: invalid header"},
		{"text behind", whole + "1,2\n", "the gzip data is cut short"},
		{"more text behind", whole + "1,2\n1,2\n1,2\n", "the gzip data is damaged: gzip: invalid header"},
	} {
		_, err := ReadFrom(strings.NewReader(c.text), "T", Options{})
		var e *Error
		if !errors.As(err, &e) || e.Msg != c.msg || e.Line == 0 || e.Err == nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// Data cut at any place are an error, never a shorter table.
	small := gzipped(t, "1,2\n3,4\n5,6\n")
	for i := 3; i < len(small); i++ {
		if _, err := ReadFrom(strings.NewReader(small[:i]), "T", Options{}); err == nil {
			t.Errorf("cut after %d of %d bytes: no error", i, len(small))
		}
	}
}

func TestReaderFails(t *testing.T) {
	broken := errors.New("the disk is gone")
	in := io.MultiReader(strings.NewReader("1,2\n3,4\n5"), iotest.ErrReader(broken))
	_, err := ReadFrom(in, "-", Options{})
	if !errors.As(err, new(*Error)) || !errors.Is(err, broken) ||
		err.Error() != "standard input:3: cannot be read: the disk is gone" {
		t.Errorf("got %v", err)
	}
}

// repeated is a reader that repeats a byte sequence without end.
type repeated struct{ text []byte }

func (r repeated) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) {
		n += copy(p[n:], r.text)
	}
	return n, nil
}

// TestEndlessRecord reads from endless sources. The error must come before memory runs out.
func TestEndlessRecord(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 128 MiB")
	}
	for name, c := range map[string]struct {
		start, more string
		line        int
	}{
		"no line end":  {"1,2\n", "11111111", 2},
		"open quote":   {"1,2\n3,4\n5,\"", "6,7,8,9\n", 3},
		"comment line": {"#", "########", 1},
	} {
		in := io.MultiReader(strings.NewReader(c.start), repeated{bytes.Repeat([]byte(c.more), 4096)})
		_, err := ReadFrom(in, "T", Options{Header: HeaderNo})
		var e *Error
		if !errors.As(err, &e) || e.Line != c.line || !strings.Contains(e.Msg, "longer than 64 MiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
