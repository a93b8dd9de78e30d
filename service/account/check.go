package account

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidemall/tidemall/service/fault"
)

// check collects what is wrong with an input.
type check struct{ wrong *fault.Error }

func newCheck() *check { return &check{fault.New(fault.ValidationFailed)} }

func (c *check) err() error {
	if len(c.wrong.Fields) == 0 {
		return nil
	}
	return c.wrong
}

// line trims one line of text and checks its length in characters. Control characters, which would break labels and logs, are
// refused.
func (c *check) line(field string, text *string, shortest, longest int) {
	*text = strings.TrimSpace(*text)
	n := utf8.RuneCountInString(*text)
	switch {
	case n == 0 && shortest > 0:
		c.wrong.With(field, fault.FieldRequired, "", "")
	case n < shortest || n > longest:
		c.wrong.With(field, fault.FieldLength,
			fmt.Sprintf("长度必须为 %d–%d 个字符", shortest, longest), fmt.Sprintf("must have %d–%d characters", shortest, longest))
	case strings.ContainsFunc(*text, unicode.IsControl) || !utf8.ValidString(*text):
		c.wrong.With(field, fault.FieldFormat, "不能包含控制字符", "must not have control characters")
	}
}
