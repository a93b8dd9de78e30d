package shipping

import "github.com/tidemall/tidemall/service/fault"

// Carrier is a company that takes parcels. Code is WeChat's express_company (its get_delivery_list), which is also what the
// shop stores, so that shipping information is uploaded with the code WeChat knows.
type Carrier struct {
	Code string
	Name fault.Text
	// NeedsContact carriers want the masked phone of sender or receiver with the tracking number; WeChat refuses them without.
	NeedsContact bool
}

var carriers = []Carrier{
	{Code: "SF", Name: fault.Text{ZH: "顺丰速运", EN: "SF Express"}, NeedsContact: true},
	{Code: "ZTO", Name: fault.Text{ZH: "中通快递", EN: "ZTO Express"}},
	{Code: "YTO", Name: fault.Text{ZH: "圆通速递", EN: "YTO Express"}},
	{Code: "YD", Name: fault.Text{ZH: "韵达速递", EN: "Yunda Express"}},
	{Code: "STO", Name: fault.Text{ZH: "申通快递", EN: "STO Express"}},
	{Code: "JTSD", Name: fault.Text{ZH: "极兔速递", EN: "J&T Express"}},
	{Code: "JD", Name: fault.Text{ZH: "京东快递", EN: "JD Logistics"}},
	{Code: "EMS", Name: fault.Text{ZH: "邮政特快专递", EN: "China Post EMS"}},
	{Code: "YZPY", Name: fault.Text{ZH: "邮政快递包裹", EN: "China Post parcel"}},
	{Code: "DBL", Name: fault.Text{ZH: "德邦快递", EN: "Deppon Express"}},
	{Code: "KYSY", Name: fault.Text{ZH: "跨越速运", EN: "KYE Express"}},
	{Code: "UC", Name: fault.Text{ZH: "优速快递", EN: "UC Express"}},
	{Code: "ZJS", Name: fault.Text{ZH: "宅急送", EN: "ZJS Express"}},
	{Code: "DHL", Name: fault.Text{ZH: "DHL", EN: "DHL"}},
}

var carriersByCode = func() map[string]Carrier {
	byCode := make(map[string]Carrier, len(carriers))
	for _, c := range carriers {
		byCode[c.Code] = c
	}
	return byCode
}()

// Carriers lists the carriers, the most used first. The caller must not change the list.
func Carriers() []Carrier { return carriers }

// CarrierOf returns the carrier with the code.
func CarrierOf(code string) (Carrier, bool) {
	c, ok := carriersByCode[code]
	return c, ok
}
