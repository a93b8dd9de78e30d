package router

import "github.com/tidemall/tidemall/api/notify"

// Notify has the handlers of WeChat's callbacks. They are no operations of the document: WeChat signs what it sends, so there is
// no token and no limit but that of the body.
type Notify struct {
	Pay    *notify.Pay
	Refund *notify.Refund
	Push   *notify.Push
}

// mountNotify mounts WeChat's callbacks.
func (r *Router) mountNotify() {
	n := r.deps.Notify
	if n == nil {
		return
	}
	r.engine.POST("/notify/wechat/pay", n.Pay.Handle)
	r.engine.POST("/notify/wechat/refund", n.Refund.Handle)
	r.engine.GET("/notify/wechat/push", n.Push.Echo)
	r.engine.POST("/notify/wechat/push", n.Push.Handle)
}
