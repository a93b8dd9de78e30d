package api

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/tidemall/tidemall/model"
)

// Picture is a stored picture. Where it is an input, url is what the upload answered and the rest is not looked at.
type Picture struct {
	URL      string `json:"url" format:"uri" maxLength:"512" doc:"The whole picture"`
	ThumbURL string `json:"thumb_url,omitempty" format:"uri" maxLength:"512" doc:"Not larger than 400 × 400"`
	Width    int    `json:"width,omitempty" minimum:"0" maximum:"100000" doc:"Of the whole picture, in pixels"`
	Height   int    `json:"height,omitempty" minimum:"0" maximum:"100000"`
}

// PictureOf shows a stored picture.
func PictureOf(img model.Image, pics Pictures) Picture {
	return Picture{URL: pics.URL(img.Key), ThumbURL: pics.URL(img.ThumbKey), Width: img.Width, Height: img.Height}
}

// PicturesOf shows a product's pictures.
func PicturesOf(images []model.Image, pics Pictures) []Picture {
	out := make([]Picture, len(images))
	for i, img := range images {
		out[i] = PictureOf(img, pics)
	}
	return out
}

// ThumbOf returns the URL of the thumbnail of a product's first picture, "" without any.
func ThumbOf(images []model.Image, pics Pictures) string {
	if len(images) == 0 {
		return ""
	}
	return pics.URL(images[0].ThumbKey)
}

// ProductOption is a dimension of a product's SKUs.
type ProductOption struct {
	Name   string        `json:"name" maxLength:"20" example:"颜色"`
	Values []OptionValue `json:"values" maxItems:"100" doc:"In display order"`
}

// OptionValue is a value of an option.
type OptionValue string

// Schema tells huma how long one may be.
func (OptionValue) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, MaxLength: new(40), Examples: []any{"白"}}
}

// ProductOptionsOf shows a product's options in display order.
func ProductOptionsOf(options []model.ProductOption) []ProductOption {
	out := make([]ProductOption, len(options))
	for i, o := range options {
		out[i] = ProductOption{Name: o.Name, Values: make([]OptionValue, len(o.Values))}
		for j, v := range o.Values {
			out[i].Values[j] = OptionValue(v)
		}
	}
	return out
}

// Specs are the option values of a SKU by option name; empty for a product's only SKU.
type Specs map[string]string

// Schema tells huma how many there may be, and how long.
func (Specs) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeObject, MaxProperties: new(3), Description: "Option values by option name; {} for a product's only SKU",
		AdditionalProperties: &huma.Schema{Type: huma.TypeString, MaxLength: new(40)}, Examples: []any{map[string]string{"颜色": "白", "尺码": "M"}},
	}
}
