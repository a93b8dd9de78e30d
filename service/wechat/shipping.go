package wechat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/silenceper/wechat/v2/miniprogram/order"
)

const miniAPI = "https://api.weixin.qq.com"

// LogisticsType is how goods reach the shopper, in WeChat's numbers.
type LogisticsType int

// The ways of delivery. Only LogisticsExpress carries tracking numbers.
const (
	LogisticsExpress  LogisticsType = 1
	LogisticsSameCity LogisticsType = 2
	LogisticsVirtual  LogisticsType = 3
	LogisticsPickup   LogisticsType = 4
)

const (
	maxParcels  = 15
	maxItemDesc = 120 // taken as bytes to fit either reading
)

// ParcelInfo is one parcel of a shipping upload.
type ParcelInfo struct {
	TrackingNo     string // express only
	ExpressCompany string // WeChat's code of the carrier; express only
	ItemDesc       string // what is in it; cut to 120 bytes
	ReceiverPhone  string // masked but for its last four digits; required for SF
}

// ShippingUpload tells WeChat how an order was shipped. Without it WeChat keeps the money back.
type ShippingUpload struct {
	OutTradeNo   string
	OpenID       string // the payer's
	Logistics    LogisticsType
	Split        bool // several parcels, express only
	AllDelivered bool // with Split: nothing follows
	Parcels      []ParcelInfo
	UploadTime   time.Time // newer than that of a former upload of the order
	Correction   bool      // something else was uploaded before, which this is to replace
}

// What WeChat says of an upload that it does not take.
const (
	CodeShippedAlready = "10060002" // the order is shipped already
	CodeNotShippable   = "10060004" // there is nothing to ship of the order: all of it was refunded, perhaps after it was shipped
	CodeShippingSame   = "10060023" // nothing changed
	CodeCorrectionUsed = "10060003" // the one correction was used up
	CodeShippingNoPay  = "10060001" // WeChat's shipping management does not know the payment, or not yet
)

// had reports whether the code says that WeChat has what was uploaded. For a correction
// "shipped already" does not say so.
func (up ShippingUpload) had(code string) bool {
	return code == CodeShippingSame || code == CodeShippedAlready && !up.Correction
}

// UploadShipping uploads shipping information. nil also when WeChat says that it has
// it already. KindBusy: try later; with CodeShippingNoPay perhaps in vain. KindRejected
// with CodeCorrectionUsed: the one correction was used up.
func (c *Client) UploadShipping(ctx context.Context, up ShippingUpload) error {
	const op = "upload shipping"
	if why := up.refusal(); why != "" {
		return rejected(op, why)
	}
	err := c.withToken(ctx, op, func(ctx context.Context, r *route) error {
		return c.postMini(ctx, op, "/wxa/sec/order/upload_shipping_info", c.shippingWire(up), nil)
	})
	var e *Error
	if errors.As(err, &e) && up.had(e.Code) {
		return nil
	}
	return err
}

// refusal names what WeChat would refuse, or is empty.
func (up ShippingUpload) refusal() string {
	switch {
	case !tradeNoRule.MatchString(up.OutTradeNo) || up.OpenID == "":
		return "out_trade_no and openid are required"
	case len(up.Parcels) == 0 || len(up.Parcels) > maxParcels:
		return "an upload has 1 to 15 parcels"
	case up.Split && up.Logistics != LogisticsExpress:
		return "only express shipments can be split"
	case !up.Split && len(up.Parcels) != 1:
		return "an unsplit upload has exactly one parcel"
	}
	for _, p := range up.Parcels {
		switch {
		case p.ItemDesc == "":
			return "a parcel needs a description"
		case up.Logistics != LogisticsExpress && (p.TrackingNo != "" || p.ExpressCompany != ""):
			return "only express parcels have a carrier and a tracking number"
		case up.Logistics == LogisticsExpress && (p.TrackingNo == "" || p.ExpressCompany == ""):
			return "an express parcel needs a carrier and a tracking number"
		case p.ExpressCompany == "SF" && p.ReceiverPhone == "":
			return "SF parcels need the receiver's masked phone number"
		}
	}
	return ""
}

func (c *Client) shippingWire(up ShippingUpload) order.UploadShippingInfoRequest {
	// WeChat refuses finer times than milliseconds (268485216); Go would write nanoseconds.
	at := up.UploadTime.In(china).Truncate(time.Millisecond)
	wire := order.UploadShippingInfoRequest{
		OrderKey: &order.ShippingOrderKey{
			OrderNumberType: order.NumberTypeOutTradeNo, Mchid: c.cfg.MchID, OutTradeNo: up.OutTradeNo,
		},
		LogisticsType: order.LogisticsType(up.Logistics), DeliveryMode: order.DeliveryModeUnifiedDelivery,
		IsAllDelivered: !up.Split || up.AllDelivered, UploadTime: &at, Payer: &order.ShippingPayer{Openid: up.OpenID},
	}
	if up.Split {
		wire.DeliveryMode = order.DeliveryModeSplitDelivery
	}
	for _, p := range up.Parcels {
		wire.ShippingList = append(wire.ShippingList, &order.ShippingInfo{
			TrackingNo: p.TrackingNo, ExpressCompany: p.ExpressCompany, ItemDesc: cut(p.ItemDesc, maxItemDesc),
			Contact: order.ShippingContact{ReceiverContact: p.ReceiverPhone},
		})
	}
	return wire
}

// ShippingState is the state of an order in WeChat's shipping management.
type ShippingState int

// The states of an order there.
const (
	ShippingWaiting   ShippingState = 1
	ShippingShipped   ShippingState = 2
	ShippingConfirmed ShippingState = 3
	ShippingCompleted ShippingState = 4
	ShippingRefunded  ShippingState = 5
	ShippingUnsettled ShippingState = 6 // the funds await settlement
)

// Received reports whether the shopper has the goods, by WeChat's word.
func (s ShippingState) Received() bool {
	return s == ShippingConfirmed || s == ShippingCompleted || s == ShippingUnsettled
}

// ShippingOrder is an order in WeChat's shipping management. Parcels have a tracking
// number and a carrier only.
type ShippingOrder struct {
	State    ShippingState
	Finished bool // the last upload said that nothing follows
	Parcels  []ParcelInfo
}

// Holds reports whether the parcels are those of the upload, in any order.
func (o ShippingOrder) Holds(up ShippingUpload) bool {
	key := func(p ParcelInfo) string { return p.ExpressCompany + " " + p.TrackingNo }
	there := make([]string, len(o.Parcels))
	for i, p := range o.Parcels {
		there[i] = key(p)
	}
	for _, p := range up.Parcels {
		at := slices.Index(there, key(p))
		if at < 0 {
			return false
		}
		there = slices.Delete(there, at, at+1)
	}
	return len(there) == 0 && (!up.Split || o.Finished == up.AllDelivered)
}

// QueryShipping asks for an order in WeChat's shipping management, to re-check what
// the phone says about a confirmed receipt. KindBusy with CodeShippingNoPay: it is
// not there.
func (c *Client) QueryShipping(ctx context.Context, outTradeNo string) (ShippingOrder, error) {
	const op = "query shipping"
	if !tradeNoRule.MatchString(outTradeNo) {
		return ShippingOrder{}, rejected(op, "not an out_trade_no")
	}
	var reply struct {
		Order struct {
			State    ShippingState `json:"order_state"`
			Shipping struct {
				Finished bool `json:"finish_shipping"`
				List     []struct {
					TrackingNo     string `json:"tracking_no"`
					ExpressCompany string `json:"express_company"`
				} `json:"shipping_list"`
			} `json:"shipping"`
		} `json:"order"`
	}
	err := c.withToken(ctx, op, func(ctx context.Context, r *route) error {
		err := c.postMini(ctx, op, "/wxa/sec/order/get_order",
			map[string]string{"merchant_id": c.cfg.MchID, "merchant_trade_no": outTradeNo}, &reply)
		if err == nil && reply.Order.State == 0 {
			return unknown(http.StatusOK, "no order_state in the reply")
		}
		return err
	})
	o := ShippingOrder{State: reply.Order.State, Finished: reply.Order.Shipping.Finished}
	for _, p := range reply.Order.Shipping.List {
		o.Parcels = append(o.Parcels, ParcelInfo{TrackingNo: p.TrackingNo, ExpressCompany: p.ExpressCompany})
	}
	return o, err
}

// SetOrderPath tells WeChat which page of the mini-program its order centre opens; the
// path holds ${商品订单号}, for which WeChat puts the out_trade_no.
func (c *Client) SetOrderPath(ctx context.Context, path string) error {
	const op = "set order path"
	return c.withToken(ctx, op, func(ctx context.Context, r *route) error {
		return c.postMini(ctx, op, "/wxa/sec/order/update_order_detail_path", map[string]string{"path": path}, nil)
	})
}

// postMini posts to an interface that the library calls without a context or not at
// all. into may be nil.
func (c *Client) postMini(ctx context.Context, op, path string, body, into any) error {
	token, err := c.tokens.GetAccessTokenContext(ctx)
	if err != nil {
		return err
	}
	var raw bytes.Buffer
	enc := json.NewEncoder(&raw)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(body); err != nil {
		return rejected(op, "the request cannot be written")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, miniAPI+path+"?access_token="+url.QueryEscape(token), &raw)
	if err != nil {
		return rejected(op, "the request cannot be written")
	}
	req.Header.Set("Content-Type", "application/json;charset=utf-8")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return unknown(resp.StatusCode, "not a reply of WeChat's")
	}
	var reply json.RawMessage
	var common struct {
		ErrCode int64  `json:"errcode"`
		ErrMsg  string `json:"errmsg"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&reply); err != nil {
		return err
	}
	if err := json.Unmarshal(reply, &common); err != nil {
		return err
	}
	if common.ErrCode != 0 {
		return miniError(op, common.ErrCode, common.ErrMsg)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(reply, into)
}
