package job

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/order"
	"github.com/tidemall/tidemall/service/shipping"
	"github.com/tidemall/tidemall/service/store"
)

var shipColumns = []column{
	{"order_no", "订单号", true}, {"carrier", "快递公司", true}, {"tracking_no", "运单号", true},
}

const maxTracking = 64

// rounded is how a spreadsheet writes a long number whose digits it has lost.
var rounded = regexp.MustCompile(`^[0-9](\.[0-9]+)?[eE]\+[0-9]+$`)

// shipWork ships orders, one a line.
type shipWork struct {
	*Service

	sheet *sheet
}

func (r *Runner) beginShip(ctx context.Context, j *model.Job) (work, error) {
	data, err := r.input(ctx, j)
	if err != nil {
		return nil, err
	}
	s, err := readSheet(data, shipColumns, false)
	return &shipWork{r.Service, s}, err
}

func (w *shipWork) next(ctx context.Context, j *model.Job) (*step, error) {
	if j.Step >= int64(len(w.sheet.lines)) {
		return nil, nil
	}
	l := w.sheet.lines[j.Step]
	no := strings.ToUpper(w.sheet.cell(l, "order_no"))
	st := &step{line: l.no, subject: no, rows: 1}
	parcel := order.ShipmentParcel{Delivery: model.DeliveryExpress, TrackingNo: w.sheet.cell(l, "tracking_no")}
	var err error
	if parcel.Carrier, st.wrong = checkShip(no, w.sheet.cell(l, "carrier"), parcel.TrackingNo); st.wrong == nil {
		st.effect, err = w.ship(ctx, j, no, parcel)
	}
	return st, err
}

// ship returns the effect of a line: the order of the number goes out in the parcel.
func (w *shipWork) ship(ctx context.Context, j *model.Job, no string, parcel order.ShipmentParcel) (func(*store.Tx) (outcome, error), error) {
	id, err := w.Orders.ParcelIDs(ctx, 1)
	if err != nil {
		return nil, err
	}
	return func(tx *store.Tx) (outcome, error) {
		err := w.Orders.ShipIn(tx, j.MerchantID, no, j.Actor, id, order.Shipment{Parcels: []order.ShipmentParcel{parcel}})
		if fault.Is(err, fault.NotFoundError) {
			err = fault.New(fault.NotFoundError).Say("本店没有这个订单号", "The shop has no order of that number")
		}
		return outcome{code: "shipped", zh: "已发货", en: "Shipped"}, err
	}, nil
}

// checkShip checks the cells of a line and returns the carrier's code.
func checkShip(no, carrier, tracking string) (code string, err error) {
	wrong := fault.New(fault.ValidationFailed)
	if no == "" {
		wrong.With("order_no", fault.FieldRequired, "", "")
	}
	code, known := carrierNamed(carrier)
	if !known {
		wrong.With("carrier", fault.FieldChoice, fmt.Sprintf("没有快递公司“%s”", shorten(carrier, 40)), fmt.Sprintf("%q is no carrier", shorten(carrier, 40)))
	}
	switch {
	case tracking == "":
		wrong.With("tracking_no", fault.FieldRequired, "", "")
	case rounded.MatchString(tracking):
		wrong.With("tracking_no", fault.FieldFormat, "Excel 把运单号变成了科学计数，后几位已丢失：请把该列设为“文本”再填写",
			"is a number that a spreadsheet has rounded: make the column text and enter it again")
	case utf8.RuneCountInString(tracking) > maxTracking || strings.ContainsAny(tracking, "\r\n\t"):
		wrong.With("tracking_no", fault.FieldLength, "最多 64 个字符，且不能换行", "may have 64 characters, in one line")
	}
	if len(wrong.Fields) > 0 {
		return code, wrong
	}
	return code, nil
}

// carrierNamed finds a carrier by its code or its name in either language.
func carrierNamed(text string) (code string, ok bool) {
	for _, c := range shipping.Carriers() {
		if text != "" && (strings.EqualFold(text, c.Code) || text == c.Name.ZH || strings.EqualFold(text, c.Name.EN)) {
			return c.Code, true
		}
	}
	return "", false
}
