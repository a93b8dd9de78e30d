package aftersale

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/fault"
)

var warehouse = model.Contact{Name: "潮汐仓库", Phone: "021-62345678", Address: "上海市黄浦区人民大道 200 号"}

// moveTo sets where the shop takes goods back.
func (d *desk) moveTo(to model.Contact) {
	d.t.Helper()
	d.exec("DELETE FROM shop_settings")
	d.insert(&model.ShopSettings{MerchantID: merchantID, ReturnTo: to})
}

func (d *desk) returned() *View {
	d.t.Helper()
	o := d.paid(0, 0, good{1, 100})
	d.must(d.ship(o))
	return d.ask(o, model.AftersaleReturn, 1)
}

func (d *desk) wantReturnTo(v *View, err error, want *model.Contact) {
	d.t.Helper()
	d.must(err)
	if diff := cmp.Diff(want, v.ReturnTo); diff != "" {
		d.t.Errorf("where goods go back to, want (-), got (+):\n%s", diff)
	}
}

// The shopper of an approved return reads where the goods go: the shop's address as it was then, whatever becomes of it.
func TestApprovalSaysWhereGoodsGo(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		d.moveTo(warehouse)
		v := d.returned()
		merchants, err := d.GetForMerchant(t.Context(), merchantID, v.ID)
		d.wantReturnTo(merchants, err, &warehouse) // what an approval would say
		shoppers, err := d.Get(t.Context(), v.ShopperID, v.ID)
		d.wantReturnTo(shoppers, err, nil)

		v = d.does("approve", v, model.AftersaleApproved)
		d.moveTo(model.Contact{Name: "新仓", Phone: "13812345678", Address: "杭州市"})
		for _, verb := range []string{"", "return", "receive"} {
			if verb != "" {
				v, err = d.answers(verb, v)
				d.must(err)
			}
			shoppers, err = d.Get(t.Context(), v.ShopperID, v.ID)
			d.wantReturnTo(shoppers, err, &warehouse)
		}
		d.audited()
	})
}

// The merchant may name another address for one return; where nothing is known the return is approved without.
func TestApprovalTakesAnotherAddress(t *testing.T) {
	eachDesk(t, func(t *testing.T, d *desk) {
		approve := func(v *View, to *model.Contact) (*View, error) {
			return d.Approve(t.Context(), merchantID, v.ID, to, Answer{Version: v.Version, Actor: "admin:3"})
		}
		none, err := approve(d.returned(), nil)
		d.wantReturnTo(none, err, nil)
		if none.State != model.AftersaleApproved {
			t.Errorf("without an address: %s", none.State)
		}

		d.moveTo(warehouse)
		given := model.Contact{Name: " 维修点 ", Phone: "400-123-4567", Address: "苏州市"}
		want := given
		want.Name = "维修点"
		other, err := approve(d.returned(), &given)
		d.wantReturnTo(other, err, &want)

		v := d.returned()
		for _, bad := range []model.Contact{{Phone: "400-123-4567", Address: "苏州市"}, {Name: "店", Address: "苏州市"}, {Name: "店", Phone: "400-123-4567"}, {Name: "店", Phone: "请来电", Address: "苏州市"}} {
			d.wantCode(second(approve(v, &bad)), fault.ValidationFailed)
		}
		d.does("approve", v, model.AftersaleApproved) // nothing of the refused ones stayed

		o := d.paid(0, 0, good{1, 100})
		money := d.ask(o, model.AftersaleRefundOnly, 1)
		d.wantCode(second(approve(money, &given)), fault.ValidationFailed)
		d.does("approve", money, model.AftersaleRefunding)
	})
}
