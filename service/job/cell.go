package job

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"github.com/tidemall/tidemall/model"
)

// A spreadsheet computes a cell that begins with one of these, whoever wrote it: such a text gets a mark in front, which reading takes
// off again. The mark itself is marked, so that every text comes back as it was.
const computed = "=+-@\t\r'"

func marked(text string) string {
	if text != "" && strings.ContainsRune(computed, rune(text[0])) {
		return "'" + text
	}
	return text
}

func unmarked(text string) string {
	if len(text) > 1 && text[0] == '\'' && strings.ContainsRune(computed, rune(text[1])) {
		return text[1:]
	}
	return text
}

// number is a cell that the program wrote: it is never a text that somebody typed.
type number string

func yuan(f model.Fen) number {
	sign := ""
	if f < 0 {
		sign, f = "-", -f
	}
	return number(fmt.Sprintf("%s%d.%02d", sign, f/100, f%100))
}

func count(n int64) number { return number(strconv.FormatInt(n, 10)) }

// bom tells spreadsheets that a file is in UTF-8.
const bom = "\xef\xbb\xbf"

// writer writes lines of CSV into memory.
type writer struct {
	buf bytes.Buffer
	csv *csv.Writer
}

func newWriter() *writer {
	w := &writer{}
	w.csv = csv.NewWriter(&w.buf)
	w.csv.UseCRLF = true
	return w
}

// line writes cells: numbers as they are, texts so that no spreadsheet computes them.
func (w *writer) line(cells ...any) {
	out := make([]string, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case number:
			out[i] = string(c)
		case string:
			out[i] = marked(c)
		default:
			out[i] = marked(fmt.Sprint(c))
		}
	}
	_ = w.csv.Write(out) // memory takes everything
}

// head writes the names of columns.
func (w *writer) head(columns []column, english bool) {
	w.buf.WriteString(bom)
	cells := make([]any, len(columns))
	for i, c := range columns {
		if cells[i] = c.zh; english {
			cells[i] = c.en
		}
	}
	w.line(cells...)
}

func (w *writer) bytes() []byte {
	w.csv.Flush()
	return w.buf.Bytes()
}
