package shop

import (
	"context"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/cart"
)

// Carts has the operations on the shopper's cart.
type Carts struct {
	Service interface {
		Groups(ctx context.Context, shopperID int64) ([]cart.Group, error)
		Add(ctx context.Context, shopperID, skuID, quantity int64) (cart.Item, error)
		SetItem(ctx context.Context, shopperID, id, skuID, quantity int64) (cart.Item, error)
		Remove(ctx context.Context, shopperID, id int64) error
	}
	Pictures api.Pictures
}

// Cart is what the shopper means to buy, by merchant: an order takes goods of one.
type Cart struct {
	Groups []CartGroup `json:"groups" doc:"The merchant whose goods were added last comes first"`
}

// CartGroup is what the cart has of one merchant.
type CartGroup struct {
	Merchant CartMerchant `json:"merchant"`
	Items    []CartItem   `json:"items" doc:"The item added last comes first"`
}

// CartMerchant names a merchant.
type CartMerchant struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// CartItem is a SKU in the cart, with its price and stock now.
type CartItem struct {
	ID         int64             `json:"id"`
	SKUID      int64             `json:"sku_id"`
	ProductID  int64             `json:"product_id"`
	Name       string            `json:"name" doc:"Of the product"`
	Image      string            `json:"image,omitempty" format:"uri"`
	Specs      map[string]string `json:"specs"`
	Quantity   int64             `json:"quantity"`
	PriceFen   model.Fen         `json:"price_fen" doc:"Of one piece"`
	Stock      int64             `json:"stock"`
	Available  bool              `json:"available" doc:"Whether that quantity can be ordered now"`
	Reason     cart.Reason       `json:"reason,omitempty" enum:"gone,off_shelf,sold_out,stock_short" doc:"Why it is not available"`
	ReasonText string            `json:"reason_text,omitempty" doc:"The reason for people"`
}

// CartChange is the changed item, with the whole cart as it is now: what a client shows next.
type CartChange struct {
	CartItem
	Cart
}

func (c *Carts) itemOf(ctx context.Context, i cart.Item) CartItem {
	specs := i.Specs
	if specs == nil {
		specs = map[string]string{}
	}
	return CartItem{
		ID: i.ID, SKUID: i.SKUID, ProductID: i.ProductID, Name: i.Name, Image: c.Pictures.URL(i.Image), Specs: specs, Quantity: i.Quantity,
		PriceFen: i.PriceFen, Stock: i.Stock, Available: i.Reason == "", Reason: i.Reason, ReasonText: api.LanguageOf(ctx).Pick(i.Reason.Text()),
	}
}

func (c *Carts) cart(ctx context.Context) (Cart, error) {
	groups, err := c.Service.Groups(ctx, api.Shopper(ctx))
	if err != nil {
		return Cart{}, err
	}
	out := Cart{Groups: make([]CartGroup, len(groups))}
	for i, g := range groups {
		out.Groups[i] = CartGroup{Merchant: CartMerchant{ID: g.MerchantID, Name: g.MerchantName}, Items: make([]CartItem, len(g.Items))}
		for j, item := range g.Items {
			out.Groups[i].Items[j] = c.itemOf(ctx, item)
		}
	}
	return out, nil
}

func (c *Carts) change(ctx context.Context, item cart.Item, err error) (*api.Reply[CartChange], error) {
	if err != nil {
		return nil, err
	}
	whole, err := c.cart(ctx)
	if err != nil {
		return nil, err
	}
	return api.Body(CartChange{CartItem: c.itemOf(ctx, item), Cart: whole}), nil
}

// CartGetInput asks for the cart.
type CartGetInput struct{}

// Get returns the shopper's cart.
func (c *Carts) Get(ctx context.Context, _ *CartGetInput) (*api.Reply[Cart], error) {
	whole, err := c.cart(ctx)
	if err != nil {
		return nil, err
	}
	return api.Body(whole), nil
}

// CartAddBody is what is put into the cart.
type CartAddBody struct {
	SKUID    int64 `json:"sku_id" minimum:"1" maximum:"9007199254740991"`
	Quantity int64 `json:"quantity" minimum:"1" maximum:"9999" doc:"Pieces to add to those that are there"`
}

// CartAddInput puts a SKU into the cart.
type CartAddInput struct{ Body CartAddBody }

// Add puts a SKU into the cart; one that is there already gets that many more.
func (c *Carts) Add(ctx context.Context, in *CartAddInput) (*api.Reply[CartChange], error) {
	item, err := c.Service.Add(ctx, api.Shopper(ctx), in.Body.SKUID, in.Body.Quantity)
	return c.change(ctx, item, err)
}

// CartSetBody is what an item becomes.
type CartSetBody struct {
	SKUID    int64 `json:"sku_id,omitempty" minimum:"1" maximum:"9007199254740991" doc:"Another SKU, for other specs; the present one if absent"`
	Quantity int64 `json:"quantity" minimum:"1" maximum:"9999"`
}

// CartSetInput changes an item.
type CartSetInput struct {
	api.IDPath
	Body CartSetBody
}

// Set changes an item's quantity, and its SKU where another is named.
func (c *Carts) Set(ctx context.Context, in *CartSetInput) (*api.Reply[CartChange], error) {
	item, err := c.Service.SetItem(ctx, api.Shopper(ctx), in.ID, in.Body.SKUID, in.Body.Quantity)
	return c.change(ctx, item, err)
}

// CartRemoveInput names an item.
type CartRemoveInput struct{ api.IDPath }

// Remove takes an item out of the cart.
func (c *Carts) Remove(ctx context.Context, in *CartRemoveInput) (*api.Empty, error) {
	return nil, c.Service.Remove(ctx, api.Shopper(ctx), in.ID)
}
