package order

import "unicode/utf8"

// cutText shortens text to at most limit bytes at a character.
func cutText(text string, limit int) string {
	for len(text) > limit {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}
