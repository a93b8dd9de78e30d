package job

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/tidemall/tidemall/model"
	"github.com/tidemall/tidemall/service/catalog"
	"github.com/tidemall/tidemall/service/fault"
	"github.com/tidemall/tidemall/service/file"
)

// productColumns are those of a file of products, in the order of an export. docs/panel-csv.md describes them.
var productColumns = []column{
	{"id", "商品ID", false},
	{"code", "商品编码", false},
	{"name", "商品名称", false},
	{"category", "分类", false},
	{"subtitle", "副标题", false},
	{"detail_html", "详情", false},
	{"images", "图片", false},
	{"virtual", "虚拟商品", false},
	{"sort", "排序", false},
	{"published", "上架", false},
	{"option1", "规格项1", false},
	{"value1", "规格值1", false},
	{"option2", "规格项2", false},
	{"value2", "规格值2", false},
	{"option3", "规格项3", false},
	{"value3", "规格值3", false},
	{"price", "价格", true},
	{"stock", "库存", false},
	{"weight_g", "重量(克)", false},
	{"sku_image", "规格图片", false},
}

// ofProduct are the columns that say something of a product; the others say it of a SKU. The first line of a product has them.
var ofProduct = []string{"id", "code", "name", "category", "subtitle", "detail_html", "images", "virtual", "sort", "published"}

// productLines are the lines of one product.
type productLines struct {
	*sheet

	own []line
}

// readProducts reads a file of products: lines with the same code, or else the same id, are one product.
func readProducts(data []byte) ([]productLines, error) {
	s, err := readSheet(data, productColumns, true)
	if err != nil {
		return nil, err
	}
	wrong := fault.New(fault.ValidationFailed)
	if !s.has("id") && !s.has("code") {
		return nil, wrong.With("file", fault.FieldRequired, "需要“商品编码”或“商品ID”列", `lacks the column "code" or "id"`)
	}
	var products []productLines
	at := map[string]int{}
	for _, l := range s.lines {
		key := "code " + s.cell(l, "code")
		if s.cell(l, "code") == "" {
			key = "id " + s.cell(l, "id")
		}
		switch i, known := at[key]; {
		case key == "id " && len(wrong.Fields) < shownErrors:
			wrong.With(lineName(l.no), fault.FieldRequired, "商品编码与商品ID至少填一个", "must have a code or an id")
		case known:
			products[i].own = append(products[i].own, l)
		default:
			at[key] = len(products)
			products = append(products, productLines{s, []line{l}})
		}
	}
	if len(wrong.Fields) > 0 {
		return nil, wrong
	}
	return products, nil
}

// subject names the product for people.
func (p productLines) subject() string {
	name := p.cell(p.own[0], "code")
	if name == "" {
		name = "#" + p.cell(p.own[0], "id")
	}
	return strings.TrimSpace(name + " " + p.cell(p.own[0], "name"))
}

// cells reads cells and collects what is wrong with them.
type cells struct {
	*sheet

	line  line
	wrong *fault.Error
}

func (c *cells) bad(name string, code fault.Code, zh, en string) {
	at := slices.IndexFunc(productColumns, func(k column) bool { return k.en == name })
	c.wrong.With(fmt.Sprintf("%s[%d]", name, c.line.no), code, fmt.Sprintf("第 %d 行“%s”%s", c.line.no, productColumns[at].zh, zh),
		fmt.Sprintf("line %d, %s %s", c.line.no, name, en))
}

// text returns a cell; nil where the file has no such column.
func (c *cells) text(name string) *string {
	if !c.has(name) {
		return nil
	}
	text := c.cell(c.line, name)
	return &text
}

// whole returns a whole number; nil where the cell is empty.
func (c *cells) whole(name string) *int64 {
	text := c.cell(c.line, name)
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= -1<<53 || n >= 1<<53 {
		c.bad(name, fault.FieldType, "须为整数", "must be a whole number")
		return nil
	}
	return &n
}

// yes returns what a cell says; nil where it is empty.
func (c *cells) yes(name string) *bool {
	switch strings.ToLower(c.cell(c.line, name)) {
	case "":
		return nil
	case "是", "yes", "y", "true", "1":
		return new(true)
	case "否", "no", "n", "false", "0":
		return new(false)
	}
	c.bad(name, fault.FieldChoice, "须为 是 或 否", "must be yes or no")
	return nil
}

var price = regexp.MustCompile(`^([0-9]{1,9})(?:\.([0-9]{1,2}))?$`)

// fen returns a price in yuan with up to two decimals.
func (c *cells) fen(name string) model.Fen {
	text := strings.NewReplacer("¥", "", "￥", "", ",", "").Replace(c.cell(c.line, name))
	m := price.FindStringSubmatch(text)
	if m == nil {
		c.bad(name, fault.FieldFormat, "须为以元为单位的金额，如 59.00", "must be an amount in yuan such as 59.00")
		return 0
	}
	yuan, _ := strconv.ParseInt(m[1], 10, 64)             // nine digits
	fen, _ := strconv.ParseInt((m[2] + "00")[:2], 10, 64) // two
	return model.Fen(yuan*100 + fen)
}

// pictures returns the pictures whose URLs are in a cell, parted by spaces.
func (c *cells) pictures(name string) *[]model.Image {
	if !c.has(name) {
		return nil
	}
	images := []model.Image{}
	for url := range strings.FieldsSeq(c.cell(c.line, name)) {
		img, ok := file.Parse(url)
		if !ok {
			c.bad(name, fault.FieldChoice, "不是本店的图片地址，请先上传图片", "has what is not the URL of a stored picture; upload it first")
			return nil
		}
		images = append(images, img)
	}
	return &images
}

// picture returns the key of the only picture of a cell.
func (c *cells) picture(name string) *string {
	images := c.pictures(name)
	switch {
	case images == nil:
		return nil
	case len(*images) == 0:
		return new("")
	case len(*images) > 1:
		c.bad(name, fault.FieldLength, "只能有一张图片", "may have one picture")
		return nil
	}
	return &(*images)[0].Key
}

// entry makes of a product's lines what the catalogue takes; categories has the ids by path.
func (p productLines) entry(categories map[string][]int64) (catalog.Entry, error) {
	c := &cells{sheet: p.sheet, line: p.own[0], wrong: fault.New(fault.ValidationFailed)}
	e := catalog.Entry{
		Code: c.cell(c.line, "code"), Name: c.text("name"), CategoryID: c.category(categories), Subtitle: c.text("subtitle"), DetailHTML: c.text("detail_html"),
		Images: c.pictures("images"), Virtual: c.yes("virtual"), Published: c.yes("published"),
	}
	if id := c.whole("id"); id != nil {
		if e.ID = *id; e.ID < 1 {
			c.bad("id", fault.FieldRange, "须为正数", "must be positive")
		}
	}
	if sort := c.whole("sort"); sort != nil {
		e.Sort = new(int(*sort))
	}
	for _, l := range p.own {
		c.line = l
		for _, name := range ofProduct {
			if text := c.cell(l, name); text != "" && text != c.cell(p.own[0], name) {
				c.bad(name, fault.FieldChoice, fmt.Sprintf("与该商品第 %d 行的不同", p.own[0].no), fmt.Sprintf("is not that of line %d of the same product", p.own[0].no))
			}
		}
		e.SKUs = append(e.SKUs, c.sku())
	}
	if len(c.wrong.Fields) > 0 {
		return e, c.wrong
	}
	return e, nil
}

func (c *cells) sku() catalog.EntrySKU {
	sku := catalog.EntrySKU{PriceFen: c.fen("price"), Stock: c.whole("stock"), WeightG: c.whole("weight_g"), Image: c.picture("sku_image")}
	for i := 1; i <= catalog.MaxOptions; i++ {
		option, value := c.cell(c.line, fmt.Sprintf("option%d", i)), c.cell(c.line, fmt.Sprintf("value%d", i))
		switch {
		case option == "" && value == "":
		case option == "" || value == "":
			c.bad(fmt.Sprintf("value%d", i), fault.FieldRequired, "与规格项须同时填写", "and its option must both be there")
		default:
			sku.Specs = append(sku.Specs, catalog.Spec{Option: option, Value: value})
		}
	}
	return sku
}

// category finds a category by its path, or by its id; nil where the cell is empty.
func (c *cells) category(categories map[string][]int64) *int64 {
	text := c.cell(c.line, "category")
	if text == "" {
		return nil
	}
	ids := categories[categoryPath(text)]
	if len(ids) == 0 {
		ids = categories["#"+text]
	}
	switch len(ids) {
	case 1:
		return &ids[0]
	case 0:
		c.bad("category", fault.FieldChoice, fmt.Sprintf("没有分类“%s”", shorten(text, 60)), fmt.Sprintf("%q is no category", shorten(text, 60)))
	default:
		c.bad("category", fault.FieldChoice, "有多个同名分类，请填分类ID", "names several categories; give the id")
	}
	return nil
}

// categoryPath brings a path of categories into one form, whatever spaces are around its names.
func categoryPath(text string) string {
	names := strings.Split(text, strings.TrimSpace(catalog.PathSeparator))
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	return strings.Join(names, catalog.PathSeparator)
}
