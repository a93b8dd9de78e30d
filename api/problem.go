// Package api is what every operation shares: errors as problem+json in two languages, who is calling, pages, cursors, days and
// idempotency keys. The operations are in its sub-packages; router says which is mounted where and who may call it.
package api

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/tidemall/tidemall/service/fault"
)

// Problem is an error reply (RFC 9457). Clients depend on code, never on the texts.
type Problem struct {
	Status       int            `json:"status" doc:"HTTP status" minimum:"400" maximum:"599" example:"409"`
	Title        string         `json:"title" doc:"What the code means, in the language asked for" example:"库存不足，请减少数量"`
	Detail       string         `json:"detail" doc:"What happened this time" example:"库存不足，请减少数量"`
	Code         string         `json:"code" doc:"Stable name of the error" example:"stock_insufficient"`
	RequestID    string         `json:"request_id" doc:"Names this request in the server's log" example:"5f0c8a9be3d14c27"`
	Errors       []ProblemField `json:"errors,omitempty" doc:"Problems with single fields of the input"`
	RetryAfterMS int64          `json:"retry_after_ms,omitempty" doc:"When trying again makes sense, in milliseconds" minimum:"1" maximum:"86400000"`
	_            struct{}       `additionalProperties:"true"`

	fault *fault.Error
}

// ProblemField is a problem with one field.
type ProblemField struct {
	Field   string `json:"field,omitempty" doc:"Where in the input; absent where it is the whole body" example:"items[0].quantity"`
	Code    string `json:"code" doc:"Stable name of the problem" example:"out_of_range"`
	Message string `json:"message" doc:"For people, in the language asked for" example:"必须 ≥ 1"`
}

// NewProblem turns any error into a problem, with texts in Chinese and no request id: Localize adds both. An error without a
// code becomes internal_error and its text is shown to nobody.
func NewProblem(err error) *Problem {
	var known *Problem
	if errors.As(err, &known) {
		return known
	}
	var f *fault.Error
	if !errors.As(err, &f) {
		f = fault.Wrap(fault.InternalError, err)
	}
	p := &Problem{Status: StatusOf(f.Code), Code: string(f.Code), fault: f}
	if wait := f.RetryAfter; wait > 0 || p.Status == http.StatusTooManyRequests {
		p.RetryAfterMS = max(1, wait.Milliseconds())
		if wait == 0 {
			p.RetryAfterMS = time.Second.Milliseconds()
		}
	}
	p.Localize(Chinese, "")
	return p
}

// Localize writes the texts in a language and sets the request id.
func (p *Problem) Localize(l Language, requestID string) {
	if p.fault == nil { // the empty one from which huma makes the schema
		return
	}
	p.RequestID = requestID
	p.Title = l.Pick(fault.Lookup(p.fault.Code).Text)
	p.Detail = p.Title
	if p.fault.Detail != (fault.Text{}) {
		p.Detail = l.Pick(p.fault.Detail)
	}
	p.Errors = make([]ProblemField, 0, len(p.fault.Fields))
	for _, f := range p.fault.Fields {
		text := f.Message
		if text == (fault.Text{}) {
			text = fault.Lookup(f.Code).Text
		}
		p.Errors = append(p.Errors, ProblemField{Field: f.Field, Code: string(f.Code), Message: l.Pick(text)})
	}
}

// Error is for logs.
func (p *Problem) Error() string {
	if p.fault == nil {
		return p.Code
	}
	return p.fault.Error()
}

// Unwrap returns the service's error.
func (p *Problem) Unwrap() error {
	if p.fault == nil {
		return nil
	}
	return p.fault
}

// GetStatus tells huma the status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType makes huma answer application/problem+json.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// GetHeaders returns the headers that go with the status.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.RetryAfterMS > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(float64(p.RetryAfterMS)/1000)), 10))
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", "Bearer")
	}
	return h
}

// MarshalJSON adds the error's further members, such as the new quote of price_changed.
func (p *Problem) MarshalJSON() ([]byte, error) {
	type plain Problem
	b, err := json.Marshal((*plain)(p))
	if err != nil || p.fault == nil || len(p.fault.Extra) == 0 {
		return b, err
	}
	extra, err := json.Marshal(p.fault.Extra)
	if err != nil {
		return nil, err
	}
	merged := map[string]json.RawMessage{}
	own := map[string]json.RawMessage{}
	if err := json.Unmarshal(extra, &merged); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &own); err != nil {
		return nil, err
	}
	maps.Copy(merged, own)
	return json.Marshal(merged)
}

var classStatus = map[fault.Class]int{
	fault.Internal:        http.StatusInternalServerError,
	fault.Malformed:       http.StatusBadRequest,
	fault.Unauthenticated: http.StatusUnauthorized,
	fault.Forbidden:       http.StatusForbidden,
	fault.NotFound:        http.StatusNotFound,
	fault.Conflict:        http.StatusConflict,
	fault.Invalid:         http.StatusUnprocessableEntity,
	fault.TooMany:         http.StatusTooManyRequests,
	fault.Unavailable:     http.StatusServiceUnavailable,
}

// codeStatus has the codes whose status HTTP wants finer than their class.
var codeStatus = map[fault.Code]int{
	fault.UnsupportedMedia: http.StatusUnsupportedMediaType,
	fault.SlowBody:         http.StatusRequestTimeout,
	fault.BodyTooLarge:     http.StatusRequestEntityTooLarge,
	fault.MethodNotAllowed: http.StatusMethodNotAllowed,
}

// StatusOf returns the HTTP status of a code.
func StatusOf(code fault.Code) int {
	if s, ok := codeStatus[code]; ok {
		return s
	}
	return classStatus[fault.Lookup(code).Class]
}

// WriteProblem answers with an error outside of huma: from middleware, from a plain handler.
func WriteProblem(w http.ResponseWriter, r *http.Request, err error) {
	p := NewProblem(err)
	Note(r.Context(), err)
	p.Localize(LanguageOf(r.Context()), RequestID(r.Context()))
	body, err := json.Marshal(p)
	if err != nil {
		http.Error(w, "", http.StatusInternalServerError)
		return
	}
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // the client may be gone
}
