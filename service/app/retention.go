package app

import (
	"time"

	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/content"
	"github.com/tidemall/tidemall/service/notice"
	"github.com/tidemall/tidemall/service/payment"
	"github.com/tidemall/tidemall/service/retention"
)

// retention returns what is removed once it is old. Messages, callbacks and jobs are removed by those who write them, since more than
// an age decides.
func (a *App) retention() []retention.Rule {
	rules := []retention.Rule{
		{Table: "revoked_tokens", Key: "jti", Since: "expires_at"},
		{Table: "admin_failures", Key: "id", Since: "ends_at"},
		{Table: "admin_sessions", Key: "id", Since: "expires_at", Keep: account.SessionRetention},
		{Table: "subscribe_messages", Key: "id", Since: "created_at", Keep: notice.Retention},
		{Table: "media_checks", Key: "trace_id", Since: "created_at", Keep: content.CheckRetention},
		{Table: "push_messages", Key: "message_id", Since: "received_at", Keep: payment.PushRetention},
	}
	if days := a.Config.Admin.ChangeLogDays; days > 0 { // 0: for ever
		rules = append(rules, retention.Rule{Table: "admin_changes", Key: "id", Since: "created_at", Keep: time.Duration(days) * 24 * time.Hour})
	}
	return rules
}
