package router

import (
	"time"

	"github.com/tidemall/tidemall/api"
	"github.com/tidemall/tidemall/api/shop"
	"github.com/tidemall/tidemall/service/account"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/file"
)

func shopCatalog(g *group, c *shop.Catalog) {
	route(g, "GET", "/categories", visitor, c.Categories, doc{Summary: "Get the tree of categories"})
	route(g, "GET", "/products", visitor, c.Products, doc{Summary: "List or search products", Description: "A search answers the 10,000 best matches."})
	route(g, "GET", "/products/{id}", visitor, c.Product, doc{Summary: "Get a product with its SKUs"})
}

// Limits of an upload: the picture and what the form puts around it, and the time that a slow phone takes.
const (
	uploadLimit   = file.MaxBytes + 64<<10
	uploadTimeout = time.Minute
)

var uploadDoc = doc{
	Summary: "Store a picture", Description: "The picture is decoded, turned upright, scaled to at most 1600 pixels a side and stored anew. " +
		"It may have 40 million pixels, and about 25 million where each takes more memory: a progressive JPEG, a PNG of 16 bits a channel or interlaced, a lossless WebP.",
	Status: 201, BodyLimit: uploadLimit, BodyTimeout: uploadTimeout, Unrecorded: "a picture is nobody's change until something shows it",
}

func shopFiles(g *group, f *api.Files) {
	d := uploadDoc
	d.Description += " A shopper may store 60 pictures at once, and one more each 10 seconds."
	d.Pace = shopperUploads
	route(g, "POST", "/files", shopper, f.Upload, d)
}

func adminFiles(g *group, f *api.Files) {
	route(g, "POST", "/files", merchant(account.CatalogWrite), f.Upload, uploadDoc)
}

// pictures are served outside of the APIs, to whoever knows their URL.
func pictures(g *group, f *api.Files) {
	route(g, "GET", "/files/{key}", anyone, f.Get, doc{
		Summary: "Get a picture", Description: "It never changes under its key.", Tag: "files", NoLimit: true, Head: true, Codes: []fault.Code{fault.NotFoundError},
	})
}
