package router

import (
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/service/fault"
)

func shopCart(g *group, c *shop.Carts) {
	route(g, "GET", "/cart", shopper, c.Get, doc{
		Summary: "Get one's cart", Description: "A cart reserves nothing: prices and stock are those of now.",
	})
	route(g, "POST", "/cart/items", shopper, c.Add, doc{
		Summary: "Put a SKU into the cart", Description: "A SKU that is there already gets that many more.",
		Codes:   []fault.Code{fault.ProductUnavailable, fault.CartFull},
		Example: shop.CartAddBody{SKUID: 1, Quantity: 2},
	})
	route(g, "PUT", "/cart/items/{id}", shopper, c.Set, doc{
		Summary: "Change an item's quantity or SKU", Description: "A SKU that has an item of its own takes this one in.",
		Codes:   []fault.Code{fault.ProductUnavailable, fault.CartFull},
		Example: shop.CartSetBody{Quantity: 3},
	})
	route(g, "DELETE", "/cart/items/{id}", shopper, c.Remove, doc{Summary: "Take an item out of the cart"})
}
