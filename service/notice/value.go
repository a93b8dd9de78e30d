package notice

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/tidemall/tidemall/service/fault"
)

// fieldRule is the form of a template's field: WeChat names fields by their kind and a number.
var fieldRule = regexp.MustCompile(`^(thing|amount|time|date|character_string|number|phrase|name|letter|symbol|phone_number)[0-9]{1,3}$`)

// fixedText starts a field's source that is a text of its own, the same in every message.
const fixedText = "text:"

const (
	thingLimit  = 20
	codeLimit   = 32
	symbolLimit = 5
	phraseLimit = 5
	phoneLimit  = 17
	hanName     = 10
	letterName  = 20
)

// kind is WeChat's rule for the values of a kind of field: which characters, how many, and what stands for nothing, since a value
// is never empty.
type kind struct {
	keeps   func(rune) bool
	limit   int
	nothing string
}

var kinds = map[string]kind{
	"thing":            {unicode.IsPrint, thingLimit, "无"},
	"character_string": {func(r rune) bool { return r > ' ' && r < unicode.MaxASCII }, codeLimit, "-"},
	"number":           {func(r rune) bool { return isDigit(r) || r == '.' || r == '-' }, codeLimit, "0"},
	"letter":           {isLetter, codeLimit, "X"},
	"symbol":           {func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }, symbolLimit, "-"},
	"phrase":           {isHan, phraseLimit, "无"},
	"phone_number":     {func(r rune) bool { return isDigit(r) || strings.ContainsRune("+- ", r) }, phoneLimit, "-"},
	"amount":           {unicode.IsPrint, codeLimit, "0元"},
	"time":             {unicode.IsPrint, codeLimit, "-"},
	"date":             {unicode.IsPrint, codeLimit, "-"},
}

func isDigit(r rune) bool  { return r >= '0' && r <= '9' }
func isLetter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
func isHan(r rune) bool    { return unicode.Is(unicode.Han, r) }

// kindOf returns the kind of a field by its name; "" where it has none.
func kindOf(field string) string {
	m := fieldRule.FindStringSubmatch(field)
	if m == nil {
		return ""
	}
	return m[1]
}

// fit makes a text a value that WeChat takes in a field of the kind: other characters are left out, what is too long is cut at a
// character, and nothing is replaced by a sign for it.
func fit(kindName, text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if kindName == "name" {
		return fitName(text)
	}
	k := kinds[kindName]
	return orNothing(cut(keep(text, k.keeps), k.limit), k.nothing)
}

// fitName keeps the Han characters of a name that has any: WeChat takes no mixture.
func fitName(text string) string {
	if han := keep(text, isHan); han != "" {
		return cut(han, hanName)
	}
	return orNothing(cut(keep(text, func(r rune) bool { return isLetter(r) || r == ' ' || r == '.' || r == '-' }), letterName), "无")
}

func keep(text string, keeps func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if keeps(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(text, ""))
}

func cut(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ") // what was left out may have stood between two spaces
	if runes := []rune(text); len(runes) > limit {
		text = string(runes[:limit])
	}
	return strings.TrimSpace(text)
}

func orNothing(text, nothing string) string {
	if text == "" {
		return nothing
	}
	return text
}

// The forms that fixed texts of these kinds must have; no cutting makes them right.
var fixedForms = map[string]*regexp.Regexp{
	"amount": regexp.MustCompile(`^[¥￥$€£]?[0-9]{1,8}(\.[0-9]{1,2})?元?$`),
	"time":   regexp.MustCompile(`^([0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日 )?[0-9]{1,2}:[0-9]{2}$`),
	"date":   regexp.MustCompile(`^[0-9]{4}年[0-9]{1,2}月[0-9]{1,2}日( [0-9]{1,2}:[0-9]{2})?$`),
}

// fixedFits reports whether WeChat takes a fixed text as it is in a field of the kind.
func fixedFits(kindName, text string) bool {
	if form := fixedForms[kindName]; form != nil {
		return form.MatchString(text)
	}
	return text != "" && fit(kindName, text) == text
}

// checkField adds to wrong what is wrong with a field of a template.
func checkField(wrong *fault.Error, e Event, field, source string) {
	k, where := kindOf(field), "fields."+field
	text, fixed := strings.CutPrefix(source, fixedText)
	s, known := e.source(source)
	switch {
	case k == "":
		wrong.With(where, fault.FieldFormat, "字段名须为微信模板中的名称，如 thing1、amount2、time3、character_string4",
			"must be named as in WeChat's template, such as thing1, amount2, time3 or character_string4")
	case fixed && !fixedFits(k, text):
		wrong.With(where, fault.FieldFormat, "固定文字不符合微信对该类字段的要求（长度、字符）",
			"WeChat does not take this text in such a field; look at its length and characters")
	case fixed:
	case !known:
		wrong.With(where, fault.FieldChoice, "没有该取值来源", "this event has no such source")
	case !slices.Contains(s.Kinds, k):
		wrong.With(where, fault.FieldChoice, "该来源只能用于 "+strings.Join(s.Kinds, "、"),
			"this source fills only fields of the kinds "+strings.Join(s.Kinds, ", "))
	}
}
