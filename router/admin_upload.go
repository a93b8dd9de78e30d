package router

import (
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
)

func adminUploads(g *group, u *admin.Uploads) {
	route(g, "GET", "/shipping-uploads", merchant(account.OrderRead), u.All, doc{
		Summary:     "List what WeChat knows of the shipping",
		Description: "By status, newest first: refused uploads need the merchant, waiting ones go out by themselves.",
	})
	route(g, "PUT", "/orders/{no}/parcels/{id}", merchant(account.OrderWrite), u.Parcel, doc{
		Summary:     "Change the carrier or tracking number of an express parcel",
		Description: "The change is uploaded to WeChat, which takes one once it has the whole order.",
		Codes:       []fault.Code{fault.StaleVersion, fault.OrderState, fault.StateConflict, fault.CorrectionUsed},
		Example:     admin.ParcelBody{Carrier: "ZTO", TrackingNo: "ZT1234567890"},
	})
	route(g, "POST", "/orders/{no}/shipping-upload/retry", merchant(account.OrderWrite), u.Retry, doc{
		Summary: "Upload an order's shipping information to WeChat now", Description: "For one that WeChat refused, or one that waits for its next call.",
		Codes: []fault.Code{fault.StateConflict},
	})
}
