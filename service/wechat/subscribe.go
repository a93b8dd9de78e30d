package wechat

import (
	"context"
	"regexp"

	"github.com/silenceper/wechat/v2/miniprogram/subscribe"
)

// SubscribeMessage is one message of a template that a shopper agreed to receive. A consent is used up by one message.
type SubscribeMessage struct {
	OpenID     string
	TemplateID string
	Page       string            // where a tap leads, without a leading slash; empty: nowhere
	Values     map[string]string // by the template's field, such as thing1
}

var templateRule = regexp.MustCompile(`^[0-9A-Za-z_-]{1,64}$`)

// SendSubscribeMessage sends a message. KindRejected with a code of SubscribeRefused is WeChat's last word on it; KindBusy asks to
// try again. After KindUnknown the shopper may have received it: WeChat takes no number that would make a repetition harmless.
func (c *Client) SendSubscribeMessage(ctx context.Context, m SubscribeMessage) error {
	const op = "send subscribe message"
	if m.OpenID == "" || !templateRule.MatchString(m.TemplateID) || len(m.Values) == 0 {
		return rejected(op, "openid, template id and values are required")
	}
	wire := subscribe.Message{
		ToUser: m.OpenID, TemplateID: m.TemplateID, Page: m.Page, MiniprogramState: "formal", Lang: "zh_CN",
		Data: make(map[string]*subscribe.DataItem, len(m.Values)),
	}
	for field, value := range m.Values {
		wire.Data[field] = &subscribe.DataItem{Value: value}
	}
	// The library's own Send takes no context, so its message is posted as the other interfaces are.
	return c.withToken(ctx, op, func(ctx context.Context, _ *route) error {
		return c.postMini(ctx, op, "/cgi-bin/message/subscribe/send", wire, nil)
	})
}

// subscribeRefused are the codes that no repetition changes: an openid or template that is none, a consent that was refused or
// used up, the ability taken away, a page that is none, a sensitive word, a value that breaks its rule.
var subscribeRefused = map[string]bool{
	"40003": true, "40037": true, "41030": true, "43101": true, "43107": true, "45168": true, "47003": true,
}

// SubscribeRefused reports whether a code is WeChat's last word on a subscribe message.
func SubscribeRefused(code string) bool { return subscribeRefused[code] }
