package job

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tidemall/tidemall/service/fault"
)

// column is a column of a file by its names in both languages.
type column struct {
	en, zh   string
	required bool
}

// sheet is a file that was read: lines of cells by the English name of their column.
type sheet struct {
	at    map[string]int
	lines []line
}

type line struct {
	no    int64 // in the file, from 1
	cells []string
}

// has reports whether the file has the column.
func (s *sheet) has(name string) bool { _, ok := s.at[name]; return ok }

// cell returns a cell without the spaces around it, and without the mark that keeps a spreadsheet from computing it.
func (s *sheet) cell(l line, name string) string {
	at, ok := s.at[name]
	if !ok {
		return ""
	}
	return unmarked(strings.TrimSpace(l.cells[at]))
}

// shownErrors is how many faulty lines of a file one answer names.
const shownErrors = 20

// readSheet reads a CSV file with a head. Names of columns may be in either language; strict refuses those that are unknown.
func readSheet(data []byte, columns []column, strict bool) (*sheet, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	wrong := fault.New(fault.ValidationFailed)
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return nil, wrong.With("file", fault.FieldRequired, "文件是空的", "is empty")
	case !utf8.Valid(data):
		return nil, wrong.With("file", fault.FieldFormat, "文件不是 UTF-8 编码（可能是 GBK）：请在 Excel 中另存为“CSV UTF-8（逗号分隔）”后再上传",
			"is not in UTF-8 (perhaps GBK): save it as \"CSV UTF-8\" and send it again")
	case bytes.IndexByte(data, 0) >= 0:
		return nil, wrong.With("file", fault.FieldFormat, "不是 CSV 文本文件", "is not a text file of CSV")
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = -1
	head, err := r.Read()
	if err != nil {
		return nil, malformed(err)
	}
	s := &sheet{}
	if s.at, err = headOf(head, columns, strict); err != nil {
		return nil, err
	}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, malformed(err)
		}
		if !slices.ContainsFunc(cells, func(c string) bool { return strings.TrimSpace(c) != "" }) {
			continue
		}
		no, _ := r.FieldPos(0)
		if len(cells) != len(head) && len(wrong.Fields) < shownErrors {
			wrong.With(lineName(int64(no)), fault.FieldLength, fmt.Sprintf("有 %d 列，表头有 %d 列", len(cells), len(head)),
				fmt.Sprintf("has %d columns, the head has %d", len(cells), len(head)))
		}
		if s.lines = append(s.lines, line{int64(no), cells}); len(s.lines) > MaxLines {
			return nil, fault.New(fault.ValidationFailed).With("file", fault.FieldLength, "最多 20,000 行，请分成几个文件", "may have 20,000 lines at most; split it")
		}
	}
	if len(wrong.Fields) > 0 {
		return nil, wrong
	}
	if len(s.lines) == 0 {
		return nil, wrong.With("file", fault.FieldRequired, "只有表头，没有数据", "has a head and nothing below it")
	}
	return s, nil
}

// lineName names a line of a file as a field of an error.
func lineName(no int64) string { return fmt.Sprintf("line %d", no) }

// malformed says where a file is no CSV.
func malformed(err error) error {
	var p *csv.ParseError
	if !errors.As(err, &p) {
		return err
	}
	zh := "引号不成对，或引号前后有多余字符"
	if !errors.Is(p.Err, csv.ErrQuote) && !errors.Is(p.Err, csv.ErrBareQuote) {
		zh = "不是合法的 CSV"
	}
	return fault.New(fault.ValidationFailed).With(lineName(int64(p.StartLine)), fault.FieldFormat,
		fmt.Sprintf("%s（第 %d 行第 %d 个字符）", zh, p.Line, p.Column), fmt.Sprintf("%v at line %d, character %d", p.Err, p.Line, p.Column))
}

func headOf(head []string, columns []column, strict bool) (map[string]int, error) {
	wrong, at := fault.New(fault.ValidationFailed), map[string]int{}
	for i, name := range head {
		plain := strings.NewReplacer("（", "(", "）", ")").Replace(strings.TrimSpace(name))
		known := slices.IndexFunc(columns, func(c column) bool { return strings.EqualFold(plain, c.en) || plain == c.zh })
		switch {
		case known < 0 && strict && plain != "":
			wrong.With("file", fault.FieldUnknown, fmt.Sprintf("没有名为“%s”的列", shorten(plain, 40)), fmt.Sprintf("has an unknown column %q", shorten(plain, 40)))
		case known < 0:
		default:
			if _, twice := at[columns[known].en]; twice {
				wrong.With("file", fault.FieldDup, fmt.Sprintf("列“%s”重复", plain), fmt.Sprintf("has the column %q twice", plain))
			}
			at[columns[known].en] = i
		}
	}
	for _, c := range columns {
		if _, there := at[c.en]; c.required && !there {
			wrong.With("file", fault.FieldRequired, fmt.Sprintf("缺少列“%s”", c.zh), fmt.Sprintf("lacks the column %q", c.en))
		}
	}
	if len(wrong.Fields) > 0 {
		return nil, wrong
	}
	return at, nil
}

func shorten(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	return string(r[:most-1]) + "…"
}
