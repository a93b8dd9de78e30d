package changelog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"unicode/utf8"
)

// secret are the names of fields, at any depth, whose values are not kept: that they changed is.
var secret = regexp.MustCompile(`(?i)(^|_)(password|hash|cipher|token|jti|secret|openid|unionid|totp|recovery_codes?|private_key|api_key)($|_)`)

// phone are the names of fields that hold phone numbers; mobile finds the number of a Chinese mobile in any other text, as people
// write it: after 86 or a word, in groups, one after the other.
var (
	phone  = regexp.MustCompile(`(?i)(^|_)(phones?|mobiles?|tel)($|_)`)
	mobile = regexp.MustCompile(`(?i)\b((?:tel|mobile|phone)?(?:\+?86)?[ -]?)(1[3-9]\d)[ -]?\d{4}[ -]?(\d{4})\b`)
)

// hiddenValue stands where a value is not kept.
const hiddenValue = "***"

// Bounds of what is kept of one field.
const (
	maxText  = 2000  // characters of a text
	maxField = 60000 // bytes of a whole field
)

// clean returns the field's value without what the log must not hold, and cut where it is very long.
func clean(name string, value json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(value))
	d.UseNumber() // ids and money are not to become floats
	var v any
	if d.Decode(&v) != nil {
		return json.RawMessage(`"` + hiddenValue + `"`)
	}
	b, err := json.Marshal(cleaned(name, v))
	if err != nil {
		return json.RawMessage(`"` + hiddenValue + `"`)
	}
	if len(b) > maxField {
		return json.RawMessage(fmt.Sprintf(`"… [%d]"`, len(b)))
	}
	return b
}

func cleaned(name string, v any) any {
	if v == nil || v == "" {
		return v
	}
	if secret.MatchString(name) {
		return hiddenValue
	}
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			v[k] = cleaned(k, inner)
		}
		return v
	case []any:
		for i, inner := range v {
			v[i] = cleaned(name, inner)
		}
		return v
	case string:
		return cleanText(name, v)
	case json.Number:
		if phone.MatchString(name) {
			return hiddenValue
		}
		return v
	default:
		return v
	}
}

func cleanText(name, text string) string {
	if phone.MatchString(name) {
		return tail(text)
	}
	text = mobile.ReplaceAllString(text, "${1}${2}****$3")
	if n := utf8.RuneCountInString(text); n > maxText {
		return string([]rune(text)[:maxText]) + fmt.Sprintf("… [%d]", n)
	}
	return text
}

// tail leaves the last four digits of a number, so that one sees which it was.
func tail(number string) string {
	if r := []rune(number); len(r) > 7 {
		return hiddenValue + string(r[len(r)-4:])
	}
	return hiddenValue
}
