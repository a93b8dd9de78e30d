package job

import (
	"errors"
	"testing"

	"github.com/tidemall/tidemall/service/fault"
)

func TestDescribe(t *testing.T) {
	invalid := func(field, zh, en string) error {
		return fault.New(fault.ValidationFailed).With(field, fault.FieldRequired, zh, en)
	}
	for name, c := range map[string]struct {
		err    error
		zh, en string
	}{
		"a column":        {invalid("tracking_no", "必填", "is required"), "运单号：必填（tracking_no）", "tracking no: is required (tracking_no)"},
		"a path":          {invalid("line 7.specs[2]", "必填", "is required"), "规格：必填（line 7.specs[2]）", "specs: is required (line 7.specs[2])"},
		"a named one":     {invalid("price[5]", "第 5 行“价格”必填", "line 5, price is required"), "第 5 行“价格”必填（price[5]）", "line 5, price is required (price[5])"},
		"an unknown one":  {invalid("odd", "必填", "is required"), "必填（odd）", "odd: is required (odd)"},
		"no field at all": {fault.New(fault.OrderBusy), fault.Lookup(fault.OrderBusy).Text.ZH, fault.Lookup(fault.OrderBusy).Text.EN},
		"anything else":   {errors.New("disk full"), fault.Lookup(fault.InternalError).Text.ZH, fault.Lookup(fault.InternalError).Text.EN},
	} {
		if zh, en := describe(c.err); zh != c.zh || en != c.en {
			t.Errorf("%s: %q, %q; want %q, %q", name, zh, en, c.zh, c.en)
		}
	}
}
