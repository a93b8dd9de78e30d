package api

import (
	"golang.org/x/text/language"

	"github.com/tidemall/tidemall/service/fault"
)

// Language is one of the two in which the shop speaks.
type Language int

// The languages; Chinese unless a client prefers English.
const (
	Chinese Language = iota
	English
)

var matcher = language.NewMatcher([]language.Tag{language.Chinese, language.English})

// ParseLanguage returns the language that an Accept-Language header prefers.
func ParseLanguage(header string) Language {
	if header == "" {
		return Chinese
	}
	tags, _, err := language.ParseAcceptLanguage(header)
	if err != nil || len(tags) == 0 {
		return Chinese
	}
	if _, i, confidence := matcher.Match(tags...); confidence != language.No && i == int(English) {
		return English
	}
	return Chinese
}

// Pick returns the text in this language.
func (l Language) Pick(t fault.Text) string {
	if l == English {
		return t.EN
	}
	return t.ZH
}
