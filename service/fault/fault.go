// Package fault is the one error type of the services: a stable code for programs, a text for people in Chinese and English,
// the cause for the log. Operations and tests depend on codes, never on text.
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code names a kind of failure; it is part of the API and never changes.
type Code string

// Class groups codes by what the caller can do about them. The API maps each class to one HTTP status.
type Class int

// Classes of codes.
const (
	Internal Class = iota
	Malformed
	Unauthenticated
	Forbidden
	NotFound
	Conflict
	Invalid
	TooMany
	Unavailable
)

// Text is a sentence in both languages.
type Text struct{ ZH, EN string }

// Field is a problem with one field of the input, such as "items[0].quantity".
type Field struct {
	Field   string
	Code    Code
	Message Text
}

// Error is a failure with a code. Make it with New or Wrap; the With methods return the same error for chaining.
type Error struct {
	Code       Code
	Detail     Text // more than the code's own text says; may be empty
	Fields     []Field
	RetryAfter time.Duration  // for TooMany and Unavailable
	Extra      map[string]any // further members of the reply, such as the new quote of price_changed
	Cause      error          // for the log only, never shown
}

// New makes an error with a code of the table.
func New(code Code) *Error { return &Error{Code: code} }

// Wrap makes an error with a code and the cause for the log.
func Wrap(code Code, cause error) *Error { return &Error{Code: code, Cause: cause} }

// Say adds a sentence for people in both languages.
func (e *Error) Say(zh, en string) *Error { e.Detail = Text{zh, en}; return e }

// With adds a problem with one field.
func (e *Error) With(field string, code Code, zh, en string) *Error {
	e.Fields = append(e.Fields, Field{field, code, Text{zh, en}})
	return e
}

// After says when trying again makes sense.
func (e *Error) After(d time.Duration) *Error { e.RetryAfter = d; return e }

// Put adds a member to the reply.
func (e *Error) Put(name string, v any) *Error {
	if e.Extra == nil {
		e.Extra = map[string]any{}
	}
	e.Extra[name] = v
	return e
}

// Error is for logs: the code, the English detail, the fields, the cause.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	if e.Detail.EN != "" {
		b.WriteString(": " + e.Detail.EN)
	}
	for _, f := range e.Fields {
		fmt.Fprintf(&b, " [%s %s]", f.Field, f.Code)
	}
	if e.Cause != nil {
		b.WriteString(": " + e.Cause.Error())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// CodeOf returns the code of the error or of one that it wraps; internal_error for an unknown error, "" for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return InternalError
}

// Is reports whether the error carries the code.
func Is(err error, code Code) bool { return err != nil && CodeOf(err) == code }
