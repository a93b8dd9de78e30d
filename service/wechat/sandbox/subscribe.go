package sandbox

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// subscribeMessage is a message that was sent to a shopper.
type subscribeMessage struct {
	ID         int               `json:"id"`
	At         time.Time         `json:"at"`
	OpenID     string            `json:"openid"`
	TemplateID string            `json:"template_id"`
	Page       string            `json:"page,omitempty"`
	Values     map[string]string `json:"values"`
}

// subscription is how many messages of a template a shopper still agrees to.
type subscription struct {
	OpenID     string `json:"openid"`
	TemplateID string `json:"template_id"`
	Grants     int    `json:"grants"`
}

func (s subscription) key() string { return s.OpenID + " " + s.TemplateID }

// subscribeBody is what message/subscribe/send takes.
type subscribeBody struct {
	ToUser     string `json:"touser"`
	TemplateID string `json:"template_id"`
	Page       string `json:"page"`
	State      string `json:"miniprogram_state"`
	Lang       string `json:"lang"`
	Data       map[string]struct {
		Value any `json:"value"`
	} `json:"data"`
}

// sendSubscribe serves message/subscribe/send.
func (s *Server) sendSubscribe(w http.ResponseWriter, r *http.Request) {
	var body subscribeBody
	if json.Unmarshal(bodyOf(r), &body) != nil {
		miniRefusal(w, 47001, "data format error")
		return
	}
	code, message := body.refusal()
	if code == 0 {
		err := s.books.change(func() { code, message = s.books.tell(body, time.Now().UTC()) })
		if err != nil {
			code, message = -1, "system error"
		}
	}
	if code != 0 {
		miniRefusal(w, code, message)
		return
	}
	miniReply(w, map[string]any{"errcode": 0, "errmsg": "ok"})
}

var (
	templateShape = regexp.MustCompile(`^[0-9A-Za-z_-]{20,64}$`)
	pageShape     = regexp.MustCompile(`^[0-9A-Za-z_-][0-9A-Za-z_/-]*(\?[^\s]*)?$`)
	fieldShape    = regexp.MustCompile(`^([a-z_]+)([0-9]+)$`)
)

// refusal applies the rules that do not need the books.
func (b *subscribeBody) refusal() (int, string) {
	switch {
	case !belongsHere(b.ToUser):
		return 40003, "invalid openid"
	case !templateShape.MatchString(b.TemplateID):
		return 40037, "invalid template_id"
	case b.Page != "" && !pageShape.MatchString(b.Page):
		return 41030, "invalid page"
	case len(b.Data) == 0:
		return 47003, "argument invalid! data is empty"
	}
	for field, item := range b.Data {
		value, isText := item.Value.(string)
		m := fieldShape.FindStringSubmatch(field)
		if m == nil || !isText || !valueFits(m[1], value) {
			return 47003, "argument invalid! data." + field + ".value invalid"
		}
	}
	return 0, ""
}

// tell books a message, or says why not; inside change.
func (b *books) tell(body subscribeBody, now time.Time) (int, string) {
	consent := subscription{OpenID: body.ToUser, TemplateID: body.TemplateID}
	if b.settings.SubscribeGrants {
		consent.Grants = b.grants[consent.key()].Grants
		if consent.Grants < 1 {
			return 43101, "user refuse to accept the msg"
		}
		consent.Grants--
		b.grants[consent.key()] = consent
		b.save("grant", consent.key(), consent)
	}
	m := &subscribeMessage{
		ID: len(b.told) + 1, At: now, OpenID: body.ToUser, TemplateID: body.TemplateID, Page: body.Page, Values: make(map[string]string, len(body.Data)),
	}
	for field, item := range body.Data {
		m.Values[field], _ = item.Value.(string)
	}
	b.told = append(b.told, m)
	b.save("message", "", m)
	return 0, ""
}

// The forms of values. Lengths are counted in characters.
var (
	numberForm = regexp.MustCompile(`^[0-9.+-]+$`)
	amountForm = regexp.MustCompile(`^[¥￥$€£]?([0-9]+(?:\.[0-9]+)?)元?$`)
	phoneForm  = regexp.MustCompile(`^[0-9+ -]+$`)
	dateForm   = regexp.MustCompile(`^[0-9]{4}(年[0-9]{1,2}月[0-9]{1,2}日|-[0-9]{1,2}-[0-9]{1,2})( [0-9]{1,2}:[0-9]{2}(:[0-9]{2})?)?$`)
	timeForm   = regexp.MustCompile(`^([0-9]{4}(年[0-9]{1,2}月[0-9]{1,2}日|-[0-9]{1,2}-[0-9]{1,2}) )?[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?$`)
)

// valueFits applies WeChat's rule for a kind of field.
func valueFits(kind, value string) bool {
	n := utf8.RuneCountInString(value)
	if strings.TrimSpace(value) == "" || !utf8.ValidString(value) || strings.ContainsAny(value, "\n\r\t") {
		return false
	}
	switch kind {
	case "thing":
		return n <= 20
	case "number":
		return n <= 32 && numberForm.MatchString(value)
	case "letter":
		return n <= 32 && all(value, func(r rune) bool { return r < unicode.MaxASCII && unicode.IsLetter(r) })
	case "symbol":
		return n <= 5 && all(value, func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) })
	case "character_string":
		return n <= 32 && all(value, func(r rune) bool { return r > ' ' && r < unicode.MaxASCII })
	case "phrase":
		return n <= 5 && all(value, isHan)
	case "name":
		return (n <= 10 && all(value, isHan)) || (n <= 20 && all(value, func(r rune) bool { return r < unicode.MaxASCII && !unicode.IsDigit(r) }))
	case "amount":
		m := amountForm.FindStringSubmatch(value)
		return m != nil && len(strings.ReplaceAll(m[1], ".", "")) <= 10
	case "phone_number":
		return n <= 17 && phoneForm.MatchString(value)
	case "time":
		return timeForm.MatchString(value) || dateForm.MatchString(value)
	case "date":
		return dateForm.MatchString(value)
	}
	return false
}

func isHan(r rune) bool { return unicode.Is(unicode.Han, r) }

func all(text string, is func(rune) bool) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !is(r) })
}

// controlSubscribe is the shopper who agrees: {openid or name, template_id, grants} adds consents; a negative number takes away.
func (s *Server) controlSubscribe(w http.ResponseWriter, r *http.Request) {
	var body struct {
		OpenID     string `json:"openid"`
		Name       string `json:"name"`
		TemplateID string `json:"template_id"`
		Grants     int    `json:"grants"`
	}
	if !read(w, r, &body) {
		return
	}
	if body.OpenID == "" && body.Name != "" {
		body.OpenID = OpenID(body.Name)
	}
	switch {
	case !belongsHere(body.OpenID):
		controlError(w, 400, "OPENID_UNKNOWN", "name a shopper by name, or by an openid of this sandbox")
		return
	case !templateShape.MatchString(body.TemplateID):
		controlError(w, 400, "TEMPLATE_WRONG", "template_id has 20 to 64 of 0-9A-Za-z_-")
		return
	case body.Grants == 0:
		controlError(w, 400, "GRANTS_MISSING", "grants is how many messages more the shopper agrees to; negative takes away")
		return
	}
	consent := subscription{OpenID: body.OpenID, TemplateID: body.TemplateID}
	err := s.books.change(func() {
		consent.Grants = max(s.books.grants[consent.key()].Grants+body.Grants, 0)
		s.books.grants[consent.key()] = consent
		s.books.save("grant", consent.key(), consent)
	})
	if err != nil {
		s.diskFailed(w, err)
		return
	}
	controlReply(w, 200, consent)
}

// controlMessages lists what shoppers were sent, oldest first.
func (s *Server) controlMessages(w http.ResponseWriter, r *http.Request) {
	openID, template := r.URL.Query().Get("openid"), r.URL.Query().Get("template_id")
	if name := r.URL.Query().Get("name"); name != "" {
		openID = OpenID(name)
	}
	list := []subscribeMessage{}
	s.books.view(func() {
		for _, m := range s.books.told {
			if (openID == "" || m.OpenID == openID) && (template == "" || m.TemplateID == template) {
				list = append(list, *m)
			}
		}
	})
	controlList(w, list)
}
