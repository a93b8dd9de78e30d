package sandbox

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"
)

// maxContent is how many characters msg_sec_check takes.
const maxContent = 2500

// suggestionOf judges content by the words in it: 违规 or risky, 可疑 or doubtful.
func suggestionOf(text string) (suggest string, label int) {
	text = strings.ToLower(text)
	switch {
	case strings.Contains(text, "违规") || strings.Contains(text, "risky"):
		return "risky", 20001
	case strings.Contains(text, "可疑") || strings.Contains(text, "doubtful"):
		return "review", 21000
	}
	return "pass", 100
}

// contentBody is what both checks are sent.
type contentBody struct {
	Version   int    `json:"version"`
	Scene     int    `json:"scene"`
	OpenID    string `json:"openid"`
	Content   string `json:"content"`
	MediaURL  string `json:"media_url"`
	MediaType int    `json:"media_type"`
}

// contentRefusal applies the rules that both checks have.
func (s *Server) contentRefusal(b contentBody) (int, string) {
	unseen := false
	s.books.view(func() { unseen = s.books.settings.CheckUnseen })
	switch {
	case b.Version != 2 || b.Scene < 1 || b.Scene > 4:
		return 40097, "invalid args: version is 2 and scene 1 to 4"
	case !belongsHere(b.OpenID):
		return 40003, "invalid openid"
	case unseen:
		return 61010, "code is expired: the user was not active within two hours"
	}
	return 0, ""
}

// checkText serves msg_sec_check.
func (s *Server) checkText(w http.ResponseWriter, r *http.Request) {
	var body contentBody
	if json.Unmarshal(bodyOf(r), &body) != nil {
		miniRefusal(w, 47001, "data format error")
		return
	}
	code, message := s.contentRefusal(body)
	if n := utf8.RuneCountInString(body.Content); code == 0 && (n == 0 || n > maxContent) {
		code, message = 44004, "content has 1 to 2500 characters"
	}
	if code != 0 {
		miniRefusal(w, code, message)
		return
	}
	suggest, label := suggestionOf(body.Content)
	miniReply(w, map[string]any{
		"errcode": 0, "errmsg": "ok", "trace_id": randomHex(16), "result": map[string]any{"suggest": suggest, "label": label},
		"detail": []any{map[string]any{"strategy": "content_model", "errcode": 0, "suggest": suggest, "label": label, "prob": 90}},
	})
}

// checkMedia serves media_check_async: the verdict follows by a push.
func (s *Server) checkMedia(w http.ResponseWriter, r *http.Request) {
	var body contentBody
	if json.Unmarshal(bodyOf(r), &body) != nil {
		miniRefusal(w, 47001, "data format error")
		return
	}
	code, message := s.contentRefusal(body)
	if code == 0 && (body.MediaType != 2 || !strings.HasPrefix(body.MediaURL, "http")) {
		code, message = 40097, "invalid args: only pictures by URL"
	}
	if code != 0 {
		miniRefusal(w, code, message)
		return
	}
	trace := randomHex(16)
	var verdict *posting
	err := s.books.change(func() {
		if !s.books.settings.MediaHold {
			verdict = s.books.addPush(s.verdict(trace, body))
		}
	})
	if err != nil {
		miniRefusal(w, -1, "system error")
		return
	}
	s.send(verdict)
	miniReply(w, map[string]any{"errcode": 0, "errmsg": "ok", "trace_id": trace})
}

// mediaPushes is how often a push is sent that is not taken.
const mediaPushes = 4

// verdict is wxa_media_check, sent a moment after the call was answered or before.
func (s *Server) verdict(trace string, body contentBody) posting {
	suggest, label := suggestionOf(body.MediaURL)
	return posting{Left: mediaPushes, Pause: time.Second, Message: push{
		"MsgType": "event", "Event": "wxa_media_check", "FromUserName": body.OpenID, "appid": s.keys.AppID, "trace_id": trace, "version": 2,
		"errcode": 0, "errmsg": "ok", "result": map[string]any{"suggest": suggest, "label": label},
	}}
}
