package router

import (
	"reflect"
	"testing"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/api/admin"
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/model"
)

func TestTypesOfTwoPackagesHaveNamesOfTheirOwn(t *testing.T) {
	n := newNamer()
	for typ, want := range map[reflect.Type]string{
		reflect.TypeFor[shop.LoginBody](): "ShopLoginBody", reflect.TypeFor[admin.LoginBody](): "AdminLoginBody",
		reflect.TypeFor[api.List[admin.Role]](): "ListAdminRole", reflect.TypeFor[api.Reply[api.List[shop.Address]]](): "ReplyListShopAddress",
		reflect.TypeFor[*api.Problem](): "Problem", reflect.TypeFor[model.OrderAddress](): "OrderAddress", reflect.TypeFor[api.All[string]](): "AllString",
	} {
		if got := n.name(typ, "hint"); got != want {
			t.Errorf("%v is %s, want %s", typ, got, want)
		}
		if again := n.name(typ, "other"); again != want {
			t.Errorf("%v is %s the second time", typ, again)
		}
	}
	one, two := reflect.TypeFor[struct{ A int }](), reflect.TypeFor[struct{ B int }]()
	if a, b := n.name(one, "Body"), n.name(two, "Body"); a != "Body" || b != "Body2" {
		t.Errorf("types without a name: %s %s", a, b)
	}
}
