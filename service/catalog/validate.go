package catalog

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/tidemall/tidemall/service/fault"
)

// problems collects what is wrong with the fields of an input, so that a person sees all of it at once.
type problems struct{ found *fault.Error }

func (p *problems) add(field string, code fault.Code, zh, en string) {
	if p.found == nil {
		p.found = fault.New(fault.ValidationFailed)
	}
	p.found.With(field, code, zh, en)
}

func (p *problems) err() error {
	if p.found == nil { // a nil *fault.Error in an error is not nil
		return nil
	}
	return p.found
}

// text checks a line of text: its length in characters, and that it is one line of printable text.
func (p *problems) text(field, s string, least, most int) {
	n := utf8.RuneCountInString(s)
	switch {
	case n == 0 && least > 0:
		p.add(field, fault.FieldRequired, "必填", "is required")
	case n < least || n > most:
		p.add(field, fault.FieldLength, fmt.Sprintf("长度应为 %d–%d 个字符", least, most), fmt.Sprintf("must have %d to %d characters", least, most))
	case !printable(s):
		p.add(field, fault.FieldFormat, "含有不可见的控制字符", "has control characters")
	}
}

func printable(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return false
		}
	}
	return true
}

func (p *problems) between(field string, v, least, most int64) {
	if v < least || v > most {
		p.add(field, fault.FieldRange, fmt.Sprintf("应在 %d 与 %d 之间", least, most), fmt.Sprintf("must be from %d to %d", least, most))
	}
}

func (p *problems) atMost(field string, n, most int) {
	if n > most {
		p.add(field, fault.FieldLength, fmt.Sprintf("最多 %d 个", most), fmt.Sprintf("may have %d at most", most))
	}
}

func (p *problems) duplicate(field, zh, en string) { p.add(field, fault.FieldDup, zh, en) }
