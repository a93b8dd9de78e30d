package wechat

import (
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"time"

	"github.com/silenceper/wechat/v2/miniprogram/security"
	"github.com/sony/gobreaker/v2"
)

// ContentLimit is how long a check of content may take, token and repetition included: people wait for it, and what was
// not checked in time is held.
const ContentLimit = 2 * time.Second

// ContentScene says where a text or a picture is going to be shown, in WeChat's numbers.
type ContentScene int

// The scenes that a shop has.
const (
	SceneProfile ContentScene = 1
	SceneComment ContentScene = 2
)

// Suggestion is what WeChat would do with content.
type Suggestion string

// The suggestions.
const (
	SuggestPass   Suggestion = "pass"
	SuggestReview Suggestion = "review" // a person should look at it
	SuggestRisky  Suggestion = "risky"
)

func (s Suggestion) known() bool { return s == SuggestPass || s == SuggestReview || s == SuggestRisky }

// Verdict is WeChat's word on a text or a picture.
type Verdict struct {
	Suggest Suggestion
	Label   int // why, in WeChat's numbers; 100 is nothing
}

const (
	codeRisky  = "87014" // the former version's word for a risky text
	labelOther = 21000
)

// CheckText asks WeChat about a text that a shopper wrote, within ContentLimit. A shopper whom WeChat has not seen for two
// hours is KindRejected with code 61010. While the breaker is open, that of checks or that of all the mini-program's
// interfaces, WeChat is not called.
func (c *Client) CheckText(ctx context.Context, openID string, scene ContentScene, text string) (Verdict, error) {
	const op = "check text"
	var v Verdict
	err := c.check(ctx, op, func(ctx context.Context, r *route) error {
		res, err := c.mini.GetSecurity().MsgCheckContext(ctx, &security.MsgCheckRequest{OpenID: openID, Scene: security.MsgScene(scene), Content: text})
		if err != nil {
			return withStatus(op, err, r.status)
		}
		v = Verdict{Suggest: Suggestion(res.Result.Suggest), Label: int(res.Result.Label)}
		if !v.Suggest.known() {
			return unknown(r.status, "no verdict in the reply")
		}
		return nil
	})
	var e *Error
	if errors.As(err, &e) && e.Code == codeRisky {
		return Verdict{Suggest: SuggestRisky, Label: labelOther}, nil
	}
	return v, err
}

// CheckPicture has WeChat fetch a picture and look at it. The verdict comes by the push wxa_media_check, under the trace id
// that is returned, and may come before this returns.
func (c *Client) CheckPicture(ctx context.Context, openID string, scene ContentScene, url string) (traceID string, err error) {
	const op, picture = "check picture", 2
	err = c.check(ctx, op, func(ctx context.Context, r *route) (err error) {
		traceID, err = c.mini.GetSecurity().MediaCheckAsyncContext(ctx, &security.MediaCheckAsyncRequest{
			MediaURL: url, MediaType: picture, OpenID: openID, Scene: uint8(scene),
		})
		switch {
		case err != nil:
			return withStatus(op, err, r.status)
		case traceID == "" || len(traceID) > maxTraceID:
			return unknown(r.status, "no trace_id in the reply")
		}
		return nil
	})
	return traceID, err
}

// maxTraceID is far above the length of WeChat's trace ids.
const maxTraceID = 128

// check runs a check behind a breaker of its own: checks that are not answered must not keep shoppers from logging in.
func (c *Client) check(ctx context.Context, op string, fn func(context.Context, *route) error) error {
	if c.miniBreaker.State() == gobreaker.StateOpen {
		return &Error{Op: op, Kind: KindUnavailable, Message: "WeChat has not been answering; calls pause for a moment"}
	}
	ctx, cancel := context.WithTimeout(ctx, ContentLimit)
	defer cancel()
	return c.withTokenBehind(ctx, c.checkBreaker, op, fn)
}

// EventMediaCheck is the push that tells the verdict on a picture.
const EventMediaCheck = "wxa_media_check"

// MediaVerdict is the verdict on a picture that was given to CheckPicture.
type MediaVerdict struct {
	Verdict
	TraceID string
	// Failed says that WeChat could not look at the picture; there is no verdict then.
	Failed bool
}

// ParseMediaCheck reads the push wxa_media_check. ErrPushMalformed for anything else.
func ParseMediaCheck(p Push) (MediaVerdict, error) {
	var said struct {
		TraceID string      `json:"trace_id" xml:"trace_id"`
		ErrCode json.Number `json:"errcode" xml:"errcode"`
		Result  struct {
			Suggest Suggestion  `json:"suggest" xml:"suggest"`
			Label   json.Number `json:"label" xml:"label"`
		} `json:"result" xml:"result"`
	}
	decode := json.Unmarshal
	if p.XML {
		decode = xml.Unmarshal
	}
	if err := decode(p.Message, &said); err != nil || said.TraceID == "" || len(said.TraceID) > maxTraceID || p.Event != EventMediaCheck {
		return MediaVerdict{}, ErrPushMalformed
	}
	v := MediaVerdict{TraceID: said.TraceID, Verdict: Verdict{Suggest: said.Result.Suggest}}
	label, _ := said.Result.Label.Int64() // only shown
	v.Label = int(label)
	if code, _ := said.ErrCode.Int64(); code != 0 || !v.Suggest.known() {
		v.Failed, v.Verdict = true, Verdict{}
	}
	return v, nil
}
